-- Scores by the hour in which questions were asked: a year of traffic is read without its samples. Written whenever the
-- results of an evaluation change.
CREATE TABLE IF NOT EXISTS score_hours (
    evaluation_id VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    hour TIMESTAMP NOT NULL,
    n INTEGER NOT NULL,
    unscored INTEGER NOT NULL,
    weight DOUBLE NOT NULL,
    square_weight DOUBLE NOT NULL,
    total DOUBLE NOT NULL,
    squares DOUBLE NOT NULL,
    cubes DOUBLE NOT NULL,
    pruned BOOLEAN NOT NULL DEFAULT false
);
COMMENT ON TABLE score_hours IS 'Sums of scores by the hour in which questions were asked, for trends over time.';
COMMENT ON COLUMN score_hours.hour IS 'Start of the hour, UTC.';
COMMENT ON COLUMN score_hours.n IS 'Number of scored samples.';
COMMENT ON COLUMN score_hours.weight IS 'Sum of weights: the weight of a sample is 1 / sampling rate.';
COMMENT ON COLUMN score_hours.square_weight IS 'Sum of squared weights.';
COMMENT ON COLUMN score_hours.total IS 'Weighted sum of scores.';
COMMENT ON COLUMN score_hours.squares IS 'Weighted sum of squared scores.';
COMMENT ON COLUMN score_hours.cubes IS 'Weighted sum of cubed scores.';
COMMENT ON COLUMN score_hours.pruned IS 'Whether samples of this hour were deleted: the sums stay as they are.';

CREATE OR REPLACE VIEW current_score_hours AS
SELECT c.evaluation_id, c.metric, date_trunc('hour', s.time) AS hour, count(c.value)::INTEGER AS n,
       (count(*) - count(c.value))::INTEGER AS unscored,
       coalesce(sum(weight) FILTER (c.value IS NOT NULL), 0) AS weight,
       coalesce(sum(weight ** 2) FILTER (c.value IS NOT NULL), 0) AS square_weight,
       coalesce(sum(weight * c.value), 0) AS total, coalesce(sum(weight * c.value ** 2), 0) AS squares,
       coalesce(sum(weight * c.value ** 3), 0) AS cubes
FROM (
    SELECT c.evaluation_id, c.metric, c.position, c.value, e.run_id, 1 / coalesce(r.rate, 1) AS weight
    FROM scores c
    JOIN evaluations e USING (evaluation_id)
    ASOF LEFT JOIN sampling_rates r ON r.evaluation_id = c.evaluation_id AND r.first_position <= c.position
) c
JOIN samples s USING (run_id, position)
WHERE s.time IS NOT NULL
GROUP BY ALL;
COMMENT ON VIEW current_score_hours IS 'Sums of scores by hour, computed from the scores that are stored.';

INSERT INTO score_hours
SELECT evaluation_id, metric, hour, n, unscored, weight, square_weight, total, squares, cubes, false
FROM current_score_hours;
