"""The difference of means between two independent groups."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from ragboard.stats.checks import FloatArray, numbers
from ragboard.stats.distributions import two_sided_t
from ragboard.stats.intervals import (
    MIN_FOR_INTERVAL,
    ClusterMoments,
    Interval,
    Moments,
    NoInterval,
    Values,
    mean_interval,
    moments,
)

__all__ = ["GroupDifference", "group_difference"]

MIN_UNTIED_FOR_WELCH = 10
"""With fewer untied values in a group, p is computed by a permutation test."""
STEPS = 1000
"""Values are rounded to this many steps of their range for the permutation test."""


@dataclass(frozen=True, kw_only=True)
class GroupDifference:
    """The mean of a group minus the mean of the others, with interval and p value."""

    n: int
    others: int
    mean: float
    mean_others: float
    difference: float
    interval: Interval | NoInterval
    p: float
    """Two-sided p value of the hypothesis of no difference; 1 if all values are equal."""
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

    The interval is computed from the intervals of the two means by `mean_interval` (Zou and Donner 2008); for two
    intervals by Student's t, the result is Welch's interval with slightly wider bounds. p is computed by Welch's t test
    or, if fewer than 10 values of a group are untied, by a permutation test. `clusters` and `other_clusters` give the
    cluster of each value of the group and of the others; then p is computed by Welch's t test of clusters, and 1 if a
    side has fewer than 5 effective clusters. Raises ValueError for an empty group or NaN.
    """
    values, rest = numbers(group, "group"), numbers(others, "others")
    known, known_others = moments(values, clusters), moments(rest, other_clusters)
    p, method = _p(values, rest, known, known_others, draws, seed)
    return GroupDifference(
        n=known.n,
        others=known_others.n,
        mean=known.mean,
        mean_others=known_others.mean,
        difference=known.mean - known_others.mean,
        interval=_interval(known, known_others, bounds, level),
        p=p,
        p_method=method,
    )


def _interval(
    group_moments: Moments | ClusterMoments,
    other_moments: Moments | ClusterMoments,
    bounds: tuple[float, float] | None,
    level: float,
) -> Interval | NoInterval:
    one, other = (mean_interval(known, bounds=bounds, level=level) for known in (group_moments, other_moments))
    refused = [found for found in (one, other) if isinstance(found, NoInterval)]
    if isinstance(one, NoInterval) or isinstance(other, NoInterval):
        return min(refused, key=lambda found: (found.n, found.reason))
    difference = group_moments.mean - other_moments.mean
    clusters = sorted(len(side.counts) for side in (group_moments, other_moments) if isinstance(side, ClusterMoments))
    return Interval(
        estimate=difference,
        low=difference - math.hypot(group_moments.mean - one.low, other.high - other_moments.mean),
        high=difference + math.hypot(one.high - group_moments.mean, other_moments.mean - other.low),
        level=level,
        n=group_moments.n + other_moments.n,
        method="two means, variance recovered from their intervals"
        + (f", {' and '.join(map(str, clusters))} clusters" if clusters else ""),
        warning="; ".join(sorted({one.warning, other.warning} - {""})),
    )


def _p(
    group: FloatArray,
    others: FloatArray,
    group_moments: Moments | ClusterMoments,
    other_moments: Moments | ClusterMoments,
    draws: int,
    seed: int,
) -> tuple[float, str]:
    clustered = isinstance(group_moments, ClusterMoments) or isinstance(other_moments, ClusterMoments)
    if clustered and min(group_moments.df, other_moments.df) + 1 < MIN_FOR_INTERVAL:
        return 1.0, f"not tested: one side has fewer than {MIN_FOR_INTERVAL} clusters of equal size"
    if clustered or min(group_moments.varying, other_moments.varying) >= MIN_UNTIED_FOR_WELCH:
        return _welch(group_moments, other_moments), "Welch's t" + (" of clusters" if clustered else "")
    smaller, larger = (group, others) if group.size <= others.size else (others, group)
    return _permutation_p(smaller, larger, draws, seed), f"random divisions, {draws} draws, seed {seed}"


def _welch(group_moments: Moments | ClusterMoments, other_moments: Moments | ClusterMoments) -> float:
    total = math.hypot(group_moments.error, other_moments.error)
    if not total:
        return 1.0 if group_moments.mean == other_moments.mean else 0.0
    one, other = (group_moments.error / total) ** 2, (other_moments.error / total) ** 2
    df = 1 / (one**2 / max(group_moments.df, 1) + other**2 / max(other_moments.df, 1))
    return two_sided_t((group_moments.mean - other_moments.mean) / total, df)


def _permutation_p(group: FloatArray, others: FloatArray, draws: int, seed: int) -> float:
    """Return the share of random divisions with a difference at least as large; the observed one counts as a draw."""
    pooled = np.concatenate([group, others])
    spread = float(np.ptp(pooled))
    if not spread:
        return 1.0
    steps = np.round((pooled - pooled.min()) / spread * STEPS).astype(np.int64)
    values, counts = np.unique(steps, return_counts=True)
    drawn = np.random.default_rng(seed).multivariate_hypergeometric(counts, group.size, size=draws) @ values
    expected = group.size * steps.mean()
    observed = abs(float(steps[: group.size].sum()) - expected)
    return float((1 + np.sum(np.abs(drawn - expected) >= observed - 1e-6)) / (draws + 1))
