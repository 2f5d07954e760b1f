"""Bootstrap intervals for any statistic of clustered rows."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragboard.stats.distributions import normal_cdf, t_quantile
from ragboard.stats.intervals import Interval, NoInterval

__all__ = [
    "DRAWS",
    "REPORT_DRAWS",
    "Resampled",
    "Rows",
    "clustered_interval",
    "mean_over_sets",
    "resample",
    "resampled_interval",
]

Rows = NDArray[np.intp]
"""Indices of rows."""

DRAWS = 2000
"""Default number of bootstrap draws for an interval."""
REPORT_DRAWS = 1000
"""Number of bootstrap draws for each interval in a report with many intervals."""
MIN_GROUPS = 10
"""Minimum number of groups for an interval."""
MAX_UNDEFINED = 0.05
"""There is no interval if the statistic is undefined for more than this share of the draws."""


@dataclass(frozen=True, kw_only=True)
class Resampled:
    """A statistic, and its values in bootstrap draws. A draw resamples groups of rows with replacement."""

    estimate: float
    """The statistic of all rows."""
    values: NDArray[np.float64]
    """One value per draw, NaN where the statistic is undefined; empty with fewer than 10 groups."""
    n: int
    """Number of groups."""
    seed: int


def resample(
    statistic: Callable[[Rows], float], groups: Sequence[Hashable], *, seed: int = 0, draws: int = DRAWS
) -> Resampled:
    """Compute a statistic on bootstrap draws; see `clustered_interval` for arguments and errors."""
    rows_by_group = _rows_by_group(groups)
    n = len(rows_by_group)
    estimate = statistic(np.arange(len(groups)))
    if not math.isfinite(estimate):
        raise ValueError(f"the statistic of all rows is {estimate}")
    rng = np.random.default_rng(seed)
    values: list[float] = []
    for _ in range(draws if n >= MIN_GROUPS else 0):
        drawn_groups = rng.integers(n, size=n)
        values.append(_value_or_nan(statistic, np.concatenate([rows_by_group[group] for group in drawn_groups])))
    return Resampled(estimate=estimate, values=np.array(values, dtype=np.float64), n=n, seed=seed)


def clustered_interval(
    statistic: Callable[[Rows], float],
    groups: Sequence[Hashable],
    *,
    level: float = 0.95,
    seed: int = 0,
    draws: int = DRAWS,
) -> Interval | NoInterval:
    """Return a bootstrap interval for any statistic of rows that may be clustered.

    `statistic` computes a number from row indices; it raises ValueError if it is undefined for them. `groups[i]` is the
    group (cluster) of row i; pass `range(n)` if rows are independent. Each draw resamples groups, not single rows.

    The bounds are quantiles of the draws. With few groups these are too narrow, so they are moved outwards by the ratio
    of Student's t to the normal quantile (Hesterberg 2015). `n` of the result is the number of groups. There is no
    interval with fewer than 10 groups, if all draws have the same value, or if the statistic is undefined for more than
    5% of the draws. Raises ValueError if the statistic of all rows is undefined.
    """
    return resampled_interval(resample(statistic, groups, seed=seed, draws=draws), level=level)


def resampled_interval(resampled: Resampled, *, level: float = 0.95) -> Interval | NoInterval:
    """Return the interval that `clustered_interval` computes from these draws."""
    n, draws = resampled.n, len(resampled.values)
    if n < MIN_GROUPS:
        return NoInterval(reason=f"an interval needs at least {MIN_GROUPS} clusters, got {n}", n=n)
    values = resampled.values[~np.isnan(resampled.values)]
    if len(values) < (1 - MAX_UNDEFINED) * draws:
        undefined = f"{draws - len(values):,} of {draws:,} bootstrap samples"
        return NoInterval(reason=f"too little data: the statistic is undefined in {undefined}", n=n)
    if values.max() - values.min() < 1e-12:
        return NoInterval(reason="every draw gives the same value", n=n)
    low, high = _expanded_bounds(values, math.sqrt(n / (n - 1)), n - 1, level)
    return Interval(
        estimate=resampled.estimate,
        low=low,
        high=high,
        level=level,
        n=n,
        method=f"bootstrap of clusters, expanded percentiles, {draws} draws, seed {resampled.seed}",
    )


def mean_over_sets(sets: Mapping[str, Resampled], *, level: float = 0.95) -> Interval | NoInterval:
    """Return the unweighted mean of a statistic over independent sets, with an interval.

    All sets need the same number of draws. The draws of each set are shuffled, because sets with the same seed would
    not be independent. Bounds are widened as in `clustered_interval`, with the degrees of freedom of Satterthwaite
    (1946). If a set has no interval, the mean has none, and the reason names the set. `n` of the result is the total
    number of groups. Raises ValueError for no sets.
    """
    if not sets:
        raise ValueError("a mean over sets needs at least one set")
    ordered = [sets[name] for name in sorted(sets)]
    group_counts = np.array([resampled.n for resampled in ordered])
    n = int(group_counts.sum())
    for name in sorted(sets):
        interval = resampled_interval(sets[name], level=level)
        if isinstance(interval, NoInterval):
            return NoInterval(reason=f"{name}: {interval.reason}", n=n)
    rng = np.random.default_rng(ordered[0].seed)
    drawn = np.mean([rng.permutation(resampled.values) for resampled in ordered], axis=0)
    variances = np.array([np.nanvar(resampled.values) for resampled in ordered])
    widened = variances * group_counts / (group_counts - 1)
    df = float(widened.sum() ** 2 / (widened**2 / (group_counts - 1)).sum())
    low, high = _expanded_bounds(drawn[~np.isnan(drawn)], math.sqrt(widened.sum() / variances.sum()), df, level)
    return Interval(
        estimate=math.fsum(resampled.estimate for resampled in ordered) / len(ordered),
        low=low,
        high=high,
        level=level,
        n=n,
        method=f"mean of {len(ordered)} sets, each by a bootstrap of its clusters, expanded percentiles,"
        f" {len(drawn)} draws, seed {ordered[0].seed}",
    )


def _expanded_bounds(values: NDArray[np.float64], widening: float, df: float, level: float) -> tuple[float, float]:
    """Return two-sided quantiles of the draws, moved outwards as in `clustered_interval`."""
    tail = normal_cdf(-widening * t_quantile((1 + level) / 2, df))
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def _rows_by_group(groups: Sequence[Hashable]) -> list[Rows]:
    rows: defaultdict[Hashable, list[int]] = defaultdict(list)
    for row, group in enumerate(groups):
        rows[group].append(row)
    return [np.array(indices, dtype=np.intp) for indices in rows.values()]


def _value_or_nan(statistic: Callable[[Rows], float], rows: Rows) -> float:
    """Return the statistic of the rows, or NaN if it is undefined."""
    try:
        value = statistic(rows)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan
