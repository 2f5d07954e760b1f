-- Runs and their samples; evaluations and what they found. Samples are known by their place in the run.
CREATE TABLE runs (
    run_id VARCHAR PRIMARY KEY,
    name VARCHAR NOT NULL UNIQUE,
    config JSON NOT NULL,
    dataset VARCHAR NOT NULL,
    dataset_key VARCHAR NOT NULL,      -- digest of the questions, whatever the dataset is called
    source VARCHAR NOT NULL,
    tags VARCHAR[] NOT NULL,
    samples INTEGER NOT NULL,
    imported TIMESTAMP NOT NULL        -- UTC
);

CREATE TABLE samples (
    run_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    sample_id VARCHAR NOT NULL,
    question VARCHAR NOT NULL,
    answer VARCHAR,
    reference VARCHAR,
    has_contexts BOOLEAN NOT NULL,     -- false: the file had none; true without passages: nothing was retrieved
    reference_contexts JSON,
    history JSON NOT NULL,
    metadata JSON NOT NULL
);

CREATE TABLE passages (
    run_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    passage_id VARCHAR NOT NULL,
    text VARCHAR NOT NULL,
    score DOUBLE
);

CREATE TABLE evaluations (
    evaluation_id VARCHAR PRIMARY KEY,
    run_id VARCHAR NOT NULL,
    judge VARCHAR NOT NULL,
    heuristic BOOLEAN NOT NULL,
    identity JSON NOT NULL,
    metrics VARCHAR[] NOT NULL,
    finished TIMESTAMP NOT NULL        -- UTC
);

CREATE TABLE scores (
    evaluation_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    metric VARCHAR NOT NULL,
    value DOUBLE,                      -- null where unscored, and then there is a reason
    counted VARCHAR,
    reason VARCHAR,
    detail VARCHAR
);

CREATE TABLE sides (
    evaluation_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    side VARCHAR NOT NULL,
    refuses BOOLEAN NOT NULL
);

CREATE TABLE statements (
    evaluation_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    side VARCHAR NOT NULL,
    statement INTEGER NOT NULL,
    text VARCHAR NOT NULL,
    span_start INTEGER,
    span_end INTEGER,
    span_how VARCHAR
);

CREATE TABLE verdicts (
    evaluation_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    side VARCHAR NOT NULL,
    statement INTEGER NOT NULL,
    target VARCHAR NOT NULL,           -- joint, passage:RANK, reference, response
    label VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    score DOUBLE,
    evidence JSON NOT NULL
);

CREATE TABLE questions (
    evaluation_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    number INTEGER NOT NULL,
    question VARCHAR NOT NULL,
    similarity DOUBLE NOT NULL
);

CREATE TABLE sentences (
    evaluation_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    chosen BOOLEAN NOT NULL
);
