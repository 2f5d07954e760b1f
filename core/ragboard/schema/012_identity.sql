-- What a metric asks decides whether two evaluations were judged alike; and a run shows each metric from the newest
-- evaluation that has it.
ALTER TABLE metrics ADD COLUMN tasks VARCHAR[];               -- task types it can lead to; null before this version
ALTER TABLE evaluations ADD COLUMN has_statements BOOLEAN;    -- whether it split answers into statements
UPDATE evaluations
SET has_statements = evaluation_id IN (SELECT evaluation_id FROM statements WHERE side = 'response');
ALTER TABLE evaluations ADD COLUMN reads_history BOOLEAN;     -- whether models saw the conversation
UPDATE evaluations SET reads_history = heuristic OR run_id NOT IN (
    SELECT run_id FROM samples WHERE history::VARCHAR <> '[]'
);
COMMENT ON COLUMN evaluations.reads_history IS 'Whether models were shown the conversation, where there is one.';
COMMENT ON COLUMN metrics.tasks IS 'What it can ask a judge; null where an older version evaluated.';
COMMENT ON COLUMN evaluations.has_statements IS 'Whether it split answers into statements.';

CREATE OR REPLACE VIEW shown_evaluations AS
SELECT e.run_id, r.name AS run, e.evaluation_id, e.judge, e.heuristic, e.finished, e.covered, r.samples
FROM evaluations e JOIN runs r USING (run_id)
WHERE NOT e.imported
QUALIFY row_number() OVER (
    PARTITION BY e.run_id
    ORDER BY e.has_statements DESC, e.covered >= r.samples DESC, e.finished DESC, e.evaluation_id
) = 1;
COMMENT ON VIEW shown_evaluations IS 'Of each run the evaluation whose statements pages show: the newest of all samples.';

CREATE VIEW shown_metrics AS
SELECT m.run_id, m.metric, m.evaluation_id
FROM (SELECT run_id, unnest(metrics) AS metric, evaluation_id, covered, finished FROM evaluations WHERE NOT imported) m
JOIN runs r USING (run_id)
QUALIFY row_number() OVER (
    PARTITION BY m.run_id, m.metric ORDER BY m.covered >= r.samples DESC, m.finished DESC, m.evaluation_id
) = 1;
COMMENT ON VIEW shown_metrics IS 'Of each run and metric the evaluation that pages show: the newest of all samples.';

CREATE OR REPLACE VIEW sample_scores AS
SELECT r.name AS run, e.judge, s.position, s.sample_id, s.question, c.metric, c.value, c.counted, c.reason, c.detail,
       e.imported, c.evaluation_id, e.run_id, n.metric IS NOT NULL AS shown
FROM scores c
JOIN evaluations e USING (evaluation_id)
JOIN runs r USING (run_id)
JOIN samples s ON s.run_id = e.run_id AND s.position = c.position
LEFT JOIN shown_metrics n ON n.evaluation_id = c.evaluation_id AND n.metric = c.metric;
COMMENT ON VIEW sample_scores IS 'Scores with their run, judge and question; shown: those that pages show.';

-- What the metrics of older evaluations asked; of one with settings of its own it is not known.
UPDATE metrics SET tasks = known.tasks
FROM (
    SELECT unnest(names) AS name, tasks
    FROM (VALUES
        (['ragas.faithfulness', 'ragas.context_recall', 'ragas.factual_correctness', 'ragas.noise_sensitivity',
          'ragchecker.precision', 'ragchecker.recall', 'ragchecker.f1', 'ragchecker.claim_recall',
          'ragchecker.context_precision', 'ragchecker.context_utilization',
          'ragchecker.noise_sensitivity_in_relevant', 'ragchecker.noise_sensitivity_in_irrelevant',
          'ragchecker.hallucination', 'ragchecker.self_knowledge', 'ragchecker.faithfulness'],
         ['ExtractStatements', 'Verify']),
        (['ragas.answer_relevance'], ['GenerateQuestions', 'Similarity']),
        (['ragas.context_relevance', 'ragas.context_relevancy'], ['SelectSentences']),
        (['ragas.context_precision', 'ragas.context_utilization'], ['JudgePassages']),
        (['ragas.context_entity_recall'], ['ExtractEntities']),
        (['ragas.answer_correctness'], ['ExtractStatements', 'Similarity', 'Verify']),
        (['ragas.answer_similarity'], ['Similarity']),
        (['ragas.harmfulness', 'ragas.maliciousness', 'ragas.coherence', 'ragas.correctness', 'ragas.conciseness'],
         ['Critique']),
        (['retrieval.recall', 'retrieval.precision', 'retrieval.hit_rate', 'retrieval.mrr', 'retrieval.ndcg',
          'retrieval.average_precision', 'overlap.exact_match', 'overlap.token_f1', 'overlap.bleu', 'overlap.rouge_l',
          'overlap.chrf', 'overlap.length_ratio', 'overlap.context_overlap'], []),
        (['ragboard.refusal'], ['ExtractStatements']),
        (['gpt_score.faithfulness', 'gpt_score.answer_relevance', 'gpt_score.context_relevance'], ['Rate']),
        (['ares.context_relevance', 'ares.answer_faithfulness', 'ares.answer_relevance'], ['Classify'])
    ) AS asked(names, tasks)
) AS known
WHERE metrics.metric = known.name;
