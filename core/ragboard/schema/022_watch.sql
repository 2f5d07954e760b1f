-- Positions of a run that grows are never used again, also after its newest samples were deleted.
ALTER TABLE runs ADD COLUMN IF NOT EXISTS next_position INTEGER;
COMMENT ON COLUMN runs.next_position IS 'Position of the next sample that is appended; null: the run has not grown.';

-- As before, also for the samples from a position on alone: a run that grows has its newest samples looked at.
CREATE OR REPLACE MACRO sample_clusters(ids, first_position := 0) AS TABLE
WITH asked AS MATERIALIZED (
    SELECT run_id, position, question, coalesce(reference, '') AS reference, history, metadata
    FROM samples
    WHERE position >= first_position AND run_id IN (
        SELECT run_id FROM samples WHERE list_contains(ids, run_id) AND position >= first_position GROUP BY run_id
        HAVING count(DISTINCT hash(question)) < count(*) OR bool_or(history::VARCHAR <> '[]')
            OR bool_or(list_has_any(json_keys(metadata), conversation_columns()))
    )
),
-- the first of the columns that some samples share, and not all of them
named AS MATERIALIZED (
    SELECT run_id, position, list_position(conversation_columns(), key) AS place, trim(metadata ->> key) AS name
    FROM (SELECT run_id, position, metadata,
                 unnest(list_intersect(json_keys(metadata), conversation_columns())) AS key FROM asked)
    WHERE json_type(metadata -> key) IN ('VARCHAR', 'BIGINT', 'UBIGINT', 'HUGEINT', 'DOUBLE')
        AND trim(metadata ->> key) <> ''
),
telling AS (
    SELECT run_id, min(place) AS place
    FROM (SELECT run_id, place FROM named GROUP BY ALL HAVING count(DISTINCT name) BETWEEN 2 AND count(*) - 1)
    GROUP BY run_id
),
told AS MATERIALIZED (SELECT run_id, position, name FROM named JOIN telling USING (run_id, place)),
-- of the others the user's turns up to the question; a line of turns goes by a digest
others AS MATERIALIZED (
    SELECT run_id, position, asks, turns, md5(list_aggregate(turns, 'string_agg', ' ')) AS line
    FROM (SELECT run_id, position, md5(concat_ws(chr(0), question, history::VARCHAR, reference)) AS asks,
                 CASE WHEN history::VARCHAR = '[]' THEN [md5(question)]
                      ELSE list_append([md5(turn.text) FOR turn
                                        IN from_json(history, '[{"role":"VARCHAR","text":"VARCHAR"}]')
                                        IF turn.role = 'user'], md5(question)) END AS turns
          FROM asked ANTI JOIN told USING (run_id, position))
),
-- a conversation whose earlier questions are samples too; where two go on from the same turns, they part there
lines AS MATERIALIZED (SELECT run_id, line, any_value(turns) AS turns FROM others GROUP BY run_id, line),
starts AS MATERIALIZED (
    SELECT l.run_id, l.line, l.turns, l.size, l.start
    FROM (SELECT run_id, line, len(turns) AS turns, unnest(range(1, len(turns) + 1)) AS size,
                 unnest([md5(list_aggregate(turns[:size], 'string_agg', ' ')) FOR size IN range(1, len(turns) + 1)]) AS start
          FROM lines WHERE len(turns) > 1) l
    SEMI JOIN lines s ON s.run_id = l.run_id AND s.line = l.start
),
forks AS (
    SELECT run_id, parent AS start
    FROM (SELECT run_id, line, max_by(start, size) AS parent FROM starts WHERE size < turns GROUP BY ALL)
    GROUP BY ALL HAVING count(*) > 1
),
forked AS (
    SELECT run_id, line, max(size) AS size FROM starts SEMI JOIN forks USING (run_id, start) WHERE size < turns GROUP BY ALL
),
roots AS MATERIALIZED (
    SELECT s.run_id, s.line, min_by(s.start, s.size) AS root
    FROM starts s LEFT JOIN forked f USING (run_id, line) WHERE s.size > coalesce(f.size, 0) GROUP BY ALL
),
chained AS (
    SELECT run_id, line, root FROM roots WHERE root <> line
    UNION
    SELECT run_id, root, root FROM roots WHERE root <> line
),
keyed AS MATERIALIZED (
    SELECT run_id, position, 'conversation' AS kind, name, name AS key FROM told
    UNION ALL
    SELECT run_id, position, CASE WHEN root IS NULL THEN 'question' ELSE 'conversation' END, NULL,
           coalesce(root, asks)
    FROM others LEFT JOIN chained USING (run_id, line)
),
groups AS (
    SELECT run_id, kind, key, kind || ':' || coalesce(any_value(name), '#' || min(position)) AS cluster,
           count(*) AS size
    FROM keyed GROUP BY run_id, kind, key
)
SELECT run_id, position, cluster
FROM keyed JOIN groups USING (run_id, kind, key)
JOIN (SELECT run_id, count(*) AS samples FROM asked GROUP BY run_id) USING (run_id)
WHERE size BETWEEN 2 AND samples - 1;

-- What `ragboard watch` may still spend on a day: the cost of an evaluation so far, less that at the start of the day.
CREATE TABLE IF NOT EXISTS watch_days (
    day DATE NOT NULL,
    evaluation_id VARCHAR NOT NULL,
    cost_before DOUBLE NOT NULL,
    PRIMARY KEY (day, evaluation_id)
);
COMMENT ON TABLE watch_days IS 'The cost of each evaluation by ragboard watch at the start of a day.';
COMMENT ON COLUMN watch_days.day IS 'UTC.';
COMMENT ON COLUMN watch_days.cost_before IS 'US dollars.';

-- The state of each series that the last message was about.
CREATE TABLE IF NOT EXISTS alert_states (
    key VARCHAR PRIMARY KEY,
    state VARCHAR NOT NULL,
    since TIMESTAMP NOT NULL
);
COMMENT ON TABLE alert_states IS 'The state of each series that was last sent by ragboard alert.';
COMMENT ON COLUMN alert_states.since IS 'When it was sent, UTC.';
