-- Most of a store is the texts of passages. With ZSTD, writing them takes a quarter of the CPU time of the compression
-- that DuckDB chooses itself, they need less space, and reading them takes as long.
CREATE TABLE compressed_passages (
    run_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    passage_id VARCHAR NOT NULL,
    text VARCHAR NOT NULL USING COMPRESSION zstd,
    score DOUBLE
);
INSERT INTO compressed_passages BY NAME SELECT * FROM passages;
DROP TABLE passages;
ALTER TABLE compressed_passages RENAME TO passages;
COMMENT ON TABLE passages IS 'What was retrieved for a sample.';
COMMENT ON COLUMN passages.rank IS 'From 1, the best first.';
COMMENT ON COLUMN passages.score IS 'The retriever''s own.';
