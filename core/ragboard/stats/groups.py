"""The difference of means between two independent groups."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from ragboard.stats.checks import numbers
from ragboard.stats.distributions import two_sided_t
from ragboard.stats.intervals import (
    FEWEST,
    ClusterMoments,
    Floats,
    Interval,
    Moments,
    NoInterval,
    Values,
    mean_interval,
    moments,
)

__all__ = ["GroupDifference", "group_difference"]

FEWEST_VARYING = 10
"""With fewer untied values in a group, p is computed from random divisions."""
STEPS = 1000
"""The number of steps of the spread by which values are told apart, if few differ."""


@dataclass(frozen=True, kw_only=True)
class GroupDifference:
    """Mean of a group minus mean of the others, with interval and p."""

    n: int
    others: int
    mean: float
    mean_others: float
    difference: float
    interval: Interval | NoInterval
    p: float
    """Two-sided p of the hypothesis of no difference; 1 if all values are equal."""
    p_method: str


def group_difference(
    group: Values,
    others: Values,
    *,
    bounds: tuple[float, float] | None = None,
    clusters: Sequence[Hashable] | None = None,
    other_clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
    draws: int = 5000,
    seed: int = 0,
) -> GroupDifference:
    """Compare the means of two independent groups of values within `bounds` (None: unbounded).

    The interval is put together from those of the two means, as `mean_interval` has them (Zou and Donner 2008); of
    two intervals by Student's t that is Welch's with slightly wider bounds. p is Welch's; where fewer than 10
    values of a group are untied, it is the share of random divisions of all values into groups of these sizes that
    differ as much. `clusters` and `other_clusters` say to which cluster each value of the group and of the others
    belongs; then p is Welch's of clusters, and 1 where a side has fewer than 5 effective clusters. Raises ValueError
    where a group is empty, or for NaN.
    """
    values, rest = numbers(group, "group"), numbers(others, "others")
    ours, theirs = moments(values, clusters), moments(rest, other_clusters)
    p, method = _p(values, rest, ours, theirs, draws, seed)
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
    ours: Moments | ClusterMoments,
    theirs: Moments | ClusterMoments,
    bounds: tuple[float, float] | None,
    level: float,
) -> Interval | NoInterval:
    one, other = (mean_interval(known, bounds=bounds, level=level) for known in (ours, theirs))
    refused = [found for found in (one, other) if isinstance(found, NoInterval)]
    if isinstance(one, NoInterval) or isinstance(other, NoInterval):
        return min(refused, key=lambda found: (found.n, found.reason))
    difference = ours.mean - theirs.mean
    groups = sum(len(known.counts) for known in (ours, theirs) if isinstance(known, ClusterMoments))
    return Interval(
        estimate=difference,
        low=difference - math.hypot(ours.mean - one.low, other.high - theirs.mean),
        high=difference + math.hypot(one.high - ours.mean, theirs.mean - other.low),
        level=level,
        n=ours.n + theirs.n,
        method="two means, variance recovered from their intervals" + (f", {groups} clusters" if groups else ""),
        warning="; ".join(sorted({one.warning, other.warning} - {""})),
    )


def _p(
    group: Floats,
    others: Floats,
    ours: Moments | ClusterMoments,
    theirs: Moments | ClusterMoments,
    draws: int,
    seed: int,
) -> tuple[float, str]:
    clustered = isinstance(ours, ClusterMoments) or isinstance(theirs, ClusterMoments)
    if clustered and min(ours.df, theirs.df) + 1 < FEWEST:
        return 1.0, f"not tested: one side has fewer than {FEWEST} clusters of equal size"
    if clustered or min(ours.varying, theirs.varying) >= FEWEST_VARYING:
        return _welch(ours, theirs), "Welch's t" + (" of clusters" if clustered else "")
    smaller, larger = (group, others) if group.size <= others.size else (others, group)
    return _divided(smaller, larger, draws, seed), f"random divisions, {draws} draws, seed {seed}"


def _welch(ours: Moments | ClusterMoments, theirs: Moments | ClusterMoments) -> float:
    total = math.hypot(ours.error, theirs.error)
    if not total:
        return 1.0 if ours.mean == theirs.mean else 0.0
    one, other = (ours.error / total) ** 2, (theirs.error / total) ** 2
    df = 1 / (one**2 / max(ours.df, 1) + other**2 / max(theirs.df, 1))
    return two_sided_t((ours.mean - theirs.mean) / total, df)


def _divided(group: Floats, others: Floats, draws: int, seed: int) -> float:
    """Return the share of random divisions with a difference at least as large; the actual one counts as one draw."""
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
