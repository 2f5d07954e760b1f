"""Paired differences and tests, also with missing values, whatever these could have been."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, product

import numpy as np
from numpy.typing import NDArray

from ragboard.stats.checks import flags, numbers
from ragboard.stats.distributions import coin_tail, t_quantile
from ragboard.stats.intervals import (
    FEW,
    FEW_OF_MANY,
    SAME,
    ClusterMoments,
    Floats,
    Interval,
    Moments,
    NoInterval,
    Values,
    mean_interval,
    moments,
    two_sided_p,
)

__all__ = [
    "PairedDifference",
    "SignTest",
    "holm",
    "mcnemar",
    "outer_difference",
    "outer_interval",
    "paired_difference",
    "sign_test",
]


METHOD = "worst-case bounds"


def outer_interval(
    low: Interval | NoInterval, high: Interval | NoInterval, *, estimate: float
) -> Interval | NoInterval:
    """Combine two intervals: from the lower end of `low`, with the missing at their least, to the upper end of `high`.

    The means of the two are the worst-case bounds of Horowitz and Manski (2000). Each end errs with at most half of
    one less the level, so that the whole stretch between the bounds is covered at that level (Bonferroni), and the
    mean itself rather more often; Imbens and Manski (2004) give a narrower interval for it alone. Where one of the
    two has no interval there is none. Raises ValueError for two levels or two sizes.
    """
    refused = [found for found in (low, high) if isinstance(found, NoInterval)]
    if isinstance(low, NoInterval) or isinstance(high, NoInterval):
        return min(refused, key=lambda found: (found.n, found.reason))
    if (low.level, low.n) != (high.level, high.n):
        raise ValueError(f"intervals of {low.n} and {high.n} values at {low.level} and {high.level} do not go together")
    methods = " and ".join(sorted({low.method, high.method}))
    return Interval(
        estimate=min(max(estimate, low.estimate), high.estimate),
        low=low.low,
        high=high.high,
        level=low.level,
        n=low.n,
        method=f"{METHOD} (Horowitz and Manski 2000), their ends by {methods}",
        warning="; ".join(sorted({low.warning, high.warning} - {""})),
    )


def outer_difference(seen: PairedDifference, low: PairedDifference, high: PairedDifference) -> PairedDifference:
    """Return the difference of complete pairs, with the bounds that the missing values allow.

    `low` is over all pairs with the missing values such that the difference is least, `high` such that it is
    greatest. The interval is the outer one; p is the larger that the missing values allow: that of the nearer case
    where both lie on one side of 0, else 1. n, means, wins and ties stay those of the pairs that were seen.
    """
    nearer = low if low.difference > 0 else high if high.difference < 0 else None
    return replace(
        seen,
        interval=outer_interval(low.interval, high.interval, estimate=seen.difference),
        p=nearer.p if nearer else 1.0,
        p_method=f"{nearer.p_method}, at the worst case" if nearer else "the missing values allow either sign",
        detectable=None,
        warning="; ".join(sorted({low.warning, high.warning} - {""})),
    )


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjust p values for their number, in the order given (Holm 1979).

    Calling those below 0.05 differences, one is called falsely at most 5 % of the time, however the tests
    depend on each other. Raises ValueError for a p outside 0 to 1.
    """
    if not all(0 <= p <= 1 for p in p_values):
        raise ValueError("a p value lies between 0 and 1")
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    scaled = (min(1.0, (len(order) - place) * p_values[index]) for place, index in enumerate(order))
    adjusted = dict(zip(order, accumulate(scaled, max), strict=True))
    return tuple(adjusted[index] for index in range(len(p_values)))


Flags = Sequence[bool] | NDArray[np.bool_]
FEW_FLIPS = 12
"""The most non-zero differences for which all sign flips are enumerated."""


@dataclass(frozen=True, kw_only=True)
class SignTest:
    """A sign test: wins, losses and p."""

    wins: int
    losses: int
    p: float
    """Two-sided exact p."""
    method: str = "exact sign test"


@dataclass(frozen=True, kw_only=True)
class PairedDifference:
    """Mean of `second - first` over n pairs, with interval, p and counts of wins and losses."""

    n: int
    first: float
    """Mean of the first values."""
    second: float
    """Mean of the second values."""
    difference: float
    """Mean difference; positive if the second is higher."""
    interval: Interval | NoInterval
    p: float
    """Two-sided p of the hypothesis of no difference; 1 if all pairs are equal."""
    p_method: str
    sign: SignTest
    """Wins, losses and ties; a win is a pair with a higher second value."""
    ties: int
    detectable: float | None
    """The smallest true difference that would be found with the given power, were all else alike; None
    where fewer than 3 differences are not tied."""
    power: float
    level: float
    warning: str = ""
    """A caution about the interval; empty without one."""


def paired_difference(
    first: Values,
    second: Values,
    *,
    bounds: tuple[float, float] | None = None,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
    power: float = 0.8,
) -> PairedDifference:
    """Compare paired values: `first[i]` with `second[i]`.

    `bounds` are those of a difference: (-1, 1) for scores from 0 to 1. `clusters[i]` says to which cluster pair i
    belongs: turns of one conversation, answers to one question; without, pairs are independent. Interval and p are
    those of the mean difference, by the methods of `mean_interval`. Where there is no interval, p is that of all ways
    to flip the signs (Fisher 1935), or of the sign test with more than 12 non-zero differences or with clusters, whose
    sign test counts clusters. Swapping the sides changes the signs and nothing else. Raises ValueError for no pairs,
    lengths that differ, NaN, or a difference outside the bounds.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} first values and {len(second)} second are no pairs")
    before, after = numbers(first, "first"), numbers(second, "second")
    differences: Floats = after - before
    if (
        bounds
        and differences.size
        and not bounds[0] - 1e-9 <= differences.min() <= differences.max() <= bounds[1] + 1e-9
    ):
        raise ValueError(f"a difference is outside the bounds {bounds[0]} and {bounds[1]}")
    known = moments(differences, clusters)
    if isinstance(known, Moments) and known.varying < FEW_OF_MANY:
        known = replace(known, values=tuple(np.sort(differences).tolist()))
    wins, losses = _sides(differences)
    sign = sign_test(wins, losses)
    if isinstance(known, ClusterMoments):
        of_clusters = sign_test(*_sides(np.array(known.sums)))
        sign = SignTest(wins=wins, losses=losses, p=of_clusters.p, method="exact sign test of clusters")
    interval = mean_interval(known, bounds=bounds, level=level)
    p, p_method = _p(known, differences, sign, interval, bounds)
    return PairedDifference(
        n=known.n,
        first=moments(before).mean,
        second=moments(after).mean,
        difference=known.mean,
        interval=interval,
        p=p,
        p_method=p_method,
        sign=sign,
        ties=known.n - wins - losses,
        detectable=_detectable(known, level, power),
        power=power,
        level=level,
        warning=interval.warning if isinstance(interval, Interval) else "",
    )


def sign_test(wins: int, losses: int) -> SignTest:
    """Return the exact two-sided sign test; ties are left out. Without a win or loss, p is 1."""
    p = min(1.0, 2 * coin_tail(min(wins, losses), wins + losses))
    return SignTest(wins=wins, losses=losses, p=p)


def mcnemar(first: Flags, second: Flags) -> SignTest:
    """Return McNemar's exact test (1947) of paired booleans: of the pairs that differ, how often the second is true.

    Raises ValueError for lengths that differ, and for what is not True or False.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} first flags and {len(second)} second are no pairs")
    a, b = (np.array(flags(side, name), dtype=np.bool_) for side, name in ((first, "first"), (second, "second")))
    return sign_test(int(np.sum(b & ~a)), int(np.sum(a & ~b)))


def _sides(differences: Floats) -> tuple[int, int]:
    rounded = differences.round(SAME)
    return int((rounded > 0).sum()), int((rounded < 0).sum())


def _p(
    known: Moments | ClusterMoments,
    differences: Floats,
    sign: SignTest,
    interval: Interval | NoInterval,
    bounds: tuple[float, float] | None,
) -> tuple[float, str]:
    if not sign.wins and not sign.losses:
        return 1.0, "all pairs are tied"
    if isinstance(interval, NoInterval):
        few = isinstance(known, Moments) and sign.wins + sign.losses <= FEW_FLIPS
        return (_flips(differences), "exact sign flips") if few else (sign.p, sign.method)
    if interval.method == "Clopper-Pearson":
        return sign.p, sign.method
    return two_sided_p(known, bounds=bounds), interval.method


def _flips(differences: Floats) -> float:
    """Return the share of all sign assignments with a sum at least as far from 0."""
    moved = differences[differences.round(SAME) != 0]
    moved = moved / np.abs(moved).max()
    signs = np.array(list(product((-1.0, 1.0), repeat=moved.size)))
    return float(np.mean(np.abs(signs @ moved) >= abs(moved.sum()) - 1e-9))


def _detectable(known: Moments | ClusterMoments, level: float, power: float) -> float | None:
    if known.varying < FEW or known.df < 1:
        return None
    return (t_quantile((1 + level) / 2, known.df) + t_quantile(power, known.df)) * known.error
