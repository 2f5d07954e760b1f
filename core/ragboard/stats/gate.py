"""Whether an interval lies on the right side of a threshold."""

from __future__ import annotations

import math
from typing import Literal

from ragboard.stats.intervals import Interval, NoInterval

__all__ = ["GateVerdict", "gate"]

GateVerdict = Literal["pass", "fail", "inconclusive"]


def gate(found: Interval | NoInterval, *, threshold: float, fail: Literal["below", "above"] = "below") -> GateVerdict:
    """Pass or fail only where the whole interval is on one side of the threshold, else inconclusive.

    The threshold itself passes. Without an interval the verdict is inconclusive. Raises ValueError for a
    threshold that is NaN.
    """
    if math.isnan(threshold):
        raise ValueError("the threshold is NaN")
    if isinstance(found, NoInterval):
        return "inconclusive"
    worst, best = (found.low, found.high) if fail == "below" else (-found.high, -found.low)
    limit = threshold if fail == "below" else -threshold
    if worst >= limit:
        return "pass"
    return "fail" if best < limit else "inconclusive"
