"""Platt scaling: map scores of any scale to probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragboard.stats.checks import SQUARABLE, numbers

__all__ = ["Platt", "fit_platt"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Platt:
    """A logistic curve: the probability of a score is 1 / (1 + exp(-(slope * score + offset)))."""

    slope: float
    """At least 0: a higher score is never less probable."""
    offset: float

    def probability(self, score: float) -> float:
        """Return the probability of a score, in [0, 1]."""
        return 0.5 * (1 + math.tanh((self.slope * score + self.offset) / 2))


def fit_platt(scores: Sequence[float], positive: Sequence[bool]) -> Platt:
    """Fit the logistic curve by maximum likelihood, with outcomes moved slightly away from 0 and 1 (Platt 1999).

    With Platt's targets (n + 1) / (n + 2), the slope is finite even if the scores separate the classes. If the best
    slope is negative, it is set to 0, and the probability is the share of positives. Raises ValueError if a class is
    empty, lengths differ, or a score is NaN.
    """
    if len(scores) != len(positive):
        raise ValueError(f"{len(scores)} scores and {len(positive)} outcomes")
    ups, downs = sum(positive), len(positive) - sum(positive)
    if not ups or not downs:
        raise ValueError(f"needs at least one positive and one negative item, got {ups} and {downs}")
    values = numbers(scores, "scores", largest=SQUARABLE)
    targets = np.where(np.asarray(positive, dtype=bool), (ups + 1) / (ups + 2), 1 / (downs + 2))
    slope, offset = _most_likely(values, targets)
    if slope <= 0 or not math.isfinite(slope):
        share = float(targets.mean())
        return Platt(slope=0.0, offset=math.log(share / (1 - share)))
    return Platt(slope=slope, offset=offset)


def _most_likely(values: NDArray[np.float64], targets: NDArray[np.float64]) -> tuple[float, float]:
    """Maximise the likelihood of slope and offset by Newton's method, on standardised scores."""
    middle, spread = float(values.mean()), float(values.std())
    if spread < 1e-12:
        return 0.0, 0.0
    rows = np.column_stack([(values - middle) / spread, np.ones_like(values)])
    weights = np.zeros(2)
    for _ in range(100):
        chance = 0.5 * (1 + np.tanh(rows @ weights / 2))
        curvature = rows.T @ (rows * (chance * (1 - chance))[:, None]) + 1e-9 * np.eye(2)
        step = np.linalg.solve(curvature, rows.T @ (targets - chance))
        weights += step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
        if float(np.abs(step).max()) < 1e-10:
            break
    slope = float(weights[0]) / spread
    return slope, float(weights[1]) - slope * middle
