"""Compute means of metrics with their intervals, under a policy for unscored samples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragboard.analysis.metrics import in_order, read_descriptions
from ragboard.analysis.thresholds import Threshold, ThresholdStatus, read_thresholds
from ragboard.metrics import find_metric
from ragboard.metrics.critique import AspectCritique
from ragboard.records import MetricDescription, Outcome, Score, Unscored
from ragboard.stats import GateVerdict, Interval, NoInterval, ci_text, gate, mean_interval, worst_case_interval
from ragboard.store.queries.evaluations import JudgedBy
from ragboard.store.queries.query import Connection
from ragboard.store.queries.scores import AnyMoments, metric_moments, unscored_by_metric

__all__ = [
    "POLICIES",
    "ImputedRange",
    "Mean",
    "MetricSummary",
    "UnscoredPolicy",
    "compute_mean",
    "finite_range",
    "imputed_range",
    "metric_summaries",
    "ragas_score",
]

UnscoredPolicy = Literal["excluded", "zero", "bounds"]
"""How unscored samples count in a mean.

- `excluded`: they do not count.
- `zero`: they count as 0, or as the maximum if lower is better.
- `bounds`: they count as anything from the metric's minimum to its maximum (Horowitz and Manski 2000).
"""

POLICIES: dict[UnscoredPolicy, str] = {
    "excluded": "are left out",
    "zero": "count as zero, or as the worst value where lower is better",
    "bounds": "count as anything from the worst to the best value",
}
"""The policies in words, after `unscored samples`."""

ImputedRange = tuple[float, float]
"""The lowest and the highest value that an unscored sample can count as."""


@dataclass(frozen=True, kw_only=True)
class Mean:
    """A mean, and how unscored samples count in it."""

    mean: float | None
    interval: Interval | NoInterval
    bounds: tuple[float, float] | None = None
    """The means with all unscored samples at the minimum and at the maximum; None without the policy `bounds`."""
    imputed_value: float | None = None
    """The value that each unscored sample counts as; None unless the policy is `zero`."""
    note: str = ""
    """How unscored samples count; empty if there are none or the policy is `excluded`."""


@dataclass(frozen=True, kw_only=True)
class MetricSummary:
    """The mean of one metric over one run, and how unscored samples count in it."""

    metric: str
    scored: int
    total: int
    """Number of samples that the evaluation covers."""
    mean: float | None
    """The mean of the scored samples or, with the policy `zero`, of all samples; None if there are none."""
    interval: Interval | NoInterval
    """The 95% CI; with the policy `bounds`, it covers every mean that the unscored samples allow."""
    unscored: Mapping[str, int]
    """Number of unscored samples by reason."""
    policy: UnscoredPolicy = "excluded"
    """The requested policy. It does not apply to every metric; see `note`."""
    bounds: tuple[float, float] | None = None
    """The means with all unscored samples at the minimum and at the maximum; None without the policy `bounds`."""
    imputed_value: float | None = None
    """The value that each unscored sample counts as; None unless the policy is `zero`."""
    note: str = ""
    """How unscored samples count; empty if there are none or the policy is `excluded`."""
    threshold: Threshold | None = None
    """The metric's threshold; None if it has none."""
    threshold_status: ThresholdStatus | None = None
    """Whether the mean meets the threshold; None without a threshold."""
    judged: JudgedBy | None = None
    """The evaluation that computed the scores."""
    caution: str = ""
    """A warning if the run's answers are the references, because the mean then says nothing; else empty."""

    @property
    def unscored_text(self) -> str:
        """`2 undefined, 1 failed`; empty if every sample is scored."""
        return ", ".join(f"{count:,} {reason}" for reason, count in self.unscored.items())

    def __repr__(self) -> str:
        """`ragas.faithfulness: mean 0.881, 95% CI 0.802 to 0.938, n = 58 (2 undefined)`."""
        mean = "no mean" if self.mean is None else f"mean {self.mean:.3f}, {ci_text(self.interval)}"
        unscored = f" ({self.unscored_text})" if self.unscored else ""
        return f"{self.metric}: {mean}, n = {self.scored:,}{unscored}"


_STATUS_OF_VERDICT: dict[GateVerdict, ThresholdStatus] = {
    "pass": "met",
    "fail": "missed",
    "inconclusive": "inconclusive",
}


def metric_summaries(
    connection: Connection,
    evaluations: Sequence[str],
    totals: Mapping[str, int],
    policy: UnscoredPolicy = "excluded",
) -> dict[str, dict[str, MetricSummary]]:
    """Summarise the metrics of each evaluation. `totals` are the numbers of samples that evaluations cover."""
    metrics = read_descriptions(connection)
    thresholds = read_thresholds(connection, metrics)
    scored = metric_moments(connection, evaluations)
    unscored = unscored_by_metric(connection, evaluations)
    imputed = {spec: imputed_range(metrics.get(spec), policy) for _, spec in unscored}
    imputed_ranges = {spec: ends for spec, ends in imputed.items() if isinstance(ends, tuple)}
    filled: list[Mapping[tuple[str, str], AnyMoments]] = []
    if imputed_ranges:
        filled = [
            metric_moments(connection, evaluations, {spec: ends[index] for spec, ends in imputed_ranges.items()})
            for index in (0, 1)
        ]
    summaries: dict[str, dict[str, MetricSummary]] = {}
    for key in dict.fromkeys((*scored, *unscored)):
        evaluation, spec = key
        scored_moments, reasons, threshold = scored.get(key), unscored.get(key, {}), thresholds.get(spec)
        mean = compute_mean(
            metrics.get(spec), scored_moments, policy, sum(reasons.values()), [moments.get(key) for moments in filled]
        )
        summaries.setdefault(evaluation, {})[spec] = MetricSummary(
            metric=spec,
            scored=scored_moments.n if scored_moments else 0,
            total=totals[evaluation],
            mean=mean.mean,
            interval=mean.interval,
            unscored=reasons,
            policy=policy,
            bounds=mean.bounds,
            imputed_value=mean.imputed_value,
            note=mean.note,
            threshold=threshold,
            threshold_status=_STATUS_OF_VERDICT[gate(mean.interval, threshold=threshold.value, fail=threshold.fail)]
            if threshold
            else None,
        )
    return {
        evaluation: {metric: by_metric[metric] for metric in in_order(by_metric)}
        for evaluation, by_metric in summaries.items()
    }


def imputed_range(metric: MetricDescription | None, policy: UnscoredPolicy) -> ImputedRange | str | None:
    """Return the lowest and the highest value that an unscored sample can count as under a policy.

    Return None if unscored samples are excluded, and the reason as text if the metric has no such values.
    """
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


def compute_mean(
    metric: MetricDescription | None,
    scored: AnyMoments | None,
    policy: UnscoredPolicy = "excluded",
    missing: int = 0,
    filled: Sequence[AnyMoments | None] = (),
) -> Mean:
    """Compute the mean under a policy; `missing` is the number of unscored samples.

    `scored` are the moments of the scored values; None if there are none. If samples are missing and `imputed_range`
    returns a pair, `filled` must be the moments of all values, with unscored samples at the lowest and at the highest
    value.
    """
    plain = Mean(mean=scored.mean if scored else None, interval=_interval(metric, scored))
    fill = imputed_range(metric, policy)
    if fill is None or not missing:
        return plain
    if isinstance(fill, str):
        return Mean(mean=plain.mean, interval=plain.interval, note=f"{missing:,} unscored left out: {fill}")
    low, high = filled
    if policy == "zero":
        return Mean(
            mean=low.mean if low else None,
            interval=_interval(metric, low),
            imputed_value=fill[0],
            note=f"{missing:,} unscored count as {fill[0]:g}" + (", the worst value" if fill[0] else ""),
        )
    return _mean_with_bounds(metric, plain, low, high, missing)


def finite_range(metric: MetricDescription | None) -> tuple[float, float] | None:
    """Return the minimum and maximum of a metric; None if it lacks one of them."""
    return None if metric is None or metric.low is None or metric.high is None else (metric.low, metric.high)


def _mean_with_bounds(
    metric: MetricDescription | None, plain: Mean, low: AnyMoments | None, high: AnyMoments | None, missing: int
) -> Mean:
    if low is None or high is None:
        return plain
    middle = (low.mean + high.mean) / 2 if plain.mean is None else plain.mean
    return Mean(
        mean=plain.mean,
        interval=worst_case_interval(_interval(metric, low), _interval(metric, high), estimate=middle),
        bounds=(low.mean, high.mean),
        note=f"{missing:,} unscored from worst to best value",
    )


def _interval(metric: MetricDescription | None, moments: AnyMoments | None) -> Interval | NoInterval:
    """Return the interval of a mean. It is within the metric's range if that is finite."""
    if moments is None:
        return NoInterval(reason="no sample is scored", n=0)
    return mean_interval(moments, bounds=finite_range(metric))


MIN_METRICS = 2
"""Minimum number of metrics for a ragas score, as in the ragas library."""


def ragas_score(metrics: Mapping[str, MetricSummary]) -> Outcome:
    """Compute the harmonic mean of the means of a run's ragas metrics, in [0, 1]; higher is better.

    The formula is `k / sum(1 / mean)`, as in the ragas library 0.0.x, over the `k` metrics of the source `ragas` for
    which higher is better, except aspect critiques. If a metric was evaluated with several settings, the default ones
    count. The score is 0 if a mean is 0. It is undefined with fewer than two metrics, with a missing or negative mean,
    and if a metric has several settings but not the default ones.
    """
    settings: defaultdict[str, list[str]] = defaultdict(list)
    for spec in metrics:
        if name := _ragas_score_name(spec):
            settings[name].append(spec)
    unclear = [spec for name, specs in settings.items() if len(specs) > 1 and name not in specs for spec in specs]
    if unclear:
        return Unscored(reason="undefined", detail=f"several settings, but not the default: {', '.join(unclear)}")
    chosen = (name if name in specs else specs[0] for name, specs in settings.items())
    means = {spec: metrics[spec].mean for spec in chosen}
    if len(means) < MIN_METRICS:
        return Unscored(reason="undefined", detail=f"needs {MIN_METRICS} ragas metrics, {len(means)} evaluated")
    unusable = [spec for spec, mean in means.items() if mean is None or mean < 0]
    if unusable:
        return Unscored(reason="undefined", detail=f"no mean, or a mean below 0: {', '.join(unusable)}")
    positive_means = [mean for mean in means.values() if mean is not None]
    value = len(positive_means) / sum(1 / mean for mean in positive_means) if all(positive_means) else 0.0
    labels = (metric.label if (metric := find_metric(spec)) else spec for spec in means)
    return Score(value=value, counted=f"harmonic mean of {', '.join(labels)}")


def _ragas_score_name(spec: str) -> str:
    """Return the metric's name without settings; empty if it is not part of the ragas score."""
    metric = find_metric(spec)
    if metric is None or metric.source != "ragas" or isinstance(metric, AspectCritique) or metric.direction != "higher":
        return ""
    return f"{metric.source}.{metric.name}"
