"""The means of evaluations: each metric's, with its interval, how many were scored, and how the others counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from ragboard.analysis.metrics import described, in_order
from ragboard.analysis.moments import Known, moments_by
from ragboard.analysis.nouns import MetricSummary
from ragboard.analysis.thresholds import Standing, Threshold, thresholds_read
from ragboard.analysis.unscored import UnscoredPolicy, fills, mean_of
from ragboard.records import MetricDescription
from ragboard.stats import GateVerdict, Interval, NoInterval, gate

__all__ = ["metric_summaries"]

Key = tuple[str, str]
"""Evaluation and metric."""

_STANDINGS: dict[GateVerdict, Standing] = {"pass": "met", "fail": "missed", "inconclusive": "undecided"}


def metric_summaries(
    connection: duckdb.DuckDBPyConnection,
    evaluations: Sequence[str],
    totals: Mapping[str, int],
    policy: UnscoredPolicy = "excluded",
) -> dict[str, dict[str, MetricSummary]]:
    """For each evaluation its metrics in order; `totals` has how many samples each covers."""
    metrics = described(connection)
    limits = thresholds_read(connection, metrics)
    scored = _moments(connection, evaluations, {})
    unscored = _unscored(connection, evaluations)
    standing_for = fills({spec: metrics.get(spec) for _, spec in unscored}, policy)
    filled = [
        _moments(connection, evaluations, {spec: fill[end] for spec, fill in standing_for.items()})
        for end in ((0, 1) if standing_for else ())
    ]
    found: dict[str, dict[str, MetricSummary]] = {}
    for evaluation, spec in dict.fromkeys((*scored, *unscored)):
        key = evaluation, spec
        summary = _summary(
            spec,
            metrics.get(spec),
            scored.get(key),
            [one.get(key) for one in filled],
            unscored.get(key, {}),
            totals[evaluation],
            policy,
            limits.get(spec),
        )
        found.setdefault(evaluation, {})[spec] = summary
    return {
        evaluation: {metric: by_metric[metric] for metric in in_order(by_metric)}
        for evaluation, by_metric in found.items()
    }


def _summary(
    spec: str,
    metric: MetricDescription | None,
    scored: Known | None,
    filled: Sequence[Known | None],
    unscored: Mapping[str, int],
    total: int,
    policy: UnscoredPolicy,
    limit: Threshold | None,
) -> MetricSummary:
    mean = mean_of(metric, scored, policy, sum(unscored.values()), filled)
    return MetricSummary(
        metric=spec,
        scored=scored.n if scored else 0,
        total=total,
        mean=mean.mean,
        interval=mean.interval,
        unscored=unscored,
        policy=policy,
        bounds=mean.bounds,
        stands_for=mean.stands_for,
        note=mean.note,
        threshold=limit,
        standing=_standing(mean.interval, limit),
    )


def _standing(found: Interval | NoInterval, limit: Threshold | None) -> Standing | None:
    return None if limit is None else _STANDINGS[gate(found, threshold=limit.value, fail=limit.fail)]


def _moments(
    connection: duckdb.DuckDBPyConnection, evaluations: Sequence[str], standing_for: Mapping[str, float]
) -> dict[tuple[Any, ...], Known]:
    """Of the scored values; of metrics for which something stands for the unscored, of these and no others."""
    given: dict[str, Any] = {"evaluations": evaluations}
    values = (
        "SELECT evaluation_id, metric, run_id, position, value FROM scores JOIN evaluations USING (evaluation_id)"
        " WHERE evaluation_id IN (SELECT unnest($evaluations))"
    )
    if standing_for:
        given |= {"specs": list(standing_for), "fills": list(standing_for.values())}
        values = (
            "SELECT evaluation_id, metric, run_id, position, coalesce(value, fill) AS value FROM scores"
            " JOIN evaluations USING (evaluation_id)"
            " JOIN (SELECT unnest($specs) AS metric, unnest($fills) AS fill) USING (metric)"
            " WHERE evaluation_id IN (SELECT unnest($evaluations))"
        )
    return moments_by(connection, values, given, ("evaluation_id", "metric"))


def _unscored(connection: duckdb.DuckDBPyConnection, evaluations: Sequence[str]) -> dict[Key, dict[str, int]]:
    rows = connection.execute(
        "SELECT evaluation_id, metric, reason, count(*) FROM scores WHERE reason IS NOT NULL"
        " AND evaluation_id IN (SELECT unnest(?)) GROUP BY ALL",
        [evaluations],
    ).fetchall()
    found: dict[Key, dict[str, int]] = {}
    for evaluation, metric, reason, count in rows:
        found.setdefault((evaluation, metric), {})[reason] = count
    return found
