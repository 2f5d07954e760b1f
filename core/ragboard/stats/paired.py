"""The difference between two lists of values that belong together pair by pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ragboard.stats.distributions import coin_tail, t_cdf, t_quantile
from ragboard.stats.intervals import (
    FEWEST,
    FEWEST_VARYING,
    SAME,
    Floats,
    Interval,
    Moments,
    NoInterval,
    Values,
    mean_interval,
    moments,
    share_bounds,
)

__all__ = ["PairedDifference", "SignTest", "mcnemar", "paired_difference", "sign_test"]

Flags = Sequence[bool] | NDArray[np.bool_]
RARE = 0.25
"""Where a smaller share of the pairs differs, how many do is itself so uncertain that t falls short."""
BY_T = "Student's t"
BY_WIDER_T = "Student's t, half a win and half a loss added (few of many pairs differ)"
FEW_FLIPS = 12
"""Up to this many non-zero differences, all ways to flip their signs are counted."""


@dataclass(frozen=True, kw_only=True)
class SignTest:
    """How often each side was ahead, and how surprising that is where neither is better."""

    wins: int
    losses: int
    p: float
    """Two-sided, exact."""
    method: str = "exact sign test"


@dataclass(frozen=True, kw_only=True)
class PairedDifference:
    """The mean of `second - first` over n pairs: its interval, its p, and who was ahead how often."""

    n: int
    first: float
    """Mean of the first values."""
    second: float
    """Mean of the second values."""
    difference: float
    """Mean of the differences; positive where the second is higher."""
    interval: Interval | NoInterval
    p: float
    """Two-sided, of the hypothesis that there is no difference; 1 where all pairs are equal."""
    p_method: str
    sign: SignTest
    """A win is a pair whose second value is the higher one."""
    ties: int
    detectable: float | None
    """The smallest true difference that would be found with the given power, were all else alike; None
    where there is no interval by Student's t to find it with."""
    power: float
    level: float
    warning: str = ""
    """Why to be careful with the interval; empty where there is no need."""


def paired_difference(
    first: Values,
    second: Values,
    *,
    bounds: tuple[float, float] | None = None,
    level: float = 0.95,
    power: float = 0.8,
) -> PairedDifference:
    """Compare values that belong together: `first[i]` with `second[i]`, pairs independent of each other.

    `bounds` are those of a difference: (-1, 1) for scores from 0 to 1. Student's t on the differences. Where fewer
    than a quarter of them are away from the commonest one, their variance has half a win and half a loss more, of the
    root mean square size: what Agresti and Min 2005 do to counts of wins and losses, for differences of any size. Where
    fewer than 10 of them are away from the commonest one (mostly: are not 0), t would be too narrow: then the
    interval is what the bounds allow with the exact share of pairs that may differ, which errs to the wide
    side, and without bounds there is none. p is then that of all ways to flip the signs (Fisher
    1935), or of the sign test with more than 12 non-zero differences. Raises ValueError for no pairs, lengths that
    differ, or a difference outside the bounds.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} first values and {len(second)} second are no pairs")
    differences: Floats = np.asarray(second, dtype=float) - np.asarray(first, dtype=float)
    known = moments(differences)
    by_t = known.varying >= FEWEST_VARYING
    known, method = _widened(differences, known) if by_t else (known, BY_T)
    sign = sign_test(*_sides(differences))
    p, p_method = (_p(known), method) if by_t else _exact_p(differences, sign)
    interval = _interval(differences, known, bounds, level, method)
    return PairedDifference(
        n=known.n,
        first=float(np.mean(first)),
        second=float(np.mean(second)),
        difference=known.mean,
        interval=interval,
        p=p,
        p_method=p_method,
        sign=sign,
        ties=known.n - sign.wins - sign.losses,
        detectable=_detectable(known, level, power) if by_t else None,
        power=power,
        level=level,
        warning="" if by_t else _few(known),
    )


def sign_test(wins: int, losses: int) -> SignTest:
    """The exact two-sided sign test; ties are left out. Without a win or a loss, p is 1."""
    p = min(1.0, 2 * coin_tail(min(wins, losses), wins + losses))
    return SignTest(wins=wins, losses=losses, p=p)


def mcnemar(first: Flags, second: Flags) -> SignTest:
    """The exact test of McNemar 1947: of the pairs in which one is true, how often it is the second.

    Raises ValueError for lengths that differ.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} first flags and {len(second)} second are no pairs")
    a, b = np.asarray(first, dtype=np.bool_), np.asarray(second, dtype=np.bool_)
    return sign_test(int(np.sum(b & ~a)), int(np.sum(a & ~b)))


def _sides(differences: Floats) -> tuple[int, int]:
    rounded = differences.round(SAME)
    return int((rounded > 0).sum()), int((rounded < 0).sum())


def _few(known: Moments) -> str:
    return f"{known.varying} of {known.n} differences are away from the commonest one, fewer than {FEWEST_VARYING}"


def _interval(
    differences: Floats, known: Moments, bounds: tuple[float, float] | None, level: float, method: str
) -> Interval | NoInterval:
    if bounds and not bounds[0] - 1e-9 <= differences.min() <= differences.max() <= bounds[1] + 1e-9:
        raise ValueError(f"a difference lies outside the bounds {bounds[0]} and {bounds[1]}")
    if known.varying >= FEWEST_VARYING or known.n < FEWEST:
        found = mean_interval(known, bounds=bounds, level=level)
        return replace(found, method=method) if isinstance(found, Interval) else found
    if bounds is None:
        return NoInterval(reason=_few(known), n=known.n)
    return _widest(differences, known, bounds, level)


def _widest(differences: Floats, known: Moments, bounds: tuple[float, float], level: float) -> Interval:
    """At most so many pairs lie above the commonest difference, and none lies further than the bound."""
    commonest = _commonest(differences)
    rounded = differences.round(SAME)
    _, above = share_bounds(int((rounded > commonest).sum()), known.n, level=level)
    _, below = share_bounds(int((rounded < commonest).sum()), known.n, level=level)
    low, high = bounds
    return Interval(
        estimate=known.mean,
        low=commonest - below * (commonest - low),
        high=commonest + above * (high - commonest),
        level=level,
        n=known.n,
        method="exact share within the bounds (few pairs differ; errs to the wide side)",
    )


def _commonest(differences: Floats) -> float:
    values, counts = np.unique(differences.round(SAME), return_counts=True)
    return float(values[counts.argmax()])


def _widened(differences: Floats, known: Moments) -> tuple[Moments, str]:
    """Where few differ, with half a difference more on either side of the commonest, of the root mean square size."""
    if known.varying >= RARE * known.n:
        return known, BY_T
    apart = differences - _commonest(differences)
    square = float(apart @ apart) / known.varying
    return replace(known, deviation=math.sqrt(known.deviation**2 + square / known.n)), BY_WIDER_T


def _p(known: Moments) -> float:
    t = abs(known.mean) / (known.deviation / math.sqrt(known.n))
    return 2 * t_cdf(-t, known.n - 1)


def _exact_p(differences: Floats, sign: SignTest) -> tuple[float, str]:
    if sign.wins + sign.losses <= FEW_FLIPS:
        return _flips(differences), "exact sign flips"
    return sign.p, sign.method


def _flips(differences: Floats) -> float:
    """The share of all ways to set the signs in which the sum is at least as far from 0."""
    moved = differences[differences.round(SAME) != 0]
    signs = np.array(list(product((-1.0, 1.0), repeat=moved.size)))
    return float(np.mean(np.abs(signs @ moved) >= abs(moved.sum()) - 1e-9))


def _detectable(known: Moments, level: float, power: float) -> float:
    df = known.n - 1
    return (t_quantile((1 + level) / 2, df) + t_quantile(power, df)) * known.deviation / math.sqrt(known.n)
