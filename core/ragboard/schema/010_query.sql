-- What the tables are, for whoever queries them, and views that join what belongs together.
COMMENT ON TABLE runs IS 'Answers of one configuration to a set of questions.';
COMMENT ON COLUMN runs.config IS 'What distinguishes the run, as a JSON object.';
COMMENT ON COLUMN runs.dataset_key IS 'Digest of the questions, whatever the dataset is called.';
COMMENT ON COLUMN runs.samples IS 'How many samples it has.';
COMMENT ON COLUMN runs.imported IS 'UTC.';
COMMENT ON TABLE samples IS 'A question, its answer and its reference; known by its position in the run, from 0.';
COMMENT ON COLUMN samples.has_contexts IS 'False: the file had no passages; true without any: nothing was retrieved.';
COMMENT ON COLUMN samples.reference_contexts IS 'Passages that hold the right answer, as a JSON list.';
COMMENT ON COLUMN samples.history IS 'Earlier turns, as a JSON list.';
COMMENT ON COLUMN samples.metadata IS 'Other columns of the file, as a JSON object: metadata ->> ''column''.';
COMMENT ON TABLE passages IS 'What was retrieved for a sample.';
COMMENT ON COLUMN passages.rank IS 'From 1, the best first.';
COMMENT ON COLUMN passages.score IS 'The retriever''s own.';
COMMENT ON TABLE evaluations IS 'What one set of judges found about a run.';
COMMENT ON COLUMN evaluations.heuristic IS 'Whether the judge goes by rules of thumb.';
COMMENT ON COLUMN evaluations.identity IS 'Judges, prompts and versions, as JSON.';
COMMENT ON COLUMN evaluations.finished IS 'UTC.';
COMMENT ON COLUMN evaluations.covered IS 'Samples it has results of.';
COMMENT ON COLUMN evaluations.imported IS 'Whether another tool''s scores came with the file.';
COMMENT ON TABLE scores IS 'One metric of one sample.';
COMMENT ON COLUMN scores.value IS 'Null where unscored, and then there is a reason.';
COMMENT ON COLUMN scores.counted IS 'What it was counted from.';
COMMENT ON COLUMN scores.reason IS 'Why there is no value: undefined, refusal, failed, skipped.';
COMMENT ON TABLE sides IS 'Whether an answer (side response) or a reference declines to answer.';
COMMENT ON TABLE statements IS 'What an answer or a reference says, one statement a row, from 0.';
COMMENT ON COLUMN statements.side IS 'response or reference.';
COMMENT ON COLUMN statements.span_start IS 'Where it stands in the text, in characters; null where it was not found.';
COMMENT ON COLUMN statements.origin IS 'Its class: right or wrong, and from a relevant, an irrelevant or no passage.';
COMMENT ON TABLE verdicts IS 'Whether a target supports a statement.';
COMMENT ON COLUMN verdicts.target IS 'joint (all passages), passage:RANK, reference, response.';
COMMENT ON COLUMN verdicts.label IS 'supported, contradicted, unsupported.';
COMMENT ON COLUMN verdicts.score IS 'How far it is supported, from 0 to 1, where the judge says.';
COMMENT ON COLUMN verdicts.evidence IS 'Marked places in passages, as a JSON list.';
COMMENT ON TABLE questions IS 'Questions that an answer would answer, and their cosine to the one asked.';
COMMENT ON TABLE sentences IS 'Sentences of the passages, and which help to answer the question.';
COMMENT ON TABLE judgements IS 'What else judges said: useful passages, draws, ratings, entities.';
COMMENT ON COLUMN judgements.about IS 'What was asked, as: useful toward reference.';
COMMENT ON COLUMN judgements.number IS 'Which passage, draw or name, from 1.';
COMMENT ON TABLE metrics IS 'What each metric of an evaluation is, as JSON.';
COMMENT ON TABLE spending IS 'What an evaluation''s calls took, a row for each model.';
COMMENT ON COLUMN spending.uncounted IS 'Calls whose tokens the server did not say.';
COMMENT ON COLUMN spending.cost IS 'US dollars; null where it is not known.';
COMMENT ON TABLE labelled_answers IS 'Answers that people said something of, in their setting.';
COMMENT ON TABLE labels IS 'What people said, append-only.';
COMMENT ON COLUMN labels.said IS 'UTC.';
COMMENT ON COLUMN labels.kind IS 'verdict, grade or preference.';
COMMENT ON COLUMN labels.value IS 'Null: what the person had said there is taken back.';
COMMENT ON COLUMN labels.queue IS 'How they came to it: browsing, random, disagreement, imported.';
COMMENT ON VIEW current_labels IS 'What each person says now, in each queue by itself.';
COMMENT ON VIEW human_verdicts IS 'The verdicts of people on the statements of every evaluation.';
COMMENT ON TABLE draws IS 'Samples drawn to be labelled, and how they were chosen.';
COMMENT ON TABLE migrations IS 'Versions of this schema.';

CREATE VIEW shown_evaluations AS
SELECT e.run_id, r.name AS run, e.evaluation_id, e.judge, e.heuristic, e.finished, e.covered, r.samples
FROM evaluations e JOIN runs r USING (run_id)
WHERE NOT e.imported
QUALIFY row_number() OVER (PARTITION BY e.run_id ORDER BY e.covered >= r.samples DESC, e.finished DESC) = 1;
COMMENT ON VIEW shown_evaluations IS 'Of each run the evaluation that pages show: the newest of all its samples.';

CREATE VIEW sample_scores AS
SELECT r.name AS run, e.judge, s.position, s.sample_id, s.question, c.metric, c.value, c.counted, c.reason, c.detail,
       e.imported, c.evaluation_id, e.run_id,
       c.evaluation_id IN (SELECT evaluation_id FROM shown_evaluations) AS shown
FROM scores c
JOIN evaluations e USING (evaluation_id)
JOIN runs r USING (run_id)
JOIN samples s ON s.run_id = e.run_id AND s.position = c.position;
COMMENT ON VIEW sample_scores IS 'Scores with their run, judge and question; shown: those that pages show.';

CREATE VIEW statement_verdicts AS
SELECT r.name AS run, e.judge, s.position, s.sample_id, s.question, t.statement + 1 AS number, t.text AS statement,
       coalesce(v.label, v.alone) AS verdict, v.score, coalesce(v.reason, '') AS reason, v.label IS NOT NULL AS together,
       h.human, t.origin, t.evaluation_id, e.run_id,
       t.evaluation_id IN (SELECT evaluation_id FROM shown_evaluations) AS shown
FROM statements t
JOIN evaluations e USING (evaluation_id)
JOIN runs r USING (run_id)
JOIN samples s ON s.run_id = e.run_id AND s.position = t.position
LEFT JOIN (
    SELECT evaluation_id, position, statement,
           any_value(label) FILTER (target = 'joint') AS label,
           any_value(score) FILTER (target = 'joint') AS score,
           any_value(reason) FILTER (target = 'joint') AS reason,
           CASE WHEN bool_or(label = 'supported') FILTER (starts_with(target, 'passage:')) THEN 'supported'
                WHEN bool_or(label = 'contradicted') FILTER (starts_with(target, 'passage:')) THEN 'contradicted'
                WHEN count(*) FILTER (starts_with(target, 'passage:')) > 0 THEN 'unsupported'
           END AS alone
    FROM verdicts
    WHERE side = 'response'
    GROUP BY evaluation_id, position, statement
) v ON v.evaluation_id = t.evaluation_id AND v.position = t.position AND v.statement = t.statement
LEFT JOIN (
    SELECT evaluation_id, position, statement, arg_max(label, number) AS human
    FROM human_verdicts
    GROUP BY evaluation_id, position, statement
) h ON h.evaluation_id = t.evaluation_id AND h.position = t.position AND h.statement = t.statement
WHERE t.side = 'response';
COMMENT ON VIEW statement_verdicts IS 'Statements of answers with their verdict: of all passages together, else of single ones; human: what people say.';
