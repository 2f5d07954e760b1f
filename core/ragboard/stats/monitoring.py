"""Sequential detection of changes of a mean over batches in time, with a bound on false alarms.

After each batch, every earlier batch is considered as the first one after a change. The mean since then is compared
with the mean before it, which is estimated from the same data (a generalised likelihood ratio, Siegmund and Venkatraman
1995). Longer stretches of data need less evidence, because there are fewer independent ones (Duembgen and Spokoiny
2001). The threshold follows from the number of batches a year and the number of series, see `change_threshold`.

Assumed: batches are independent and have the same distribution until it changes. Days that differ more than their
samples explain are allowed for, if that is as common before as after: the variance of a mean is multiplied by the
observed dispersion of successive batches.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ragboard.stats.checks import FloatArray, finite_array

__all__ = ["Batches", "Change", "batches_of", "change_threshold", "find_changes"]

ALPHA = 0.05
"""Probability of a false alarm within a year, over all series."""
DAYS = 365
"""Batches of a year if each is a day."""
MAX_WINDOW = 720
"""Maximum number of batches after a possible change: a change that took longer to see would be tiny."""
MIN_BATCHES = 7
"""Minimum number of batches before the first change."""
MIN_SAMPLES = 100
"""Minimum number of samples before a change."""
ROWS = 128
"""Number of batches that are checked at once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Batches:
    """Moments of the samples of each batch, in the order of time; batches without samples are left out."""

    n: FloatArray
    """The effective number of samples: their number, or (sum of weights)^2 / sum of squared weights."""
    mean: FloatArray
    variance: FloatArray
    """Mean squared deviation from the mean of the batch."""
    third: FloatArray
    """Mean cubed deviation from the mean of the batch."""

    def __post_init__(self) -> None:
        sizes = {array.size for array in (self.n, self.mean, self.variance, self.third)}
        if len(sizes) > 1:
            raise ValueError(f"the moments have different lengths: {sorted(sizes)}")
        for name in ("n", "mean", "variance", "third"):
            finite_array(getattr(self, name), name)
        if self.n.size and self.n.min() <= 0:
            raise ValueError("a batch has no samples: leave it out")


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """A change of the mean."""

    start: int
    """Index of the batch from which on the mean is estimated to differ."""
    seen: int
    """Index of the batch after which the evidence was sufficient."""
    before: float
    """The mean before, since the previous change."""
    after: float
    """The mean from `start` to `seen`."""
    score: float
    """The difference in standard errors, corrected for skewness."""

    @property
    def difference(self) -> float:
        """After minus before; negative for a drop."""
        return self.after - self.before


def batches_of(groups: Iterable[Sequence[float | None]], weights: Iterable[Sequence[float]] | None = None) -> Batches:
    """Return the moments of groups of values; None and NaN are left out, as are groups without other values.

    `weights`: the weight of each value, such as 1 / sampling rate. Raises ValueError for a weight of 0 or less.
    """
    rows: list[tuple[float, float, float, float]] = []
    weights_of = iter(weights) if weights is not None else None
    for group in groups:
        values = np.array([math.nan if value is None else value for value in group], dtype=float)
        weight = np.ones(values.size) if weights_of is None else np.asarray(next(weights_of), dtype=float)
        scored = ~np.isnan(values)
        values, weight = values[scored], weight[scored]
        if not values.size:
            continue
        if weight.min() <= 0:
            raise ValueError(f"weights must be above 0, got {weight.min():g}")
        total = float(weight.sum())
        mean = float(weight @ values) / total
        deviations = values - mean
        rows.append(
            (
                total**2 / float(weight @ weight),
                mean,
                float(weight @ deviations**2) / total,
                float(weight @ deviations**3) / total,
            )
        )
    n, mean, variance, third = np.array(rows, dtype=float).reshape(-1, 4).T
    return Batches(n=n, mean=mean, variance=variance, third=third)


@lru_cache(maxsize=64)
def change_threshold(batches: int = DAYS, alpha: float = ALPHA) -> float:
    """Return the threshold that the statistic of one series exceeds within `batches` with probability `alpha`.

    The statistic is z^2 + 2 log(m) for a difference of z standard errors and m batches after the change. The
    probability is that of a maximum of a Gaussian field over windows (Siegmund and Venkatraman 1995), in both
    directions. Raises ValueError unless 0 < alpha < 1 and batches >= 2.
    """
    if not 0 < alpha < 1 or batches < 2:
        raise ValueError(f"alpha must be between 0 and 1 and batches at least 2, got {alpha:g} and {batches}")
    low, high = 1.0, 200.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        if _false_alarms(batches, middle) > alpha:
            low = middle
        else:
            high = middle
    return high


def _false_alarms(batches: int, threshold: float) -> float:
    """Return the expected number of separate false alarms within a number of batches."""
    windows = np.arange(1, min(batches, MAX_WINDOW + 1), dtype=float)
    squares = np.maximum(threshold - 2 * np.log(windows), 1.0)
    bound = np.sqrt(squares)
    overshoot = np.exp(-1.166 * bound / np.sqrt(windows))
    density = np.exp(-squares / 2) / math.sqrt(2 * math.pi)
    return float(((batches - windows) * 0.5 * bound**3 * density * overshoot / windows**2).sum())


def find_changes(
    batches: Batches, *, per_year: int = DAYS, series: int = 1, alpha: float = ALPHA, smallest: float = 0.0
) -> tuple[Change, ...]:
    """Find the changes of the mean that a monitor would have reported, in order, each from data up to its report.

    `per_year`: the number of batches of a year; `series`: the number of series that are monitored together. Without any
    change, one of the series has a report within a year with probability `alpha` (Bonferroni). `smallest`: the smallest
    difference to report. After a change, the mean before the next one is estimated from the data since it.
    """
    threshold = change_threshold(max(per_year, 2), alpha / max(series, 1))
    found: list[Change] = []
    start, first, dispersion = 0, 0, (0.0, 0.0)
    while True:
        scan = _Scan(batches, start, *dispersion)
        change = scan.first_change(first, threshold, smallest, MIN_BATCHES if not found else 1)
        if change is None:
            return tuple(found)
        found.append(change)
        dispersion = scan.dispersion_sums(change.start)
        start, first = change.start, change.seen + 1


class _Scan:
    """Cumulative sums of batches from `start` on, and the statistic of each possible change."""

    def __init__(self, batches: Batches, start: int, ratios: float, pairs: float) -> None:
        self.start = start
        n, mean = batches.n[start:], batches.mean[start:]
        self.counts = _cumulated(n)
        self.offset = float(mean[0]) if mean.size else 0.0
        self.sums = _cumulated(n * (mean - self.offset))
        self.squares = _cumulated(n * batches.variance[start:])
        self.freedom = _cumulated(np.maximum(n - 1, 0))
        self.cubes = _cumulated(n * batches.third[start:])
        self.cubic_freedom = _cumulated(np.maximum((n - 1) * (n - 2) / n, 0))
        self.ratios = _cumulated(np.diff(mean) ** 2 / (1 / n[1:] + 1 / n[:-1])) if mean.size else np.zeros(1)
        self.earlier = ratios, pairs
        self.size = int(n.size)

    def dispersion_sums(self, until: int) -> tuple[float, float]:
        """Return the sum of scaled squared differences of successive batches before `until`, and their number."""
        pairs = max(until - self.start - 1, 0)
        return self.earlier[0] + float(self.ratios[pairs]), self.earlier[1] + pairs

    def first_change(self, first: int, threshold: float, smallest: float, min_batches: int) -> Change | None:
        """Return the first change that is seen after the batch `first` or a later one; None if there is none."""
        for row in range(max(first - self.start, 1), self.size, ROWS):
            ends = np.arange(row, min(row + ROWS, self.size)) + 1
            scores, statistic, differences = self._statistics(ends, min_batches)
            statistic = np.where(np.abs(differences) >= smallest, statistic, -np.inf)
            alarms = np.flatnonzero(statistic.max(axis=1) >= threshold)
            if alarms.size:
                at = int(alarms[0])
                end = int(ends[at])
                allowed = np.where(statistic[at] >= threshold, np.abs(scores[at]), -np.inf)
                window = int(np.argmax(allowed)) + 1
                k = end - window
                before = float(self.sums[k] / self.counts[k])
                after = float((self.sums[end] - self.sums[k]) / (self.counts[end] - self.counts[k]))
                return Change(
                    start=self.start + k,
                    seen=self.start + end - 1,
                    before=before + self.offset,
                    after=after + self.offset,
                    score=float(scores[at, window - 1]),
                )
        return None

    def _statistics(self, ends: np.ndarray, min_batches: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return score, statistic and difference for each end (row) and number of batches after the change (column)."""
        windows = np.arange(1, min(MAX_WINDOW, int(ends[-1]) - 1) + 1)
        k = ends[:, None] - windows[None, :]
        valid = k >= min_batches
        k = np.maximum(k, 1)
        count_before = self.counts[k]
        count_after = self.counts[ends][:, None] - count_before
        valid &= count_before >= MIN_SAMPLES
        difference = (self.sums[ends][:, None] - self.sums[k]) / count_after - self.sums[k] / count_before
        freedom = self.freedom[ends]
        variance = self.squares[ends] / np.maximum(freedom, 1)
        pairs = ends - 1
        ratios = (self.earlier[0] + self.ratios[pairs]) / np.maximum(self.earlier[1] + pairs, 1)
        cubic = self.cubes[ends] / np.maximum(self.cubic_freedom[ends], 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = variance[:, None] * (1 / count_after + 1 / count_before)
            skew = cubic[:, None] * (1 / count_after**2 - 1 / count_before**2) / scale**1.5
            dispersion = np.maximum(ratios / variance, 1.0)[:, None]
            scores = _normal_score(difference / np.sqrt(scale * dispersion), skew)
        effective = count_after * count_before / (count_after + count_before)
        batch_size = (self.counts[ends] / ends)[:, None]
        statistic = scores**2 + 2 * np.log(effective / batch_size)
        valid &= (variance[:, None] > 0) & (freedom[:, None] >= MIN_SAMPLES) & np.isfinite(statistic)
        return scores, np.where(valid, statistic, -np.inf), np.where(valid, difference, 0.0)


def _cumulated(values: FloatArray) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(values)])


def _normal_score(z: FloatArray, skew: FloatArray) -> FloatArray:
    """Return the normal score with the tail probability of z, if the mean has this skewness (Wilson and Hilferty 1931).

    z itself where the correction would not bring it closer to 0: there the tail is at most that of a normal variable.
    """
    small = np.abs(skew) < 1e-6
    safe = np.where(small, 1.0, skew)
    corrected = 6 / safe * (np.cbrt(np.maximum(1 + safe * z / 2, 0.0)) - 1) + safe / 6
    corrected = np.where(np.sign(corrected) == np.sign(z), corrected, 0.0)
    return np.where(small | (np.abs(corrected) >= np.abs(z)) | (skew * z < 0), z, corrected)
