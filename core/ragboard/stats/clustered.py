"""How much better one score ranks than another, where values come in clusters."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragboard.stats.agreement import auroc
from ragboard.stats.intervals import Interval, NoInterval

__all__ = ["auroc_difference", "clustered_auroc"]

Floats: TypeAlias = NDArray[np.float64]

FEWEST = 5
"""With fewer clusters no interval is given."""
LEAST_KEPT = 0.9
"""The share of draws that must hold both classes."""


@dataclass(frozen=True, slots=True)
class _Ranked:
    """Scores in order, so that a draw is weighed without sorting again."""

    order: NDArray[np.intp]
    starts: NDArray[np.intp]
    """Where each group of equal scores starts."""
    positive: Floats

    @classmethod
    def of(cls, scores: Sequence[float], positive: Sequence[bool]) -> _Ranked:
        values = np.asarray(scores, dtype=np.float64)
        order = np.argsort(values, kind="stable")
        ordered = values[order]
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        return cls(order, starts, np.asarray(positive, dtype=np.float64)[order])

    def area(self, weights: Floats) -> float | None:
        """AUROC of the values, each as often as its weight says; None where a class is empty."""
        ordered = weights[self.order]
        ups = np.add.reduceat(ordered * self.positive, self.starts)
        downs = np.add.reduceat(ordered * (1.0 - self.positive), self.starts)
        pairs = float(ups.sum() * downs.sum())
        below = np.cumsum(downs) - downs
        return float((ups * (below + downs / 2)).sum()) / pairs if pairs else None


def clustered_auroc(
    scores: Sequence[float],
    positive: Sequence[bool],
    clusters: Sequence[Hashable],
    *,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> Interval | NoInterval:
    """AUROC with a percentile interval, whole clusters drawn with replacement (Field and Welsh 2007).

    NoInterval with fewer than 5 clusters, or where a tenth of the draws lack a class. Raises ValueError
    where lengths differ or a class is empty.
    """
    return _interval((scores,), positive, clusters, level=level, draws=draws, seed=seed)


def auroc_difference(
    scores: Sequence[float],
    others: Sequence[float],
    positive: Sequence[bool],
    clusters: Sequence[Hashable],
    *,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> Interval | NoInterval:
    """AUROC of `scores` less that of `others` on the same values, with the interval of `clustered_auroc`.

    Both are drawn together, so that what is hard for both does not widen the interval.
    """
    return _interval((scores, others), positive, clusters, level=level, draws=draws, seed=seed)


def _interval(
    columns: Sequence[Sequence[float]],
    positive: Sequence[bool],
    clusters: Sequence[Hashable],
    *,
    level: float,
    draws: int,
    seed: int,
) -> Interval | NoInterval:
    areas = [auroc(column, positive) for column in columns]
    estimate = areas[0] - sum(areas[1:])
    places = {cluster: place for place, cluster in enumerate(dict.fromkeys(clusters))}
    of = np.asarray([places[cluster] for cluster in clusters])
    if len(places) < FEWEST:
        return NoInterval(reason=f"needs {FEWEST} clusters, got {len(places)}", n=len(places))
    ranked = [_Ranked.of(column, positive) for column in columns]
    rng: Any = np.random.default_rng(seed)
    drawn: list[float] = []
    for _ in range(draws):
        times = np.bincount(rng.integers(len(places), size=len(places)), minlength=len(places)).astype(np.float64)
        found = [each.area(times[of]) for each in ranked]
        if None not in found:
            drawn.append((found[0] or 0.0) - sum(each or 0.0 for each in found[1:]))
    if len(drawn) < LEAST_KEPT * draws:
        return NoInterval(reason="too many draws of clusters hold only one class", n=len(places))
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(
        estimate=estimate,
        low=float(low),
        high=float(high),
        level=level,
        n=len(places),
        method=f"percentile bootstrap of clusters, {len(drawn)} draws, seed {seed}",
    )
