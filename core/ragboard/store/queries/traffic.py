"""Traffic: scores by the time of their questions, groups of samples, and new unsupported statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragboard.store.queries.query import Connection, Query
from ragboard.store.queries.scores import AnyMoments, moments_by
from ragboard.store.queries.values import category_of

__all__ = [
    "Hours",
    "NewStatement",
    "ScoredRun",
    "group_columns",
    "moments_by_group",
    "moments_by_period",
    "new_unsupported",
    "scored_runs",
    "shown_evaluations",
    "sums_by_hour",
]


class ScoredRun(NamedTuple):
    """A run whose samples have times, a metric, and the evaluation with its scores."""

    dataset: str
    dataset_key: str
    metric: str
    judge: str
    run_id: str
    run: str
    config: str
    evaluation_id: str
    first: datetime
    """The first hour with a sample, UTC."""
    last: datetime
    """The last hour with a sample, UTC."""
    heuristic: bool
    """Whether the judge is rule-based."""


class Hours(NamedTuple):
    """Sums of scores by hour, as arrays of the same length. The weight of a sample is 1 / its sampling rate.

    `total`, `squares` and `cubes` are weighted sums of the scores, their squares and their cubes.
    """

    hour: NDArray[np.int64]
    """Hours since 1970, UTC."""
    n: NDArray[np.int64]
    unscored: NDArray[np.int64]
    weight: NDArray[np.float64]
    square_weight: NDArray[np.float64]
    total: NDArray[np.float64]
    squares: NDArray[np.float64]
    cubes: NDArray[np.float64]


class NewStatement(NamedTuple):
    """A statement that is unsupported in a period and was not before."""

    statement: str
    verdict: str
    times: int
    """Number of answers in the period with the statement."""
    run: str
    evaluation_id: str
    sample_id: str
    question: str
    number: int
    """Its number among the statements of the answer, from 1."""
    time: datetime


def scored_runs(connection: Connection) -> list[ScoredRun]:
    """Return the runs with scores over time, for each metric and judge, oldest run first.

    If a judge evaluated a run several times, returns the evaluation of the most samples, then the newest.
    """
    rows = connection.execute(
        "SELECT r.dataset, r.dataset_key, h.metric, e.judge, r.run_id, r.name, r.config, h.evaluation_id, h.first,"
        " h.last, e.heuristic FROM (SELECT evaluation_id, metric, min(hour) AS first, max(hour) AS last,"
        " sum(n + unscored) AS size FROM score_hours GROUP BY ALL) h JOIN evaluations e USING (evaluation_id)"
        " JOIN runs r USING (run_id)"
        " QUALIFY row_number() OVER (PARTITION BY r.run_id, h.metric, e.judge"
        " ORDER BY h.size DESC, e.finished DESC, e.evaluation_id) = 1"
        " ORDER BY h.first, r.imported, r.name, h.metric"
    ).fetchall()
    return [ScoredRun(*row) for row in rows]


def shown_evaluations(connection: Connection, run_ids: Sequence[str]) -> dict[str, str]:
    """Return {run: evaluation that pages show}, without runs that have none."""
    rows = connection.execute(
        "SELECT run_id, evaluation_id FROM shown_evaluations WHERE run_id IN (SELECT unnest(?))", [list(run_ids)]
    ).fetchall()
    return dict(rows)


def sums_by_hour(connection: Connection, runs: Sequence[ScoredRun]) -> dict[tuple[str, str, str], Hours]:
    """Return {(dataset, metric, judge): sums by hour over these runs}."""
    keys = {"evaluations": [run.evaluation_id for run in runs], "metrics": [run.metric for run in runs]}
    names = list(dict.fromkeys((run.dataset, run.metric, run.judge) for run in runs))
    numbers = {name: number for number, name in enumerate(names)}
    series = [numbers[run.dataset, run.metric, run.judge] for run in runs]
    got = connection.execute(
        "SELECT k.series, epoch(hour)::BIGINT // 3600 AS hour, sum(n)::BIGINT AS n, sum(unscored)::BIGINT AS unscored,"
        " sum(weight) AS weight, sum(square_weight) AS square_weight, sum(total) AS total, sum(squares) AS squares,"
        " sum(cubes) AS cubes FROM (SELECT unnest($evaluations) AS evaluation_id, unnest($metrics) AS metric,"
        " unnest($series::INTEGER[]) AS series) k JOIN score_hours USING (evaluation_id, metric)"
        " GROUP BY 1, 2 ORDER BY 1, 2",
        {**keys, "series": series},
    ).fetchnumpy()
    arrays = [np.asarray(got[name]) for name in Hours._fields]
    number = np.asarray(got["series"])
    return {name: Hours(*(array[number == at] for array in arrays)) for at, name in enumerate(names)}


def _scores_of(runs: Sequence[ScoredRun]) -> tuple[str, dict[str, Any]]:
    """Return SQL, with parameters, for the scores of these runs, which all have the same metric."""
    given: dict[str, Any] = {
        "evaluations": [run.evaluation_id for run in runs],
        "runs": [run.run_id for run in runs],
        "metric": runs[0].metric,
    }
    sql = (
        "(SELECT s.run_id, s.position, c.value, s.time, s.metadata, s.history FROM scores c"
        " JOIN (SELECT unnest($evaluations) AS evaluation_id, unnest($runs) AS run_id) e USING (evaluation_id)"
        " JOIN samples s USING (run_id, position) WHERE c.metric = $metric AND s.time >= $start)"
    )
    return sql, given


def moments_by_period(
    connection: Connection, runs: Sequence[ScoredRun], start: datetime, middle: datetime
) -> dict[bool, AnyMoments]:
    """Return the moments of the scores by period: False is from `start` to `middle`, True is since `middle`."""
    scores, given = _scores_of(runs)
    sql = f"SELECT s.time >= $middle AS key, s.run_id, s.position, s.value FROM {scores} s"
    return moments_by(connection, Query(sql=sql, given={**given, "start": start, "middle": middle}), "key")


def moments_by_group(
    connection: Connection, runs: Sequence[ScoredRun], column: str, start: datetime, middle: datetime
) -> dict[tuple[str, bool], AnyMoments]:
    """Return the moments of the scores by value of a metadata column and by period (True is since `middle`)."""
    category, (scores, given) = category_of(column), _scores_of(runs)
    sql = (
        f"SELECT CASE WHEN s.time >= $middle THEN 't' ELSE 'f' END || {category.sql} AS key, s.run_id, s.position,"
        f" s.value FROM {scores} s WHERE {category.sql} IS NOT NULL"
    )
    query = Query(sql=sql, given={**given, **category.given, "start": start, "middle": middle})
    return {(key[1:], key[0] == "t"): found for key, found in moments_by(connection, query, "key").items()}


def group_columns(
    connection: Connection, runs: Sequence[ScoredRun], start: datetime, most: int
) -> tuple[tuple[str, int], ...]:
    """Return (metadata column, number of different values) for columns with 2 to `most` values since `start`."""
    rows = connection.execute(
        "WITH recent AS (SELECT metadata FROM samples WHERE run_id IN (SELECT unnest($runs)) AND time >= $start"
        " ORDER BY time DESC LIMIT 5000), cells AS (SELECT unnest(json_keys(metadata)) AS key, metadata FROM recent),"
        " found AS (SELECT key, json_extract_string(metadata, '/' || replace(replace(key, '~', '~0'), '/', '~1')) AS v"
        " FROM cells)"
        " SELECT key, count(DISTINCT v) AS values FROM found WHERE v IS NOT NULL GROUP BY key"
        " HAVING values BETWEEN 2 AND $most ORDER BY key",
        {"runs": [run.run_id for run in runs], "start": start, "most": most},
    ).fetchall()
    return tuple((key, values) for key, values in rows)


def new_unsupported(
    connection: Connection, evaluations: Mapping[str, str], middle: datetime, before: datetime, limit: int
) -> tuple[list[NewStatement], int, int]:
    """Return the new unsupported statements, their number, and the number of all unsupported statements since `middle`.

    A statement is new if it is unsupported in an answer since `middle`, but in none from `before` to `middle`. Texts
    that differ only in case, white space and punctuation are the same statement. `evaluations` is {run: evaluation}.
    Returns at most `limit` statements, most frequent first.
    """
    rows = connection.execute(
        "WITH found AS MATERIALIZED (SELECT t.evaluation_id, s.run_id, s.position, t.statement, t.text, v.verdict,"
        " s.sample_id, s.question, s.time,"
        " hash(trim(regexp_replace(lower(t.text), '[^\\p{L}\\p{N}]+', ' ', 'g'))) AS key"
        " FROM (SELECT unnest($evaluations) AS evaluation_id, unnest($runs) AS run_id) e"
        " JOIN samples s USING (run_id)"
        " JOIN statements t ON t.evaluation_id = e.evaluation_id AND t.position = s.position AND t.side = 'response'"
        " JOIN answer_verdicts v ON v.evaluation_id = t.evaluation_id AND v.position = t.position"
        " AND v.statement = t.statement"
        " WHERE s.time >= $before AND v.verdict IN ('unsupported', 'contradicted')),"
        " recent AS (SELECT key, count(DISTINCT (run_id, position)) AS times,"
        " bool_or(verdict = 'contradicted') AS worse,"
        " arg_max((evaluation_id, run_id, position, statement), time) AS at FROM found WHERE time >= $middle"
        " GROUP BY key),"
        " new AS (SELECT * FROM recent ANTI JOIN (SELECT key FROM found WHERE time < $middle) USING (key)),"
        " counts AS (SELECT (SELECT count(*) FROM new) AS new, (SELECT count(*) FROM recent) AS every)"
        " SELECT counts.new, counts.every, f.text, f.verdict, n.times, r.name, f.evaluation_id, f.sample_id,"
        " f.question, f.statement + 1, f.time"
        " FROM counts LEFT JOIN (FROM new ORDER BY times DESC, worse DESC, key LIMIT $limit) n ON true"
        " LEFT JOIN found f ON (f.evaluation_id, f.run_id, f.position, f.statement) = n.at"
        " LEFT JOIN runs r ON r.run_id = f.run_id ORDER BY n.times DESC, n.worse DESC, f.time DESC",
        {
            "evaluations": list(evaluations.values()),
            "runs": list(evaluations),
            "middle": middle,
            "before": before,
            "limit": limit,
        },
    ).fetchall()
    new, every = rows[0][:2] if rows else (0, 0)
    return [NewStatement(*row[2:]) for row in rows if row[2] is not None], new, every
