"""How samples without a score count in a mean: left out, as zero, or as the worst and the best that could be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragboard.analysis.moments import Known
from ragboard.records import MetricDescription
from ragboard.stats import Interval, NoInterval, mean_interval, outer_interval

__all__ = ["POLICIES", "Fill", "Mean", "UnscoredPolicy", "fill_of", "fills", "mean_of", "range_of"]

UnscoredPolicy = Literal["excluded", "zero", "bounds"]
"""excluded: a mean is over the scored samples; zero: an unscored one counts as 0, or where lower is better as the
upper bound, because 0 would be the best; bounds: the mean lies between those with all of them at the metric's least
and at its greatest value (Horowitz and Manski 2000)."""

POLICIES: dict[UnscoredPolicy, str] = {
    "excluded": "are left out",
    "zero": "count as zero, as the worst where lower is better",
    "bounds": "could be anything between the worst and the best",
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
        return "lower is better without an upper bound" if metric.high is None else (metric.high, metric.high)
    zero = max(0.0, metric.low or 0.0)
    return zero, zero


def fills(metrics: Mapping[str, MetricDescription | None], policy: UnscoredPolicy) -> dict[str, Fill]:
    """For each of these metrics for which something can stand, what that is."""
    found = {spec: fill_of(metric, policy) for spec, metric in metrics.items()}
    return {spec: fill for spec, fill in found.items() if isinstance(fill, tuple)}


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
            note=f"{missing:,} unscored as {fill[0]:g}" + (", the worst" if fill[0] else ""),
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
        note=f"{missing:,} unscored could be anything",
    )


def _interval(metric: MetricDescription | None, moments: Known | None) -> Interval | NoInterval:
    """The interval of a mean; the range of a metric bounds it where that is finite."""
    if moments is None:
        return NoInterval(reason="no sample has a value", n=0)
    return mean_interval(moments, bounds=range_of(metric))
