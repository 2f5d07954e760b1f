"""Bootstrap intervals, for clustered rows and for statistics without a formula."""

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

DRAWS = 2000
"""Default number of bootstrap draws of an interval."""
REPORT_DRAWS = 1000
"""Number of bootstrap draws of each interval in a report with many intervals."""
MIN_GROUPS = 10
"""Minimum number of groups for an interval."""
MAX_UNDEFINED = 0.05
"""Maximum share of draws for which the statistic is undefined; with more there is no interval."""


@dataclass(frozen=True, kw_only=True)
class Resampled:
    """A statistic of rows, and its values on bootstrap draws of whole groups."""

    estimate: float
    values: NDArray[np.float64]
    """One value per draw, NaN if the draw has none; empty with fewer than 10 groups."""
    n: int
    """Number of groups."""
    seed: int


def resample(
    statistic: Callable[[Rows], float], groups: Sequence[Hashable], *, seed: int = 0, draws: int = DRAWS
) -> Resampled:
    """Compute a statistic on bootstrap draws of whole groups; arguments and errors as in `clustered_interval`."""
    members = _members(groups)
    n = len(members)
    estimate = statistic(np.arange(len(groups)))
    if not math.isfinite(estimate):
        raise ValueError(f"the statistic of all rows is {estimate}")
    rng = np.random.default_rng(seed)
    values = [
        _value(statistic, np.concatenate([members[k] for k in rng.integers(n, size=n)]))
        for _ in range(draws if n >= MIN_GROUPS else 0)
    ]
    return Resampled(estimate=estimate, values=np.array(values, dtype=np.float64), n=n, seed=seed)


def clustered_interval(
    statistic: Callable[[Rows], float],
    groups: Sequence[Hashable],
    *,
    level: float = 0.95,
    seed: int = 0,
    draws: int = DRAWS,
) -> Interval | NoInterval:
    """Return a bootstrap interval of any statistic of rows; rows of one group depend on each other.

    `statistic` takes row numbers, drawn with repetition, and raises ValueError if it has no value for them. `groups[i]`
    is the group of row i (`range(n)` if rows are independent). Whole groups are drawn. The bounds are quantiles of the
    draws. Because plain quantiles are too narrow with few groups, the bounds are moved outwards, by as much as
    intervals with Student's t are wider than those with the normal distribution (Hesterberg 2015). There is no interval
    with fewer than 10 groups, if all draws have the same value, or if more than 5% of the draws have none. `n` is the
    number of groups. Raises ValueError if the statistic has no value for all rows.
    """
    return resampled_interval(resample(statistic, groups, seed=seed, draws=draws), level=level)


def resampled_interval(found: Resampled, *, level: float = 0.95) -> Interval | NoInterval:
    """Return the interval of `clustered_interval` from existing draws."""
    n, draws = found.n, len(found.values)
    if n < MIN_GROUPS:
        return NoInterval(reason=f"an interval needs at least {MIN_GROUPS} clusters, got {n}", n=n)
    known = found.values[~np.isnan(found.values)]
    if len(known) < (1 - MAX_UNDEFINED) * draws:
        return NoInterval(reason=f"{draws - len(known)} of {draws} draws have no value", n=n)
    if known.max() - known.min() < 1e-12:
        return NoInterval(reason="every draw gives the same value", n=n)
    low, high = _expanded(known, math.sqrt(n / (n - 1)), n - 1, level)
    return Interval(
        estimate=found.estimate,
        low=low,
        high=high,
        level=level,
        n=n,
        method=f"bootstrap of clusters, expanded percentiles, {draws} draws, seed {found.seed}",
    )


def mean_over_sets(sets: Mapping[str, Resampled], *, level: float = 0.95) -> Interval | NoInterval:
    """Return the unweighted mean of one statistic over independent sets, with an interval.

    All sets have the same number of draws; the draws are shuffled within each set, so that sets vary independently.
    Bounds are widened as in `clustered_interval`, with the degrees of freedom of Satterthwaite (1946); the bounds for
    one set are those of its own interval. If a set has no interval, the mean has none either, and the reason names
    the set.
    The order of the sets does not matter. `n` is the total number of groups. Raises ValueError without a set.
    """
    if not sets:
        raise ValueError("a mean over sets needs at least one set")
    ordered = [sets[name] for name in sorted(sets)]
    n = sum(one.n for one in ordered)
    for name in sorted(sets):
        interval = resampled_interval(sets[name], level=level)
        if isinstance(interval, NoInterval):
            return NoInterval(reason=f"{name}: {interval.reason}", n=n)
    rng = np.random.default_rng(ordered[0].seed)
    drawn = np.mean([rng.permutation(one.values) for one in ordered], axis=0)
    plain = np.array([np.nanvar(one.values) for one in ordered])
    groups = np.array([one.n for one in ordered])
    widened = plain * groups / (groups - 1)
    df = float(widened.sum() ** 2 / (widened**2 / (groups - 1)).sum())
    low, high = _expanded(drawn[~np.isnan(drawn)], math.sqrt(widened.sum() / plain.sum()), df, level)
    return Interval(
        estimate=math.fsum(one.estimate for one in ordered) / len(ordered),
        low=low,
        high=high,
        level=level,
        n=n,
        method=f"mean of {len(ordered)} sets, each by a bootstrap of its clusters, expanded percentiles,"
        f" {len(drawn)} draws, seed {ordered[0].seed}",
    )


def _expanded(values: NDArray[np.float64], widening: float, df: float, level: float) -> tuple[float, float]:
    """Return quantiles of the draws, moved outwards as described in `clustered_interval`."""
    tail = normal_cdf(-widening * t_quantile((1 + level) / 2, df))
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def _members(groups: Sequence[Hashable]) -> list[Rows]:
    rows: defaultdict[Hashable, list[int]] = defaultdict(list)
    for row, group in enumerate(groups):
        rows[group].append(row)
    return [np.array(found, dtype=np.intp) for found in rows.values()]


def _value(statistic: Callable[[Rows], float], rows: Rows) -> float:
    """Return the value, or NaN if there is none."""
    try:
        value = statistic(rows)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan
