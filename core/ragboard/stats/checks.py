"""What every function here asks of the numbers it takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["LARGEST", "SQUARABLE", "numbers"]

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
