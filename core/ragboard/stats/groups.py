"""The difference of means between two independent groups."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from ragboard.stats.checks import FloatArray, finite_array
from ragboard.stats.distributions import two_sided_t_p
from ragboard.stats.intervals import (
    MIN_FOR_INTERVAL,
    ClusterMoments,
    Interval,
    Moments,
    NoInterval,
    Values,
    mean_interval,
    moments,
    smaller_no_interval,
)

__all__ = ["GroupDifference", "difference_of_moments", "group_difference"]

MIN_UNTIED_FOR_WELCH = 10
"""If fewer than this many values of the group, or of the others, differ from the most common one, p is from a
permutation test."""
ROUNDING_STEPS = 1000
"""Number of steps between the minimum and the maximum to which the permutation test rounds values."""


@dataclass(frozen=True, kw_only=True)
class GroupDifference:
    """The mean of a group minus the mean of the other values, with interval and p value."""

    n: int
    """Number of values in the group."""
    others: int
    """Number of other values."""
    mean: float
    mean_others: float
    difference: float
    """Mean of the group minus mean of the other values."""
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
    """Compare the mean of a group with the mean of other values, which are independent of the group.

    All values are within `bounds` (None: unbounded). The interval combines the intervals of the two means (Zou and
    Donner 2008). p is from Welch's t test. If most values are tied (fewer than 10 values of the group, or of the
    others, differ from the most common one), p is from a permutation test with `draws` permutations.

    `clusters[i]` and `other_clusters[i]` are the clusters of `group[i]` and `others[i]`. With clusters, p is from
    Welch's t test over clusters, and is 1 if the group or the others have fewer than 5 effective clusters. Raises
    ValueError for NaN, or if there is no value in the group or in the others.
    """
    values, other_values = finite_array(group, "group"), finite_array(others, "others")
    group_moments, other_moments = moments(values, clusters), moments(other_values, other_clusters)
    p, method = _p_value(values, other_values, group_moments, other_moments, draws, seed)
    return GroupDifference(
        n=group_moments.n,
        others=other_moments.n,
        mean=group_moments.mean,
        mean_others=other_moments.mean,
        difference=group_moments.mean - other_moments.mean,
        interval=_interval(group_moments, other_moments, bounds, level),
        p=p,
        p_method=method,
    )


def difference_of_moments(
    group: Moments | ClusterMoments,
    others: Moments | ClusterMoments,
    *,
    bounds: tuple[float, float] | None = None,
    level: float = 0.95,
) -> GroupDifference:
    """Compare the mean of a group with the mean of independent other values, given their moments.

    p is from Welch's t test, and is 1 if the group or the others have fewer than 5 values or effective clusters.
    """
    if min(group.df, others.df) + 1 < MIN_FOR_INTERVAL:
        p, method = 1.0, f"not tested: one side has fewer than {MIN_FOR_INTERVAL} values"
    else:
        p, method = _welch_p(group, others), "Welch's t"
    return GroupDifference(
        n=group.n,
        others=others.n,
        mean=group.mean,
        mean_others=others.mean,
        difference=group.mean - others.mean,
        interval=_interval(group, others, bounds, level),
        p=p,
        p_method=method,
    )


def _interval(
    group_moments: Moments | ClusterMoments,
    other_moments: Moments | ClusterMoments,
    bounds: tuple[float, float] | None,
    level: float,
) -> Interval | NoInterval:
    first = mean_interval(group_moments, bounds=bounds, level=level)
    second = mean_interval(other_moments, bounds=bounds, level=level)
    if isinstance(first, NoInterval) or isinstance(second, NoInterval):
        return smaller_no_interval(first, second)
    difference = group_moments.mean - other_moments.mean
    clustered = [summary for summary in (group_moments, other_moments) if isinstance(summary, ClusterMoments)]
    clusters = sorted(len(summary.counts) for summary in clustered)
    return Interval(
        estimate=difference,
        low=difference - math.hypot(group_moments.mean - first.low, second.high - other_moments.mean),
        high=difference + math.hypot(first.high - group_moments.mean, other_moments.mean - second.low),
        level=level,
        n=group_moments.n + other_moments.n,
        method="two means, variance recovered from their intervals"
        + (f", {' and '.join(map(str, clusters))} clusters" if clusters else ""),
        warning="; ".join(sorted({first.warning, second.warning} - {""})),
    )


def _p_value(
    group: FloatArray,
    others: FloatArray,
    group_moments: Moments | ClusterMoments,
    other_moments: Moments | ClusterMoments,
    draws: int,
    seed: int,
) -> tuple[float, str]:
    clustered = isinstance(group_moments, ClusterMoments) or isinstance(other_moments, ClusterMoments)
    if clustered and min(group_moments.df, other_moments.df) + 1 < MIN_FOR_INTERVAL:
        return 1.0, f"not tested: one side has fewer than {MIN_FOR_INTERVAL} effective clusters"
    if clustered or min(group_moments.untied, other_moments.untied) >= MIN_UNTIED_FOR_WELCH:
        return _welch_p(group_moments, other_moments), "Welch's t" + (" of clusters" if clustered else "")
    smaller, larger = (group, others) if group.size <= others.size else (others, group)
    return _permutation_p(smaller, larger, draws, seed), f"permutation test, {draws} draws, seed {seed}"


def _welch_p(group_moments: Moments | ClusterMoments, other_moments: Moments | ClusterMoments) -> float:
    total = math.hypot(group_moments.error, other_moments.error)
    if not total:
        return 1.0 if group_moments.mean == other_moments.mean else 0.0
    first_share, second_share = (group_moments.error / total) ** 2, (other_moments.error / total) ** 2
    df = 1 / (first_share**2 / max(group_moments.df, 1) + second_share**2 / max(other_moments.df, 1))
    return two_sided_t_p((group_moments.mean - other_moments.mean) / total, df)


def _permutation_p(group: FloatArray, others: FloatArray, draws: int, seed: int) -> float:
    """Return the share of permutations whose difference is at least that of the data, which count as one of them."""
    pooled = np.concatenate([group, others])
    spread = float(np.ptp(pooled))
    if not spread:
        return 1.0
    steps = np.round((pooled - pooled.min()) / spread * ROUNDING_STEPS).astype(np.int64)
    values, counts = np.unique(steps, return_counts=True)
    drawn = np.random.default_rng(seed).multivariate_hypergeometric(counts, group.size, size=draws) @ values
    expected = group.size * steps.mean()
    observed = abs(float(steps[: group.size].sum()) - expected)
    return float((1 + np.sum(np.abs(drawn - expected) >= observed - 1e-6)) / (draws + 1))
