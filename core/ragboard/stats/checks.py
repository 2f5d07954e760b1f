"""Checks of the numbers that functions get."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["LARGEST", "SQUARABLE", "flags", "numbers", "rated"]

Floats = NDArray[np.float64]
LARGEST = 1e290
"""The largest absolute value; sums of larger ones could overflow."""
SQUARABLE = 1e140
"""The largest absolute value to be squared."""


def numbers(values: Sequence[float] | Floats, what: str = "values", *, largest: float = LARGEST) -> Floats:
    """Return the values as an array. Raises ValueError for NaN, infinite or too large values, naming the position."""
    array = np.asarray(values, dtype=float)
    wrong = np.flatnonzero(~(np.abs(array) <= largest))
    if wrong.size:
        place = int(wrong[0])
        raise ValueError(f"{what}[{place}] is {array[place]:g}: leave missing values out, and keep within {largest:g}")
    return array


def flags(values: Iterable[object], what: str) -> list[bool]:
    """Return the values as booleans. Raises ValueError for anything else, also NaN and None, naming the position."""
    found: list[bool] = []
    for place, value in enumerate(values):
        if value not in (0, 1):
            raise ValueError(f"{what}[{place}] is {value!r}, expected True or False: leave missing values out")
        found.append(bool(value))
    return found


def rated(values: Iterable[object], what: str) -> None:
    """Raise ValueError for a missing rating (None or NaN), naming its position."""
    for place, value in enumerate(values):
        if value is None or value != value:
            raise ValueError(f"{what}[{place}] is {value!r}: leave out what was not rated")
