"""AUROC and differences of AUROC, with bootstrap intervals for clustered items."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragboard.stats.bootstrap import DRAWS, Rows, clustered_interval
from ragboard.stats.checks import FloatArray, finite_array
from ragboard.stats.intervals import Interval, NoInterval

__all__ = ["auroc_difference", "auroc_of_rows", "clustered_auroc"]


@dataclass(frozen=True, slots=True)
class _SortedScores:
    """Scores, sorted once so that the AUROC of many bootstrap draws is fast."""

    order: NDArray[np.intp]
    """Row indices, by ascending score."""
    starts: NDArray[np.intp]
    """The index in `order` at which each group of equal scores starts."""
    positive: FloatArray
    """1 for a positive row and 0 for a negative one, by ascending score."""

    @classmethod
    def of(cls, scores: Sequence[float], positive: Sequence[bool]) -> _SortedScores:
        if len(scores) != len(positive):
            raise ValueError(f"{len(scores)} scores and {len(positive)} labels differ in number")
        values = finite_array(scores, "scores")
        order = np.argsort(values, kind="stable")
        ordered = values[order]
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        return cls(order, starts, np.asarray(positive, dtype=np.float64)[order])

    def auroc(self, rows: Rows) -> float:
        """Return the AUROC of rows drawn with replacement. Raises ValueError if all are of one class."""
        times = np.bincount(rows, minlength=len(self.order)).astype(np.float64)[self.order]
        positives = np.add.reduceat(times * self.positive, self.starts)
        negatives = np.add.reduceat(times * (1.0 - self.positive), self.starts)
        pairs = float(positives.sum() * negatives.sum())
        if not pairs:
            raise ValueError("AUROC needs at least one positive and one negative row")
        below = np.cumsum(negatives) - negatives
        return float((positives * (below + negatives / 2)).sum()) / pairs


def auroc_of_rows(scores: Sequence[float], positive: Sequence[bool]) -> Callable[[Rows], float]:
    """Return a function that computes the AUROC of rows drawn with replacement, for `resample`.

    The returned function raises ValueError if all rows are of one class. Raises ValueError if the lengths differ, or
    for NaN.
    """
    return _SortedScores.of(scores, positive).auroc


def clustered_auroc(
    scores: Sequence[float],
    positive: Sequence[bool],
    groups: Sequence[Hashable],
    *,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> Interval | NoInterval:
    """Return AUROC with its bootstrap interval; see `clustered_interval`.

    Raises ValueError if the lengths differ, for NaN, or if a class is empty.
    """
    return clustered_interval(auroc_of_rows(scores, positive), groups, level=level, draws=draws, seed=seed)


def auroc_difference(
    scores: Sequence[float],
    others: Sequence[float],
    positive: Sequence[bool],
    groups: Sequence[Hashable],
    *,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> Interval | NoInterval:
    """Return AUROC of `scores` minus AUROC of `others`, with its bootstrap interval; see `clustered_interval`.

    Each draw is used for both, so items that are hard for both do not widen the interval. Raises ValueError if
    the lengths differ, for NaN, or if a class is empty.
    """
    first, second = auroc_of_rows(scores, positive), auroc_of_rows(others, positive)
    return clustered_interval(lambda rows: first(rows) - second(rows), groups, level=level, draws=draws, seed=seed)
