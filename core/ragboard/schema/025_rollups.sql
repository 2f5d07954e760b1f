-- What pages show of a large run or evaluation, so that they need not read its samples.
CREATE TABLE IF NOT EXISTS rollups (
    owner VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    state VARCHAR NOT NULL,
    rows VARCHAR
);
COMMENT ON TABLE rollups IS 'Results of queries about large runs and evaluations, computed when these were stored.';
COMMENT ON COLUMN rollups.owner IS 'The run or the evaluation.';
COMMENT ON COLUMN rollups.name IS 'The query, with its version.';
COMMENT ON COLUMN rollups.state IS 'Changes when the owner changes; the rows are then no longer used.';
COMMENT ON COLUMN rollups.rows IS 'The result as a JSON list of rows; null: too large to be stored.';
