"""What every function here asks of the numbers it takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["LARGEST", "SQUARABLE", "flags", "numbers", "rated"]

Floats = NDArray[np.float64]
LARGEST = 1e290
"""Sums of larger values could overflow."""
SQUARABLE = 1e140
"""Squares of larger values could."""


def numbers(values: Sequence[float] | Floats, what: str = "values", *, largest: float = LARGEST) -> Floats:
    """The values as an array. Raises ValueError for NaN, an infinite or a far too large value, naming its place."""
    array = np.asarray(values, dtype=float)
    wrong = np.flatnonzero(~(np.abs(array) <= largest))
    if wrong.size:
        place = int(wrong[0])
        raise ValueError(f"{what}[{place}] is {array[place]:g}: leave missing values out, and keep within {largest:g}")
    return array


def flags(values: Iterable[object], what: str) -> list[bool]:
    """The values as True and False. Raises ValueError for anything else, NaN and None too, naming its place."""
    found: list[bool] = []
    for place, value in enumerate(values):
        if value not in (0, 1):
            raise ValueError(f"{what}[{place}] is {value!r}, expected True or False: leave missing values out")
        found.append(bool(value))
    return found


def rated(values: Iterable[object], what: str) -> None:
    """Raise ValueError for a rating that is missing, None or NaN, naming its place."""
    for place, value in enumerate(values):
        if value is None or value != value:
            raise ValueError(f"{what}[{place}] is {value!r}: leave out what was not rated")
