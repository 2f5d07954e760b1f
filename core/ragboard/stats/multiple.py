"""Several tests at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

__all__ = ["holm"]


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """The p values adjusted for their number, in the order given (Holm 1979).

    Calling those below 0.05 differences, one is called falsely at most 5 % of the time, however the tests
    depend on each other. Raises ValueError for a p outside 0 to 1.
    """
    if not all(0 <= p <= 1 for p in p_values):
        raise ValueError("a p value lies between 0 and 1")
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    scaled = (min(1.0, (len(order) - place) * p_values[index]) for place, index in enumerate(order))
    adjusted = dict(zip(order, accumulate(scaled, max), strict=True))
    return tuple(adjusted[index] for index in range(len(p_values)))
