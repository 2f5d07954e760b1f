"""Tests of agreement, ranking and calibration against scikit-learn, statsmodels and krippendorff."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
import statsmodels.api as sm
from sklearn import metrics as sklearn
from sklearn.calibration import calibration_curve
from statsmodels.stats.inter_rater import cohens_kappa

from ragboard.stats import (
    Interval,
    Pair,
    alpha_interval,
    auroc,
    best_cut,
    binary_agreement,
    calibration,
    clustered_interval,
    cohen_kappa,
    confusion,
    fit_platt,
    kappa_interval,
    krippendorff_alpha,
    mcnemar_test,
    pairwise_accuracy,
    roc,
    sign_test,
)
from ragboard.stats.agreement import Scale, Weights
from ragboard.stats.auroc_intervals import auroc_difference, clustered_auroc
from ragboard.stats.checks import FloatArray


def scored(rng: np.random.Generator) -> tuple[list[float], list[bool]]:
    """Scores in [0, 1], with ties more or less, and labels that go with them; both classes are there."""
    size = int(rng.integers(10, 300))
    scores = rng.random(size).round(int(rng.integers(1, 5)))
    positive = rng.random(size) < 0.2 + 0.6 * scores
    positive[:2] = [True, False]
    return scores.tolist(), positive.tolist()


def ratings(rng: np.random.Generator) -> tuple[list[int], list[int]]:
    first = rng.integers(1, 6, int(rng.integers(10, 200)))
    second = np.where(rng.random(first.size) < 0.6, first, rng.integers(1, 6, first.size))
    return first.tolist(), second.tolist()


def units(rng: np.random.Generator) -> list[list[float | None]]:
    """Ratings from 1 to 4 by up to 5 raters, a fifth of them missing."""
    raters, size = int(rng.integers(2, 6)), int(rng.integers(10, 60))
    truth = rng.integers(1, 5, size)
    given = np.where(rng.random((raters, size)) < 0.6, truth, rng.integers(1, 5, (raters, size)))
    missing = rng.random((raters, size)) < 0.2
    return [
        [None if gone else float(rating) for rating, gone in zip(*unit, strict=True)]
        for unit in zip(given.T, missing.T, strict=True)
    ]


def reliability(given: list[list[float | None]]) -> FloatArray:
    """Raters by units, as krippendorff takes them."""
    return np.array([[np.nan if rating is None else rating for rating in unit] for unit in given]).T


def test_auroc_and_the_curve_are_those_of_scikit_learn(rng: np.random.Generator) -> None:
    scores, positive = scored(rng)
    assert auroc(scores, positive) == pytest.approx(sklearn.roc_auc_score(positive, scores), abs=1e-9)
    false, true, thresholds = sklearn.roc_curve(positive, scores, drop_intermediate=False)
    cuts = roc(scores, positive)
    assert [cut.threshold for cut in cuts] == pytest.approx(thresholds[1:].tolist(), abs=1e-12)
    assert [cut.agreement.sensitivity for cut in cuts] == pytest.approx(true[1:].tolist(), abs=1e-9)
    assert [cut.agreement.specificity for cut in cuts] == pytest.approx((1 - false[1:]).tolist(), abs=1e-9)
    best = best_cut(cuts)
    assert best is not None
    assert best.agreement.balanced_accuracy == pytest.approx(((true - false).max() + 1) / 2, abs=1e-9)


def test_the_best_cut_of_some_precision_is_on_the_curve_of_scikit_learn(rng: np.random.Generator) -> None:
    scores, positive = scored(rng)
    precision, recall, _ = sklearn.precision_recall_curve(positive, scores)
    found = best_cut(roc(scores, positive), precision=0.7)
    able = recall[:-1][precision[:-1] >= 0.7 - 1e-12]
    assert (found is None) == (able.size == 0)
    if found is not None:
        assert found.agreement.sensitivity == pytest.approx(able.max(), abs=1e-9)


def test_the_four_counts_and_what_they_give_are_those_of_scikit_learn(rng: np.random.Generator) -> None:
    scores, positive = scored(rng)
    said = [score >= 0.5 for score in scores]
    found = binary_agreement(said, positive)
    assert (found.true_negatives, found.false_positives, found.false_negatives, found.true_positives) == tuple(
        sklearn.confusion_matrix(positive, said, labels=[False, True]).ravel()
    )
    ours = (found.accuracy, found.precision, found.sensitivity, found.specificity, found.balanced_accuracy, found.f1)
    theirs = (
        sklearn.accuracy_score(positive, said),
        sklearn.precision_score(positive, said, zero_division=np.nan),
        sklearn.recall_score(positive, said),
        sklearn.recall_score(positive, said, pos_label=False),
        sklearn.balanced_accuracy_score(positive, said),
        sklearn.f1_score(positive, said),
    )
    assert [np.nan if number is None else number for number in ours] == pytest.approx(theirs, abs=1e-9, nan_ok=True)


def test_a_confusion_of_several_classes_is_that_of_scikit_learn(rng: np.random.Generator) -> None:
    truth, said = ratings(rng)
    found = confusion(said, truth)
    theirs = sklearn.confusion_matrix(truth, said, labels=range(1, 6))
    assert [[found.get((row, column), 0) for column in range(1, 6)] for row in range(1, 6)] == theirs.tolist()


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_kappa_is_that_of_scikit_learn_and_statsmodels(rng: np.random.Generator, weights: Weights | None) -> None:
    first, second = ratings(rng)
    found = cohen_kappa(first, second, weights=weights, order=range(1, 6))
    theirs = sklearn.cohen_kappa_score(first, second, labels=range(1, 6), weights=weights)
    assert found == pytest.approx(theirs, abs=1e-9)
    table = sklearn.confusion_matrix(first, second, labels=range(1, 6))
    wt = {None: None, "linear": "linear", "quadratic": "quadratic"}[weights]
    assert found == pytest.approx(cohens_kappa(table, wt=wt, return_results=False), abs=1e-9)


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_alpha_is_that_of_krippendorff(rng: np.random.Generator, scale: Scale) -> None:
    given = units(rng)
    theirs = krippendorff.alpha(reliability(given), level_of_measurement=scale)
    assert krippendorff_alpha(given, scale=scale) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_intervals_of_agreement_are_of_the_references_numbers(seed: int) -> None:
    """The quick ways to find an area, a kappa or an alpha of drawn rows find that of the rows themselves."""
    rng = np.random.default_rng(seed)

    def same(ours: object, theirs: object) -> bool:
        assert isinstance(ours, Interval)
        assert isinstance(theirs, Interval)
        return (ours.estimate, ours.low, ours.high) == pytest.approx(
            (theirs.estimate, theirs.low, theirs.high), abs=1e-9
        )

    scores, positive = map(np.array, scored(rng))
    groups = rng.permutation(np.arange(scores.size) % 12).tolist()
    area = clustered_interval(lambda rows: sklearn.roc_auc_score(positive[rows], scores[rows]), groups, draws=50)
    assert same(clustered_auroc(scores.tolist(), positive.tolist(), groups, draws=50), area)

    others = rng.random(scores.size)
    gain = clustered_interval(
        lambda rows: (
            sklearn.roc_auc_score(positive[rows], scores[rows]) - sklearn.roc_auc_score(positive[rows], others[rows])
        ),
        groups,
        draws=50,
    )
    assert same(auroc_difference(scores.tolist(), others.tolist(), positive.tolist(), groups, draws=50), gain)

    first, second = map(np.array, ratings(rng))
    groups = rng.permutation(np.arange(first.size) % 12).tolist()
    kappa = clustered_interval(lambda rows: sklearn.cohen_kappa_score(first[rows], second[rows]), groups, draws=50)
    assert same(kappa_interval(first.tolist(), second.tolist(), groups, draws=50), kappa)

    given = units(rng)
    groups = rng.permutation(np.arange(len(given)) % 12).tolist()
    rated = reliability(given)
    alpha = clustered_interval(
        lambda rows: float(krippendorff.alpha(rated[:, rows], level_of_measurement="nominal")), groups, draws=50
    )
    assert same(alpha_interval(given, groups, draws=50), alpha)


def test_calibration_is_that_of_scikit_learn(rng: np.random.Generator) -> None:
    """Scores at the edge of two bins are left out: ours go up, theirs down."""
    scores, positive = scored(rng)
    kept = [(score, label) for score, label in zip(scores, positive, strict=True) if score * 10 % 1 > 1e-9]
    kept += [(0.55, True), (0.45, False)]
    scores, positive = [score for score, _ in kept], [label for _, label in kept]
    found = calibration(scores, positive)
    shares, means = calibration_curve(positive, scores, n_bins=10)
    assert [one.score for one in found.bins] == pytest.approx(means.tolist(), abs=1e-9)
    assert [one.share.estimate for one in found.bins] == pytest.approx(shares.tolist(), abs=1e-9)
    assert found.brier == pytest.approx(sklearn.brier_score_loss(positive, scores), abs=1e-9)
    sizes = np.histogram(scores, bins=np.linspace(0, 1, 11))[0]
    assert found.error == pytest.approx(np.average(abs(shares - means), weights=sizes[sizes > 0]), abs=1e-9)


def test_platts_curve_is_the_logistic_regression_of_statsmodels(rng: np.random.Generator) -> None:
    """On Platt's targets. Both are found by steps that end: to 1e-7; below a slope of 0 ours is flat."""
    scores, positive = scored(rng)
    ups, downs = sum(positive), len(positive) - sum(positive)
    targets = np.where(positive, (ups + 1) / (ups + 2), 1 / (downs + 2))
    theirs = sm.GLM(targets, sm.add_constant(np.array(scores)), family=sm.families.Binomial()).fit(tol=1e-14)
    offset, slope = theirs.params
    found = fit_platt(scores, positive)
    if slope <= 0:
        assert (found.slope, found.probability(0.3)) == pytest.approx((0.0, targets.mean()), abs=1e-9)
    else:
        assert (found.slope, found.offset) == pytest.approx((slope, offset), rel=1e-7, abs=1e-7)
        assert found.probability(0.3) == pytest.approx(theirs.predict([[1.0, 0.3]])[0], abs=1e-7)


def test_pairwise_accuracy_is_the_accuracy_of_scikit_learn(rng: np.random.Generator) -> None:
    preferred, other = rng.integers(0, 4, (2, int(rng.integers(10, 80))))
    pairs = [
        Pair(id=str(number), preferred=float(one), other=float(two))
        for number, (one, two) in enumerate(zip(preferred, other, strict=True))
    ]
    loss = pairwise_accuracy(pairs, ties="loss")
    right = preferred > other
    assert loss.accuracy == pytest.approx(sklearn.accuracy_score(np.ones_like(right), right), abs=1e-12)
    decided = preferred != other
    left_out = pairwise_accuracy(pairs, ties="exclude")
    assert (left_out.n, left_out.ties) == (decided.sum(), (~decided).sum())
    assert left_out.accuracy == pytest.approx(right[decided].mean(), abs=1e-12)
    assert pairwise_accuracy(pairs, ties="half").accuracy == pytest.approx(
        right.mean() + (~decided).mean() / 2, abs=1e-12
    )


def test_duels_of_groups_are_sign_tests_of_their_sums(rng: np.random.Generator) -> None:
    first, second = (rng.random((2, 40)) < 0.5).astype(float)
    groups = rng.integers(0, 9, 40)
    named = [{str(n): float(value) for n, value in enumerate(side)} for side in (first, second)]
    found = mcnemar_test(*named, groups={str(n): int(group) for n, group in enumerate(groups)})
    sums = np.bincount(groups, weights=second - first)
    assert found.p == pytest.approx(sign_test(int((sums > 0).sum()), int((sums < 0).sum())).p, abs=1e-12)
    assert (found.wins, found.losses) == (int((second > first).sum()), int((second < first).sum()))
