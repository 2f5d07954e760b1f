"""Means of metrics: with an interval, how many samples were scored, and how those without a score count."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragboard.analysis.metrics import described, in_order
from ragboard.analysis.thresholds import Standing, Threshold, read_thresholds
from ragboard.metrics import metric_of
from ragboard.metrics.critique import AspectCritique
from ragboard.records import MetricDescription, Outcome, Score, Unscored
from ragboard.stats import GateVerdict, Interval, NoInterval, gate, mean_interval, outer_interval
from ragboard.store.queries.evaluations import JudgedBy
from ragboard.store.queries.query import Connection
from ragboard.store.queries.scores import Known, metric_moments, unscored_by_metric

__all__ = [
    "POLICIES",
    "Fill",
    "Mean",
    "MetricSummary",
    "UnscoredPolicy",
    "fill_of",
    "mean_of",
    "metric_summaries",
    "ragas_score",
    "range_of",
]

UnscoredPolicy = Literal["excluded", "zero", "bounds"]
"""excluded: a mean is over the scored samples; zero: an unscored one counts as 0, or where lower is better as the
upper bound, because 0 would be the best; bounds: the mean lies between those with all of them at the metric's least
and at its greatest value (Horowitz and Manski 2000)."""

POLICIES: dict[UnscoredPolicy, str] = {
    "excluded": "are left out",
    "zero": "count as zero, or as the worst value where lower is better",
    "bounds": "count as anything from the worst to the best value",
}
"""In words, behind `unscored samples`."""

Fill = tuple[float, float]
"""What stands for an unscored sample where that makes the mean least and where it makes it greatest."""


@dataclass(frozen=True, kw_only=True)
class Mean:
    """A mean and how the unscored counted in it."""

    mean: float | None
    interval: Interval | NoInterval
    bounds: tuple[float, float] | None = None
    """The mean with all unscored at the metric's least and greatest value; None but under `bounds`."""
    stands_for: float | None = None
    """What each unscored sample counted as; None but under `zero`."""
    note: str = ""
    """How the unscored counted, in words; empty where none is or they are left out as asked."""


@dataclass(frozen=True, kw_only=True)
class MetricSummary:
    """One metric over one run: its mean, never without how many samples were scored and how the others counted."""

    metric: str
    scored: int
    total: int
    """Samples that the evaluation covers."""
    mean: float | None
    """Of the scored samples, under `zero` of all; None where no sample counts."""
    interval: Interval | NoInterval
    """Under `bounds` it holds every mean that the unscored allow."""
    unscored: Mapping[str, int]
    """How many samples have no score, by reason."""
    policy: UnscoredPolicy = "excluded"
    """How the unscored were asked to count; `note` says how they did."""
    bounds: tuple[float, float] | None = None
    """The mean with all unscored at the metric's least and greatest value; None but under `bounds`."""
    stands_for: float | None = None
    """What each unscored sample counted as; None but under `zero`."""
    note: str = ""
    """How the unscored counted, in words; empty where none is or they are left out as asked."""
    threshold: Threshold | None = None
    """None where nobody set one."""
    standing: Standing | None = None
    """On which side of the threshold the interval lies; None without one."""
    judged: JudgedBy | None = None
    """The evaluation that it was scored in."""


_STANDINGS: dict[GateVerdict, Standing] = {"pass": "met", "fail": "missed", "inconclusive": "undecided"}


def metric_summaries(
    connection: Connection,
    evaluations: Sequence[str],
    totals: Mapping[str, int],
    policy: UnscoredPolicy = "excluded",
) -> dict[str, dict[str, MetricSummary]]:
    """For each evaluation its metrics in order; `totals` has how many samples each covers."""
    metrics = described(connection)
    limits = read_thresholds(connection, metrics)
    scored = metric_moments(connection, evaluations)
    unscored = unscored_by_metric(connection, evaluations)
    every = {spec: fill_of(metrics.get(spec), policy) for _, spec in unscored}
    fills = {spec: fill for spec, fill in every.items() if isinstance(fill, tuple)}
    filled = [
        metric_moments(connection, evaluations, {spec: fill[end] for spec, fill in fills.items()})
        for end in ((0, 1) if fills else ())
    ]
    found: dict[str, dict[str, MetricSummary]] = {}
    for key in dict.fromkeys((*scored, *unscored)):
        evaluation, spec = key
        known, reasons, limit = scored.get(key), unscored.get(key, {}), limits.get(spec)
        mean = mean_of(metrics.get(spec), known, policy, sum(reasons.values()), [one.get(key) for one in filled])
        found.setdefault(evaluation, {})[spec] = MetricSummary(
            metric=spec,
            scored=known.n if known else 0,
            total=totals[evaluation],
            mean=mean.mean,
            interval=mean.interval,
            unscored=reasons,
            policy=policy,
            bounds=mean.bounds,
            stands_for=mean.stands_for,
            note=mean.note,
            threshold=limit,
            standing=_STANDINGS[gate(mean.interval, threshold=limit.value, fail=limit.fail)] if limit else None,
        )
    return {one: {metric: by_metric[metric] for metric in in_order(by_metric)} for one, by_metric in found.items()}


def fill_of(metric: MetricDescription | None, policy: UnscoredPolicy) -> Fill | str | None:
    """What stands for an unscored sample; None where it is left out, and in words why nothing can stand for it."""
    if policy == "excluded":
        return None
    if metric is None:
        return "the range of this metric is not known"
    if policy == "bounds":
        if metric.low is None or metric.high is None:
            return f"this metric has no {'lower' if metric.low is None else 'upper'} bound"
        return metric.low, metric.high
    if metric.direction == "lower":
        return (
            "lower is better and the metric has no upper bound" if metric.high is None else (metric.high, metric.high)
        )
    zero = max(0.0, metric.low or 0.0)
    return zero, zero


def mean_of(
    metric: MetricDescription | None,
    scored: Known | None,
    policy: UnscoredPolicy = "excluded",
    missing: int = 0,
    filled: Sequence[Known | None] = (),
) -> Mean:
    """The mean under a policy, `missing` samples being unscored.

    `scored` are the moments of the scored values, None where there is none; `filled` those of all with what
    stands for the unscored, where they are least and where they are greatest.
    """
    plain = Mean(mean=scored.mean if scored else None, interval=_interval(metric, scored))
    fill = fill_of(metric, policy)
    if fill is None or not missing:
        return plain
    if isinstance(fill, str):
        return Mean(mean=plain.mean, interval=plain.interval, note=f"{missing:,} unscored left out: {fill}")
    low, high = filled
    if policy == "zero":
        return Mean(
            mean=low.mean if low else None,
            interval=_interval(metric, low),
            stands_for=fill[0],
            note=f"{missing:,} unscored count as {fill[0]:g}" + (", the worst value" if fill[0] else ""),
        )
    return _bounded(metric, plain, low, high, missing)


def range_of(metric: MetricDescription | None) -> tuple[float, float] | None:
    """The bounds of a metric; None where one of them is not there."""
    return None if metric is None or metric.low is None or metric.high is None else (metric.low, metric.high)


def _bounded(
    metric: MetricDescription | None, plain: Mean, low: Known | None, high: Known | None, missing: int
) -> Mean:
    if low is None or high is None:
        return plain
    middle = (low.mean + high.mean) / 2 if plain.mean is None else plain.mean
    return Mean(
        mean=plain.mean,
        interval=outer_interval(_interval(metric, low), _interval(metric, high), estimate=middle),
        bounds=(low.mean, high.mean),
        note=f"{missing:,} unscored from worst to best value",
    )


def _interval(metric: MetricDescription | None, moments: Known | None) -> Interval | NoInterval:
    """The interval of a mean; the range of a metric bounds it where that is finite."""
    if moments is None:
        return NoInterval(reason="no sample is scored", n=0)
    return mean_interval(moments, bounds=range_of(metric))


FEWEST = 2
"""The library gives no score of a single metric."""


def ragas_score(metrics: Mapping[str, MetricSummary]) -> Outcome:
    """The harmonic mean of the means of a run's ragas metrics, in [0, 1], higher is better.

    `k / sum(1 / mean)` over the metrics of source `ragas` where higher is better, aspect critiques left out
    (ragas library 0.0.x). A metric counts once: of several settings the default. 0 where one of them is 0; undefined
    with fewer than two, where one has no mean or one below 0, or where none of several settings is the default;
    which is then named.
    """
    settings: defaultdict[str, list[str]] = defaultdict(list)
    for spec in metrics:
        if name := _counted_as(spec):
            settings[name].append(spec)
    unclear = [spec for name, specs in settings.items() if len(specs) > 1 and name not in specs for spec in specs]
    if unclear:
        return Unscored(reason="undefined", detail=f"several settings and not the default: {', '.join(unclear)}")
    chosen = (name if name in specs else specs[0] for name, specs in settings.items())
    means = {spec: metrics[spec].mean for spec in chosen}
    if len(means) < FEWEST:
        return Unscored(reason="undefined", detail=f"needs {FEWEST} ragas metrics, {len(means)} evaluated")
    without = [spec for spec, mean in means.items() if mean is None or mean < 0]
    if without:
        return Unscored(reason="undefined", detail=f"no mean, or one below 0: {', '.join(without)}")
    known = [mean for mean in means.values() if mean is not None]
    value = len(known) / sum(1 / mean for mean in known) if all(known) else 0.0
    return Score(value=value, counted=f"harmonic mean of {', '.join(means)}")


def _counted_as(spec: str) -> str:
    """The metric without its settings; empty where it does not count."""
    metric = metric_of(spec)
    if metric is None or metric.source != "ragas" or isinstance(metric, AspectCritique) or metric.direction != "higher":
        return ""
    return f"{metric.source}.{metric.name}"
