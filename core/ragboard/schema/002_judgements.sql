-- What judges said beside verdicts on statements: useful passages, draws, ratings, entities.
CREATE TABLE judgements (
    evaluation_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    about VARCHAR NOT NULL,            -- what was asked, as `useful toward reference`
    number INTEGER NOT NULL,           -- which passage, draw or name, from 1
    says VARCHAR NOT NULL,             -- yes, no, a number, a name
    value DOUBLE,                      -- where it is a number
    reason VARCHAR NOT NULL
);
