"""Means and differences of which some values are missing, whatever these may have been."""

from __future__ import annotations

from dataclasses import replace

from ragboard.stats.intervals import Interval, NoInterval
from ragboard.stats.paired import PairedDifference

__all__ = ["outer_difference", "outer_interval"]

METHOD = "worst-case bounds"


def outer_interval(
    low: Interval | NoInterval, high: Interval | NoInterval, *, estimate: float
) -> Interval | NoInterval:
    """From the lower end of `low` to the upper end of `high`: the missing all at their least, all at their greatest.

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
    """The difference `seen` in the pairs without a missing value, with what the missing ones allow beside it.

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
