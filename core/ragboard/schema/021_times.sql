-- When a question was asked: what trends over time go by.
ALTER TABLE samples ADD COLUMN IF NOT EXISTS time TIMESTAMP;
COMMENT ON COLUMN samples.time IS 'When the question was asked, UTC; null: unknown.';
SET TimeZone = 'UTC';
UPDATE samples SET time = coalesce(
    try_cast(metadata ->> 'time' AS TIMESTAMPTZ), try_cast(metadata ->> 'timestamp' AS TIMESTAMPTZ),
    try_cast(metadata ->> 'created_at' AS TIMESTAMPTZ)
) AT TIME ZONE 'UTC'
WHERE contains(metadata::VARCHAR, 'time') OR contains(metadata::VARCHAR, 'created_at');
RESET TimeZone;
UPDATE samples SET time = NULL WHERE year(time) NOT BETWEEN 2000 AND 2099;

-- The share of a growing run's samples that is evaluated, from a position on: what estimates over time weight by.
CREATE TABLE IF NOT EXISTS sampling_rates (
    run_id VARCHAR NOT NULL,
    evaluation_id VARCHAR NOT NULL,
    first_position INTEGER NOT NULL,
    rate DOUBLE NOT NULL,
    seed BIGINT NOT NULL
);
COMMENT ON TABLE sampling_rates IS 'The share of the samples of a run that is evaluated, by evaluation.';
COMMENT ON COLUMN sampling_rates.first_position IS 'The rate holds from this position up to the next one of the evaluation.';
COMMENT ON COLUMN sampling_rates.rate IS 'Probability, in (0, 1], that a sample is evaluated.';
