-- The one place that says which evaluation of a run is shown, what the verdict on a statement is, and which questions
-- two runs share. Pages, exports and people's own queries all read it here.
CREATE OR REPLACE VIEW ranked_evaluations AS
SELECT *, row_number() OVER (PARTITION BY run_id, judge ORDER BY place) AS place_of_judge
FROM (
    SELECT e.run_id, r.name AS run, e.evaluation_id, e.judge, e.heuristic, e.finished, e.covered, r.samples,
           row_number() OVER (
               PARTITION BY e.run_id
               ORDER BY e.has_statements DESC, e.covered >= r.samples DESC, e.finished DESC, e.evaluation_id
           ) AS place
    FROM evaluations e JOIN runs r USING (run_id)
    WHERE NOT e.imported
);

CREATE OR REPLACE VIEW shown_evaluations AS
SELECT run_id, run, evaluation_id, judge, heuristic, finished, covered, samples
FROM ranked_evaluations
WHERE place = 1;

-- The passages together, where a judge held the statement against them all; else what single passages come to.
CREATE OR REPLACE VIEW answer_verdicts AS
SELECT evaluation_id, position, statement, label AS verdict, score, reason, true AS together
FROM verdicts
WHERE side = 'response' AND target = 'joint'
UNION ALL
SELECT evaluation_id, position, statement,
       CASE WHEN bool_or(label = 'supported') THEN 'supported'
            WHEN bool_or(label = 'contradicted') THEN 'contradicted'
            ELSE 'unsupported' END,
       NULL, '', false
FROM verdicts v
ANTI JOIN (FROM verdicts WHERE side = 'response' AND target = 'joint') j USING (evaluation_id, position, statement)
WHERE side = 'response' AND starts_with(target, 'passage:')
GROUP BY evaluation_id, position, statement;

CREATE OR REPLACE VIEW latest_human_verdicts AS
SELECT evaluation_id, position, statement, arg_max(label, number) AS human, arg_max(annotator, number) AS annotator,
       arg_max(note, number) AS note
FROM human_verdicts
GROUP BY evaluation_id, position, statement;

CREATE OR REPLACE VIEW statement_verdicts AS
SELECT r.name AS run, e.judge, s.position, s.sample_id, s.question, t.statement + 1 AS number, t.text AS statement,
       v.verdict, v.score, coalesce(v.reason, '') AS reason, coalesce(v.together, false) AS together,
       h.human, t.origin, t.evaluation_id, e.run_id,
       t.evaluation_id IN (SELECT evaluation_id FROM shown_evaluations) AS shown
FROM statements t
JOIN evaluations e USING (evaluation_id)
JOIN runs r USING (run_id)
JOIN samples s USING (run_id, position)
LEFT JOIN answer_verdicts v USING (evaluation_id, position, statement)
LEFT JOIN latest_human_verdicts h USING (evaluation_id, position, statement)
WHERE t.side = 'response';

-- Two samples ask the same where question and history are equal: first those whose ids are equal too, then those whose
-- question is there once on either side. A sample without a partner is in a row by itself.
CREATE OR REPLACE MACRO paired_questions(run_a, run_b) AS TABLE
WITH asked AS MATERIALIZED (
    SELECT sample_id, question, history::VARCHAR AS history, position AS a, NULL::INTEGER AS b
    FROM samples WHERE run_id = run_a
    UNION ALL
    SELECT sample_id, question, history::VARCHAR, NULL, position FROM samples WHERE run_id = run_b
),
by_id AS MATERIALIZED (
    SELECT max(a) AS a, max(b) AS b FROM asked
    GROUP BY sample_id, question, history HAVING count(a) = 1 AND count(b) = 1
),
rest AS (
    SELECT a, b, count(a) OVER same AS in_a, count(b) OVER same AS in_b, max(b) OVER same AS partner FROM asked
    WHERE a NOT IN (SELECT a FROM by_id) OR b NOT IN (SELECT b FROM by_id)
    WINDOW same AS (PARTITION BY question, history)
)
SELECT a, b, 'id' AS paired_by FROM by_id
UNION ALL
SELECT a, coalesce(partner, b), 'question' FROM rest WHERE a IS NOT NULL AND in_a = 1 AND in_b = 1
UNION ALL
SELECT a, b, CASE WHEN in_a = 0 OR in_b = 0 THEN 'no partner' ELSE 'ambiguous' END
FROM rest WHERE in_a <> 1 OR in_b <> 1;

COMMENT ON VIEW ranked_evaluations IS 'Evaluations of our own, the one that pages show first: place 1 of its run.';
COMMENT ON COLUMN ranked_evaluations.place_of_judge IS 'The same among the evaluations of the run by this judge.';
COMMENT ON VIEW shown_evaluations IS 'The evaluation of each run that pages show.';
COMMENT ON VIEW answer_verdicts IS 'The verdict on each statement of an answer that was judged.';
COMMENT ON COLUMN answer_verdicts.together IS 'False: each passage was judged by itself, and this is what they come to.';
COMMENT ON VIEW latest_human_verdicts IS 'The verdict of people on a statement that counts: the latest.';
COMMENT ON VIEW statement_verdicts IS 'Statements of answers with their verdicts, and what they belong to.';
