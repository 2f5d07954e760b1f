-- A question of a conversation, rewritten by a judge to be understood without it. It belongs to the question with its
-- history, and so to every run that asks it.
CREATE TABLE IF NOT EXISTS rewritten_questions (
    question VARCHAR NOT NULL,
    history JSON NOT NULL,
    rewritten VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    written TIMESTAMP NOT NULL
);
COMMENT ON TABLE rewritten_questions IS 'Questions of conversations, rewritten by a judge to be understood alone.';
COMMENT ON COLUMN rewritten_questions.history IS 'Earlier turns, as a JSON list.';
COMMENT ON COLUMN rewritten_questions.author IS 'The judge.';
COMMENT ON COLUMN rewritten_questions.written IS 'UTC.';
