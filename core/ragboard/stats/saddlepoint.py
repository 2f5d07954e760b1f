"""Limits of a mean by the Bayesian bootstrap, in closed form.

The Bayesian bootstrap (Rubin 1981) weighs the values with random Dirichlet weights and looks at how the weighted mean
scatters. One more point stands for what a sample of this size has not shown: at the bound of the scores it makes the
limits those of Gaffke (2005) and Learned-Miller and Thomas (2020), and for 0/1 scores those of Clopper and Pearson.
The distribution of the weighted mean is that of a sum of exponential variables, of which the saddlepoint approximation
(Barndorff-Nielsen 1986) is exact enough to need no random draws, and right far out in the tail.

Values come as sums and counts of clusters, which are weighed as wholes; a value of its own is a cluster of one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["lower_limit", "lower_score"]

Floats = NDArray[np.float64]
MOST_STEPS = 100
SMALLEST = 1e-100
"""Smaller values are scaled up, larger ones than the inverse down: squares could leave the range of numbers."""
PRECISION = 1e-8
"""Of a normal score, and of a limit as a part of the range it is in."""


def lower_limit(sums: Floats, counts: Floats, extra: float, score: float) -> float:
    """The mean below which the weighted mean falls with the probability of a normal variable below `score` < 0.

    `extra` is the value of the one more point, whose size is that of an average cluster.
    """
    scale = max(float(np.abs(sums).max()), abs(extra))
    if 0 < scale < SMALLEST or scale > 1 / SMALLEST:
        return scale * lower_limit(sums / scale, counts, extra / scale, score)
    low, high = min(extra, float((sums / counts).min())), float(sums.sum() / counts.sum())
    width = high - low
    if width <= 1e-12 * max(abs(low), abs(high)):
        return low
    at_low, at_high = -math.inf, lower_score(sums, counts, extra, high) - score
    if at_high <= 0:
        return high
    error = float(np.sqrt(np.square(sums - high * counts).sum())) / float(counts.sum())
    guess = max(high + score * error, low + width / 2)
    side = 0
    for _ in range(MOST_STEPS):
        at = lower_score(sums, counts, extra, guess) - score
        if abs(at) < PRECISION or high - low <= PRECISION * width:
            break
        if at < 0:
            low, at_low, at_high = guess, at, at_high / (2 if side < 0 else 1)
        else:
            high, at_high, at_low = guess, at, at_low / (2 if side > 0 else 1)
        side = -1 if at < 0 else 1
        guess = (low + high) / 2 if at_low == -math.inf else low - at_low * (high - low) / (at_high - at_low)
    return guess


def lower_score(sums: Floats, counts: Floats, extra: float, mean: float) -> float:
    """The normal score of the probability that the weighted mean falls below `mean`."""
    size = counts.mean()
    apart = np.append(sums - mean * counts, size * (extra - mean))
    scale = float(np.abs(apart).max())
    if scale == 0:
        return 0.0
    apart = apart / scale
    least, most = float(apart.min()), float(apart.max())
    if least >= 0 or most <= 0:
        return -math.inf if least >= 0 else math.inf
    point = _saddlepoint(apart, 1 / least, 1 / most)
    weights = 1 / (1 - point * apart)
    root = math.copysign(math.sqrt(max(2 * float(np.log1p(-point * apart).sum()), 0.0)), point)
    slope = point * math.sqrt(float(np.square(apart * weights).sum()))
    if abs(root) < 1e-4:
        return root + float((apart**3).sum()) / (3 * math.sqrt(float((apart**2).sum())) ** 3)
    return root + math.log(slope / root) / root


def _saddlepoint(apart: Floats, low: float, high: float) -> float:
    """Where the derivative of the cumulant function, which rises from -inf at `low` to inf at `high`, is 0."""
    point = -float(apart.sum()) / float(np.square(apart).sum())
    if not low < point < high:
        point = 0.0
    for _ in range(MOST_STEPS):
        pulled = apart / (1 - point * apart)
        slope, bend = float(pulled.sum()), float(np.square(pulled).sum())
        if slope < 0:
            low = point
        else:
            high = point
        step = -slope / bend
        if abs(slope) <= PRECISION * math.sqrt(bend):
            return point + step
        point = point + step if low < point + step < high else (low + high) / 2
    return point
