"""Checks of arguments, and the type of arrays that this package uses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAX_SQUARABLE", "MAX_VALUE", "FloatArray", "finite_array", "reject_missing", "to_booleans"]

FloatArray: TypeAlias = NDArray[np.float64]
MAX_VALUE = 1e290
"""Maximum absolute value; sums of larger values could overflow."""
MAX_SQUARABLE = 1e140
"""Maximum absolute value that may be squared."""


def finite_array(values: Sequence[float] | FloatArray, name: str = "values", *, limit: float = MAX_VALUE) -> FloatArray:
    """Return the values as an array. Raises ValueError for NaN and for absolute values above `limit`."""
    array = np.asarray(values, dtype=float)
    invalid = np.flatnonzero(~(np.abs(array) <= limit))
    if invalid.size:
        index = int(invalid[0])
        raise ValueError(f"{name}[{index}] is {array[index]:g}: omit missing values, and keep values within ±{limit:g}")
    return array


def to_booleans(values: Iterable[object], name: str) -> list[bool]:
    """Return the values as booleans. Raises ValueError for a value other than True, False, 1 and 0."""
    booleans: list[bool] = []
    for index, value in enumerate(values):
        if value not in (0, 1):
            raise ValueError(f"{name}[{index}] is {value!r}, expected True or False: omit missing values")
        booleans.append(bool(value))
    return booleans


def reject_missing(values: Iterable[object], name: str) -> None:
    """Raise ValueError for a missing rating (None or NaN)."""
    for index, value in enumerate(values):
        if value is None or value != value:
            raise ValueError(f"{name}[{index}] is {value!r}: omit missing ratings")
