"""Platt scaling: map scores of any scale to probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragboard.stats.checks import MAX_SQUARABLE, finite_array

__all__ = ["Platt", "fit_platt"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Platt:
    """A logistic curve from scores to probabilities: 1 / (1 + exp(-(slope * score + offset)))."""

    slope: float
    """At least 0, so a higher score never has a lower probability."""
    offset: float

    def probability(self, score: float) -> float:
        """Return the probability of a score, in [0, 1]."""
        return 0.5 * (1 + math.tanh((self.slope * score + self.offset) / 2))


def fit_platt(scores: Sequence[float], positive: Sequence[bool]) -> Platt:
    """Fit the logistic curve by maximum likelihood (Platt 1999).

    The targets are Platt's: (p + 1) / (p + 2) for the p positives, 1 / (n + 2) for the n negatives. They keep the slope
    finite if the scores separate the classes. A negative slope becomes 0; the probability is then the mean target.
    Raises ValueError if a class is empty, lengths differ, or a score is NaN.
    """
    if len(scores) != len(positive):
        raise ValueError(f"{len(scores)} scores and {len(positive)} outcomes differ in number")
    positives, negatives = sum(positive), len(positive) - sum(positive)
    if not positives or not negatives:
        raise ValueError(f"needs at least one positive and one negative item, got {positives} and {negatives}")
    values = finite_array(scores, "scores", limit=MAX_SQUARABLE)
    targets = np.where(np.asarray(positive, dtype=bool), (positives + 1) / (positives + 2), 1 / (negatives + 2))
    slope, offset = _maximum_likelihood(values, targets)
    if slope <= 0 or not math.isfinite(slope):
        share = float(targets.mean())
        return Platt(slope=0.0, offset=math.log(share / (1 - share)))
    return Platt(slope=slope, offset=offset)


def _maximum_likelihood(values: NDArray[np.float64], targets: NDArray[np.float64]) -> tuple[float, float]:
    """Return the slope and offset with the maximum likelihood, by Newton's method on standardised scores."""
    middle, spread = float(values.mean()), float(values.std())
    if spread < 1e-12:
        return 0.0, 0.0
    rows = np.column_stack([(values - middle) / spread, np.ones_like(values)])
    weights = np.zeros(2)
    for _ in range(100):
        probability = 0.5 * (1 + np.tanh(rows @ weights / 2))
        curvature = rows.T @ (rows * (probability * (1 - probability))[:, None]) + 1e-9 * np.eye(2)
        step = np.linalg.solve(curvature, rows.T @ (targets - probability))
        weights += step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
        if float(np.abs(step).max()) < 1e-10:
            break
    slope = float(weights[0]) / spread
    return slope, float(weights[1]) - slope * middle
