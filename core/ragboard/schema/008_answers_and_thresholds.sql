-- Where in the journal of an evaluation the answers stand that a sample's results were made of, in the order they came.
CREATE TABLE answer_places (
    evaluation_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    place BIGINT NOT NULL              -- byte at which the line begins
);
-- US dollars for a million tokens, as counted then; null where the price was not known.
ALTER TABLE spending ADD COLUMN prompt_price DOUBLE;
ALTER TABLE spending ADD COLUMN cached_price DOUBLE;
ALTER TABLE spending ADD COLUMN completion_price DOUBLE;
-- What a person wants a metric to reach, or not to exceed where lower is better.
CREATE TABLE thresholds (
    metric VARCHAR PRIMARY KEY,
    value DOUBLE NOT NULL
);
COMMENT ON TABLE answer_places IS 'Where the answers that a sample''s results were made of stand in the journal of its evaluation.';
COMMENT ON COLUMN answer_places.place IS 'Byte at which the line begins.';
COMMENT ON COLUMN spending.prompt_price IS 'US dollars for a million tokens, as counted then.';
COMMENT ON TABLE thresholds IS 'What a metric is to reach, or not to exceed where lower is better.';
