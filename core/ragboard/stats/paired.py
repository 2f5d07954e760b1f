"""Paired differences and tests, with worst-case bounds for missing values."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, product

import numpy as np
from numpy.typing import NDArray

from ragboard.stats.checks import FloatArray, finite_array, to_booleans
from ragboard.stats.distributions import fair_coin_cdf, t_quantile
from ragboard.stats.intervals import (
    COMPARED_DECIMALS,
    MIN_UNTIED,
    MIN_UNTIED_LARGE_SAMPLE,
    ClusterMoments,
    Interval,
    Moments,
    NoInterval,
    Values,
    mean,
    mean_interval,
    moments,
    smaller_no_interval,
    two_sided_p,
)

__all__ = [
    "PairedDifference",
    "SignTest",
    "holm",
    "mcnemar",
    "paired_difference",
    "pairs_needed",
    "sign_test",
    "worst_case_difference",
    "worst_case_interval",
]


WORST_CASE = "worst-case bounds"


def worst_case_interval(
    low: Interval | NoInterval, high: Interval | NoInterval, *, estimate: float
) -> Interval | NoInterval:
    """Return the interval from the lower end of `low` to the upper end of `high`.

    In `low`, missing values are at their minimum, in `high` at their maximum: the two estimates are the worst-case
    bounds of Horowitz and Manski (2000). The interval covers the whole range between the bounds with probability
    `level`, and the mean with a higher one; Imbens and Manski (2004) give a narrower interval for the mean. If `low` or
    `high` is a NoInterval, the result is one, too. Raises ValueError for different levels or numbers of values.
    """
    if isinstance(low, NoInterval) or isinstance(high, NoInterval):
        return smaller_no_interval(low, high)
    if (low.level, low.n) != (high.level, high.n):
        raise ValueError(f"intervals of {low.n} and {high.n} values at {low.level} and {high.level} cannot be combined")
    methods = " and ".join(sorted({low.method, high.method}))
    return Interval(
        estimate=min(max(estimate, low.estimate), high.estimate),
        low=low.low,
        high=high.high,
        level=low.level,
        n=low.n,
        method=f"{WORST_CASE} (Horowitz and Manski 2000), their ends by {methods}",
        warning="; ".join(sorted({low.warning, high.warning} - {""})),
    )


def worst_case_difference(
    complete: PairedDifference, low: PairedDifference, high: PairedDifference
) -> PairedDifference:
    """Return the difference of complete pairs with the widest interval and the largest p that missing values allow.

    In `low` and `high`, missing values are filled in to make the difference as small or as large as possible. p is that
    of the difference nearer to 0, or 1 if the two differ in sign. n, means, wins and ties are of the complete pairs.
    """
    worst_case = None
    if low.difference > 0:
        worst_case = low
    elif high.difference < 0:
        worst_case = high
    return replace(
        complete,
        interval=worst_case_interval(low.interval, high.interval, estimate=complete.difference),
        p=worst_case.p if worst_case else 1.0,
        p_method=f"{worst_case.p_method}, at the worst case" if worst_case else "the missing values allow either sign",
        detectable=None,
        warning="; ".join(sorted({low.warning, high.warning} - {""})),
    )


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return the p values, adjusted for multiple tests (Holm 1979), in the same order.

    With no true difference, an adjusted p is below 0.05 in any of the tests with a probability of at most 5%. The tests
    can be dependent. Raises ValueError for a p outside 0 to 1.
    """
    if not all(0 <= p <= 1 for p in p_values):
        raise ValueError("p values must be between 0 and 1")
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    scaled = (min(1.0, (len(order) - rank) * p_values[index]) for rank, index in enumerate(order))
    adjusted = dict(zip(order, accumulate(scaled, max), strict=True))
    return tuple(adjusted[index] for index in range(len(p_values)))


Flags = Sequence[bool] | NDArray[np.bool_]
MIN_PAIRS = 3
"""Minimum number of untied differences for a detectable difference."""
MAX_FLIPS = 12
"""With more non-zero differences than this, sign flips are not enumerated."""


@dataclass(frozen=True, kw_only=True)
class SignTest:
    """The result of a sign test, which leaves ties out."""

    wins: int
    losses: int
    p: float
    """Two-sided exact p value."""
    method: str = "exact sign test"


@dataclass(frozen=True, kw_only=True)
class PairedDifference:
    """The mean of `second - first` over n pairs, with interval, p value and sign test."""

    n: int
    first: float
    """Mean of the first values."""
    second: float
    """Mean of the second values."""
    difference: float
    """Mean difference; positive if the second is higher."""
    interval: Interval | NoInterval
    p: float
    """Two-sided p value of the hypothesis of no difference; 1 if all pairs are equal."""
    p_method: str
    sign: SignTest
    """The sign test; a win is a pair with a higher second value."""
    ties: int
    """Number of pairs with equal values."""
    detectable: float | None
    """The minimum detectable difference; None if fewer than 3 differences differ from the most common one."""
    df: float
    """Degrees of freedom of the standard error of the difference."""
    power: float
    """Power of the minimum detectable difference."""
    level: float
    warning: str = ""
    """A warning about the interval; empty if there is none."""


def paired_difference(
    first: Values,
    second: Values,
    *,
    bounds: tuple[float, float] | None = None,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
    power: float = 0.8,
) -> PairedDifference:
    """Compare `second[i]` with `first[i]`, pair by pair.

    `bounds` are the bounds of a difference, such as (-1, 1) for scores from 0 to 1. `clusters[i]` is the cluster of
    pair i, such as its conversation or its question; None means that pairs are independent.

    The interval is that of `mean_interval`, and p matches it. With at most 12 non-zero differences, p is at least that
    of Fisher's sign-flip test (1935). If there is no interval, p is that of Fisher's test or, for clusters or more
    non-zero differences, of the sign test. Swapping `first` and `second` changes only the signs. Raises ValueError for
    no pairs, different lengths, NaN, or a difference outside the bounds.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} first and {len(second)} second values are not pairs")
    first_values, second_values = finite_array(first, "first"), finite_array(second, "second")
    differences: FloatArray = second_values - first_values
    if bounds and ((differences < bounds[0] - 1e-9) | (differences > bounds[1] + 1e-9)).any():
        raise ValueError(f"a difference is outside the bounds {bounds[0]} and {bounds[1]}")
    summary = moments(differences, clusters)
    if isinstance(summary, Moments) and summary.untied < MIN_UNTIED_LARGE_SAMPLE:
        summary = replace(summary, values=tuple(np.sort(differences).tolist()))
    wins, losses = _count_signs(differences)
    sign = sign_test(wins, losses)
    if isinstance(summary, ClusterMoments):
        cluster_test = sign_test(*_count_signs(np.array(summary.sums)))
        sign = SignTest(wins=wins, losses=losses, p=cluster_test.p, method="exact sign test of clusters")
    interval = mean_interval(summary, bounds=bounds, level=level)
    p, p_method = _p_value(summary, differences, sign, interval, bounds)
    return PairedDifference(
        n=summary.n,
        first=mean(first_values),
        second=mean(second_values),
        difference=summary.mean,
        interval=interval,
        p=p,
        p_method=p_method,
        sign=sign,
        ties=summary.n - wins - losses,
        detectable=_detectable(summary, interval, level, power),
        df=summary.df,
        power=power,
        level=level,
        warning=interval.warning if isinstance(interval, Interval) else "",
    )


def pairs_needed(comparison: PairedDifference, difference: float) -> int | None:
    """Return how many pairs (at least 3) are needed to detect a true difference with the power of the comparison.

    This assumes that further pairs vary like the compared ones and have clusters of the same size. None if the
    comparison has no minimum detectable difference. Raises ValueError unless the difference is above 0.
    """
    if not difference > 0:
        raise ValueError(f"the difference to detect must be above 0, got {difference}")
    if comparison.detectable is None:
        return None
    error = comparison.detectable / _detectable_in_errors(comparison.df, comparison.level, comparison.power)

    def detects(pairs: int) -> bool:
        df = max(1.0, (comparison.df + 1) * pairs / comparison.n - 1)
        return (
            _detectable_in_errors(df, comparison.level, comparison.power) * error * math.sqrt(comparison.n / pairs)
            <= difference
        )

    low, high = MIN_PAIRS - 1, MIN_PAIRS
    while not detects(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if detects(middle) else (middle, high)
    return high


def sign_test(wins: int, losses: int) -> SignTest:
    """Run the exact two-sided sign test. Without wins and losses, p is 1."""
    p = min(1.0, 2 * fair_coin_cdf(min(wins, losses), wins + losses))
    return SignTest(wins=wins, losses=losses, p=p)


def mcnemar(first: Flags, second: Flags) -> SignTest:
    """Run McNemar's exact test (1947) of paired booleans. A win is a pair in which only the second is true.

    Raises ValueError for different lengths, and for values other than True and False.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} first and {len(second)} second values are not pairs")
    pairs = list(zip(to_booleans(first, "first"), to_booleans(second, "second"), strict=True))
    return sign_test(pairs.count((False, True)), pairs.count((True, False)))


def _count_signs(differences: FloatArray) -> tuple[int, int]:
    """Return the number of differences above and below 0."""
    rounded = differences.round(COMPARED_DECIMALS)
    return int((rounded > 0).sum()), int((rounded < 0).sum())


def _p_value(
    summary: Moments | ClusterMoments,
    differences: FloatArray,
    sign: SignTest,
    interval: Interval | NoInterval,
    bounds: tuple[float, float] | None,
) -> tuple[float, str]:
    if not sign.wins and not sign.losses:
        return 1.0, "all pairs are tied"
    exact = None
    if isinstance(summary, Moments) and sign.wins + sign.losses <= MAX_FLIPS:
        exact = _sign_flip_p(differences), "exact sign flips"
    if isinstance(interval, NoInterval):
        return exact or (sign.p, sign.method)
    if interval.method == "Clopper-Pearson":
        return sign.p, sign.method
    by_interval = two_sided_p(summary, bounds=bounds), interval.method
    return max(by_interval, exact) if exact else by_interval


def _sign_flip_p(differences: FloatArray) -> float:
    """Return the share of all sign flips whose sum is at least as far from 0 as the observed sum."""
    untied = differences[differences.round(COMPARED_DECIMALS) != 0]
    untied = untied / np.abs(untied).max()
    signs = np.array(list(product((-1.0, 1.0), repeat=untied.size)))
    return float(np.mean(np.abs(signs @ untied) >= abs(untied.sum()) - 1e-9))


def _detectable(
    summary: Moments | ClusterMoments, interval: Interval | NoInterval, level: float, power: float
) -> float | None:
    """Return the minimum detectable difference.

    If the interval is wider than Student's t interval, its width sets the standard error, because p matches the
    interval.
    """
    if summary.untied < MIN_UNTIED or summary.df < 1:
        return None
    error = summary.error
    if isinstance(interval, Interval):
        error = max(error, (interval.high - interval.low) / 2 / t_quantile((1 + level) / 2, summary.df))
    return _detectable_in_errors(summary.df, level, power) * error


def _detectable_in_errors(df: float, level: float, power: float) -> float:
    """Return the minimum detectable difference in standard errors."""
    return t_quantile((1 + level) / 2, df) + t_quantile(power, df)
