-- What people say of a question: whether it can be answered. It belongs to the question with its history, and so to
-- every run that asks it. Append-only: the newest label of a question counts.
CREATE SEQUENCE IF NOT EXISTS question_label_numbers;

CREATE TABLE IF NOT EXISTS question_labels (
    number BIGINT PRIMARY KEY DEFAULT nextval('question_label_numbers'),
    question VARCHAR NOT NULL,
    history JSON NOT NULL,
    answerability VARCHAR,
    annotator VARCHAR NOT NULL,
    said TIMESTAMP NOT NULL
);

CREATE OR REPLACE VIEW current_question_labels AS
SELECT * FROM (
    SELECT * FROM question_labels
    QUALIFY row_number() OVER (PARTITION BY question, history::VARCHAR ORDER BY number DESC) = 1
) WHERE answerability IS NOT NULL;

-- The set of questions of each run, with their histories, as a digest; that of runs without histories is dataset_key.
CREATE OR REPLACE VIEW run_versions AS
SELECT run_id, CASE WHEN coalesce(bool_and(history = '[]'), true) THEN any_value(key)
    ELSE md5(any_value(key) || bit_xor(md5_number(question || chr(31) || history))::VARCHAR) END AS version
FROM (
    SELECT DISTINCT r.run_id, r.dataset_key AS key, s.question, s.history::VARCHAR AS history
    FROM runs r LEFT JOIN samples s ON s.run_id = r.run_id
) GROUP BY run_id;

-- Whether nuggets were asked about as AutoNuggetizer does, ten in a call.
ALTER TABLE assignments ADD COLUMN IF NOT EXISTS compat BOOLEAN DEFAULT false;

COMMENT ON TABLE question_labels IS 'Whether questions can be answered, as people say; current_question_labels has what holds.';
COMMENT ON COLUMN question_labels.history IS 'Earlier turns, as a JSON list.';
COMMENT ON COLUMN question_labels.answerability IS 'answerable, partial, unanswerable, conversational, underspecified; null takes back.';
COMMENT ON COLUMN question_labels.said IS 'UTC.';
COMMENT ON VIEW current_question_labels IS 'The newest label of each question.';
COMMENT ON VIEW run_versions IS 'Digests of the questions of each run with their histories: the versions of its dataset.';
COMMENT ON COLUMN assignments.compat IS 'Whether the judge was asked about ten nuggets in a call, as AutoNuggetizer asks.';
