"""Scores of a run's samples, and their moments (n, mean, deviation), from which confidence intervals are computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragboard.records import Outcome, Score, Unscored
from ragboard.stats import ClusterMoments, Moments, cluster_moments
from ragboard.stats.intervals import COMPARED_DECIMALS, LARGE_SAMPLE
from ragboard.store.queries.query import Connection, Query
from ragboard.store.queries.rollups import Rollup, Row, select
from ragboard.store.run_refs import RunRef

__all__ = [
    "METRIC_MOMENTS",
    "METRIC_NAMES",
    "UNSCORED_COUNTS",
    "AnyMoments",
    "FailedScore",
    "Positions",
    "Scored",
    "doubly_scored",
    "failed_scores",
    "failing_evaluations",
    "has_scores",
    "means_query",
    "metric_moments",
    "metric_names",
    "metric_scores",
    "moments_by",
    "moments_of",
    "moments_query",
    "outcomes_of_metric",
    "own_scores",
    "read_positions",
    "read_scored",
    "sample_outcomes",
    "scores_except",
    "shown_scores",
    "unscored_by_metric",
    "unscored_positions",
    "value_counts",
    "values_of_source",
]

AnyMoments: TypeAlias = Moments | ClusterMoments
Positions: TypeAlias = NDArray[np.int64]
"""Positions of samples in their run."""
Values: TypeAlias = NDArray[np.float64]


class Scored(NamedTuple):
    """Values of samples by position; NaN for an unscored sample."""

    positions: Positions
    values: Values

    def at(self, positions: Positions) -> tuple[Values, NDArray[np.bool_]]:
        """Return the values at these positions (NaN without one), and a mask of the positions that are in `self`."""
        size = 1 + max(int(self.positions.max(initial=0)), int(positions.max(initial=0)))
        values, known = np.full(size, np.nan), np.zeros(size, dtype=np.bool_)
        values[self.positions], known[self.positions] = self.values, True
        return values[positions], known[positions]


class FailedScore(NamedTuple):
    """A score that is missing because a judge's reply or call failed."""

    detail: str
    metric: str
    position: int
    sample_id: str


_OF_FILE = "evaluation_id IN (SELECT evaluation_id FROM evaluations WHERE run_id = $run AND imported)"


def own_scores(run: RunRef) -> Query:
    """Return an SQL condition on the table `scores` for the scores of the evaluations of `run`.

    Scores in the run file are not selected, unless `run` refers to them.
    """
    if not run.other_evaluations:
        return Query(sql="evaluation_id = $evaluation", given={"evaluation": run.evaluation_id})
    return Query(
        sql="(evaluation_id = $evaluation AND NOT list_contains($moved, metric)"
        " OR evaluation_id IN (SELECT unnest($others)) AND list_contains($chosen, evaluation_id || ' ' || metric))",
        given={
            "evaluation": run.evaluation_id,
            "moved": [metric for metric, _ in run.other_evaluations],
            "others": [evaluation for _, evaluation in run.other_evaluations],
            "chosen": [f"{evaluation} {metric}" for metric, evaluation in run.other_evaluations],
        },
    )


def shown_scores(run: RunRef) -> Query:
    """Return an SQL condition on the table `scores` for the scores of `own_scores` and the scores in the run file."""
    if not run.other_evaluations:  # DuckDB skips the rows of other evaluations, as it does not with OR
        sql = (
            "evaluation_id IN (SELECT $evaluation"
            " UNION ALL SELECT evaluation_id FROM evaluations WHERE run_id = $run AND imported)"
        )
        return Query(sql=sql, given={"evaluation": run.evaluation_id, "run": run.run_id})
    own = own_scores(run)
    return Query(sql=f"({own.sql} OR {_OF_FILE})", given={**own.given, "run": run.run_id})


def _outcome(value: float | None, counted: str | None, reason: Any, detail: str | None) -> Outcome:
    if value is None:
        return Unscored(reason=reason, detail=detail or "")
    return Score(value=value, counted=counted or "")


def sample_outcomes(
    connection: Connection, run: RunRef, positions: Sequence[int]
) -> tuple[dict[int, dict[str, Outcome]], dict[int, dict[str, Outcome]]]:
    """Return {position: {metric: outcome}} of the evaluations of `run`, and the same of its run file.

    If `run` refers to the scores in the run file, they are only in the first.
    """
    own, shown = own_scores(run), shown_scores(run)
    rows = connection.execute(
        f"SELECT {own.sql}, position, metric, value, counted, reason, detail FROM scores WHERE {shown.sql}"
        " AND position IN (SELECT unnest($positions))",
        {**own.given, **shown.given, "positions": list(positions)},
    ).fetchall()
    scores: dict[int, dict[str, Outcome]] = {}
    file_scores: dict[int, dict[str, Outcome]] = {}
    for is_own, position, metric, *outcome in rows:
        (scores if is_own else file_scores).setdefault(position, {})[metric] = _outcome(*outcome)
    return scores, file_scores


def value_counts(connection: Connection, run: RunRef, metric: str) -> dict[str, dict[float, int]]:
    """Return {full name of the metric: {value: number of samples}}. The full name includes the settings."""
    selected = own_scores(run)
    rows = connection.execute(
        f"SELECT metric, value, count(*) FROM scores WHERE {selected.sql} AND value IS NOT NULL"
        " AND (metric = $named OR starts_with(metric, $named || '(')) GROUP BY ALL ORDER BY ALL",
        {**selected.given, "named": metric},
    ).fetchall()
    found: dict[str, dict[float, int]] = {}
    for spec, value, count in rows:
        found.setdefault(spec, {})[value] = count
    return found


def outcomes_of_metric(
    connection: Connection, run: RunRef, metric: str, positions: Sequence[int]
) -> dict[int, Outcome]:
    """Return the outcomes of one metric at these positions."""
    shown = shown_scores(run)
    rows = connection.execute(
        f"SELECT position, value, counted, reason, detail FROM scores WHERE {shown.sql} AND metric = $metric"
        " AND position IN (SELECT unnest($positions))",
        {**shown.given, "metric": metric, "positions": list(positions)},
    ).fetchall()
    return {position: _outcome(*outcome) for position, *outcome in rows}


def metric_names(connection: Connection, run: RunRef) -> frozenset[str]:
    """Return the metrics that a run was evaluated with, even if no sample has a score."""
    of_file = connection.execute(
        "SELECT evaluation_id FROM evaluations WHERE run_id = ? AND imported", [run.run_id]
    ).fetchall()
    rows = METRIC_NAMES.rows(connection, [*run.evaluations, *(row[0] for row in of_file)])
    metrics = {evaluation: {metric for (metric,) in found} for evaluation, found in rows.items()}
    main = metrics.get(run.evaluation_id or "", set[str]())
    moved = {metric for metric, _ in run.other_evaluations}
    others = {metric for metric, evaluation in run.other_evaluations if metric in metrics[evaluation]}
    return frozenset((main - moved) | others).union(*(metrics[row[0]] for row in of_file))


def has_scores(connection: Connection, run: RunRef, metric: str) -> bool:
    """Return whether a run was evaluated with a metric, even if no sample has a score."""
    shown = shown_scores(run)
    sql = f"SELECT 1 FROM scores WHERE {shown.sql} AND metric = $metric LIMIT 1"
    return connection.execute(sql, {**shown.given, "metric": metric}).fetchone() is not None


def metric_scores(connection: Connection, run: RunRef, metric: str) -> Scored:
    """Return the scores of one metric.

    To read several metrics one by one is as fast as to read them together, and needs much less memory.
    """
    shown = shown_scores(replace(run, evaluation_id=run.evaluation_of(metric), other_evaluations=()))
    return read_scored(
        connection.execute(
            "SELECT position, coalesce(value, 'nan'::DOUBLE) AS value FROM scores"
            f" WHERE {shown.sql} AND metric = $metric",
            {**shown.given, "metric": metric},
        )
    )


def scores_except(connection: Connection, evaluation_id: str, metric: str, without: Iterable[int]) -> Scored:
    """Return the scores of a metric, except at the positions `without`."""
    return read_scored(
        connection.execute(
            "SELECT position, coalesce(value, 'nan'::DOUBLE) AS value FROM scores WHERE evaluation_id = ?"
            " AND metric = ? AND position NOT IN (SELECT unnest(?::INTEGER[]))",
            [evaluation_id, metric, list(without)],
        )
    )


def doubly_scored(connection: Connection, first: str, second: str, metric: str) -> tuple[Positions, Values, Values]:
    """Return the positions that two evaluations both scored with a metric, and the values of each evaluation."""
    got = connection.execute(
        "SELECT a.value AS first, b.value AS second, position FROM scores a JOIN scores b USING (position, metric)"
        " WHERE a.evaluation_id = $first AND b.evaluation_id = $second AND metric = $metric"
        " AND a.value IS NOT NULL AND b.value IS NOT NULL",
        {"first": first, "second": second, "metric": metric},
    ).fetchnumpy()
    values = [np.asarray(got[side], dtype=np.float64) for side in ("first", "second")]
    return np.asarray(got["position"], dtype=np.int64), values[0], values[1]


def read_scored(found: Connection) -> Scored:
    """Return the result of a query with the columns `position` and `value`."""
    got = found.fetchnumpy()
    return Scored(np.asarray(got["position"], dtype=np.int64), np.asarray(got["value"], dtype=np.float64))


def read_positions(found: Connection) -> Positions:
    """Return the column `position` of the result of a query."""
    return np.asarray(found.fetchnumpy()["position"], dtype=np.int64)


def unscored_positions(connection: Connection, run: RunRef) -> tuple[tuple[str, str, Positions], ...]:
    """Return (metric, reason, positions of the unscored samples), ordered by metric and first position."""
    shown = shown_scores(run)
    found = connection.execute(
        f"SELECT metric, reason, list(position) AS positions FROM scores WHERE {shown.sql} AND value IS NULL"
        " GROUP BY metric, reason ORDER BY metric, min(position)",
        dict(shown.given),
    ).fetchnumpy()
    return tuple(
        (metric, reason, np.asarray(positions, dtype=np.int64))
        for metric, reason, positions in zip(found["metric"], found["reason"], found["positions"], strict=True)
    )


def unscored_by_metric(connection: Connection, evaluations: Sequence[str]) -> dict[tuple[str, str], dict[str, int]]:
    """Return {(evaluation, metric): {reason: number of unscored samples}}."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for evaluation, rows in UNSCORED_COUNTS.rows(connection, evaluations).items():
        for metric, reason, count in rows:
            found.setdefault((evaluation, metric), {})[reason] = count
    return found


def failed_scores(connection: Connection, run: RunRef) -> tuple[FailedScore, ...]:
    """Return every failed score of a run, in the order of its samples."""
    own = own_scores(run)
    rows = connection.execute(
        f"SELECT c.detail, c.metric, s.position, s.sample_id FROM (FROM scores WHERE {own.sql} AND reason = 'failed') c"
        " JOIN samples s ON s.run_id = $run AND s.position = c.position ORDER BY s.position, c.metric",
        {**own.given, "run": run.run_id},
    ).fetchall()
    return tuple(FailedScore(*row) for row in rows)


def failing_evaluations(connection: Connection, run: RunRef) -> frozenset[str]:
    """Return the evaluations of a run that have failed scores."""
    own = own_scores(run)
    rows = connection.execute(
        f"SELECT DISTINCT evaluation_id FROM scores WHERE {own.sql} AND reason = 'failed'", dict(own.given)
    ).fetchall()
    return frozenset(row[0] for row in rows)


def values_of_source(connection: Connection, evaluation_id: str | None, source: str) -> dict[int, dict[str, float]]:
    """Return {position: {metric: score}} of an evaluation, for the metrics of a source such as `ragas`."""
    rows = connection.execute(
        "SELECT position, metric, value FROM scores WHERE evaluation_id = ? AND value IS NOT NULL"
        " AND starts_with(metric, ?)",
        [evaluation_id, f"{source}."],
    ).fetchall()
    found: dict[int, dict[str, float]] = {}
    for position, metric, value in rows:
        found.setdefault(position, {})[metric] = value
    return found


def means_query(evaluations: Sequence[str], fills: Mapping[str, float] | None = None) -> Query:
    """Return the query for the moments of each metric in each of these evaluations.

    A row is (n, mean, deviation, varying, counts, sums, evaluation_id, metric). `varying` is the number of values that
    differ from the most frequent value, `counts` and `sums` have the size and sum of each cluster. Unscored samples do
    not count. With `fills` ({metric: value}), only these metrics are read, and unscored samples count with this value.
    """
    given: dict[str, Any] = {"evaluations": list(evaluations)}
    value, fill = "value", ""
    if fills:
        given |= {"specs": list(fills), "fills": list(fills.values())}
        value = "coalesce(value, fill) AS value"
        fill = "\n  JOIN (SELECT unnest($specs) AS metric, unnest($fills) AS fill) USING (metric)"
    sql = (
        f"\n  SELECT evaluation_id, metric, run_id, position, {value}\n  FROM scores JOIN evaluations"
        f" USING (evaluation_id){fill}\n  WHERE evaluation_id IN (SELECT unnest($evaluations))\n"
    )
    return moments_query(Query(sql=sql, given=given), ("evaluation_id", "metric"))


def metric_moments(
    connection: Connection, evaluations: Sequence[str], fills: Mapping[str, float] | None = None
) -> dict[tuple[str, str], AnyMoments]:
    """Return the moments of metrics, by evaluation and metric."""
    if fills:
        rows = means_query(evaluations, fills).on(connection).fetchall()
        return {(row[6], row[7]): moments_of(*row[:6]) for row in rows}
    return {
        (evaluation, metric): moments_of(*moments)
        for evaluation, found in METRIC_MOMENTS.rows(connection, evaluations).items()
        for *moments, metric in found
    }


def moments_by(connection: Connection, values: Query, key: str) -> dict[Any, AnyMoments]:
    """Return the moments of values, by key. `values` is a query with the columns key, run_id, position and value.

    Keys without values are left out. For few or clustered values, the moments have the sum of each cluster; otherwise,
    only mean and deviation.
    """
    return {row[6]: moments_of(*row[:6]) for row in moments_query(values, (key,)).on(connection).fetchall()}


def moments_query(values: Query, keys: Sequence[str]) -> Query:
    """Return the query for the moments of values, by `keys`, as in `means_query`.

    `values` has these columns, and the columns run_id, position and value. The result has the arguments of
    `moments_of`, followed by the keys.
    """
    by = ", ".join(keys)
    sql = f"""\
WITH v AS MATERIALIZED (
  SELECT {by}, position, value, cluster
  FROM ({values.sql})
  LEFT JOIN (SELECT run_id, position, cluster FROM samples WHERE cluster IS NOT NULL) USING (run_id, position)
  WHERE value IS NOT NULL
), sizes AS (
  SELECT {by}, count(*) AS n, avg(value) AS mean, stddev_samp(value) AS deviation, count(cluster) AS shared
  FROM v GROUP BY {by}
), common AS (
  SELECT {by}, max(times) AS times
  FROM (SELECT {by}, count(*) AS times FROM v GROUP BY {by}, round(value, {COMPARED_DECIMALS})) GROUP BY {by}
), units AS (
  SELECT {by}, count(*) AS size, sum(value) AS total
  FROM v SEMI JOIN (SELECT {by} FROM sizes WHERE n <= {LARGE_SAMPLE} OR shared > 0) USING ({by})
  GROUP BY {by}, coalesce(cluster, position::VARCHAR)
), lists AS (
  SELECT {by}, list(size) AS counts, list(total) AS sums FROM units GROUP BY {by}
)
SELECT n, mean, deviation, n - times AS varying, counts, sums, {by}
FROM sizes JOIN common USING ({by}) LEFT JOIN lists USING ({by})"""
    return Query(sql=sql, given=values.given)


def moments_of(
    n: int,
    mean: float,
    deviation: float | None,
    varying: int,
    counts: Sequence[int] | None,
    sums: Sequence[float] | None,
) -> AnyMoments:
    """Return the moments in a row of `moments_query`."""
    if counts is not None and sums is not None:
        return cluster_moments(counts, sums)
    return Moments(n=n, mean=mean, deviation=deviation or 0.0, untied=varying)


def _moment_rows(connection: Connection, evaluations: Sequence[str]) -> Sequence[Row]:
    rows = means_query(evaluations).on(connection).fetchall()
    return [(evaluation, *moments, metric) for *moments, evaluation, metric in rows]


METRIC_MOMENTS = Rollup(name="metric moments 1", owner="evaluation", query=_moment_rows)
UNSCORED_COUNTS = Rollup(
    name="unscored 1",
    owner="evaluation",
    query=select(
        "SELECT evaluation_id, metric, reason, count(*) FROM scores WHERE reason IS NOT NULL"
        " AND evaluation_id IN (SELECT unnest($owners)) GROUP BY ALL"
    ),
)
METRIC_NAMES = Rollup(
    name="metric names 1",
    owner="evaluation",
    query=select("SELECT DISTINCT evaluation_id, metric FROM scores WHERE evaluation_id IN (SELECT unnest($owners))"),
)
