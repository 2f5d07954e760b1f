"""Correlations of two lists of numbers, and their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from ragboard.stats.bootstrap import DRAWS, Rows, clustered_interval
from ragboard.stats.checks import FloatArray, numbers
from ragboard.stats.distributions import normal_quantile
from ragboard.stats.intervals import Interval, NoInterval, Values

__all__ = ["CORRELATIONS", "correlation_interval", "fisher_interval", "kendall", "pearson", "spearman"]

MIN_PAIRS = 10
"""Minimum number of pairs for Fisher's interval."""
MAX_TABLE = 1000
"""Maximum number of different rows for which Kendall's tau of a draw is computed from a table of their orders."""
MAX_COMPARED_AT_ONCE = 48
"""Maximum number of values of which all pairs are compared at once; longer lists are split."""


def pearson(x: Values, y: Values) -> float:
    """Return Pearson's r, in [-1, 1].

    Raises ValueError for different lengths, fewer than 2 pairs, a constant side, or NaN.
    """
    first, second = _pairs(x, y)
    a, b = (side / np.abs(side).max() for side in (first - first.mean(), second - second.mean()))
    r = float(a @ b / (math.sqrt(float(a @ a)) * math.sqrt(float(b @ b))))
    return min(1.0, max(-1.0, r))


def spearman(x: Values, y: Values) -> float:
    """Return Spearman's rho: Pearson's r of the ranks; tied values share their mean rank.

    Raises ValueError in the same cases as `pearson`.
    """
    first, second = _pairs(x, y)
    return pearson(_ranks(first), _ranks(second))


def kendall(x: Values, y: Values) -> float:
    """Return Kendall's tau-b, in [-1, 1]: concordant minus discordant pairs, corrected for ties.

    Computed in n log n (Knight 1966). Raises ValueError in the same cases as `pearson`.
    """
    first, second = _pairs(x, y)
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    pairs = first.size * (first.size - 1) // 2
    tied_first, tied_second, tied_both = _tied_pairs(first), _tied_pairs(np.sort(second)), _tied_pairs(first, second)
    discordant, _ = _inversions(second)
    concordant = pairs - tied_first - tied_second + tied_both - discordant
    return (concordant - discordant) / (math.sqrt(pairs - tied_first) * math.sqrt(pairs - tied_second))


CORRELATIONS: dict[str, Callable[[Values, Values], float]] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall,
}


def correlation_interval(
    x: Values,
    y: Values,
    *,
    kind: str,
    groups: Sequence[Hashable] | None = None,
    level: float = 0.95,
    seed: int = 0,
    draws: int = DRAWS,
) -> Interval | NoInterval:
    """Return a bootstrap interval of a correlation (one of `CORRELATIONS`); rows of one group are drawn together.

    The interval assumes no distribution, so scores may have ties. Raises ValueError in the same cases as `pearson`,
    KeyError for another kind.
    """
    first, second = _pairs(x, y)
    correlation = CORRELATIONS[kind]
    quick = _FASTER[kind](first, second) if kind in _FASTER else None
    return clustered_interval(
        quick or (lambda rows: correlation(first[rows], second[rows])),
        range(first.size) if groups is None else groups,
        level=level,
        seed=seed,
        draws=draws,
    )


def fisher_interval(r: float, n: int, *, kind: str, level: float = 0.95) -> Interval | NoInterval:
    """Return Fisher's z interval of a correlation of n independent, approximately normal pairs with few ties.

    Its variance is 1 / (n - 3) for Pearson (Fisher 1921), (1 + r^2 / 2) / (n - 3) for Spearman (Bonett and Wright 2000)
    and 0.437 / (n - 4) for Kendall (Fieller et al. 1957). There is no interval for fewer than 10 pairs or a perfect
    correlation. Raises ValueError for NaN.
    """
    if math.isnan(r):
        raise ValueError("r is NaN")
    if n < MIN_PAIRS or abs(r) >= 1:
        return NoInterval(reason=f"needs {MIN_PAIRS} pairs and no perfect correlation, got {n} and {r:g}", n=n)
    variances = {"pearson": 1 / (n - 3), "spearman": (1 + r * r / 2) / (n - 3), "kendall": 0.437 / (n - 4)}
    half = normal_quantile((1 + level) / 2) * math.sqrt(variances[kind])
    z = math.atanh(r)
    return Interval(
        estimate=r, low=math.tanh(z - half), high=math.tanh(z + half), level=level, n=n, method=f"Fisher's z, {kind}"
    )


def _pairs(x: Values, y: Values) -> tuple[FloatArray, FloatArray]:
    if len(x) != len(y):
        raise ValueError(f"{len(x)} and {len(y)} values are not pairs")
    first, second = numbers(x, "x"), numbers(y, "y")
    for side in (first, second):
        if side.size < 2 or float(side.min()) == float(side.max()):
            raise ValueError("a correlation needs values that differ on both sides")
    return first, second


def _drawn_kendall(first: FloatArray, second: FloatArray) -> Callable[[Rows], float] | None:
    """Return a function of drawn rows that computes Kendall's tau-b from a table of pairwise orders.

    None if there are too many different rows for such a table.
    """
    different, codes = np.unique(np.stack([first, second]), axis=1, return_inverse=True)
    if different.shape[1] > MAX_TABLE:
        return None
    concordant = np.prod([np.sign(np.subtract.outer(values, values)) for values in different], axis=0)
    sides = [np.unique(values, return_inverse=True)[1] for values in different]

    def tau(rows: Rows) -> float:
        times = np.bincount(codes.ravel()[rows], minlength=different.shape[1]).astype(float)
        ordered = [rows.size**2 - float(np.square(np.bincount(side, weights=times)).sum()) for side in sides]
        if not all(ordered):
            raise ValueError("a correlation needs values that differ on both sides")
        return float(times @ concordant @ times) / (math.sqrt(ordered[0]) * math.sqrt(ordered[1]))

    return tau


def _drawn_spearman(first: FloatArray, second: FloatArray) -> Callable[[Rows], float] | None:
    """Return a function of drawn rows that computes Spearman's rho from rows sorted once."""
    sides = [np.unique(values, return_inverse=True)[1] for values in (first, second)]

    def rho(rows: Rows) -> float:
        return pearson(*(_mean_ranks(np.bincount(side))[side] for side in (side[rows] for side in sides)))

    return rho


def _ranks(values: FloatArray) -> FloatArray:
    _, positions, counts = np.unique(values, return_inverse=True, return_counts=True)
    return _mean_ranks(counts)[positions]


def _mean_ranks(counts: NDArray[np.intp]) -> FloatArray:
    """Return the mean rank of each group of ties, given the sizes of the groups."""
    return np.cumsum(counts) - (counts - 1) / 2


def _tied_pairs(*columns: FloatArray) -> int:
    """Count the pairs of rows that are equal in all (sorted) columns."""
    changed = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    runs = np.diff(np.flatnonzero(np.concatenate([[True], changed, [True]])))
    return int((runs * (runs - 1) // 2).sum())


def _inversions(values: FloatArray) -> tuple[int, FloatArray]:
    """Count the pairs in descending order, and sort the values."""
    if values.size <= MAX_COMPARED_AT_ONCE:
        falling = np.triu(values[:, None] > values[None, :])
        return int(falling.sum()), np.sort(values)
    (before, left), (after, right) = map(_inversions, np.array_split(values, 2))
    across = right.size * left.size - int(np.searchsorted(left, right, side="right").sum())
    return before + after + across, np.sort(values)


_FASTER: dict[str, Callable[[FloatArray, FloatArray], Callable[[Rows], float] | None]] = {
    "kendall": _drawn_kendall,
    "spearman": _drawn_spearman,
}
"""Functions that compute a correlation of bootstrap draws faster, by its name."""
