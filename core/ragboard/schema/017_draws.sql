-- Independent draws of a judge's replies: what shows how sure it is.
CREATE TABLE IF NOT EXISTS score_draws (
    evaluation_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    metric VARCHAR NOT NULL,
    draw INTEGER NOT NULL,
    value DOUBLE NOT NULL
);
CREATE TABLE IF NOT EXISTS verdict_draws (
    evaluation_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    item VARCHAR NOT NULL,
    draw INTEGER NOT NULL,
    label VARCHAR NOT NULL
);
COMMENT ON TABLE score_draws IS 'Scores by draw, for metrics that were asked several times; draw 0 is the score shown.';
COMMENT ON COLUMN score_draws.draw IS 'From 0.';
COMMENT ON TABLE verdict_draws IS 'What the judge replied in each draw about each thing that it judges.';
COMMENT ON COLUMN verdict_draws.kind IS 'The table that has the reply of draw 0: verdicts, judgements, assignments or sentences.';
COMMENT ON COLUMN verdict_draws.item IS 'What is judged, as a JSON list of the columns that name it there.';
