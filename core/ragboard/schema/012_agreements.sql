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
