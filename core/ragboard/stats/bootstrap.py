"""Bootstrap intervals, for clustered rows and for statistics without a formula."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from ragboard.stats.distributions import normal_cdf, t_quantile
from ragboard.stats.intervals import Interval, NoInterval

__all__ = ["DRAWS", "REPORT_DRAWS", "Rows", "clustered_interval"]

Rows = NDArray[np.intp]

DRAWS = 2000
"""Bootstrap draws of one interval, unless the caller gives a number."""
REPORT_DRAWS = 1000
"""Bootstrap draws of each interval in a report with many intervals."""
FEWEST_GROUPS = 10
"""The least number of groups for an interval."""
MOST_UNDEFINED = 0.05
"""The largest share of draws without a value for an interval."""


def clustered_interval(
    statistic: Callable[[Rows], float],
    groups: Sequence[Hashable],
    *,
    level: float = 0.95,
    seed: int = 0,
    draws: int = DRAWS,
) -> Interval | NoInterval:
    """Return a bootstrap interval of any statistic of rows; rows of one group depend on each other.

    `statistic` gets the numbers of the rows drawn, with repetition, and raises ValueError where it has no value;
    `groups[i]` says to which group row i belongs (`range(n)` where each stands for itself). Whole groups are drawn;
    the bounds are quantiles of the draws, moved outwards as Student's t is from the normal distribution
    (Hesterberg 2015), for with few groups plain quantiles are too narrow. Refused with fewer than 10 groups, where
    draws do not vary, or where more than 5 % of them have no value. `n` is the number of groups. Raises
    ValueError where the rows themselves have no value.
    """
    members = _members(groups)
    n = len(members)
    estimate = statistic(np.arange(len(groups)))
    if not math.isfinite(estimate):
        raise ValueError(f"the rows have the value {estimate}")
    if n < FEWEST_GROUPS:
        return NoInterval(reason=f"an interval needs at least {FEWEST_GROUPS} clusters, got {n}", n=n)
    rng = np.random.default_rng(seed)
    values = [_value(statistic, np.concatenate([members[k] for k in rng.integers(n, size=n)])) for _ in range(draws)]
    known = [value for value in values if value is not None]
    if len(known) < (1 - MOST_UNDEFINED) * draws:
        return NoInterval(reason=f"{draws - len(known)} of {draws} draws have no value", n=n)
    if max(known) - min(known) < 1e-12:
        return NoInterval(reason="every draw gives the same value", n=n)
    tail = normal_cdf(-math.sqrt(n / (n - 1)) * t_quantile((1 + level) / 2, n - 1))
    low, high = np.quantile(known, [tail, 1 - tail])
    return Interval(
        estimate=estimate,
        low=float(low),
        high=float(high),
        level=level,
        n=n,
        method=f"bootstrap of clusters, expanded percentiles, {draws} draws, seed {seed}",
    )


def _members(groups: Sequence[Hashable]) -> list[Rows]:
    rows: defaultdict[Hashable, list[int]] = defaultdict(list)
    for row, group in enumerate(groups):
        rows[group].append(row)
    return [np.array(found, dtype=np.intp) for found in rows.values()]


def _value(statistic: Callable[[Rows], float], rows: Rows) -> float | None:
    try:
        value = statistic(rows)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
