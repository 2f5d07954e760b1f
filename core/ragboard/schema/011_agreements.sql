-- What people said of answers, and what contenders made of the same.
CREATE TABLE agreements (
    agreement_id VARCHAR PRIMARY KEY,
    name VARCHAR NOT NULL,
    form VARCHAR NOT NULL,             -- pairs, answers, statements
    source VARCHAR NOT NULL,
    judge VARCHAR NOT NULL,
    heuristic BOOLEAN NOT NULL,
    seed BIGINT NOT NULL,
    contenders VARCHAR NOT NULL,       -- JSON: name, kind, metric by dimension, whether lower is better
    notes VARCHAR[] NOT NULL,
    made TIMESTAMP NOT NULL            -- UTC
);
CREATE TABLE agreement_items (
    agreement_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    item_id VARCHAR NOT NULL,
    cluster VARCHAR NOT NULL,
    said VARCHAR NOT NULL,             -- JSON: by dimension what each annotator said
    sides VARCHAR NOT NULL             -- JSON: the answer, or the candidates A and B, each a sample
);
CREATE TABLE agreement_scores (
    agreement_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    dimension VARCHAR NOT NULL,
    contender VARCHAR NOT NULL,
    side INTEGER NOT NULL,             -- 0, or 0 and 1 of a pair
    value DOUBLE,                      -- null where there is none, and then the reason
    counted VARCHAR,
    reason VARCHAR,
    detail VARCHAR
);
COMMENT ON TABLE agreements IS 'Files of what people said of answers, held against metrics and baselines.';
COMMENT ON COLUMN agreements.contenders IS 'As a JSON list: name, kind, metric by dimension, whether lower is better.';
COMMENT ON COLUMN agreements.made IS 'UTC.';
COMMENT ON TABLE agreement_items IS 'What people said of one answer or pair, and of what.';
COMMENT ON COLUMN agreement_items.said IS 'By dimension what each annotator said, as JSON.';
COMMENT ON TABLE agreement_scores IS 'What each contender made of one answer or pair.';
COMMENT ON COLUMN agreement_scores.side IS '0, or 0 and 1 of a pair.';
COMMENT ON COLUMN agreement_scores.value IS 'Null where there is none, and then there is a reason.';
