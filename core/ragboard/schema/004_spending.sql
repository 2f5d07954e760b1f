-- What an evaluation's calls took, a row for each model, as its journal says.
CREATE TABLE spending (
    evaluation_id VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    embedding BOOLEAN NOT NULL,
    calls BIGINT NOT NULL,
    uncounted BIGINT NOT NULL,         -- calls whose tokens the server did not say
    prompt_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,     -- those of the prompt tokens that the server had kept
    completion_tokens BIGINT NOT NULL,
    cost DOUBLE,                       -- US dollars; null where it is not known
    planned_calls BIGINT,              -- null where nothing was planned
    planned_tokens BIGINT
);
