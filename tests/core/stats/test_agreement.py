"""Tests of agreement: by hand, published values, scipy, and a second implementation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from ragboard.stats import (
    BinaryAgreement,
    auroc,
    best_cut,
    binary_agreement,
    calibration,
    cohen_kappa,
    confusion,
    krippendorff_alpha,
    roc,
    wilson_interval,
)

_ = None
RATERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
    [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
]
UNITS = [list(unit) for unit in zip(*RATERS, strict=True)]
YES_NO = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=80)
GRADES = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=2, max_size=80)


def test_auroc_by_hand() -> None:
    """Pairs (.9, .5), (.9, .2), (.5, .5), (.5, .2): three wins and a tie of four."""
    assert auroc([0.9, 0.5, 0.5, 0.2], [True, True, False, False]) == 3.5 / 4


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=60))
def test_auroc_is_the_mann_whitney_statistic_of_scipy(pairs: list[tuple[int, bool]]) -> None:
    ups = [score for score, positive in pairs if positive]
    downs = [score for score, positive in pairs if not positive]
    if not ups or not downs:
        for count in (auroc, roc):
            with pytest.raises(ValueError, match="at least one positive and one negative"):
                count(*zip(*pairs, strict=True))
        return
    theirs = mannwhitneyu(ups, downs, method="asymptotic").statistic / (len(ups) * len(downs))
    assert auroc(*zip(*pairs, strict=True)) == pytest.approx(theirs)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=60))
def test_the_area_under_the_curve_is_the_auroc(pairs: list[tuple[int, bool]]) -> None:
    scores, positive = zip(*pairs, strict=True)
    if len(set(positive)) < 2:
        return
    cuts = roc(scores, positive)
    across = [0.0, *(1 - (cut.agreement.specificity or 0.0) for cut in cuts)]
    up = [0.0, *(cut.agreement.sensitivity or 0.0 for cut in cuts)]
    assert np.trapezoid(up, across) == pytest.approx(auroc(scores, positive))
    assert (across[-1], up[-1]) == (1.0, 1.0)


def test_the_chosen_cut_by_hand() -> None:
    """From .6 on: three of four positives, one of four negatives; from .9 on precision is 1."""
    scores = [0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.1]
    positive = [True, False, True, True, False, True, False, False]
    cuts = roc(scores, positive)
    youden = best_cut(cuts)
    assert youden is not None
    assert youden.threshold == 0.6
    assert youden.agreement == BinaryAgreement(true_positives=3, false_positives=1, false_negatives=1, true_negatives=3)
    precise = best_cut(cuts, precision=0.9)
    assert precise is not None
    assert precise.threshold == 0.9
    assert best_cut(roc([0.5, 0.5], [True, False]), precision=0.9) is None


def test_shares_of_a_hand_made_confusion() -> None:
    found = binary_agreement([True] * 6 + [False] * 4, [True] * 4 + [False] * 2 + [True] * 1 + [False] * 3)
    assert (found.n, found.accuracy, found.precision, found.sensitivity) == (10, 0.7, 4 / 6, 0.8)
    assert (found.specificity, found.f1) == (0.6, 8 / 11)
    assert found.balanced_accuracy == pytest.approx(0.7)


def test_a_share_of_nothing_is_none() -> None:
    found = binary_agreement([False, False], [False, False])
    assert (found.precision, found.sensitivity, found.balanced_accuracy, found.f1) == (None, None, None, None)
    assert found.specificity == 1.0
    assert binary_agreement([], []).accuracy is None


def test_confusion_counts_truth_by_said() -> None:
    assert confusion(["a", "b", "b"], ["a", "a", "b"]) == {("a", "a"): 1, ("a", "b"): 1, ("b", "b"): 1}


def test_kappa_by_hand() -> None:
    """20 yes, 15 no in common, 5 and 10 apart: observed .7, by chance .5, kappa .4."""
    first = [True] * 25 + [False] * 25
    second = [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15
    assert cohen_kappa(first, second) == pytest.approx(0.4)


@given(YES_NO)
def test_kappa_of_yes_and_no_ignores_weights_and_order(pairs: list[tuple[bool, bool]]) -> None:
    first, second = zip(*pairs, strict=True)
    if len({*first, *second}) < 2:
        with pytest.raises(ValueError, match="every item in the same category"):
            cohen_kappa(first, second)
        return
    plain = cohen_kappa(first, second)
    assert plain <= 1
    assert cohen_kappa(second, first) == pytest.approx(plain)
    for order in permutations([True, False]):
        assert cohen_kappa(first, second, weights="quadratic", order=order) == pytest.approx(plain)


@given(GRADES)
def test_quadratic_kappa_by_its_moments(pairs: list[tuple[int, int]]) -> None:
    """2 cov / (var + var + squared difference of the means), with n (Krippendorff 1970)."""
    first, second = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    bottom = first.var() + second.var() + (first.mean() - second.mean()) ** 2
    if bottom == 0:
        return
    theirs = 2 * np.cov(first, second, ddof=0)[0, 1] / bottom
    ours = cohen_kappa(first.tolist(), second.tolist(), weights="quadratic", order=[1, 2, 3, 4])
    assert ours == pytest.approx(theirs)


@given(GRADES, st.sampled_from([None, "linear", "quadratic"]))
def test_kappa_is_that_of_scikit_learn(pairs: list[tuple[int, int]], weights: str | None) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    first, second = zip(*pairs, strict=True)
    if len({*first, *second}) < 2:
        return
    ours = cohen_kappa(first, second, weights=weights, order=[1, 2, 3, 4])
    assert ours == pytest.approx(metrics.cohen_kappa_score(first, second, weights=weights, labels=[1, 2, 3, 4]))


def test_kappa_refuses_what_it_cannot_weigh() -> None:
    with pytest.raises(ValueError, match="need the order"):
        cohen_kappa([1, 2], [1, 2], weights="linear")
    with pytest.raises(ValueError, match="one of the categories"):
        cohen_kappa([1, 3], [1, 2], order=[1, 2])


@pytest.mark.parametrize(("scale", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_published(scale: str, published: float) -> None:
    """Krippendorff 2011, Computing Krippendorff's alpha-reliability, section C and D: four observers, twelve units."""
    assert krippendorff_alpha(UNITS, scale=scale) == pytest.approx(published, abs=5e-4)


def naive_alpha(units: Sequence[Sequence[float | None]]) -> float:
    """One less the mean squared difference within units over that between all ratings."""
    rated = [[value for value in unit if value is not None] for unit in units]
    rated = [unit for unit in rated if len(unit) > 1]
    everything = [value for unit in rated for value in unit]
    within = sum(sum((a - b) ** 2 for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in rated)
    between = sum((a - b) ** 2 for a, b in permutations(everything, 2)) / (len(everything) - 1)
    return 1 - within / between


@given(st.lists(st.lists(st.one_of(st.none(), st.integers(1, 5)), min_size=3, max_size=3), min_size=2, max_size=20))
def test_alpha_of_an_interval_scale_by_all_pairs(units: list[list[int | None]]) -> None:
    values = {value for unit in units if sum(v is not None for v in unit) > 1 for value in unit if value is not None}
    if len(values) < 2:
        with pytest.raises(ValueError, match="ratings that differ"):
            krippendorff_alpha(units, scale="interval")
        return
    assert krippendorff_alpha(units, scale="interval") == pytest.approx(naive_alpha(units))


def test_calibration_by_hand() -> None:
    found = calibration([0.1, 0.2, 0.8, 0.9, 1.0], [False, True, True, True, False], bins=2)
    assert [(one.low, one.high, one.n, one.score) for one in found.bins] == [
        (0.0, 0.5, 2, pytest.approx(0.15)),
        (0.5, 1.0, 3, pytest.approx(0.9)),
    ]
    assert found.bins[1].share == wilson_interval(2 / 3, 3)
    assert found.error == pytest.approx((2 * 0.35 + 3 * (0.9 - 2 / 3)) / 5)
    assert found.brier == pytest.approx((0.01 + 0.64 + 0.04 + 0.01 + 1) / 5)


def test_a_score_outside_0_to_1_is_no_probability() -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        calibration([1.5], [True])


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60))
def test_every_score_is_in_one_bin_that_holds_it(pairs: list[tuple[float, bool]]) -> None:
    found = calibration(*zip(*pairs, strict=True))
    assert sum(one.n for one in found.bins) == found.n == len(pairs)
    assert all(one.low - 1e-9 <= one.score <= one.high + 1e-9 for one in found.bins)
    assert 0 <= found.error <= 1
