"""The leaderboard and one run's summary."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from ragboard.errors import NotFoundError
from ragboard.metrics.partition import ORIGINS, Origin
from ragboard.records import Label, MetricDescription
from ragboard.report.metrics import described, in_order
from ragboard.report.nouns import JudgedBy, MetricSummary, RunSummary
from ragboard.report.spending import spending_read
from ragboard.stats import Interval, Moments, NoInterval, mean_interval
from ragboard.store import RunRef, Store

__all__ = ["judged_by", "leaderboard", "mean_of", "run_summary"]

Rows = list[tuple[Any, ...]]


def leaderboard(store: Store) -> tuple[RunSummary, ...]:
    """Every run with its newest evaluation of our own, one of all samples before one of a part; newest run first."""
    with store.database.read() as connection:
        rows = connection.execute(_RUNS + " ORDER BY r.imported DESC, r.name").fetchall()
        return _summaries(connection, rows)


def run_summary(store: Store, run: RunRef) -> RunSummary:
    """One run, by the evaluation that the reference means. Raises NotFoundError where it is gone."""
    with store.database.read() as connection:
        rows = connection.execute(
            _RUNS_BY + " WHERE r.run_id = $run", {"run": run.run_id, "evaluation": run.evaluation_id}
        ).fetchall()
        found = _summaries(connection, rows)
    if not found:
        raise NotFoundError(f"run {run.name!r} is no longer in the store")
    return found[0]


_RUN_COLUMNS = (
    "SELECT r.run_id, r.name, r.config, r.dataset, r.dataset_key, r.source, r.tags, r.samples, r.imported,"
    " e.evaluation_id, e.judge, e.heuristic, e.finished, e.covered, r.samples FROM runs r LEFT JOIN "
)
_RUNS = (
    _RUN_COLUMNS + "(SELECT v.* FROM evaluations v JOIN runs USING (run_id) WHERE NOT v.imported QUALIFY row_number()"
    " OVER (PARTITION BY run_id ORDER BY covered >= samples DESC, finished DESC) = 1) e ON e.run_id = r.run_id"
)
_RUNS_BY = _RUN_COLUMNS + "evaluations e ON e.run_id = r.run_id AND e.evaluation_id = $evaluation"


def _summaries(connection: duckdb.DuckDBPyConnection, rows: Rows) -> tuple[RunSummary, ...]:
    evaluations = [row[9] for row in rows if row[9]]
    samples = {row[0]: row[7] for row in rows}
    files = _file_evaluations(connection, list(samples), evaluations)
    totals = {row[9]: row[13] for row in rows} | {files[run]: samples[run] for run in files}
    metrics = _metric_summaries(connection, [*evaluations, *files.values()], totals)
    labels = _labels(connection, evaluations)
    origins = _origins(connection, evaluations)
    spending = spending_read(connection, evaluations)
    refusals = dict(
        connection.execute(
            "SELECT evaluation_id, count(*) FILTER (refuses) FROM sides WHERE side = 'response'"
            " AND evaluation_id IN (SELECT unnest(?)) GROUP BY 1",
            [evaluations],
        ).fetchall()
    )
    return tuple(
        RunSummary(
            run_id=row[0],
            name=row[1],
            config=json.loads(row[2]),
            dataset=row[3],
            dataset_key=row[4],
            source=row[5],
            tags=tuple(row[6]),
            samples=row[7],
            imported=row[8],
            judged=judged_by(row[9:15]),
            metrics=metrics.get(row[9], {}),
            file_scores=metrics.get(files.get(row[0], ""), {}),
            labels=labels.get(row[9], {}),
            origins=origins.get(row[9], {}),
            refusals=refusals.get(row[9]),
            spending=spending.get(row[9]),
        )
        for row in rows
    )


def _file_evaluations(
    connection: duckdb.DuckDBPyConnection, runs: Sequence[str], shown: Sequence[str]
) -> dict[str, str]:
    """For each run whose file brought scores their evaluation, unless that is the one shown."""
    rows = connection.execute(
        "SELECT run_id, evaluation_id FROM evaluations WHERE imported AND run_id IN (SELECT unnest(?))"
        " AND NOT list_contains(?::VARCHAR[], evaluation_id)",
        [runs, shown],
    ).fetchall()
    return dict(rows)


def judged_by(row: tuple[Any, ...]) -> JudgedBy | None:
    """The evaluation of a row of its id, judge, heuristic, time, coverage and the run's samples; None without one."""
    evaluation_id, judge, heuristic, finished, covered, samples = row
    if evaluation_id is None:
        return None
    return JudgedBy(
        evaluation_id=evaluation_id,
        judge=judge,
        heuristic=heuristic,
        finished=finished,
        covered=covered,
        samples=samples,
    )


def _metric_summaries(
    connection: duckdb.DuckDBPyConnection, evaluations: Sequence[str], totals: Mapping[str, int]
) -> dict[str, dict[str, MetricSummary]]:
    moments = connection.execute(
        "WITH s AS (SELECT * FROM scores WHERE evaluation_id IN (SELECT unnest(?))),"
        " common AS (SELECT evaluation_id, metric, max(times) AS times FROM (SELECT evaluation_id, metric,"
        " value, count(*) AS times FROM s WHERE value IS NOT NULL GROUP BY ALL) GROUP BY ALL)"
        " SELECT evaluation_id, metric, count(value), avg(value), coalesce(stddev_samp(value), 0),"
        " count(value) - coalesce(any_value(times), 0)"
        " FROM s LEFT JOIN common USING (evaluation_id, metric) GROUP BY 1, 2 ORDER BY 1, 2",
        [evaluations],
    ).fetchall()
    reasons = connection.execute(
        "SELECT evaluation_id, metric, reason, count(*) FROM scores WHERE reason IS NOT NULL"
        " AND evaluation_id IN (SELECT unnest(?)) GROUP BY ALL",
        [evaluations],
    ).fetchall()
    metrics = described(connection)
    unscored: dict[tuple[str, str], dict[str, int]] = {}
    for evaluation, metric, reason, count in reasons:
        unscored.setdefault((evaluation, metric), {})[reason] = count
    found: dict[str, dict[str, MetricSummary]] = {}
    for evaluation, metric, scored, mean, deviation, varying in moments:
        found.setdefault(evaluation, {})[metric] = MetricSummary(
            metric=metric,
            scored=scored,
            total=totals[evaluation],
            mean=mean,
            interval=mean_of(metrics.get(metric), scored, mean, deviation, varying),
            unscored=unscored.get((evaluation, metric), {}),
        )
    return {
        evaluation: {metric: by_metric[metric] for metric in in_order(by_metric)}
        for evaluation, by_metric in found.items()
    }


def mean_of(
    metric: MetricDescription | None, n: int, mean: float | None, deviation: float, varying: int
) -> Interval | NoInterval:
    """The interval of a column's mean; the range of a metric bounds it where that is finite."""
    if mean is None:
        return NoInterval(reason="no sample has a value", n=0)
    bounds = None if metric is None or metric.low is None or metric.high is None else (metric.low, metric.high)
    return mean_interval(Moments(n=n, mean=mean, deviation=deviation, varying=varying), bounds=bounds)


def _labels(connection: duckdb.DuckDBPyConnection, evaluations: Sequence[str]) -> dict[str, dict[Label, int]]:
    rows = connection.execute(
        "SELECT evaluation_id, label, count(*) FROM verdicts WHERE side = 'response' AND target = 'joint'"
        " AND evaluation_id IN (SELECT unnest(?)) GROUP BY ALL",
        [evaluations],
    ).fetchall()
    found: dict[str, dict[Label, int]] = {}
    for evaluation, label, count in rows:
        found.setdefault(evaluation, {})[label] = count
    return found


def _origins(connection: duckdb.DuckDBPyConnection, evaluations: Sequence[str]) -> dict[str, dict[Origin, int]]:
    """All six counts of each evaluation that has any."""
    rows = connection.execute(
        "SELECT evaluation_id, origin, count(*) FROM statements WHERE origin IS NOT NULL"
        " AND evaluation_id IN (SELECT unnest(?)) GROUP BY ALL",
        [evaluations],
    ).fetchall()
    found: dict[str, dict[Origin, int]] = {}
    for evaluation, origin, count in rows:
        found.setdefault(evaluation, dict.fromkeys(ORIGINS, 0))[origin] = count
    return found
