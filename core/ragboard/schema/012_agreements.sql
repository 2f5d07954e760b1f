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

COMMENT ON TABLE agreements IS 'Contenders that were held against what people said, with the judge that was asked.';
COMMENT ON COLUMN agreements.form IS 'What people said: pairs, answers or statements.';
COMMENT ON COLUMN agreements.contenders IS 'A JSON list: name, kind, metric by dimension, whether lower is better.';
COMMENT ON TABLE agreement_items IS 'What people judged in an agreement, and what they said of it.';
COMMENT ON COLUMN agreement_items.said IS 'A JSON object: by dimension what each annotator said; of pairs above 0 B is better.';
COMMENT ON COLUMN agreement_items.sides IS 'A JSON list: the answer, or the candidates A and B, each a sample.';
COMMENT ON TABLE agreement_scores IS 'What each contender made of an item in a dimension, side by side.';
COMMENT ON COLUMN agreement_scores.side IS '0; of a pair 0 is A and 1 is B.';
