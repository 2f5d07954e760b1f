"""The difference between two groups of values that do not belong together pair by pair."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ragboard.stats.distributions import t_cdf
from ragboard.stats.intervals import (
    FEWEST_VARYING,
    Floats,
    Interval,
    Moments,
    NoInterval,
    Values,
    mean_interval,
    moments,
)

__all__ = ["GroupDifference", "group_difference"]

STEPS = 1000
"""Where few values differ, values are told apart to this many parts of their spread."""


@dataclass(frozen=True, kw_only=True)
class GroupDifference:
    """The mean of a group less that of the others: its interval, and its p."""

    n: int
    others: int
    mean: float
    mean_others: float
    difference: float
    interval: Interval | NoInterval
    p: float
    """Two-sided, of the hypothesis that the group is like the others; 1 where all values are equal."""
    p_method: str


def group_difference(
    group: Values,
    others: Values,
    *,
    bounds: tuple[float, float] | None = None,
    level: float = 0.95,
    draws: int = 5000,
    seed: int = 0,
) -> GroupDifference:
    """Compare the means of two independent groups of values within `bounds` (None: unbounded).

    The interval is put together from those of the two means, as `mean_interval` has them (Zou and Donner 2008); of
    two intervals by Student's t that is Welch's with slightly wider bounds. p is Welch's; where fewer than 10
    values of a group differ from its commonest one, it is the share of random divisions of all values
    into groups of these sizes that differ as much. Raises ValueError where a group is empty.
    """
    ours, theirs = moments(group), moments(others)
    p, method = _p(np.asarray(group, dtype=float), np.asarray(others, dtype=float), ours, theirs, draws, seed)
    return GroupDifference(
        n=ours.n,
        others=theirs.n,
        mean=ours.mean,
        mean_others=theirs.mean,
        difference=ours.mean - theirs.mean,
        interval=_interval(ours, theirs, bounds, level),
        p=p,
        p_method=method,
    )


def _interval(
    ours: Moments, theirs: Moments, bounds: tuple[float, float] | None, level: float
) -> Interval | NoInterval:
    one, other = (mean_interval(known, bounds=bounds, level=level) for known in (ours, theirs))
    if isinstance(one, NoInterval):
        return one
    if isinstance(other, NoInterval):
        return other
    difference = ours.mean - theirs.mean
    return Interval(
        estimate=difference,
        low=difference - math.hypot(ours.mean - one.low, other.high - theirs.mean),
        high=difference + math.hypot(one.high - ours.mean, theirs.mean - other.low),
        level=level,
        n=ours.n + theirs.n,
        method="two means, variance recovered from their intervals",
    )


def _p(group: Floats, others: Floats, ours: Moments, theirs: Moments, draws: int, seed: int) -> tuple[float, str]:
    if min(ours.varying, theirs.varying) >= FEWEST_VARYING:
        return _welch(ours, theirs), "Welch's t"
    return _divided(group, others, draws, seed), f"random divisions, {draws} draws, seed {seed}"


def _welch(ours: Moments, theirs: Moments) -> float:
    one, other = ours.deviation**2 / ours.n, theirs.deviation**2 / theirs.n
    t = abs(ours.mean - theirs.mean) / math.sqrt(one + other)
    df = (one + other) ** 2 / (one**2 / (ours.n - 1) + other**2 / (theirs.n - 1))
    return 2 * t_cdf(-t, df)


def _divided(group: Floats, others: Floats, draws: int, seed: int) -> float:
    """How often a group drawn from all values is as far from their mean; the division at hand counts as one draw."""
    pooled = np.concatenate([group, others])
    spread = float(np.ptp(pooled))
    if not spread:
        return 1.0
    steps = np.round((pooled - pooled.min()) / spread * STEPS).astype(np.int64)
    values, counts = np.unique(steps, return_counts=True)
    drawn = np.random.default_rng(seed).multivariate_hypergeometric(counts, group.size, size=draws) @ values
    expected = group.size * steps.mean()
    seen = abs(float(steps[: group.size].sum()) - expected)
    return float((1 + np.sum(np.abs(drawn - expected) >= seen - 1e-6)) / (draws + 1))
