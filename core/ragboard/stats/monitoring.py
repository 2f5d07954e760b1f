"""Sequential detection of changes of a mean over batches in time, with a bound on false alarms.

After each batch, the detector tests every earlier batch as the start of a change. The evidence for a start is the
likelihood ratio of the difference between the means after and before it, averaged over several sizes of the change. The
evidence for any change is the sum over all starts, divided by the number of batches in a year. Without a change, its
expectation within a year is at most 1, so it exceeds 1/p with probability p at most, however often one looks (Doob's
inequality for the statistic of Shiryaev and Roberts, Pollak 1985). The probability is below p, because the evidence
overshoots 1/p when it crosses it. To correct this, the likelihood ratio of each size is divided by the expected ratio
of 1/p to the evidence at the crossing (Siegmund 1985).

Assumptions: batches are independent and have the same distribution until it changes, and means of `MIN_SAMPLES` samples
are normal after a correction for skewness. Batches may differ by more than sampling explains: the variance of a mean is
then multiplied by a dispersion of 1 or more. The dispersion is unknown, so the likelihood ratio is averaged over its
posterior distribution, which is computed from the variance between batches as if nothing had changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragboard.stats.checks import FloatArray, finite_array
from ragboard.stats.distributions import normal_cdf

__all__ = ["Batches", "Change", "find_changes", "summarize_batches"]

ALPHA = 0.05
"""Probability of a false alarm within a year, over all series."""
DAYS = 365
"""Default number of batches in a year: one a day."""
MIN_BATCHES = 14
"""Minimum number of batches before the first change."""
MIN_SAMPLES = 100
"""Minimum number of samples before a change."""
SIZES = (0.5, 1.0, 2.0, 4.0, 8.0)
"""The sizes of a change that are tested, as multiples of the size to detect."""
SIZE_WEIGHTS = (0.08, 0.65, 0.17, 0.07, 0.03)
"""The weight of each size; the sum is 1."""
ALPHA_SHARE = 0.7
"""The threshold is set for this share of `alpha`. The rest allows for batches that differ by more than sampling
explains, because the dispersion is uncertain in the first weeks."""
DISPERSIONS = 1.15 ** np.arange(50)
"""The possible variances of the means of batches, as multiples of the variance that sampling explains: 1 to 943."""
NO_DISPERSION = 0.7
"""The prior probability that batches do not differ by more than sampling explains. The other dispersions have a
probability proportional to 1 / dispersion."""
WORSE_WEIGHT = 0.9
"""The weight of changes for the worse; changes for the better have 1 minus this."""
DEVIATIONS = 0.2
"""The default size to detect, in standard deviations of the samples."""
MAX_INFORMATION = 200.0
"""A start is no longer tested once (smallest size / its standard error) squared exceeds this: a change of this size
would already have been detected."""
MIN_WINDOW = 30
"""Starts are tested for at least this number of batches after them."""
OVERSHOOT_SLOPE = 0.63
"""-log(`_overshoot_correction(shift)`) is at most this times the shift: sqrt(2 pi) / 4, rounded up."""
NEGLIGIBLE = 1e-5
"""A dispersion is left out if its evidence must be less than this share of the threshold."""
ROWS = 128
"""Number of batches that are tested at once, to limit memory."""


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
    """Index of the first batch with the changed mean, most probably."""
    earliest: int
    """Start of the 95% credible interval of `start`, at the time the change was detected."""
    latest: int
    """End of this interval."""
    seen: int
    """Index of the batch with which the evidence became sufficient."""
    before: float
    """The mean from the previous change to `start`."""
    after: float
    """The mean from `start` to `seen`."""

    @property
    def difference(self) -> float:
        """After minus before; negative for a drop."""
        return self.after - self.before


def summarize_batches(
    groups: Iterable[Sequence[float | None]], weights: Iterable[Sequence[float]] | None = None
) -> Batches:
    """Compute the moments of each batch of values. None and NaN are left out, as are batches with no other values.

    `weights` are the weights of the values, such as 1 / sampling rate. Raises ValueError for a weight of 0 or less.
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
    moments = np.array(rows, dtype=float).reshape(-1, 4)
    return Batches(n=moments[:, 0], mean=moments[:, 1], variance=moments[:, 2], third=moments[:, 3])


def find_changes(
    batches: Batches,
    *,
    size: float | None = None,
    worse: Literal["lower", "higher", "neither"] = "lower",
    per_year: float = DAYS,
    series: int = 1,
    alpha: float = ALPHA,
) -> tuple[Change, ...]:
    """Find the changes of the mean, in order. Each is found without looking at batches after `seen`.

    If nothing changes, the probability of a false alarm within a year, in any of `series` monitored series, is at most
    `alpha`. `size` is the difference to detect fast, by default 0.2 standard deviations; changes below a quarter of it
    are not reported. `worse` is the direction to detect fastest. `per_year` is the number of batches in a year. After a
    change, the search starts again from its first batch. Raises ValueError unless 0 < alpha < 1 and the other numbers
    are above 0.
    """
    if not 0 < alpha < 1 or per_year <= 0 or series < 1 or (size is not None and size <= 0):
        raise ValueError("alpha must be between 0 and 1, and per_year, series and size above 0")
    threshold = math.log(per_year * series / (ALPHA_SHARE * alpha))
    found: list[Change] = []
    start, first, dispersion = 0, 0, (0.0, 0.0)
    while True:
        scan = _Scan(batches, start, dispersion, size, worse)
        change = scan.first_change(first, threshold, 1 if found else MIN_BATCHES)
        if change is None:
            return tuple(found)
        found.append(change)
        dispersion = scan.dispersion_sums(change.start)
        start, first = change.start, change.seen + 1


@dataclass(frozen=True, kw_only=True, slots=True)
class _Tests:
    """Tests of possible starts of a change.

    There is a row for each number of batches so far, and a column for each number of batches after the start.
    """

    score: FloatArray
    """The difference of the means, in standard errors; 0 where no change is tested."""
    error: FloatArray
    """The standard error that sampling explains; infinite where no change is tested."""
    skew: FloatArray
    per_batch: FloatArray
    """Converts a shift from standard errors of the difference to standard errors of the mean of one batch."""
    size: FloatArray
    """The size to detect, for each row."""
    dispersion: FloatArray
    """The posterior probability of each of `DISPERSIONS`, for each row."""

    def row(self, index: np.integer) -> _Tests:
        """Return one row."""
        return _Tests(**{part.name: getattr(self, part.name)[index] for part in fields(self)})


class _Scan:
    """Cumulative sums of batches from `start` on, and the evidence for a change at each batch."""

    def __init__(
        self, batches: Batches, start: int, dispersion: tuple[float, float], size: float | None, worse: str
    ) -> None:
        self.start, self.earlier, self.size = start, dispersion, size
        n, mean = batches.n[start:], batches.mean[start:]
        self.batches = int(n.size)
        self.counts = _cumulated(n)
        self.offset = float(mean[0]) if n.size else 0.0
        self.sums = _cumulated(n * (mean - self.offset))
        self.squares = _cumulated(n * batches.variance[start:])
        self.df = _cumulated(np.maximum(n - 1, 0))
        self.cubes = _cumulated(n * batches.third[start:])
        self.cubic_df = _cumulated(np.maximum((n - 1) * (n - 2) / n, 0))
        self.mean_squares = _cumulated(n * (mean - self.offset) ** 2)
        share = {"lower": WORSE_WEIGHT, "higher": 1 - WORSE_WEIGHT}.get(worse, 0.5)
        self.directions = ((-1.0, share), (1.0, 1 - share))

    def dispersion_sums(self, until: int) -> tuple[float, float]:
        """Return the sum of weighted squared deviations of the batches before `until`, and its degrees of freedom."""
        end = until - self.start
        squares = float(self.mean_squares[end] - self.sums[end] ** 2 / self.counts[end])
        return self.earlier[0] + max(squares, 0.0), self.earlier[1] + end - 1

    def first_change(self, first: int, threshold: float, min_batches: int) -> Change | None:
        """Return the first change that is detected with batch `first` or a later one; None if there is none."""
        for row in range(max(first - self.start, 1), self.batches, ROWS):
            ends = np.arange(row, min(row + ROWS, self.batches)) + 1
            tests = self._tests(ends, min_batches)
            best = np.where(np.isfinite(tests.error), _largest_ratio(tests.score), 0.0)
            upper_bound = best.sum(axis=1)  # of the evidence, for all sizes and dispersions
            for index in np.flatnonzero(upper_bound >= math.exp(threshold)):
                test = tests.row(index)
                dispersions = _possible_dispersions(test, math.exp(threshold))
                if not dispersions:
                    continue
                evidence = self._evidence(test, dispersions)
                largest = float(evidence.max())
                if largest + math.log(float(np.exp(evidence - largest).sum())) >= threshold:
                    return self._change(int(ends[index]), evidence)
        return None

    def _change(self, end: int, evidence: FloatArray) -> Change:
        """Return the most probable change, given the evidence for each number of batches after it."""
        windows = np.arange(1, evidence.size + 1)
        start = end - int(windows[np.argmax(evidence)])
        posterior = np.exp(evidence - evidence.max())
        shares = np.cumsum(posterior) / posterior.sum()
        before = float(self.sums[start] / self.counts[start])
        after = float((self.sums[end] - self.sums[start]) / (self.counts[end] - self.counts[start]))
        return Change(
            start=self.start + start,
            earliest=self.start + end - int(windows[np.searchsorted(shares, 0.975)]),
            latest=self.start + end - int(windows[np.searchsorted(shares, 0.025)]),
            seen=self.start + end - 1,
            before=before + self.offset,
            after=after + self.offset,
        )

    def _tests(self, ends: NDArray[np.int64], min_batches: int) -> _Tests:
        """Return the tests of every start, for each of these numbers of batches."""
        df = self.df[ends]
        variance = self.squares[ends] / np.maximum(df, 1)
        size = np.full(ends.size, self.size) if self.size else DEVIATIONS * np.sqrt(variance)
        starts = ends[:, None] - np.arange(1, self._max_window(ends, variance, size) + 1)[None, :]
        usable = (starts >= min_batches) & ((variance > 0) & (df >= MIN_SAMPLES))[:, None]
        starts = np.maximum(starts, 1)
        before = self.counts[starts]
        usable &= before >= MIN_SAMPLES
        after = np.maximum(self.counts[ends][:, None] - before, 1e-9)
        difference = (self.sums[ends][:, None] - self.sums[starts]) / after - self.sums[starts] / before
        cubic = self.cubes[ends] / np.maximum(self.cubic_df[ends], 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = variance[:, None] * (1 / after + 1 / before)
            skew = cubic[:, None] * (1 / after**2 - 1 / before**2) / scale**1.5
            error = np.sqrt(scale)
            score = difference / error
        per_batch = np.sqrt(np.minimum(self.counts[ends][:, None] / ends[:, None] * (1 / after + 1 / before), 1.0))
        return _Tests(
            score=np.where(usable, score, 0.0),
            error=np.where(usable, error, np.inf),
            skew=np.where(usable, skew, 0.0),
            per_batch=per_batch,
            size=size,
            dispersion=self._dispersion(ends, variance),
        )

    def _dispersion(self, ends: NDArray[np.int64], variance: FloatArray) -> FloatArray:
        """Return the posterior probability of each of `DISPERSIONS`, a row for each number of batches."""
        between = np.maximum(self.mean_squares[ends] - self.sums[ends] ** 2 / self.counts[ends], 0.0)
        squares = (self.earlier[0] + between) / np.where(variance > 0, variance, np.inf)
        df = self.earlier[1] + ends - 1
        prior = 1 / DISPERSIONS
        prior = np.where(DISPERSIONS > 1, (1 - NO_DISPERSION) * prior / (prior.sum() - 1), NO_DISPERSION)
        logs = np.log(prior) - df[:, None] / 2 * np.log(DISPERSIONS) - squares[:, None] / (2 * DISPERSIONS)
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True), dtype=np.float64)

    def _evidence(self, tests: _Tests, dispersions: Sequence[int]) -> FloatArray:
        """Return the log of the mean likelihood ratio for each number of batches after the change."""
        ratio = np.zeros_like(tests.score)
        for index in dispersions:
            dispersion, probability = float(DISPERSIONS[index]), float(tests.dispersion[index])
            root = math.sqrt(dispersion)
            score, error = _normal_score(tests.score / root, tests.skew / root**3), tests.error * root
            for multiple, weight in zip(SIZES, SIZE_WEIGHTS, strict=True):
                shift = multiple * float(tests.size) / error
                scaled = probability * weight / _overshoot_correction(shift * tests.per_batch)
                for sign, share in self.directions:
                    ratio += share * scaled * np.exp(np.minimum(sign * shift * score - shift**2 / 2, 600.0))
        with np.errstate(divide="ignore"):
            return np.where(np.isfinite(tests.error), np.log(ratio), -np.inf)

    def _max_window(self, ends: NDArray[np.int64], variance: FloatArray, size: FloatArray) -> int:
        """Return the maximum number of batches after a start for which it is tested; see `MAX_INFORMATION`."""
        with np.errstate(divide="ignore", invalid="ignore"):
            samples = MAX_INFORMATION * variance / (SIZES[0] * size) ** 2
        enough = np.searchsorted(self.counts, self.counts[ends] - np.nan_to_num(samples))
        return int(min(max(int((ends - enough).max()), MIN_WINDOW), int(ends[-1]) - 1))


def _cumulated(values: FloatArray) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(values)])


def _possible_dispersions(tests: _Tests, threshold: float) -> list[int]:
    """Return the indices in `DISPERSIONS` with more than negligible evidence; empty if the threshold is not reached."""
    roots = np.sqrt(DISPERSIONS)
    rough_bound = tests.score.size * tests.dispersion * _largest_ratio(np.abs(tests.score).max() / roots)
    possible = np.flatnonzero(rough_bound >= NEGLIGIBLE * threshold)
    bound = tests.dispersion[possible] * _largest_ratio(tests.score / roots[possible, None]).sum(axis=1)
    return possible[bound >= NEGLIGIBLE * threshold].tolist() if bound.sum() >= threshold else []


def _largest_ratio(score: FloatArray) -> FloatArray:
    """Return an upper bound of the corrected likelihood ratio: that of the size that fits best."""
    return np.asarray(np.exp(np.minimum((np.abs(score) + OVERSHOOT_SLOPE) ** 2 / 2, 600.0)), dtype=np.float64)


def _overshoot_correction(shift: FloatArray) -> FloatArray:
    """Return the expected value of threshold / likelihood ratio, when the ratio crosses a high threshold.

    `shift` is the shift of each batch, in standard errors of its mean. The formula is that of Siegmund (1985), in the
    closed form of Siegmund and Yakir (2007).
    """
    shifts, corrections = _overshoot_table()
    return np.where(shift < shifts[-1], np.interp(shift, shifts, corrections), 2 / np.maximum(shift, 1.0) ** 2)


@cache
def _overshoot_table() -> tuple[FloatArray, FloatArray]:
    """Return shifts in small steps, and the overshoot correction of each."""
    shifts = np.arange(1, 1201) / 100
    halves = [float(shift) / 2 for shift in shifts]
    densities = [math.exp(-(half**2) / 2) / math.sqrt(2 * math.pi) for half in halves]
    corrections = [
        (normal_cdf(half) - 0.5) / half / (half * normal_cdf(half) + density)
        for half, density in zip(halves, densities, strict=True)
    ]
    return shifts, np.array(corrections)


def _normal_score(z: FloatArray, skew: FloatArray) -> FloatArray:
    """Correct z for the skewness of the mean, only towards 0 (Wilson and Hilferty 1931).

    The result is the normal score with the tail probability of z.
    """
    small = np.abs(skew) < 1e-6
    safe = np.where(small, 1.0, skew)
    corrected = 6 / safe * (np.cbrt(np.maximum(1 + safe * z / 2, 0.0)) - 1) + safe / 6
    corrected = np.where(np.sign(corrected) == np.sign(z), corrected, 0.0)
    return np.where(small | (np.abs(corrected) >= np.abs(z)) | (skew * z < 0), z, corrected)
