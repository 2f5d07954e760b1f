"""Checks of arguments, and the type of arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["LARGEST", "SQUARABLE", "FloatArray", "flags", "numbers", "rated"]

FloatArray: TypeAlias = NDArray[np.float64]
LARGEST = 1e290
"""Maximum absolute value; sums of larger values could overflow."""
SQUARABLE = 1e140
"""Maximum absolute value that may be squared."""


def numbers(values: Sequence[float] | FloatArray, what: str = "values", *, largest: float = LARGEST) -> FloatArray:
    """Return the values as an array. Raises ValueError for NaN, infinite or too large values, with their position."""
    array = np.asarray(values, dtype=float)
    wrong = np.flatnonzero(~(np.abs(array) <= largest))
    if wrong.size:
        index = int(wrong[0])
        raise ValueError(f"{what}[{index}] is {array[index]:g}: leave missing values out, and keep within {largest:g}")
    return array


def flags(values: Iterable[object], what: str) -> list[bool]:
    """Return the values as booleans. Raises ValueError for any other value, such as NaN or None, with its position."""
    found: list[bool] = []
    for index, value in enumerate(values):
        if value not in (0, 1):
            raise ValueError(f"{what}[{index}] is {value!r}, expected True or False: leave missing values out")
        found.append(bool(value))
    return found


def rated(values: Iterable[object], what: str) -> None:
    """Raise ValueError for a missing rating (None or NaN), with its position."""
    for index, value in enumerate(values):
        if value is None or value != value:
            raise ValueError(f"{what}[{index}] is {value!r}: leave out what was not rated")
