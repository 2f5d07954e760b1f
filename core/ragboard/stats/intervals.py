"""Confidence intervals for means of bounded scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragboard.stats.distributions import beta_quantile, normal_quantile, t_quantile

__all__ = [
    "FEWEST",
    "FEWEST_VARYING",
    "SAME",
    "Floats",
    "Interval",
    "Moments",
    "NoInterval",
    "Values",
    "mean_interval",
    "moments",
    "share_bounds",
    "wilson_interval",
]

Floats = NDArray[np.float64]
Values = Sequence[float] | Floats
FEWEST = 5
"""With fewer values no interval is given."""
FEWEST_VARYING = 10
"""With fewer values away from the commonest one, Student's t would be too narrow."""
SAME = 9
"""Values that agree to this many decimals count as equal: 0.1 + 0.2 is 0.3."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A mean, its bounds, and how they were made."""

    estimate: float
    low: float
    high: float
    level: float
    n: int
    method: str


@dataclass(frozen=True, kw_only=True)
class NoInterval:
    """Why there is no interval."""

    reason: str
    n: int


@dataclass(frozen=True, kw_only=True)
class Moments:
    """What an interval of a mean needs to know of the values."""

    n: int
    mean: float
    deviation: float
    """Standard deviation with n - 1; 0 for a single value."""
    varying: int
    """How many values differ from the commonest one."""


def moments(values: Values) -> Moments:
    """The moments of at least one value; values are equal to 9 decimals. Raises ValueError for none."""
    array = np.asarray(values, dtype=float)
    if not array.size:
        raise ValueError("there are no values")
    _, counts = np.unique(array.round(SAME), return_counts=True)
    return Moments(
        n=array.size,
        mean=float(array.mean()),
        deviation=float(array.std(ddof=1)) if array.size > 1 else 0.0,
        varying=array.size - int(counts.max()),
    )


def mean_interval(
    moments: Moments, *, bounds: tuple[float, float] | None, level: float = 0.95
) -> Interval | NoInterval:
    """Two-sided interval of the mean of independent values within `bounds` (None: unbounded).

    Student's t, cut at the bounds. Where fewer than 10 values differ from the commonest one, t is too
    narrow (all values equal would be certainty); then the exact bounds of a share at the same mean, of values that
    lie at the bounds and nowhere else, which spread most, so it errs to the wide side; without bounds there
    is none. Fewer than 5 values have no interval. Raises ValueError for a level outside (0, 1) or a mean
    outside the bounds.
    """
    low, high = bounds or (-math.inf, math.inf)
    if not 0 < level < 1:
        raise ValueError(f"a level lies between 0 and 1, got {level}")
    if not low - 1e-9 <= moments.mean <= high + 1e-9:
        raise ValueError(f"a mean of {moments.mean} lies outside the bounds {low} and {high}")
    if moments.n < FEWEST:
        return NoInterval(reason=f"an interval needs at least {FEWEST} values, got {moments.n}", n=moments.n)
    if moments.varying < FEWEST_VARYING:
        if bounds is None:
            return NoInterval(reason=f"only {moments.varying} values differ from the commonest one", n=moments.n)
        return _exact_within(moments, bounds, level)
    half = t_quantile((1 + level) / 2, moments.n - 1) * moments.deviation / math.sqrt(moments.n)
    return Interval(
        estimate=moments.mean,
        low=max(low, moments.mean - half),
        high=min(high, moments.mean + half),
        level=level,
        n=moments.n,
        method="Student's t",
    )


def wilson_interval(share: float, n: int, *, level: float = 0.95) -> Interval:
    """Wilson's score interval for a share of n trials (Wilson 1927). Raises ValueError for n < 1."""
    if n < 1:
        raise ValueError(f"a share needs at least 1 trial, got {n}")
    z = normal_quantile((1 + level) / 2)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    low, high = max(0.0, centre - half), min(1.0, centre + half)
    return Interval(estimate=share, low=min(low, share), high=max(high, share), level=level, n=n, method="Wilson")


def share_bounds(count: float, n: int, *, level: float = 0.95) -> tuple[float, float]:
    """The exact two-sided bounds of a share, `count` of n trials (Clopper and Pearson 1934).

    Half a trial or any other part of one counts as such.
    """
    tail = (1 - level) / 2
    low = beta_quantile(tail, count, n - count + 1) if count > 0 else 0.0
    high = beta_quantile(1 - tail, count + 1, n - count) if count < n else 1.0
    return low, high


def _exact_within(moments: Moments, bounds: tuple[float, float], level: float) -> Interval:
    low, high = bounds
    share = min(max((moments.mean - low) / (high - low), 0.0), 1.0)
    bottom, top = share_bounds(share * moments.n, moments.n, level=level)
    return Interval(
        estimate=moments.mean,
        low=low + bottom * (high - low),
        high=low + top * (high - low),
        level=level,
        n=moments.n,
        method="exact share at the mean (few values differ; errs to the wide side)",
    )
