"""Prediction-powered inference (PPI): a judge's mean score, bias-corrected with labels.

y is a label and f a judge's score. n labelled items have both; the other m items (the rest) have only f. The estimate:

    mean(y) - weight * share * (mean(f, labelled) - mean(f, rest))

In the design `subset`, the labelled items are a random part of all items, and share is m / (n + m). In the design
`separate`, they are another set of items, and share is 1.

Weight 1 is PPI (Angelopoulos et al. 2023, Science 382). PPI++ chooses the weight with the smallest variance
(Angelopoulos, Duchi and Zrnic 2023, arXiv 2311.01453). Weight 0 is the mean label, without the judge. The variance is a
sum of two parts: that of the mean of y - weight * share * f over the labelled items, and that of the mean of
weight * share * f over the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ragboard.stats.checks import MAX_SQUARABLE, FloatArray, finite_array
from ragboard.stats.distributions import normal_quantile, t_quantile
from ragboard.stats.intervals import Interval, NoInterval, Values, mean_interval, moments

__all__ = [
    "MIN_LABELS",
    "LabelsNeeded",
    "MeanEstimate",
    "MeanEstimates",
    "PpiDesign",
    "PpiEstimates",
    "PpiMoments",
    "binary_ppi_moments",
    "difference_of_estimates",
    "estimate_mean",
    "estimate_means",
    "half_width",
    "labels_needed",
    "ppi_estimates",
    "ppi_moments",
]


PpiDesign = Literal["subset", "separate"]
"""How the labelled items relate to the other items; see the module's docstring."""


@dataclass(frozen=True, kw_only=True)
class PpiMoments:
    """What an estimate is computed from: numbers, or arrays of equal shape for many estimates at once.

    Variances and the covariance have the divisor n - 1 or m - 1.
    """

    n: int
    """Number of labelled items."""
    m: int
    """Number of items without a label."""
    label: FloatArray
    """Mean label."""
    judged: FloatArray
    """Mean of the judge's scores of labelled items."""
    rest: FloatArray
    """Mean of the judge's scores of items without a label."""
    label_variance: FloatArray
    judged_variance: FloatArray
    covariance: FloatArray
    rest_variance: FloatArray


@dataclass(frozen=True, kw_only=True)
class PpiEstimates:
    """Estimates with their standard errors; all arrays have the shape of the moments."""

    estimate: FloatArray
    error: FloatArray
    """Standard errors."""
    df: FloatArray
    """Degrees of freedom (Welch), rounded down."""
    weight: FloatArray


def ppi_estimates(summary: PpiMoments, *, design: PpiDesign, weight: float | None) -> PpiEstimates:
    """Compute the estimate with this weight or, if it is None, with the best weight in [0, 1] (PPI++).

    The best weight is fitted on the same labels, which makes the variance too small. It is multiplied by
    (n - 1) / (n - 2) and 1 + 1 / n, as in a regression with unknown slope. If it is then larger than the variance
    without the judge, the weight is 0.
    """
    share = summary.m / (summary.n + summary.m) if design == "subset" else 1.0
    if weight is not None:
        return _solve_weight(summary, np.full_like(summary.label, weight * share), share, 1.0)
    n = summary.n
    tuned = _solve_weight(summary, _best_weight(summary, share), share, (n - 1) / (n - 2) * (1 + 1 / n))
    plain = _solve_weight(summary, np.zeros_like(summary.label), share, 1.0)
    judge_helps = tuned.error < plain.error
    return PpiEstimates(
        estimate=np.where(judge_helps, tuned.estimate, plain.estimate),
        error=np.where(judge_helps, tuned.error, plain.error),
        df=np.where(judge_helps, tuned.df, plain.df),
        weight=np.where(judge_helps, tuned.weight, plain.weight),
    )


def _best_weight(summary: PpiMoments, share: float) -> FloatArray:
    """Return the value of weight * share that gives the smallest variance."""
    spread = summary.judged_variance / summary.n + summary.rest_variance / summary.m
    slope = summary.covariance / summary.n / np.where(spread > 0, spread, 1.0)
    return np.clip(np.where(spread > 0, slope, 0.0), 0.0, share)


def _solve_weight(summary: PpiMoments, slope: FloatArray, share: float, penalty: float) -> PpiEstimates:
    """Compute the estimate with slope = weight * share. `penalty` multiplies the variance over the labelled items."""
    labelled = summary.label_variance - 2 * slope * summary.covariance + slope**2 * summary.judged_variance
    of_labelled = penalty * np.maximum(labelled, 0.0) / summary.n
    of_rest = slope**2 * summary.rest_variance / summary.m
    total = of_labelled + of_rest
    welch = of_labelled**2 / (summary.n - 1) + of_rest**2 / (summary.m - 1)
    return PpiEstimates(
        estimate=summary.label - slope * (summary.judged - summary.rest),
        error=np.sqrt(total),
        df=np.floor(np.where(welch > 0, total**2 / np.where(welch > 0, welch, 1.0), summary.n - 1.0) + 1e-9),
        weight=slope / share,
    )


def half_width(estimates: PpiEstimates, level: float) -> FloatArray:
    """Return the half width of each interval, by Student's t."""
    distinct, positions = np.unique(estimates.df, return_inverse=True)
    quantiles = np.array([t_quantile((1 + level) / 2, float(df)) for df in distinct])
    return quantiles[positions].reshape(np.shape(estimates.error)) * estimates.error


def ppi_moments(labels: FloatArray, judged: FloatArray, rest: FloatArray) -> PpiMoments:
    """Compute the moments. There must be at least 2 labelled items and 2 items without a label."""
    return PpiMoments(
        n=labels.size,
        m=rest.size,
        label=labels.mean(),
        judged=judged.mean(),
        rest=rest.mean(),
        label_variance=labels.var(ddof=1),
        judged_variance=judged.var(ddof=1),
        covariance=np.cov(labels, judged)[0, 1],
        rest_variance=rest.var(ddof=1),
    )


def binary_ppi_moments(
    *, both: FloatArray, only_judge: FloatArray, only_person: FloatArray, n: int, rest: FloatArray, m: int
) -> PpiMoments:
    """Compute the moments of binary labels and verdicts.

    Of the n labelled items, judge and person accept `both`, only the judge accepts `only_judge`, and only the person
    accepts `only_person`. Of the m other items, the judge accepts `rest`.
    """
    label, judged, others = (both + only_person) / n, (both + only_judge) / n, rest / m
    unbiased = n / (n - 1)
    return PpiMoments(
        n=n,
        m=m,
        label=label,
        judged=judged,
        rest=others,
        label_variance=unbiased * label * (1 - label),
        judged_variance=unbiased * judged * (1 - judged),
        covariance=unbiased * (both / n - label * judged),
        rest_variance=m / (m - 1) * others * (1 - others),
    )


MIN_LABELS = 30
"""Minimum number of labels for an estimate."""
MIN_RARE = 5
"""Minimum number of rare cases (see `_count_rare_cases`) for an interval."""
ENOUGH_RARE = 20
"""With at least this many rare cases, 95% intervals covered the truth in 93.5% to 96.5% of simulations."""
COVERAGE_WITH_FEW_RARE = "92% to 95%"
"""How often 95% intervals covered the truth in simulations with 5 to 19 expected rare cases."""


@dataclass(frozen=True, kw_only=True)
class MeanEstimate:
    """An estimate of the mean label, with its interval."""

    interval: Interval
    """The estimate with its interval, which can exceed the range of labels."""
    clipped: Interval
    """`interval`, clipped to the range of labels."""
    labels: int
    """Number of labelled items used."""
    judged: int
    """Number of items whose judge's scores are used."""
    weight: float
    """Weight of the judge's scores, in [0, 1]; 0 if they are not used."""
    error: float
    """Standard error."""
    df: float
    """Degrees of freedom of t; infinite for the normal distribution."""
    effective_labels: float | None
    """Number of labels that would give the same standard error without a judge; None if all labels are equal or if no
    label is used."""
    warning: str = ""
    """A warning about the interval; empty if there is none."""


@dataclass(frozen=True, kw_only=True)
class MeanEstimates:
    """Four estimates of the mean label, each with an interval or the reason why there is none."""

    classical: MeanEstimate | NoInterval
    """The estimate from labels alone."""
    judge_only: MeanEstimate | NoInterval
    """The estimate from the judge alone; its interval is narrow, but biased like the judge."""
    ppi: MeanEstimate | NoInterval
    """The estimate by PPI."""
    tuned: MeanEstimate | NoInterval
    """The estimate by PPI++."""


@dataclass(frozen=True, kw_only=True)
class LabelsNeeded:
    """The number of labels for an interval of the requested width, if further labels vary like the existing ones."""

    width: float
    """Requested width: upper bound minus lower bound."""
    level: float
    labels: int | None
    """Labels needed with the judge (PPI++), existing ones included; None if the width cannot be reached."""
    more: int | None
    """Labels needed with the judge beyond the existing ones; None if the width cannot be reached."""
    without_judge: int | None
    """Labels needed without the judge; None if the width cannot be reached."""
    reason: str = ""
    """Why the width cannot be reached with the judge; empty if it can."""


def estimate_means(
    labels: Values,
    judged: Values,
    rest: Values,
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
    design: PpiDesign = "subset",
    level: float = 0.95,
) -> MeanEstimates:
    """Estimate the mean label from labels alone, from the judge alone, by PPI and by PPI++.

    `labels[i]` and `judged[i]` are the label and the judge's score of one item. `rest` are the judge's scores of items
    without a label. `bounds` is the range of labels. For the difference of two runs over the same items, pass the
    differences of their labels and scores, and bounds (-1, 1).

    PPI and PPI++ need at least 30 labels, 2 items without a label, and at least 5 of each kind of rare case: errors of
    the judge, items with the judge's rarer score, and items with the rarer label. With fewer than 20 of a kind, the
    estimate has a warning. Raises ValueError for NaN, or if labels and judged differ in length.
    """
    labels, judged, rest = _arrays(labels, judged, rest)
    all_judged = np.concatenate([judged, rest]) if design == "subset" else rest
    return MeanEstimates(
        classical=_without_ppi(labels, bounds, level, labels=labels.size, judged=0),
        judge_only=_without_ppi(all_judged, bounds, level, labels=0, judged=all_judged.size),
        ppi=estimate_mean(labels, judged, rest, bounds=bounds, design=design, level=level, weight=1.0),
        tuned=estimate_mean(labels, judged, rest, bounds=bounds, design=design, level=level),
    )


def estimate_mean(
    labels: Values,
    judged: Values,
    rest: Values,
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
    design: PpiDesign = "subset",
    level: float = 0.95,
    weight: float | None = None,
    compat: Literal["ares"] | None = None,
) -> MeanEstimate | NoInterval:
    """Estimate the mean label by PPI with this weight or, if it is None, by PPI++. See `estimate_means`.

    `compat="ares"` computes what ARES computes: weight 1, the design `separate`, variances with divisor n, the normal
    distribution, and no minimum number of labels or rare cases.
    """
    labels, judged, rest = _arrays(labels, judged, rest)
    if compat == "ares":
        return _ares_mean(labels, judged, rest, bounds, level)
    problem = _why_no_interval(labels, judged, rest)
    if problem:
        return NoInterval(reason=problem, n=labels.size)
    estimates = ppi_estimates(ppi_moments(labels, judged, rest), design=design, weight=weight)
    error, df = float(estimates.error), float(estimates.df)
    half = t_quantile((1 + level) / 2, df) * error
    method = f"{'PPI++' if weight is None else 'PPI'}, Student's t"
    interval = _interval(float(estimates.estimate), half, level, labels.size, method)
    return MeanEstimate(
        interval=interval,
        clipped=_clip(interval, bounds),
        labels=labels.size,
        judged=rest.size + (labels.size if design == "subset" else 0),
        weight=float(estimates.weight),
        error=error,
        df=df,
        effective_labels=_effective_labels(labels, error),
        warning=_warning(labels, judged),
    )


def difference_of_estimates(
    first: MeanEstimate, second: MeanEstimate, *, bounds: tuple[float, float] = (-1.0, 1.0)
) -> Interval | NoInterval:
    """Return the interval of `second - first` for two estimates from independent items, by Welch's t.

    It is clipped to the bounds. For two runs over the same items, `estimate_means` of the differences gives a narrower
    interval.
    """
    n = first.labels + second.labels
    variances = (first.error**2, second.error**2)
    if not all(variances):
        return NoInterval(reason="one of the two estimates has no standard error, because its values are equal", n=n)
    df = math.floor(sum(variances) ** 2 / (variances[0] ** 2 / first.df + variances[1] ** 2 / second.df) + 1e-9)
    half = t_quantile((1 + first.interval.level) / 2, df) * math.sqrt(sum(variances))
    method = f"difference of {first.interval.method} and {second.interval.method}, Welch's t"
    estimate = second.interval.estimate - first.interval.estimate
    return _clip(_interval(estimate, half, first.interval.level, n, method), bounds)


def labels_needed(
    labels: Values,
    judged: Values,
    rest: Values,
    *,
    width: float,
    design: PpiDesign = "subset",
    level: float = 0.95,
) -> LabelsNeeded:
    """Return how many labels an interval of the given width needs, with the judge (PPI++) and without it.

    In the design `subset`, 2 items must remain without a label. Raises ValueError for a width that is not above 0, or
    fewer than 30 labels.
    """
    labels, judged, rest = _arrays(labels, judged, rest)
    if not width > 0 or labels.size < MIN_LABELS:
        raise ValueError(f"needs a width above 0 and {MIN_LABELS} labels, got {width} and {labels.size}")
    summary = ppi_moments(labels, judged, rest)
    max_labels = labels.size + rest.size - 2 if design == "subset" else 2**40
    with_judge = _smallest_n(lambda n: _width_at(n, summary, design, level, tuned=True), width, max_labels)
    without_judge = _smallest_n(lambda n: _width_at(n, summary, design, level, tuned=False), width, max_labels)
    reason = (
        "" if with_judge else f"with all {labels.size + rest.size} items labelled, the interval would still be wider"
    )
    return LabelsNeeded(
        width=width,
        level=level,
        labels=with_judge,
        more=max(0, with_judge - labels.size) if with_judge else None,
        without_judge=without_judge,
        reason=reason,
    )


def _arrays(labels: Values, judged: Values, rest: Values) -> tuple[FloatArray, FloatArray, FloatArray]:
    if len(labels) != len(judged):
        raise ValueError(f"{len(labels)} labels and {len(judged)} scores of labelled items differ in number")
    return (
        finite_array(labels, "labels", limit=MAX_SQUARABLE),
        finite_array(judged, "judged", limit=MAX_SQUARABLE),
        finite_array(rest, "rest", limit=MAX_SQUARABLE),
    )


def _count_rare_cases(labels: FloatArray, judged: FloatArray) -> tuple[int, str]:
    """Return the count of the rarest kind of case, and a text with the counts of all kinds."""
    counts = {
        "errors of the judge": moments(labels - judged).untied,
        "rarer answers of the judge": moments(judged).untied,
        "rarer labels": moments(labels).untied,
    }
    text = ", ".join(f"{count} {name}" for name, count in counts.items())
    return min(counts.values()), f"{text} among {labels.size}"


def _why_no_interval(labels: FloatArray, judged: FloatArray, rest: FloatArray) -> str:
    if labels.size < MIN_LABELS:
        return f"an estimate needs at least {MIN_LABELS} labels, got {labels.size}"
    if rest.size < 2:
        return f"{rest.size} items have no label: the labels alone are enough"
    rarest, counts = _count_rare_cases(labels, judged)
    return f"an interval needs at least {MIN_RARE} of each: {counts}" if rarest < MIN_RARE else ""


def _warning(labels: FloatArray, judged: FloatArray) -> str:
    rarest, counts = _count_rare_cases(labels, judged)
    if rarest >= ENOUGH_RARE:
        return ""
    coverage = f"95% intervals covered {COVERAGE_WITH_FEW_RARE} in simulation"
    return f"too narrow, because there are few rare cases ({counts}): {coverage}"


def _ares_mean(
    labels: FloatArray, judged: FloatArray, rest: FloatArray, bounds: tuple[float, float], level: float
) -> MeanEstimate:
    errors = judged - labels
    error = math.sqrt(rest.var() / rest.size + errors.var() / labels.size)
    half = normal_quantile((1 + level) / 2) * error
    estimate = float(rest.mean() - errors.mean())
    interval = _interval(estimate, half, level, labels.size, "PPI as ARES computes it, normal")
    return MeanEstimate(
        interval=interval,
        clipped=_clip(interval, bounds),
        labels=labels.size,
        judged=rest.size,
        weight=1.0,
        error=error,
        df=math.inf,
        effective_labels=_effective_labels(labels, error),
    )


def _effective_labels(labels: FloatArray, error: float) -> float | None:
    variance = float(labels.var(ddof=1))
    return variance / error**2 if variance and error else None


def _without_ppi(
    values: FloatArray, bounds: tuple[float, float], level: float, *, labels: int, judged: int
) -> MeanEstimate | NoInterval:
    """Estimate the mean from values of one source: only labels, or only the judge."""
    summary = moments(values)
    interval = mean_interval(summary, bounds=bounds, level=level)
    if isinstance(interval, NoInterval):
        return interval
    return MeanEstimate(
        interval=interval,
        clipped=interval,
        labels=labels,
        judged=judged,
        weight=0.0 if labels else 1.0,
        error=summary.error,
        df=summary.df,
        effective_labels=float(labels) if labels and summary.deviation else None,
    )


def _interval(estimate: float, half: float, level: float, n: int, method: str) -> Interval:
    return Interval(estimate=estimate, low=estimate - half, high=estimate + half, level=level, n=n, method=method)


def _clip(interval: Interval, bounds: tuple[float, float]) -> Interval:
    low, high = bounds
    estimate, bottom, top = (min(max(value, low), high) for value in (interval.estimate, interval.low, interval.high))
    return replace(interval, estimate=estimate, low=bottom, high=top)


def _width_at(n: int, summary: PpiMoments, design: PpiDesign, level: float, *, tuned: bool) -> float:
    """Return the width of the interval with n labels, if they have the moments of the existing labels."""
    m = summary.n + summary.m - n if design == "subset" else summary.m
    estimates = ppi_estimates(replace(summary, n=n, m=m), design=design, weight=None if tuned else 0.0)
    return 2 * t_quantile((1 + level) / 2, float(estimates.df)) * float(estimates.error)


def _smallest_n(width_at: Callable[[int], float], width: float, max_n: int) -> int | None:
    """Return the smallest n from 3 to `max_n` with at most this width, or None. The width must decrease with n."""
    if width_at(max_n) > width:
        return None
    low, high = 3, max_n
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if width_at(middle) <= width else (middle + 1, high)
    return low
