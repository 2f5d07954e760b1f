-- What each sentence of an answer cites, and whether the cited passages support its statements.
CREATE TABLE IF NOT EXISTS citations (
    evaluation_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    sentence INTEGER NOT NULL,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    mark_start INTEGER,
    mark_end INTEGER,
    name VARCHAR NOT NULL,
    rank INTEGER,
    support VARCHAR
);
CREATE TABLE IF NOT EXISTS cited_statements (
    evaluation_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    statement INTEGER NOT NULL,
    sentence INTEGER NOT NULL,
    supported BOOLEAN
);
COMMENT ON TABLE citations IS 'Citations of answers: one row for each passage that a sentence cites.';
COMMENT ON COLUMN citations.sentence IS 'Number of the sentence in the answer, from 0.';
COMMENT ON COLUMN citations.start IS 'Where the sentence is in the answer, in characters, to stop.';
COMMENT ON COLUMN citations.mark_start IS 'Where the mark is in the answer; null: the citation is from a column of the file.';
COMMENT ON COLUMN citations.name IS 'The number or id as the answer writes it.';
COMMENT ON COLUMN citations.rank IS 'The cited passage; null: no retrieved passage has this number or id.';
COMMENT ON COLUMN citations.support IS 'full, partial or none; null: the sentence has no statement.';
COMMENT ON TABLE cited_statements IS 'Statements of answers with the sentence that each is in.';
COMMENT ON COLUMN cited_statements.supported IS 'Whether the passages that the sentence cites support it together; null: it cites none.';
