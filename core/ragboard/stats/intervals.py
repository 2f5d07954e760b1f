"""Intervals of a mean, by Student's t and by the Bayesian bootstrap in closed form.

The Bayesian bootstrap (Rubin 1981) weights the values with random Dirichlet weights; its interval is the spread of the
weighted mean. One extra point represents values that a sample of this size does not show. At the bound of the scores,
it gives the limits of Gaffke (2005) and Learned-Miller and Thomas (2020), and for 0/1 scores those of Clopper and
Pearson. The weighted mean is distributed like a sum of exponential variables, and the saddlepoint approximation
(Barndorff-Nielsen 1986) of this distribution is exact enough even far out in the tail, so no random draws are needed.

Values are given as sums and counts of clusters; an independent value is a cluster of one.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, overload

import numpy as np

from ragboard.stats.checks import FloatArray, numbers
from ragboard.stats.distributions import beta_cdf, beta_quantile, normal_cdf, normal_quantile, t_quantile, two_sided_t

__all__ = [
    "COMPARED_DECIMALS",
    "LARGE",
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
    "mean_interval",
    "moments",
    "range_text",
    "share_bounds",
    "two_sided_p",
    "wilson_interval",
]

GateVerdict = Literal["pass", "fail", "inconclusive"]

MAX_STEPS = 100
MAX_DECIMALS = 6
"""Maximum number of decimals with which a bound near 0 is printed."""
SMALLEST = 1e-100
"""Values below this are scaled up, and values above its inverse are scaled down, so that squares stay finite."""
PRECISION = 1e-8
"""Accuracy to which a normal score is computed, and a limit as a share of its range."""


def lower_limit(sums: FloatArray, counts: FloatArray, extra: float, score: float) -> float:
    """Return the limit below which the weighted mean falls as often as a normal variable falls below `score` < 0.

    `extra` is the value of the extra point, which has the size of an average cluster.
    """
    scale = max(float(np.abs(sums).max()), abs(extra))
    if 0 < scale < SMALLEST or scale > 1 / SMALLEST:
        return scale * lower_limit(sums / scale, counts, extra / scale, score)
    low, high = min(extra, float((sums / counts).min())), float(sums.sum() / counts.sum())
    width = high - low
    if width <= 1e-12 * max(abs(low), abs(high)):
        return low
    at_low, at_high = -math.inf, lower_score(sums, counts, extra, high) - score
    if at_high <= 0:
        return high
    error = float(np.sqrt(np.square(sums - high * counts).sum())) / float(counts.sum())
    guess = max(high + score * error, low + width / 2)
    side = 0
    for _ in range(MAX_STEPS):
        at = lower_score(sums, counts, extra, guess) - score
        if abs(at) < PRECISION or high - low <= PRECISION * width:
            break
        if at < 0:
            low, at_low, at_high = guess, at, at_high / (2 if side < 0 else 1)
        else:
            high, at_high, at_low = guess, at, at_low / (2 if side > 0 else 1)
        side = -1 if at < 0 else 1
        guess = (low + high) / 2 if at_low == -math.inf else low - at_low * (high - low) / (at_high - at_low)
    return guess


def lower_score(sums: FloatArray, counts: FloatArray, extra: float, mean: float) -> float:
    """Return the normal score of the probability that the weighted mean is below `mean`."""
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
    """Find where the derivative of the cumulant function is 0; it rises from -inf at `low` to inf at `high`."""
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
LARGE = 500
"""Above this number of values or clusters, intervals use only Student's t."""
MIN_UNTIED_OF_MANY = 50
"""With fewer untied values or clusters among more than `LARGE`, Student's t alone would be too narrow."""
MIN_UNTIED = 3
"""With fewer untied values, the interval is conservative and says so."""
SMALL_SAMPLE = 15
"""With fewer values or clusters, the interval of very skewed values may be too narrow: see `LOW_COVERAGE`."""
COMPARED_DECIMALS = 9
"""Number of decimals to which values are rounded before they are compared, so that 0.1 + 0.2 equals 0.3."""
BOTH = "Student's t and Bayesian bootstrap"
UNBOUNDED = "the scores have no bounds: if a few are very large, the interval is too narrow"
LOW_COVERAGE = "the 95% CI may be too narrow (91% to 93% coverage for very skewed scores)"

SPREAD, SKEW_CORRECTION, PULL, EVEN = 3.5, 15.0, 0.4, 3.0
"""Constants of `_unseen`, chosen by coverage and width of the intervals (benchmarks/coverage.py)."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An estimate with the bounds of its interval, and the method."""

    estimate: float
    low: float
    high: float
    level: float
    n: int
    method: str
    warning: str = ""
    """A warning about the interval; empty if there is none."""


@dataclass(frozen=True, kw_only=True)
class NoInterval:
    """The reason why there is no interval."""

    reason: str
    n: int


def range_text(low: float, high: float, form: str = ".3f") -> str:
    """Format bounds: `0.530 to 0.730` (a hyphen could be read as a minus).

    `form` formats each bound: `.3f`, with a plus sign `+.3f`, as a percentage `.0%`. Both have more digits where
    rounding would hide on which side of 0 a bound is.
    """
    sign, places, kind = form.partition(".")[0], int(form.partition(".")[2][:-1]), form[-1]
    sided = [bound for bound in (low, high) if bound < 0 or (bound and sign)]
    while places < MAX_DECIMALS and any(not f"{bound:.{places}{kind}}".strip("-0.%") for bound in sided):
        places += 1
    return " to ".join(f"{bound + 0.0:{sign}.{places}{kind}}" for bound in (low, high))


def interval_text(found: Interval | NoInterval | None, form: str = ".3f") -> str:
    """Format an interval without "95% CI": `0.530 to 0.730`; empty without an interval."""
    return range_text(found.low, found.high, form) if isinstance(found, Interval) else ""


def ci_text(found: Interval | NoInterval, form: str = ".3f") -> str:
    """Format an interval: `95% CI 0.530 to 0.730`, or `no CI: an interval needs at least 5 values, got 3`."""
    if isinstance(found, NoInterval):
        return f"no CI: {found.reason}"
    return f"{found.level:.0%} CI {interval_text(found, form)}"


def estimate_text(value: float, found: Interval | NoInterval, form: str = ".3f") -> str:
    """Format an estimate with its interval: `0.630 (0.530 to 0.730)`; without an interval, the value alone."""
    bounds = interval_text(found, form)
    return f"{value:{form}} ({bounds})" if bounds else f"{value:{form}}"


@dataclass(frozen=True, kw_only=True)
class Moments:
    """Moments of independent values, enough for an interval of their mean."""

    n: int
    mean: float
    deviation: float
    """Standard deviation with divisor n - 1; 0 for one value."""
    varying: int
    """Number of values that differ from the most common one."""
    values: tuple[float, ...] | None = None
    """The values, ascending; None if there are more than `LARGE`."""

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
    """Moments of clustered values, enough for an interval of their mean."""

    n: int
    """Number of values."""
    mean: float
    """Mean of the values, not of the clusters."""
    counts: tuple[float, ...]
    """Number of values in each cluster."""
    sums: tuple[float, ...]
    """Sum of the values in each cluster."""

    @cached_property
    def effective(self) -> float:
        """The effective number of clusters (Kish 1965)."""
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
    def varying(self) -> int:
        """Number of clusters whose mean differs from the most common one."""
        return _varying(np.array(self.sums) / np.array(self.counts))


@overload
def moments(values: Values) -> Moments: ...
@overload
def moments(values: Values, clusters: Sequence[Hashable] | None) -> Moments | ClusterMoments: ...
def moments(values: Values, clusters: Sequence[Hashable] | None = None) -> Moments | ClusterMoments:
    """Compute the moments of at least one value; values are compared to 9 decimals.

    `clusters[i]` is the cluster of value i: turns of one conversation, answers to one question. If each value is its
    own cluster, the result is that of independent values. Raises ValueError for no values, NaN, or different lengths.
    """
    array = numbers(values)
    if not array.size:
        raise ValueError("there are no values")
    if clusters is not None:
        if len(clusters) != array.size:
            raise ValueError(f"{array.size} values and {len(clusters)} clusters differ in number")
        numbering = {cluster: index for index, cluster in enumerate(dict.fromkeys(clusters))}
        cluster_numbers = np.array([numbering[cluster] for cluster in clusters])
        if len(numbering) < array.size:
            counts, sums = (np.bincount(cluster_numbers, weights=each).astype(float) for each in (None, array))
            return cluster_moments(counts, sums)
    array = np.sort(array)
    scale = _power_of_two(array)
    return Moments(
        n=array.size,
        mean=float((array / scale).mean()) * scale,
        deviation=float((array / scale).std(ddof=1)) * scale if array.size > 1 else 0.0,
        varying=_varying(array),
        values=tuple(array.tolist()) if array.size <= LARGE else None,
    )


def cluster_moments(counts: Values, sums: Values) -> Moments | ClusterMoments:
    """Compute the moments of clustered values from the number and the sum of values in each cluster.

    Raises ValueError for no clusters, an empty one, NaN, or lengths that differ.
    """
    sizes, totals = numbers(counts, "counts"), numbers(sums, "sums")
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
    known: Moments | ClusterMoments, *, bounds: tuple[float, float] | None, level: float = 0.95
) -> Interval | NoInterval:
    """Return the two-sided interval of a mean of values within `bounds` (None: unbounded), independent or clustered.

    - Up to 500 values or clusters: Student's t or the Bayesian bootstrap, whichever is wider at each end. The bootstrap
      has an extra point for values that a small sample does not show: far out on the side of a long tail, and near the
      bound if few values are untied.
    - More: Student's t. With fewer than 50 untied values, Clopper and Pearson's interval of a share with the same mean,
      which is conservative; with fewer than 50 untied clusters, also the bootstrap.
    - Only values at the bounds (0/1): Clopper and Pearson.

    For clusters, Student's t has the jackknife's standard error and the effective number of clusters minus 1 as degrees
    of freedom, and the bootstrap draws whole clusters. There is no interval for fewer than 5 values or effective
    clusters, or for tied values without bounds. Raises ValueError for a level outside (0, 1) or a mean outside the
    bounds.
    """
    low, high = bounds or (-math.inf, math.inf)
    if not 0 < level < 1:
        raise ValueError(f"a level is between 0 and 1, got {level}")
    if not low - 1e-9 <= known.mean <= high + 1e-9:
        raise ValueError(f"a mean of {known.mean} is outside the bounds {low} and {high}")
    refusal = _refusal(known, bounds)
    if refusal:
        return NoInterval(reason=refusal, n=known.n)
    limits = _kept_limits if _size(known) <= LARGE else _limits
    bottom, top, method = limits(known, bounds, level)
    return Interval(
        estimate=known.mean,
        low=max(low, min(bottom, known.mean)),
        high=min(high, max(top, known.mean)),
        level=level,
        n=known.n,
        method=method if isinstance(known, Moments) else f"{method}, {len(known.counts)} clusters",
        warning=_warning(known, bounds),
    )


def two_sided_p(known: Moments | ClusterMoments, *, bounds: tuple[float, float] | None) -> float:
    """Return the two-sided p value of a mean of 0: below 0.05 if the 95% CI by `mean_interval` excludes 0.

    Raises ValueError for tied values without bounds.
    """
    if known.mean == 0:
        return 1.0
    if known.varying == 0:
        if bounds is None:
            raise ValueError("tied values have no p value")
        far = bounds[0] if known.mean > 0 else bounds[1]
        return min(1.0, 2 * (far / (far - known.mean)) ** _size(known))
    units = _units(known)
    if bounds and isinstance(known, Moments) and _as_share(known, bounds, units):
        return _share_p(known, bounds)
    p = two_sided_t(known.mean / known.error, known.df)
    if units is None:
        return p
    sums, counts = units
    below, above = _unseen(known, sums, counts, bounds)
    score = lower_score(sums, counts, below, 0.0) if known.mean > 0 else lower_score(-sums, counts, -above, 0.0)
    return max(p, min(1.0, 2 * normal_cdf(score / _stretch(known, 0.95))))


def wilson_interval(share: float, n: int, *, level: float = 0.95) -> Interval:
    """Return Wilson's score interval of a share of n trials; half wins are allowed. Raises ValueError for n = 0."""
    if n < 1 or not 0 <= share <= 1:
        raise ValueError(f"needs at least one trial and a share from 0 to 1, got {n} and {share}")
    z = normal_quantile((1 + level) / 2)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low, high = max(0.0, centre - half), min(1.0, centre + half)
    return Interval(estimate=share, low=min(low, share), high=max(high, share), level=level, n=n, method="Wilson")


def share_bounds(count: float, n: int, *, level: float = 0.95) -> tuple[float, float]:
    """Return the exact two-sided bounds of the share `count` / n (Clopper and Pearson 1934).

    `count` need not be a whole number.
    """
    tail = (1 - level) / 2
    low = beta_quantile(tail, count, n - count + 1) if count > 0 else 0.0
    high = beta_quantile(1 - tail, count + 1, n - count) if count < n else 1.0
    return low, high


def _power_of_two(values: FloatArray) -> float:
    """Return a scale near the largest value; division by it is exact and keeps squares finite."""
    return math.ldexp(1.0, max(math.frexp(float(np.abs(values).max()))[1], -900))


def _norm(values: FloatArray) -> float:
    """Return the square root of the sum of squares."""
    scale = _power_of_two(values)
    return scale * float(np.linalg.norm(values / scale))


def _varying(values: FloatArray) -> int:
    _, counts = np.unique(values.round(COMPARED_DECIMALS), return_counts=True)
    return values.size - int(counts.max())


def _size(known: Moments | ClusterMoments) -> int:
    """Return the number of values or clusters."""
    return known.n if isinstance(known, Moments) else len(known.counts)


def _refusal(known: Moments | ClusterMoments, bounds: tuple[float, float] | None) -> str:
    if known.n < MIN_FOR_INTERVAL:
        return f"an interval needs at least {MIN_FOR_INTERVAL} values, got {known.n}"
    if isinstance(known, ClusterMoments) and known.effective < MIN_FOR_INTERVAL:
        number = len(known.counts)
        got = f"{known.n} values in {number} cluster{'s' * (number != 1)} (effective number {known.effective:.1f})"
        return f"an interval needs at least {MIN_FOR_INTERVAL} clusters of equal size, got {got}"
    if not math.isfinite(known.error):
        return "the values are too large to square"
    if bounds is None and known.varying == 0:
        return f"all {_size(known)} values are tied, and the scores have no bounds"
    return ""


def _warning(known: Moments | ClusterMoments, bounds: tuple[float, float] | None) -> str:
    what, size = ("values", known.n) if isinstance(known, Moments) else ("clusters", known.effective)
    if bounds is None:
        return UNBOUNDED
    if known.varying == 0:
        return f"all {_size(known)} {what} are tied: the interval is conservative"
    if known.varying < MIN_UNTIED:
        few = f"only {known.varying} of {_size(known)} {what} differ from the most common one"
        return f"{few}: the interval is conservative"
    return f"fewer than {SMALL_SAMPLE} {what}: {LOW_COVERAGE}" if size < SMALL_SAMPLE else ""


def _limits(
    known: Moments | ClusterMoments, bounds: tuple[float, float] | None, level: float
) -> tuple[float, float, str]:
    units = _units(known)
    if bounds and isinstance(known, Moments) and (method := _as_share(known, bounds, units)):
        return *_share_limits(known, bounds, level), method
    if bounds and known.varying == 0:
        part = 1 - ((1 - level) / 2) ** (1 / _size(known))
        low, high = known.mean - part * (known.mean - bounds[0]), known.mean + part * (bounds[1] - known.mean)
        return low, high, "Clopper-Pearson (conservative: all values tied)"
    half = t_quantile((1 + level) / 2, known.df) * known.error
    bottom, top = known.mean - half, known.mean + half
    if units is None:
        return bottom, top, "Student's t"
    sums, counts = units
    below, above = _unseen(known, sums, counts, bounds)
    score = normal_quantile((1 - level) / 2) * _stretch(known, level)
    method = "Student's t"
    if lower_score(sums, counts, below, bottom) > score:
        bottom, method = lower_limit(sums, counts, below, score), BOTH
    if lower_score(-sums, counts, -above, -top) > score:
        top, method = -lower_limit(-sums, counts, -above, score), BOTH
    return bottom, top, method


_kept_limits = lru_cache(maxsize=1024)(_limits)


def _as_share(known: Moments, bounds: tuple[float, float], units: object) -> str:
    """Return the method if the exact interval of a share applies: values only at the bounds, or mostly tied."""
    low, high = bounds
    most = (known.mean - low) / (high - low) * (high - known.mean) / (high - low) * known.n / (known.n - 1)
    if (known.deviation / (high - low)) ** 2 >= most - 1e-9:
        return "Clopper-Pearson"
    if units is None and known.varying < MIN_UNTIED_OF_MANY:
        return "Clopper-Pearson at the mean (conservative: most values tied)"
    return ""


def _share_p(known: Moments, bounds: tuple[float, float]) -> float:
    """Return the p value of a mean of 0, by the exact interval of a share."""
    low, high = bounds
    count, share = (known.mean - low) / (high - low) * known.n, -low / (high - low)
    if known.mean > 0:
        return min(1.0, 2 * beta_cdf(share, count, known.n - count + 1))
    return min(1.0, 2 * beta_cdf(1 - share, known.n - count, count + 1))


def _share_limits(known: Moments, bounds: tuple[float, float], level: float) -> tuple[float, float]:
    low, high = bounds
    share = min(max((known.mean - low) / (high - low), 0.0), 1.0)
    bottom, top = share_bounds(share * known.n, known.n, level=level)
    return low + bottom * (high - low), low + top * (high - low)


def _units(known: Moments | ClusterMoments) -> tuple[FloatArray, FloatArray] | None:
    """Return sums and counts of independent units; None if they are many enough for Student's t alone."""
    if isinstance(known, ClusterMoments):
        if len(known.counts) > LARGE and known.varying >= MIN_UNTIED_OF_MANY:
            return None
        return np.array(known.sums), np.array(known.counts)
    return None if known.values is None else (np.array(known.values), np.ones(known.n))


def _stretch(known: Moments | ClusterMoments, level: float) -> float:
    """Return the factor that widens the cluster bootstrap, by as much as Student's t widens for unequal clusters."""
    if isinstance(known, Moments):
        return 1.0
    p, size, counts = (1 + level) / 2, len(known.counts), np.array(known.counts)
    plain = math.sqrt(size / (size - 1)) * _norm(np.array(known.sums) - known.mean * counts) / known.n
    return t_quantile(p, known.df) * known.error / (t_quantile(p, size - 1.0) * plain)


def _unseen(
    known: Moments | ClusterMoments, sums: FloatArray, counts: FloatArray, bounds: tuple[float, float] | None
) -> tuple[float, float]:
    """Return the extra points of the bootstrap, below and above the values.

    The more skewed the values, the further out is the point on the side of the long tail: an Edgeworth expansion asks
    for half the third moment over the second, and small samples show too little of it. It is less far out if many
    values are tied and the others are on both sides of them, because their skewness is chance. The fewer values are
    untied, the nearer the points are to the bounds; if all are tied, they are at the bounds.
    """
    deviations = (sums - known.mean * counts) / counts.mean()
    largest = float(np.abs(deviations).max())
    standard = deviations / largest
    tail = largest * float((standard**3).sum() / (standard**2).sum()) * (1 + SKEW_CORRECTION / counts.size)
    spread = SPREAD * known.error
    if bounds is None:
        return known.mean - spread + min(tail, 0.0), known.mean + spread + max(tail, 0.0)
    low, high = bounds
    tail *= max(0.0, 1 - EVEN * _even_ties(sums / counts, low, high))
    below = max(low, known.mean - spread + min(tail, 0.0))
    above = min(high, known.mean + spread + max(tail, 0.0))
    pull = PULL**known.varying
    return below - pull * (below - low), above + pull * (high - above)


def _even_ties(values: FloatArray, low: float, high: float) -> float:
    """Return the share of tied pairs; less if the other values are on one side, or a bound is close."""
    common, times = np.unique(values.round(COMPARED_DECIMALS), return_counts=True)
    below = np.cumsum(times) - times
    above = values.size - below - times
    sides = 2 * np.minimum(below, above) / np.maximum(below + above, 1)
    middle = 2 * np.minimum(common - low, high - common) / (high - low)
    return float((times * (times - 1) * sides * middle).sum()) / (values.size * (values.size - 1))


def gate(found: Interval | NoInterval, *, threshold: float, fail: Literal["below", "above"] = "below") -> GateVerdict:
    """Return pass or fail if the whole interval is on one side of the threshold, else inconclusive.

    The threshold itself passes. Without an interval the verdict is inconclusive. Raises ValueError for a
    threshold that is NaN.
    """
    if math.isnan(threshold):
        raise ValueError("the threshold is NaN")
    if isinstance(found, NoInterval):
        return "inconclusive"
    if fail == "below":
        return "pass" if found.low >= threshold else "fail" if found.high < threshold else "inconclusive"
    return "pass" if found.high <= threshold else "fail" if found.low > threshold else "inconclusive"
