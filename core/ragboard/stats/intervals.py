"""Confidence intervals of a mean, by Student's t and by the Bayesian bootstrap without random draws.

The Bayesian bootstrap (Rubin 1981) gives the values random Dirichlet weights; the limits of its interval are quantiles
of the weighted mean. An extra point stands for values that exist but that a sample of this size misses by chance. With
the extra point at the bound of the scores, the limits are those of Gaffke (2005) and Learned-Miller and Thomas (2020),
and for 0/1 scores those of Clopper and Pearson. No random draws are needed: the weighted mean is a ratio of sums of
exponential variables, and the saddlepoint approximation (Barndorff-Nielsen 1986) gives its quantiles accurately.

The bootstrap functions take the sum and the number of values of each cluster. Independent values are clusters of one.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, overload

import numpy as np

from ragboard.stats.checks import FloatArray, finite_array
from ragboard.stats.distributions import beta_cdf, beta_quantile, normal_cdf, normal_quantile, t_quantile, two_sided_t_p

__all__ = [
    "COMPARED_DECIMALS",
    "LARGE_SAMPLE",
    "MIN_FOR_INTERVAL",
    "ClusterMoments",
    "GateVerdict",
    "Interval",
    "Moments",
    "NoInterval",
    "Values",
    "ci_text",
    "cluster_moments",
    "estimate_text",
    "gate",
    "interval_text",
    "lower_limit",
    "mean",
    "mean_interval",
    "moments",
    "range_text",
    "share_bounds",
    "smaller_no_interval",
    "two_sided_p",
    "wilson_interval",
]

GateVerdict = Literal["pass", "fail", "inconclusive"]

MAX_STEPS = 100
"""Maximum number of iterations of a root search."""
MAX_DECIMALS = 6
"""Maximum number of decimals of a printed bound near 0."""
SMALLEST = 1e-100
"""If the largest value is below this or above its inverse, values are rescaled: their squares would not be finite."""
PRECISION = 1e-8
"""Root searches stop at this absolute error of a normal score, or this relative error of a limit."""


def lower_limit(sums: FloatArray, counts: FloatArray, extra: float, score: float) -> float:
    """Return the x with P(weighted mean < x) = P(Z < `score`), where `score` < 0 and Z is standard normal.

    `extra` is the value of the extra point, which counts as a cluster of average size. The root search is the Illinois
    method.
    """
    scale = max(float(np.abs(sums).max()), abs(extra))
    if 0 < scale < SMALLEST or scale > 1 / SMALLEST:
        return scale * lower_limit(sums / scale, counts, extra / scale, score)
    low, high = min(extra, float((sums / counts).min())), float(sums.sum() / counts.sum())
    width = high - low
    if width <= 1e-12 * max(abs(low), abs(high)):
        return low
    gap_at_low, gap_at_high = -math.inf, lower_score(sums, counts, extra, high) - score
    if gap_at_high <= 0:
        return high
    error = float(np.sqrt(np.square(sums - high * counts).sum())) / float(counts.sum())
    guess = max(high + score * error, low + width / 2)
    side = 0
    for _ in range(MAX_STEPS):
        gap = lower_score(sums, counts, extra, guess) - score
        if abs(gap) < PRECISION or high - low <= PRECISION * width:
            break
        if gap < 0:
            low, gap_at_low, gap_at_high = guess, gap, gap_at_high / (2 if side < 0 else 1)
        else:
            high, gap_at_high, gap_at_low = guess, gap, gap_at_low / (2 if side > 0 else 1)
        side = -1 if gap < 0 else 1
        guess = (
            (low + high) / 2
            if gap_at_low == -math.inf
            else low - gap_at_low * (high - low) / (gap_at_high - gap_at_low)
        )
    return guess


def lower_score(sums: FloatArray, counts: FloatArray, extra: float, mean: float) -> float:
    """Return the z with P(Z < z) = P(weighted mean < `mean`), where Z is standard normal."""
    size = counts.mean()
    deviations = np.append(sums - mean * counts, size * (extra - mean))
    scale = float(np.abs(deviations).max())
    if scale == 0:
        return 0.0
    deviations = deviations / scale
    smallest, largest = float(deviations.min()), float(deviations.max())
    if smallest >= 0 or largest <= 0:
        return -math.inf if smallest >= 0 else math.inf
    point = _saddlepoint(deviations, 1 / smallest, 1 / largest)
    weights = 1 / (1 - point * deviations)
    root = math.copysign(math.sqrt(max(2 * float(np.log1p(-point * deviations).sum()), 0.0)), point)
    slope = point * math.sqrt(float(np.square(deviations * weights).sum()))
    if abs(root) < 1e-4:
        return root + float((deviations**3).sum()) / (3 * math.sqrt(float((deviations**2).sum())) ** 3)
    return root + math.log(slope / root) / root


def _saddlepoint(deviations: FloatArray, low: float, high: float) -> float:
    """Return the root of the derivative of the cumulant function, which rises from -inf at `low` to inf at `high`."""
    point = -float(deviations.sum()) / float(np.square(deviations).sum())
    if not low < point < high:
        point = 0.0
    for _ in range(MAX_STEPS):
        tilted = deviations / (1 - point * deviations)
        slope, curvature = float(tilted.sum()), float(np.square(tilted).sum())
        if slope < 0:
            low = point
        else:
            high = point
        step = -slope / curvature
        if abs(slope) <= PRECISION * math.sqrt(curvature):
            return point + step
        point = point + step if low < point + step < high else (low + high) / 2
    return point


Values = Sequence[float] | FloatArray
MIN_FOR_INTERVAL = 5
"""Minimum number of values or clusters for an interval."""
LARGE_SAMPLE = 500
"""With more values or clusters than this, intervals use only Student's t."""
MIN_UNTIED_LARGE_SAMPLE = 50
"""With fewer untied values or clusters than this, Student's t is too narrow even for a large sample."""
MIN_UNTIED = 3
"""With fewer untied values than this, the interval is conservative and has a warning. See `Moments.untied`."""
SMALL_SAMPLE = 15
"""With fewer values or clusters than this, the interval has a warning: it may be too narrow for very skewed values."""
COMPARED_DECIMALS = 9
"""Values are rounded to this number of decimals before they are compared, so 0.1 + 0.2 equals 0.3."""
BOTH_METHODS = "Student's t and Bayesian bootstrap"
UNBOUNDED = "the scores have no bounds: if a few are very large, the interval is too narrow"
LOW_COVERAGE = "the 95% CI may be too narrow (91% to 93% coverage for very skewed scores)"

SPREAD, SKEW_CORRECTION, PULL, TIES = 3.5, 15.0, 0.4, 3.0
"""Constants of `_extra_points`, chosen by coverage and width of the intervals (benchmarks/coverage.py)."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An estimate with its confidence interval."""

    estimate: float
    low: float
    high: float
    level: float
    """Confidence level: 0.95."""
    n: int
    """Number of values; for a bootstrap of clusters, number of clusters."""
    method: str
    warning: str = ""
    """A warning about the interval; empty if there is none."""


@dataclass(frozen=True, kw_only=True)
class NoInterval:
    """Stands for an interval that cannot be computed."""

    reason: str
    n: int


def range_text(low: float, high: float, format_spec: str = ".3f") -> str:
    """Format bounds: `0.530 to 0.730`.

    `format_spec` formats each bound, such as `.3f`, `+.3f` or `.0%`. Both bounds get more decimals if a bound that
    shows its sign would be rounded to 0, or if two different bounds would look the same.
    """
    sign, _, precision = format_spec.partition(".")
    decimals, suffix = int(precision[:-1]), precision[-1]
    signed = [bound for bound in (low, high) if bound < 0 or (bound and sign)]
    differ = abs(high - low) >= 10**-MAX_DECIMALS

    def formatted(bound: float) -> str:
        return f"{bound + 0.0:{sign}.{decimals}{suffix}}"

    def is_too_coarse() -> bool:
        rounded_to_zero = any(not formatted(bound).strip("+-0.%") for bound in signed)
        return rounded_to_zero or (differ and formatted(low) == formatted(high))

    while decimals < MAX_DECIMALS and is_too_coarse():
        decimals += 1
    return f"{formatted(low)} to {formatted(high)}"


def interval_text(interval: Interval | NoInterval | None, format_spec: str = ".3f") -> str:
    """Format the bounds of an interval: `0.530 to 0.730`. Return an empty text if there is no interval."""
    return range_text(interval.low, interval.high, format_spec) if isinstance(interval, Interval) else ""


def ci_text(interval: Interval | NoInterval, format_spec: str = ".3f") -> str:
    """Format an interval: `95% CI 0.530 to 0.730`, or `no CI: an interval needs at least 5 values, got 3`."""
    if isinstance(interval, NoInterval):
        return f"no CI: {interval.reason}"
    return f"{interval.level:.0%} CI {interval_text(interval, format_spec)}"


def estimate_text(value: float, interval: Interval | NoInterval, format_spec: str = ".3f") -> str:
    """Format an estimate with its interval: `0.630 (0.530 to 0.730)`, or `0.630` if there is no interval."""
    bounds = interval_text(interval, format_spec)
    return f"{value:{format_spec}} ({bounds})" if bounds else f"{value:{format_spec}}"


@dataclass(frozen=True, kw_only=True)
class Moments:
    """What the interval of a mean is computed from, for independent values."""

    n: int
    mean: float
    deviation: float
    """Standard deviation with divisor n - 1; 0 for one value."""
    untied: int
    """Number of values that differ from the most common value."""
    values: tuple[float, ...] | None = None
    """The values, ascending; None if there are more than `LARGE_SAMPLE`."""

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return self.deviation / math.sqrt(self.n)

    @property
    def df(self) -> float:
        """Degrees of freedom of the standard error."""
        return self.n - 1.0


@dataclass(frozen=True, kw_only=True)
class ClusterMoments:
    """What the interval of a mean is computed from, for clustered values."""

    n: int
    """Number of values."""
    mean: float
    """Mean of all values. Large clusters count more than small ones."""
    counts: tuple[float, ...]
    """Number of values in each cluster."""
    sums: tuple[float, ...]
    """Sum of the values in each cluster."""

    @cached_property
    def effective(self) -> float:
        """The effective number of clusters (Kish 1965): fewer than the clusters if these have unequal sizes."""
        return self.n**2 / float(np.square(self.counts).sum())

    @cached_property
    def error(self) -> float:
        """Standard error of the mean, by the jackknife over clusters (CR3)."""
        counts = np.array(self.counts)
        residuals = (np.array(self.sums) - self.mean * counts) / (1 - counts / self.n)
        return math.sqrt(1 - 1 / counts.size) * _norm(residuals) / self.n

    @property
    def df(self) -> float:
        """Degrees of freedom of the standard error."""
        return self.effective - 1

    @cached_property
    def untied(self) -> int:
        """Number of clusters whose mean differs from the most common mean."""
        return _count_untied(np.array(self.sums) / np.array(self.counts))


@overload
def moments(values: Values) -> Moments: ...
@overload
def moments(values: Values, clusters: Sequence[Hashable] | None) -> Moments | ClusterMoments: ...
def moments(values: Values, clusters: Sequence[Hashable] | None = None) -> Moments | ClusterMoments:
    """Compute the moments of values. Values that are equal to 9 decimals count as tied.

    `clusters[i]` is the cluster of value i, such as its conversation or its question. Values are independent if there
    are no clusters, or if each value is its own cluster. Raises ValueError for no values, NaN, or different lengths.
    """
    array = finite_array(values)
    if not array.size:
        raise ValueError("no values: moments need at least one")
    if clusters is not None:
        if len(clusters) != array.size:
            raise ValueError(f"{array.size} values and {len(clusters)} clusters differ in number")
        numbering = {cluster: index for index, cluster in enumerate(dict.fromkeys(clusters))}
        cluster_numbers = np.array([numbering[cluster] for cluster in clusters])
        if len(numbering) < array.size:
            counts = np.bincount(cluster_numbers).astype(float)
            sums = np.bincount(cluster_numbers, weights=array).astype(float)
            return cluster_moments(counts, sums)
    array = np.sort(array)
    scale = _power_of_two(array)
    return Moments(
        n=array.size,
        mean=_sorted_mean(array),
        deviation=float((array / scale).std(ddof=1)) * scale if array.size > 1 else 0.0,
        untied=_count_untied(array),
        values=tuple(array.tolist()) if array.size <= LARGE_SAMPLE else None,
    )


def mean(values: Values) -> float:
    """Return the mean of `moments`, without computing the other moments. Raises ValueError for no values and NaN."""
    array = finite_array(values)
    if not array.size:
        raise ValueError("no values: a mean needs at least one")
    return _sorted_mean(np.sort(array))


def _sorted_mean(values: FloatArray) -> float:
    scale = _power_of_two(values)
    return float((values / scale).mean()) * scale


def cluster_moments(counts: Values, sums: Values) -> Moments | ClusterMoments:
    """Compute the moments of clustered values from the number and the sum of values in each cluster.

    Raises ValueError for no clusters, an empty cluster, NaN, or different lengths.
    """
    sizes, totals = finite_array(counts, "counts"), finite_array(sums, "sums")
    if sizes.size != totals.size or not sizes.size or sizes.min() < 1:
        raise ValueError(f"needs a count of at least 1 and a sum for each cluster, got {sizes.size} and {totals.size}")
    if sizes.max() == 1:
        return moments(totals)
    order = np.lexsort((sizes, totals / sizes))
    return ClusterMoments(
        n=int(sizes.sum()),
        mean=float(totals.sum() / sizes.sum()),
        counts=tuple(sizes[order].tolist()),
        sums=tuple(totals[order].tolist()),
    )


def mean_interval(
    summary: Moments | ClusterMoments, *, bounds: tuple[float, float] | None, level: float = 0.95
) -> Interval | NoInterval:
    """Return the two-sided interval of a mean of values within `bounds` (None: unbounded), independent or clustered.

    - All values at the bounds (0/1): Clopper and Pearson's interval.
    - Up to 500 values or clusters: at each end, the wider of Student's t and the Bayesian bootstrap (see the module's
      docstring). The extra point of the bootstrap is far out on the side of a long tail, and near the bound if few
      values are untied.
    - More than 500: Student's t. With fewer than 50 untied values, Clopper and Pearson's interval of a share with the
      same mean, which is conservative. With fewer than 50 untied clusters, also the bootstrap.

    For clusters, Student's t uses the standard error of the jackknife and the effective number of clusters minus 1 as
    degrees of freedom; the bootstrap weights clusters. There is no interval with fewer than 5 values or effective
    clusters, or if all values are tied and have no bounds. Raises ValueError for a level outside (0, 1) or a mean
    outside the bounds.
    """
    low, high = bounds or (-math.inf, math.inf)
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level}")
    if not low - 1e-9 <= summary.mean <= high + 1e-9:
        raise ValueError(f"the mean {summary.mean} is outside the bounds {low} and {high}")
    problem = _why_no_interval(summary, bounds)
    if problem:
        return NoInterval(reason=problem, n=summary.n)
    limits = _cached_limits if _unit_count(summary) <= LARGE_SAMPLE else _limits
    bottom, top, method = limits(summary, bounds, level)
    return Interval(
        estimate=summary.mean,
        low=max(low, min(bottom, summary.mean)),
        high=min(high, max(top, summary.mean)),
        level=level,
        n=summary.n,
        method=method if isinstance(summary, Moments) else f"{method}, {len(summary.counts)} clusters",
        warning=_warning(summary, bounds),
    )


def two_sided_p(summary: Moments | ClusterMoments, *, bounds: tuple[float, float] | None) -> float:
    """Return the two-sided p value for a mean of 0.

    It is below 0.05 if the 95% CI of `mean_interval` excludes 0. Raises ValueError if all values are tied and have no
    bounds.
    """
    if summary.mean == 0:
        return 1.0
    if summary.untied == 0:
        if bounds is None:
            raise ValueError("all values are tied and have no bounds: they have no p value")
        far_bound = bounds[0] if summary.mean > 0 else bounds[1]
        return min(1.0, 2 * (far_bound / (far_bound - summary.mean)) ** _unit_count(summary))
    units = _sums_and_counts(summary)
    if bounds and isinstance(summary, Moments) and _share_method(summary, bounds, units):
        return _share_p_value(summary, bounds)
    p = two_sided_t_p(summary.mean / summary.error, summary.df)
    if units is None:
        return p
    sums, counts = units
    below, above = _extra_points(summary, sums, counts, bounds)
    score = lower_score(sums, counts, below, 0.0) if summary.mean > 0 else lower_score(-sums, counts, -above, 0.0)
    return max(p, min(1.0, 2 * normal_cdf(score / _cluster_widening(summary, 0.95))))


def wilson_interval(share: float, n: int, *, level: float = 0.95) -> Interval:
    """Return Wilson's score interval of a share of n trials. The number of successes can be fractional.

    Raises ValueError for n = 0 or a share outside [0, 1].
    """
    if n < 1 or not 0 <= share <= 1:
        raise ValueError(f"needs at least one trial and a share from 0 to 1, got {n} and {share}")
    z = normal_quantile((1 + level) / 2)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low, high = max(0.0, centre - half), min(1.0, centre + half)
    return Interval(estimate=share, low=min(low, share), high=max(high, share), level=level, n=n, method="Wilson")


def share_bounds(count: float, n: int, *, level: float = 0.95) -> tuple[float, float]:
    """Return the exact two-sided bounds of `count` / n (Clopper and Pearson 1934); `count` can be fractional."""
    tail = (1 - level) / 2
    low = beta_quantile(tail, count, n - count + 1) if count > 0 else 0.0
    high = beta_quantile(1 - tail, count + 1, n - count) if count < n else 1.0
    return low, high


def _power_of_two(values: FloatArray) -> float:
    """Return a power of two near the largest absolute value. Division by it is exact and keeps squares finite."""
    return math.ldexp(1.0, max(math.frexp(float(np.abs(values).max()))[1], -900))


def _norm(values: FloatArray) -> float:
    """Return the square root of the sum of squares."""
    scale = _power_of_two(values)
    return scale * float(np.linalg.norm(values / scale))


def _count_untied(values: FloatArray) -> int:
    _, counts = np.unique(values.round(COMPARED_DECIMALS), return_counts=True)
    return values.size - int(counts.max())


def _unit_count(summary: Moments | ClusterMoments) -> int:
    """Return the number of values or clusters."""
    return summary.n if isinstance(summary, Moments) else len(summary.counts)


def _why_no_interval(summary: Moments | ClusterMoments, bounds: tuple[float, float] | None) -> str:
    if summary.n < MIN_FOR_INTERVAL:
        return f"an interval needs at least {MIN_FOR_INTERVAL} values, got {summary.n}"
    if isinstance(summary, ClusterMoments) and summary.effective < MIN_FOR_INTERVAL:
        number = len(summary.counts)
        clusters = f"{number} cluster" if number == 1 else f"{number} clusters"
        return (
            f"{summary.n} values in {clusters} count as {summary.effective:.1f} independent values; an interval needs"
            f" at least {MIN_FOR_INTERVAL}"
        )
    if not math.isfinite(summary.error):
        return "the values are too large to square"
    if bounds is None and summary.untied == 0:
        return f"all {_unit_count(summary)} values are tied, and the scores have no bounds"
    return ""


def _warning(summary: Moments | ClusterMoments, bounds: tuple[float, float] | None) -> str:
    units, size = ("values", summary.n) if isinstance(summary, Moments) else ("clusters", summary.effective)
    if bounds is None:
        return UNBOUNDED
    if summary.untied == 0:
        return f"all {_unit_count(summary)} {units} are tied: the interval is conservative"
    if summary.untied < MIN_UNTIED:
        untied = f"only {summary.untied} of {_unit_count(summary)} {units} differ from the most common one"
        return f"{untied}: the interval is conservative"
    return f"fewer than {SMALL_SAMPLE} {units}: {LOW_COVERAGE}" if size < SMALL_SAMPLE else ""


def _limits(
    summary: Moments | ClusterMoments, bounds: tuple[float, float] | None, level: float
) -> tuple[float, float, str]:
    """Return lower limit, upper limit and method."""
    units = _sums_and_counts(summary)
    if bounds and isinstance(summary, Moments) and (method := _share_method(summary, bounds, units)):
        return *_share_limits(summary, bounds, level), method
    if bounds and summary.untied == 0:
        share = 1 - ((1 - level) / 2) ** (1 / _unit_count(summary))
        low, high = summary.mean - share * (summary.mean - bounds[0]), summary.mean + share * (bounds[1] - summary.mean)
        return low, high, "Clopper-Pearson (conservative: all values tied)"
    half = t_quantile((1 + level) / 2, summary.df) * summary.error
    bottom, top = summary.mean - half, summary.mean + half
    if units is None:
        return bottom, top, "Student's t"
    sums, counts = units
    below, above = _extra_points(summary, sums, counts, bounds)
    score = normal_quantile((1 - level) / 2) * _cluster_widening(summary, level)
    method = "Student's t"
    if lower_score(sums, counts, below, bottom) > score:
        bottom, method = lower_limit(sums, counts, below, score), BOTH_METHODS
    if lower_score(-sums, counts, -above, -top) > score:
        top, method = -lower_limit(-sums, counts, -above, score), BOTH_METHODS
    return bottom, top, method


_cached_limits = lru_cache(maxsize=1024)(_limits)


def _share_method(summary: Moments, bounds: tuple[float, float], units: object) -> str:
    """Return the name of the Clopper-Pearson method if it is used, else an empty text.

    It is used if all values are at the bounds, or if most values of a large sample are tied.
    """
    low, high = bounds
    share = (summary.mean - low) / (high - low)
    max_variance = share * (1 - share) * summary.n / (summary.n - 1)
    if (summary.deviation / (high - low)) ** 2 >= max_variance - 1e-9:
        return "Clopper-Pearson"
    if units is None and summary.untied < MIN_UNTIED_LARGE_SAMPLE:
        return "Clopper-Pearson at the mean (conservative: most values tied)"
    return ""


def _share_p_value(summary: Moments, bounds: tuple[float, float]) -> float:
    """Return the p value for a mean of 0 that matches the exact interval of a share."""
    low, high = bounds
    count, share = (summary.mean - low) / (high - low) * summary.n, -low / (high - low)
    if summary.mean > 0:
        return min(1.0, 2 * beta_cdf(share, count, summary.n - count + 1))
    return min(1.0, 2 * beta_cdf(1 - share, summary.n - count, count + 1))


def _share_limits(summary: Moments, bounds: tuple[float, float], level: float) -> tuple[float, float]:
    low, high = bounds
    share = min(max((summary.mean - low) / (high - low), 0.0), 1.0)
    bottom, top = share_bounds(share * summary.n, summary.n, level=level)
    return low + bottom * (high - low), low + top * (high - low)


def _sums_and_counts(summary: Moments | ClusterMoments) -> tuple[FloatArray, FloatArray] | None:
    """Return the sums and counts of clusters for the bootstrap; None if only Student's t is used."""
    if isinstance(summary, ClusterMoments):
        if len(summary.counts) > LARGE_SAMPLE and summary.untied >= MIN_UNTIED_LARGE_SAMPLE:
            return None
        return np.array(summary.sums), np.array(summary.counts)
    return None if summary.values is None else (np.array(summary.values), np.ones(summary.n))


def _cluster_widening(summary: Moments | ClusterMoments, level: float) -> float:
    """Return the factor by which the bootstrap of clusters is widened; 1 for independent values.

    It is the width of Student's t with the jackknife, divided by its width for clusters of equal size.
    """
    if isinstance(summary, Moments):
        return 1.0
    probability, clusters, counts = (1 + level) / 2, len(summary.counts), np.array(summary.counts)
    plain_error = (
        math.sqrt(clusters / (clusters - 1)) * _norm(np.array(summary.sums) - summary.mean * counts) / summary.n
    )
    return t_quantile(probability, summary.df) * summary.error / (t_quantile(probability, clusters - 1.0) * plain_error)


def _extra_points(
    summary: Moments | ClusterMoments, sums: FloatArray, counts: FloatArray, bounds: tuple[float, float] | None
) -> tuple[float, float]:
    """Return the extra points of the bootstrap, below and above the values.

    - For skewed values, the point on the side of the long tail is further out, by the ratio of the third to the second
      moment, which is increased because small samples underestimate it.
    - If there are ties with other values on both sides, this point is less far out: the skewness is then due to chance.
    - With few untied values, both points are near the bounds; if all values are tied, they are at the bounds.
    """
    deviations = (sums - summary.mean * counts) / counts.mean()
    largest = float(np.abs(deviations).max())
    standard = deviations / largest
    tail = largest * float((standard**3).sum() / (standard**2).sum()) * (1 + SKEW_CORRECTION / counts.size)
    spread = SPREAD * summary.error
    if bounds is None:
        return summary.mean - spread + min(tail, 0.0), summary.mean + spread + max(tail, 0.0)
    low, high = bounds
    tail *= max(0.0, 1 - TIES * _balanced_ties(sums / counts, low, high))
    below = max(low, summary.mean - spread + min(tail, 0.0))
    above = min(high, summary.mean + spread + max(tail, 0.0))
    pull = PULL**summary.untied
    return below - pull * (below - low), above + pull * (high - above)


def _balanced_ties(values: FloatArray, low: float, high: float) -> float:
    """Return the weighted share of tied pairs, in [0, 1].

    A tied pair has less weight near a bound, and if most other values are on one side of it.
    """
    distinct, times = np.unique(values.round(COMPARED_DECIMALS), return_counts=True)
    below = np.cumsum(times) - times
    above = values.size - below - times
    balance = 2 * np.minimum(below, above) / np.maximum(below + above, 1)
    centrality = 2 * np.minimum(distinct - low, high - distinct) / (high - low)
    return float((times * (times - 1) * balance * centrality).sum()) / (values.size * (values.size - 1))


def gate(
    interval: Interval | NoInterval, *, threshold: float, fail: Literal["below", "above"] = "below"
) -> GateVerdict:
    """Return `pass` or `fail` if the whole interval is on one side of the threshold, else `inconclusive`.

    `fail` is the side that fails; a bound at the threshold passes. Without an interval, the verdict is `inconclusive`.
    Raises ValueError if the threshold is NaN.
    """
    if math.isnan(threshold):
        raise ValueError("the threshold is NaN")
    if isinstance(interval, NoInterval):
        return "inconclusive"
    below = fail == "below"
    if interval.low >= threshold if below else interval.high <= threshold:
        return "pass"
    if interval.high < threshold if below else interval.low > threshold:
        return "fail"
    return "inconclusive"


def smaller_no_interval(first: Interval | NoInterval, second: Interval | NoInterval) -> NoInterval:
    """Return the NoInterval with fewer values. At least one argument must be a NoInterval."""
    missing = [interval for interval in (first, second) if isinstance(interval, NoInterval)]
    return min(missing, key=lambda interval: (interval.n, interval.reason))
