"""Correlation coefficients and their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from ragboard.stats.bootstrap import DRAWS, Rows, clustered_interval
from ragboard.stats.checks import FloatArray, finite_array
from ragboard.stats.distributions import normal_quantile
from ragboard.stats.intervals import Interval, NoInterval, Values

__all__ = ["CORRELATIONS", "correlation_interval", "fisher_interval", "kendall", "pearson", "spearman"]

MIN_PAIRS = 10
"""Minimum number of pairs for Fisher's interval."""
MAX_TABLE = 1000
"""With more distinct (x, y) pairs than this, Kendall's tau is computed anew for each bootstrap draw, instead of from a
table of how each two pairs are ordered."""
MAX_COMPARED_AT_ONCE = 48
"""Inversions of arrays up to this length are counted pair by pair; longer arrays are split."""


def pearson(x: Values, y: Values) -> float:
    """Return Pearson's r, in [-1, 1].

    Raises ValueError for different lengths, fewer than 2 pairs, a constant x or y, or NaN.
    """
    first, second = _pairs(x, y)
    a, b = _centre(first), _centre(second)
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
    tied_first, tied_second = _count_tied_pairs(first), _count_tied_pairs(np.sort(second))
    tied_both = _count_tied_pairs(first, second)
    discordant, _ = _count_inversions(second)
    concordant = pairs - tied_first - tied_second + tied_both - discordant
    return (concordant - discordant) / (math.sqrt(pairs - tied_first) * math.sqrt(pairs - tied_second))


CONSTANT_VALUES = "a correlation needs x values that differ and y values that differ"

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
    """Return a bootstrap interval of a correlation, whose name in `CORRELATIONS` is `kind`.

    It assumes no distribution, and ties are allowed. `groups` are the clusters of the pairs. Raises ValueError in the
    same cases as `pearson`, and KeyError if `kind` is not in `CORRELATIONS`.
    """
    first, second = _pairs(x, y)
    correlation = CORRELATIONS[kind]
    fast_correlation = _DRAW_FUNCTIONS[kind](first, second) if kind in _DRAW_FUNCTIONS else None
    return clustered_interval(
        fast_correlation or (lambda rows: correlation(first[rows], second[rows])),
        range(first.size) if groups is None else groups,
        level=level,
        seed=seed,
        draws=draws,
    )


def fisher_interval(r: float, n: int, *, kind: str, level: float = 0.95) -> Interval | NoInterval:
    """Return Fisher's z interval of a correlation of n independent, approximately normal pairs with few ties.

    The variance of z is 1 / (n - 3) for Pearson (Fisher 1921), (1 + r^2 / 2) / (n - 3) for Spearman (Bonett and Wright
    2000) and 0.437 / (n - 4) for Kendall (Fieller et al. 1957). There is no interval for fewer than 10 pairs or a
    perfect correlation. Raises ValueError for NaN.
    """
    if math.isnan(r):
        raise ValueError("r is NaN")
    if n < MIN_PAIRS or abs(r) >= 1:
        reason = (
            f"an interval needs at least {MIN_PAIRS} pairs and a correlation between -1 and 1, got n = {n}, r = {r:g}"
        )
        return NoInterval(reason=reason, n=n)
    variances = {"pearson": 1 / (n - 3), "spearman": (1 + r * r / 2) / (n - 3), "kendall": 0.437 / (n - 4)}
    half = normal_quantile((1 + level) / 2) * math.sqrt(variances[kind])
    z = math.atanh(r)
    return Interval(
        estimate=r, low=math.tanh(z - half), high=math.tanh(z + half), level=level, n=n, method=f"Fisher's z, {kind}"
    )


def _pairs(x: Values, y: Values) -> tuple[FloatArray, FloatArray]:
    if len(x) != len(y):
        raise ValueError(f"{len(x)} and {len(y)} values are not pairs")
    first, second = finite_array(x, "x"), finite_array(y, "y")
    for values in (first, second):
        if values.size < 2 or float(values.min()) == float(values.max()):
            raise ValueError(CONSTANT_VALUES)
    return first, second


def _centre(values: FloatArray) -> FloatArray:
    """Return the values minus their mean, scaled to a maximum of 1."""
    centred: FloatArray = values - values.mean()
    centred /= np.abs(centred).max()
    return centred


def _kendall_of_draws(first: FloatArray, second: FloatArray) -> Callable[[Rows], float] | None:
    """Return a fast function that computes Kendall's tau-b of bootstrap draws from a table of pairwise orders.

    None if there are too many distinct (x, y) pairs for a table.
    """
    distinct, codes = np.unique(np.stack([first, second]), axis=1, return_inverse=True)
    if distinct.shape[1] > MAX_TABLE:
        return None
    concordance = np.prod([np.sign(np.subtract.outer(values, values)) for values in distinct], axis=0)
    ranks = [np.unique(values, return_inverse=True)[1] for values in distinct]

    def tau(rows: Rows) -> float:
        times = np.bincount(codes.ravel()[rows], minlength=distinct.shape[1]).astype(float)
        tied = [float(np.square(np.bincount(codes_of_values, weights=times)).sum()) for codes_of_values in ranks]
        untied_first, untied_second = (rows.size**2 - pairs for pairs in tied)
        if not untied_first or not untied_second:
            raise ValueError(CONSTANT_VALUES)
        return float(times @ concordance @ times) / (math.sqrt(untied_first) * math.sqrt(untied_second))

    return tau


def _spearman_of_draws(first: FloatArray, second: FloatArray) -> Callable[[Rows], float] | None:
    """Return a fast function that computes Spearman's rho of bootstrap draws; it sorts the values only once."""
    first_codes = np.unique(first, return_inverse=True)[1]
    second_codes = np.unique(second, return_inverse=True)[1]

    def ranks(codes: NDArray[np.intp]) -> FloatArray:
        return _mean_ranks(np.bincount(codes))[codes]

    def rho(rows: Rows) -> float:
        return pearson(ranks(first_codes[rows]), ranks(second_codes[rows]))

    return rho


def _ranks(values: FloatArray) -> FloatArray:
    _, positions, counts = np.unique(values, return_inverse=True, return_counts=True)
    return _mean_ranks(counts)[positions]


def _mean_ranks(counts: NDArray[np.intp]) -> FloatArray:
    """Return the mean rank of each group of ties, given the sizes of the groups."""
    return np.cumsum(counts) - (counts - 1) / 2


def _count_tied_pairs(*columns: FloatArray) -> int:
    """Count the pairs of rows that are equal in all columns; the rows must be sorted."""
    changed = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    group_sizes = np.diff(np.flatnonzero(np.concatenate([[True], changed, [True]])))
    return int((group_sizes * (group_sizes - 1) // 2).sum())


def _count_inversions(values: FloatArray) -> tuple[int, FloatArray]:
    """Return the number of pairs that are in descending order, and the sorted values."""
    if values.size <= MAX_COMPARED_AT_ONCE:
        descending = np.triu(values[:, None] > values[None, :])
        return int(descending.sum()), np.sort(values)
    left_half, right_half = np.array_split(values, 2)
    left_count, left = _count_inversions(left_half)
    right_count, right = _count_inversions(right_half)
    across = right.size * left.size - int(np.searchsorted(left, right, side="right").sum())
    return left_count + right_count + across, np.sort(values)


_DRAW_FUNCTIONS: dict[str, Callable[[FloatArray, FloatArray], Callable[[Rows], float] | None]] = {
    "kendall": _kendall_of_draws,
    "spearman": _spearman_of_draws,
}
"""For some correlations, a function that prepares a faster correlation for bootstrap draws."""
