"""AUROC and differences of AUROC, with bootstrap intervals for clustered rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragboard.stats.bootstrap import DRAWS, Rows, clustered_interval
from ragboard.stats.checks import numbers
from ragboard.stats.intervals import Interval, NoInterval

__all__ = ["auroc_difference", "clustered_auroc"]

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Ranked:
    """Scores in order, so that a draw is weighed without sorting again."""

    order: NDArray[np.intp]
    starts: NDArray[np.intp]
    """Where each group of equal scores starts."""
    positive: Floats

    @classmethod
    def of(cls, scores: Sequence[float], positive: Sequence[bool]) -> _Ranked:
        if len(scores) != len(positive):
            raise ValueError(f"{len(scores)} scores and {len(positive)} labels")
        values = numbers(scores, "scores")
        order = np.argsort(values, kind="stable")
        ordered = values[order]
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        return cls(order, starts, np.asarray(positive, dtype=np.float64)[order])

    def area(self, rows: Rows) -> float:
        """AUROC of these rows, with repetition. Raises ValueError where a class is empty."""
        times = np.bincount(rows, minlength=len(self.order)).astype(np.float64)[self.order]
        ups = np.add.reduceat(times * self.positive, self.starts)
        downs = np.add.reduceat(times * (1.0 - self.positive), self.starts)
        pairs = float(ups.sum() * downs.sum())
        if not pairs:
            raise ValueError("AUROC needs at least one of each class")
        below = np.cumsum(downs) - downs
        return float((ups * (below + downs / 2)).sum()) / pairs


def clustered_auroc(
    scores: Sequence[float],
    positive: Sequence[bool],
    groups: Sequence[Hashable],
    *,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> Interval | NoInterval:
    """AUROC with the interval of `clustered_interval`. Raises ValueError where lengths differ or a class is empty."""
    ranked = _Ranked.of(scores, positive)
    return clustered_interval(ranked.area, groups, level=level, draws=draws, seed=seed)


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
    """AUROC of `scores` less that of `others` on the same rows, with the same kind of interval.

    Both are drawn together, so that what is hard for both does not widen the interval.
    """
    one, other = _Ranked.of(scores, positive), _Ranked.of(others, positive)
    return clustered_interval(
        lambda rows: one.area(rows) - other.area(rows), groups, level=level, draws=draws, seed=seed
    )
