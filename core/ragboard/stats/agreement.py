"""How well scores and decisions agree with labels, and annotators with each other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal, TypeVar

import numpy as np

from ragboard.stats.bootstrap import Rows, clustered_interval
from ragboard.stats.checks import FloatArray, finite_array, reject_missing, to_booleans
from ragboard.stats.intervals import Interval, NoInterval, wilson_interval

__all__ = [
    "Bin",
    "BinaryAgreement",
    "Calibration",
    "Cut",
    "Scale",
    "Weights",
    "alpha_interval",
    "auroc",
    "best_cut",
    "binary_agreement",
    "calibration",
    "cohen_kappa",
    "confusion",
    "kappa_interval",
    "krippendorff_alpha",
    "pooled_calibration_error",
    "roc",
]


L = TypeVar("L", bound=Hashable)
Weights = Literal["linear", "quadratic"]
Scale = Literal["nominal", "ordinal", "interval"]


@dataclass(frozen=True, kw_only=True)
class BinaryAgreement:
    """The confusion matrix of binary decisions and true labels."""

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int

    @property
    def n(self) -> int:
        """Number of items compared."""
        return self.true_positives + self.false_positives + self.false_negatives + self.true_negatives

    @property
    def accuracy(self) -> float | None:
        """The share of items with the correct decision, in [0, 1]; None without items."""
        return _share(self.true_positives + self.true_negatives, self.n)

    @property
    def precision(self) -> float | None:
        """True positives / all positive decisions; None if there are none."""
        return _share(self.true_positives, self.true_positives + self.false_positives)

    @property
    def sensitivity(self) -> float | None:
        """True positives / all positive labels (recall); None if there are none."""
        return _share(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def specificity(self) -> float | None:
        """True negatives / all negative labels; None if there are none."""
        return _share(self.true_negatives, self.true_negatives + self.false_positives)

    @property
    def balanced_accuracy(self) -> float | None:
        """The mean of sensitivity and specificity; 0.5 is chance level. None if either is None."""
        if self.sensitivity is None or self.specificity is None:
            return None
        return (self.sensitivity + self.specificity) / 2

    @property
    def f1(self) -> float | None:
        """The harmonic mean of precision and sensitivity; None if no decision and no label is positive."""
        wrong = self.false_positives + self.false_negatives
        return _share(2 * self.true_positives, 2 * self.true_positives + wrong)


@dataclass(frozen=True, kw_only=True)
class Cut:
    """A threshold on scores, and how the resulting decisions agree with labels."""

    threshold: float
    """The lowest score that counts as positive."""
    agreement: BinaryAgreement


@dataclass(frozen=True, kw_only=True)
class Bin:
    """A bin of scores, with the share of positives in it."""

    low: float
    high: float
    n: int
    score: float
    """Mean score in the bin."""
    share: Interval
    """Share of positives in the bin, with Wilson's interval."""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """How well scores work as probabilities."""

    n: int
    bins: tuple[Bin, ...]
    """The bins that contain scores, ascending."""
    error: float
    """Expected calibration error: |mean score - share of positives| of each bin, averaged with weight n; 0 is best."""
    brier: float
    """Brier score: mean squared difference of score and outcome (Brier 1950); 0 is best, a constant 0.5 gives 0.25."""


def auroc(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """Return the share of (positive, negative) pairs in which the positive item scores higher; a tie counts half.

    This is the area under the ROC curve, in [0, 1], computed from ranks (Mann and Whitney 1947); 0.5 is chance level.
    Raises ValueError if all items are of one class, for different lengths, or for NaN.
    """
    pairs = sorted(zip(finite_array(scores, "scores").tolist(), to_booleans(positive, "positive"), strict=True))
    positives = sum(is_positive for _, is_positive in pairs)
    negatives = len(pairs) - positives
    _require_both_classes(positives, negatives)
    negatives_below, wins = 0, 0.0
    for _, tied in groupby(pairs, key=lambda pair: pair[0]):
        group = [is_positive for _, is_positive in tied]
        tied_positives = sum(group)
        tied_negatives = len(group) - tied_positives
        wins += tied_positives * (negatives_below + tied_negatives / 2)
        negatives_below += tied_negatives
    return wins / (positives * negatives)


def roc(scores: Sequence[float], positive: Sequence[bool]) -> tuple[Cut, ...]:
    """Return the points of the ROC curve after the origin: one for each distinct score, highest score first.

    Raises ValueError in the same cases as `auroc`.
    """
    pairs = sorted(
        zip(finite_array(scores, "scores").tolist(), to_booleans(positive, "positive"), strict=True), reverse=True
    )
    positives = sum(is_positive for _, is_positive in pairs)
    negatives = len(pairs) - positives
    _require_both_classes(positives, negatives)
    true_positives = false_positives = 0
    cuts: list[Cut] = []
    for score, tied in groupby(pairs, key=lambda pair: pair[0]):
        group = [is_positive for _, is_positive in tied]
        true_positives += sum(group)
        false_positives += len(group) - sum(group)
        agreement = BinaryAgreement(
            true_positives=true_positives,
            false_positives=false_positives,
            false_negatives=positives - true_positives,
            true_negatives=negatives - false_positives,
        )
        cuts.append(Cut(threshold=score, agreement=agreement))
    return tuple(cuts)


def best_cut(cuts: Sequence[Cut], *, precision: float | None = None) -> Cut | None:
    """Return the cut with the highest sensitivity + specificity (Youden 1950); of equally good cuts, the first.

    With `precision`, return the cut with the highest sensitivity among those with at least this precision, or None.
    The agreement of the returned cut is optimistic, because the cut is fitted on the same items.
    """
    if precision is None:
        return max(cuts, key=lambda cut: cut.agreement.balanced_accuracy or 0.0)
    precise = [cut for cut in cuts if (cut.agreement.precision or 0.0) >= precision]
    return max(precise, key=lambda cut: cut.agreement.sensitivity or 0.0, default=None)


def binary_agreement(decisions: Sequence[bool], truth: Sequence[bool]) -> BinaryAgreement:
    """Return the confusion matrix. Raises ValueError for different lengths, and values other than True and False."""
    counts = confusion(to_booleans(decisions, "decisions"), to_booleans(truth, "truth"))
    return BinaryAgreement(
        true_positives=counts.get((True, True), 0),
        false_positives=counts.get((False, True), 0),
        false_negatives=counts.get((True, False), 0),
        true_negatives=counts.get((False, False), 0),
    )


def confusion(decisions: Sequence[L], truth: Sequence[L]) -> dict[tuple[L, L], int]:
    """Count each pair (truth, decision). Raises ValueError if the lengths differ, or for None and NaN."""
    reject_missing(decisions, "decisions")
    reject_missing(truth, "truth")
    return dict(Counter(zip(truth, decisions, strict=True)))


def cohen_kappa(
    first: Sequence[L], second: Sequence[L], *, weights: Weights | None = None, order: Sequence[L] | None = None
) -> float:
    """Return Cohen's kappa of two raters: agreement beyond chance, at most 1; 0 is chance level.

    `weights` weight a disagreement by the distance between the two categories in `order` (`linear`) or by its square
    (`quadratic`; Cohen 1960, 1968). Raises ValueError for no ratings, NaN, different lengths, weights without an order,
    a rating that is not in the order, and if all ratings of both raters are the same.
    """
    if weights and order is None:
        raise ValueError("weights need the order of the categories")
    categories = list(dict.fromkeys([*first, *second])) if order is None else list(order)
    reject_missing(first, "first")
    reject_missing(second, "second")
    position = {category: index for index, category in enumerate(categories)}
    if not first or any(rating not in position for rating in [*first, *second]):
        raise ValueError("kappa needs ratings, and each must be one of the categories")
    table = np.zeros((len(categories), len(categories)))
    for (first_rating, second_rating), count in Counter(zip(first, second, strict=True)).items():
        table[position[first_rating], position[second_rating]] = count
    return kappa_from_table(table, category_distances(len(categories), weights))


def kappa_from_table(table: FloatArray, distances: FloatArray) -> float:
    """Return kappa from a confusion table and the distances between categories.

    Raises ValueError if all ratings of both raters are the same.
    """
    by_chance = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    expected = float((distances * by_chance).sum())
    if expected == 0:
        raise ValueError("both raters put every item in the same category")
    return 1 - float((distances * table).sum()) / expected


def krippendorff_alpha(units: Sequence[Sequence[float | None]], *, scale: Scale = "nominal") -> float:
    """Return Krippendorff's alpha of any number of raters: agreement beyond chance, at most 1.

    `units[i]` are the ratings of unit i; None is a missing rating. Units with fewer than 2 ratings do not count. On a
    nominal scale, any numbers can stand for the categories (Krippendorff 2011). Raises ValueError if no unit has 2
    ratings, if all ratings are equal, or for NaN.
    """
    values, tables = coincidences(units)
    return alpha_from_table(values, tables.sum(axis=0), scale)


def coincidences(units: Sequence[Sequence[float | None]]) -> tuple[FloatArray, FloatArray]:
    """Return the distinct ratings, ascending, and the coincidence table of each unit (units x ratings x ratings).

    The table of a unit with fewer than 2 ratings is 0. Raises ValueError in the same cases as `krippendorff_alpha`.
    """
    present = [[rating for rating in unit if rating is not None] for unit in units]
    finite_array([rating for unit in present for rating in unit], "ratings")
    values = sorted({rating for unit in present if len(unit) >= 2 for rating in unit})
    if len(values) < 2:
        raise ValueError("alpha needs units with at least 2 ratings, and ratings that differ")
    position = {value: index for index, value in enumerate(values)}
    tables = np.zeros((len(present), len(values), len(values)))
    for index, unit in enumerate(present):
        if len(unit) >= 2:
            counts = np.bincount([position[rating] for rating in unit], minlength=len(values)).astype(float)
            tables[index] = (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
    return np.array(values, dtype=float), tables


def alpha_from_table(values: FloatArray, coincidence: FloatArray, scale: Scale) -> float:
    """Return alpha from a coincidence table. Raises ValueError if all ratings are equal."""
    totals = coincidence.sum(axis=1)
    if (totals > 0).sum() < 2:
        raise ValueError("alpha needs ratings that differ")
    distances = _DISTANCES[scale](values, totals)
    expected = (distances * np.outer(totals, totals)).sum() / (totals.sum() - 1)
    if not expected:
        raise ValueError("alpha needs ratings that differ by more than rounding")
    return 1 - float((distances * coincidence).sum() / expected)


def calibration(scores: Sequence[float], positive: Sequence[bool], *, bins: int = 10) -> Calibration:
    """Compare scores in [0, 1] with the share of positives, in bins of equal width.

    Raises ValueError for no scores, scores outside [0, 1], or different lengths.
    """
    if not scores or not all(0 <= score <= 1 for score in scores):
        raise ValueError("calibration needs scores from 0 to 1")
    pairs = sorted(zip(scores, to_booleans(positive, "positive"), strict=True))
    filled = [
        _bin(index / bins, (index + 1) / bins, list(group))
        for index, group in groupby(pairs, key=lambda pair: min(int(pair[0] * bins), bins - 1))
    ]
    n = len(pairs)
    return Calibration(
        n=n,
        bins=tuple(filled),
        error=sum(bin_.n * abs(bin_.score - bin_.share.estimate) for bin_ in filled) / n,
        brier=sum((score - is_positive) ** 2 for score, is_positive in pairs) / n,
    )


def pooled_calibration_error(sets: Sequence[tuple[Sequence[float], Sequence[bool]]], *, bins: int = 10) -> float:
    """Return the expected calibration error over several sets of scores and labels, each set with the same weight.

    In a bin, errors of opposite sign in different sets cancel. For one set, the result is the error of `calibration`.
    Raises ValueError in the same cases as `calibration`, and for no sets.
    """
    if not sets:
        raise ValueError("calibration needs at least one set")
    gaps = [0.0] * bins
    for scores, positive in sets:
        for bin_ in calibration(scores, positive, bins=bins).bins:
            gaps[round(bin_.low * bins)] += bin_.n * (bin_.score - bin_.share.estimate) / len(scores)
    return math.fsum(map(abs, gaps)) / len(sets)


def _bin(low: float, high: float, pairs: Sequence[tuple[float, bool]]) -> Bin:
    n = len(pairs)
    share = sum(is_positive for _, is_positive in pairs) / n
    return Bin(low=low, high=high, n=n, score=sum(score for score, _ in pairs) / n, share=wilson_interval(share, n))


def _require_both_classes(positives: int, negatives: int) -> None:
    if not positives or not negatives:
        raise ValueError(f"needs at least one positive and one negative item, got {positives} and {negatives}")


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def category_distances(count: int, weights: Weights | None) -> FloatArray:
    """Return the distances between `count` ordered categories: linear, squared or, without weights, 0 or 1."""
    distances: FloatArray = np.abs(np.subtract.outer(np.arange(count), np.arange(count))).astype(float)
    if weights is None:
        return (distances > 0).astype(float)
    return distances if weights == "linear" else np.square(distances)


def _nominal_distances(values: FloatArray, _: FloatArray) -> FloatArray:
    return np.not_equal.outer(values, values).astype(float)


def _interval_distances(values: FloatArray, _: FloatArray) -> FloatArray:
    differences: FloatArray = np.subtract.outer(values, values)
    scaled: FloatArray = differences / np.abs(differences).max()
    return np.square(scaled)


def _ordinal_distances(_: FloatArray, totals: FloatArray) -> FloatArray:
    """Return, for each pair of values, the squared number of ratings between them; ratings equal to one count half."""
    middles = np.cumsum(totals) - totals / 2
    return _interval_distances(middles, totals)


_DISTANCES: dict[Scale, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "nominal": _nominal_distances,
    "ordinal": _ordinal_distances,
    "interval": _interval_distances,
}


def kappa_interval(
    first: Sequence[L],
    second: Sequence[L],
    groups: Sequence[Hashable],
    *,
    weights: Weights | None = None,
    order: Sequence[L] | None = None,
    **bootstrap_options: Any,
) -> Interval | NoInterval:
    """Return Cohen's kappa with an interval; `bootstrap_options` are the level, seed and draws of `clustered_interval`.

    Raises ValueError in the same cases as `cohen_kappa`.
    """
    if weights and order is None:
        raise ValueError("weights need the order of the categories")
    categories = list(dict.fromkeys([*first, *second])) if order is None else list(order)
    if any(rating != rating for rating in categories):
        raise ValueError("a rating is NaN: omit missing ratings")
    position = {category: index for index, category in enumerate(categories)}
    if not first or len(first) != len(second) or any(rating not in position for rating in [*first, *second]):
        raise ValueError("kappa needs equally many ratings by both raters, and each must be one of the categories")
    size = len(categories)
    rows_of_table = np.array([position[rating] for rating in first])
    columns_of_table = np.array([position[rating] for rating in second])
    cells = rows_of_table * size + columns_of_table
    distances = category_distances(size, weights)

    def kappa(rows: Rows) -> float:
        table = np.bincount(cells[rows], minlength=size * size).reshape(size, size).astype(float)
        return kappa_from_table(table, distances)

    return clustered_interval(kappa, groups, **bootstrap_options)


def alpha_interval(
    units: Sequence[Sequence[float | None]],
    groups: Sequence[Hashable],
    *,
    scale: Scale = "nominal",
    **bootstrap_options: Any,
) -> Interval | NoInterval:
    """Return Krippendorff's alpha with an interval; see `clustered_interval` for groups and bootstrap options.

    Raises ValueError in the same cases as `krippendorff_alpha`.
    """
    values, tables = coincidences(units)
    return clustered_interval(
        lambda rows: alpha_from_table(values, tables[rows].sum(axis=0), scale), groups, **bootstrap_options
    )
