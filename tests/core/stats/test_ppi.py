"""Tests of PPI: published figures, the reference implementation, by hand, and simulation."""

from __future__ import annotations

import math
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from ragboard.stats import (
    Interval,
    MeanEstimate,
    NoInterval,
    difference_of_estimates,
    estimate_mean,
    estimate_means,
    labels_needed,
)
from ragboard.stats.checks import FloatArray
from ragboard.stats.ppi import binary_ppi_moments, ppi_estimates, ppi_moments


def yes_no(*, both: int, judge: int, person: int, neither: int) -> tuple[FloatArray, FloatArray]:
    """Labels and scores with so many of each kind."""
    sizes = (both, judge, person, neither)
    return np.repeat([1.0, 0.0, 1.0, 0.0], sizes), np.repeat([1.0, 1.0, 0.0, 0.0], sizes)


def continuous(seed: int, n: int = 120, m: int = 500) -> tuple[FloatArray, FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    truth = rng.beta(4, 2, n + m)
    judged = np.clip(truth + rng.normal(0.05, 0.1, n + m), 0, 1)
    return truth[:n], judged[:n], judged[n:]


def found(result: MeanEstimate | NoInterval) -> MeanEstimate:
    assert isinstance(result, MeanEstimate)
    return result


@pytest.mark.parametrize(
    ("yeses", "judge", "person", "published"),
    [
        (2722, 39, 36, (0.6057, 0.547, 0.664)),
        (4239, 109, 0, (0.5955, 0.541, 0.650)),
        (2483, 29, 44, (0.6116, 0.554, 0.669)),
    ],
)
def test_the_published_estimates_of_ares(
    yeses: int, judge: int, person: int, published: tuple[float, float, float]
) -> None:
    labels, judged = yes_no(both=120, judge=judge, person=person, neither=180 - judge - person)
    rest = np.repeat([1.0, 0.0], [yeses, 4421 - yeses])
    result = found(estimate_mean(labels, judged, rest, compat="ares"))
    interval = result.interval
    assert (round(interval.estimate, 4), round(interval.low, 3), round(interval.high, 3)) == published


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weight", [1.0, 0.4, None])
def test_the_estimate_and_interval_of_ppi_python(seed: int, weight: float | None) -> None:
    """Two-sided only: its one-sided intervals lose the side. It takes the normal distribution and n."""
    ppi_py = pytest.importorskip("ppi_py")
    labels, judged, rest = continuous(seed, n=400, m=1500)
    ours = found(estimate_mean(labels, judged, rest, design="separate", weight=weight))
    theirs = float(np.ravel(ppi_py.ppi_mean_pointestimate(labels, judged, rest, lam=weight))[0])
    low, high = (float(np.ravel(side)[0]) for side in ppi_py.ppi_mean_ci(labels, judged, rest, alpha=0.05, lam=weight))
    assert ours.interval.estimate == pytest.approx(theirs, abs=3e-4)
    assert ours.interval.high - ours.interval.low == pytest.approx(high - low, rel=0.01)


def test_a_subset_by_hand() -> None:
    """N = 40, M = 60, PPI: the judge's mean over all 100 minus its mean error on the 40."""
    labels, judged = yes_no(both=20, judge=6, person=2, neither=12)
    rest = np.repeat([1.0, 0.0], [33, 27])
    result = found(estimate_mean(labels, judged, rest, weight=1.0))
    assert result.interval.estimate == pytest.approx((26 + 33) / 100 - 4 / 40)
    left = labels - 0.6 * judged
    error = math.sqrt(left.var(ddof=1) / 40 + 0.36 * rest.var(ddof=1) / 60)
    assert result.error == pytest.approx(error)
    assert (result.labels, result.judged, result.weight) == (40, 100, 1.0)


@given(st.integers(0, 10_000))
def test_a_judge_that_is_not_trusted_leaves_the_classical_interval(seed: int) -> None:
    labels, judged, rest = continuous(seed)
    result = found(estimate_mean(labels, judged, rest, weight=0.0))
    low, high = scipy_stats.ttest_1samp(labels, 0).confidence_interval(0.95)
    assert (result.interval.low, result.interval.high) == (pytest.approx(low), pytest.approx(high))
    assert result.effective_labels == pytest.approx(labels.size)


@given(st.integers(0, 10_000), st.sampled_from(["subset", "separate"]))
def test_no_weight_has_less_variance_than_the_tuned_one(seed: int, design: str) -> None:
    """But for what is added for having found it in the same 120 labels: 0.84 %."""
    labels, judged, rest = continuous(seed)
    results = {
        weight: found(estimate_mean(labels, judged, rest, design=design, weight=weight))
        for weight in (None, 0.0, 0.25, 0.5, 0.75, 1.0)
    }
    tuned = results.pop(None)
    assert all(tuned.error <= other.error * 1.0084 for other in results.values())
    assert 0 <= tuned.weight <= 1


def test_a_judge_that_contradicts_people_is_not_trusted() -> None:
    labels, judged, rest = continuous(1)
    assert found(estimate_mean(labels, 1 - judged, 1 - rest)).weight == 0.0


def test_a_judge_that_says_the_same_of_all_is_rejected() -> None:
    labels, _, _ = continuous(1)
    refused = estimate_mean(labels, np.ones(120), np.ones(50))
    assert isinstance(refused, NoInterval)
    assert "0 rarer answers of the judge" in refused.reason


@given(
    both=st.integers(2, 80),
    judge=st.integers(0, 80),
    person=st.integers(0, 80),
    neither=st.integers(2, 80),
    yes=st.integers(0, 50),
)
def test_counts_give_the_moments_of_the_items(both: int, judge: int, person: int, neither: int, yes: int) -> None:
    labels, judged = yes_no(both=both, judge=judge, person=person, neither=neither)
    rest = np.repeat([1.0, 0.0], [yes, 50 - yes])
    one = ppi_moments(labels, judged, rest)
    other = binary_ppi_moments(
        both=np.float64(both),
        only_judge=np.float64(judge),
        only_person=np.float64(person),
        n=labels.size,
        rest=np.float64(yes),
        m=50,
    )
    for weight in (None, 1.0):
        solved = [ppi_estimates(parts, design="subset", weight=weight) for parts in (one, other)]
        assert solved[0].estimate == pytest.approx(solved[1].estimate)
        assert solved[0].error == pytest.approx(solved[1].error)


def test_too_few_labels_errors_or_items_are_rejected_with_the_reason() -> None:
    labels, judged = yes_no(both=15, judge=5, person=0, neither=9)
    assert estimate_mean(labels, judged, [1.0, 0.0]) == NoInterval(
        reason="an estimate needs at least 30 labels, got 29", n=29
    )
    labels, judged = yes_no(both=60, judge=4, person=0, neither=40)
    refused = estimate_mean(labels, judged, [1.0, 0.0])
    assert isinstance(refused, NoInterval)
    assert refused.reason == (
        "an interval needs at least 5 of each: "
        "4 errors of the judge, 40 rarer answers of the judge, 44 rarer labels among 104"
    )
    refused = estimate_mean(*yes_no(both=60, judge=10, person=10, neither=40), [1.0])
    assert isinstance(refused, NoInterval)
    assert "1 items have no label" in refused.reason


def test_too_few_errors_are_reported() -> None:
    rest = [1.0, 0.0] * 50
    warnings = [
        found(estimate_mean(*yes_no(both=60, judge=errors, person=0, neither=60), rest)).warning for errors in (19, 20)
    ]
    assert "19 errors of the judge" in warnings[0]
    assert "92% to 95%" in warnings[0]
    assert warnings[1] == ""


def test_bounds_may_be_left_and_are_then_cut() -> None:
    labels, judged = yes_no(both=60, judge=0, person=25, neither=15)
    result = found(estimate_mean(labels, judged, [1.0] * 98 + [0.0] * 2, weight=1.0, design="separate"))
    assert result.interval.estimate > 1
    assert result.clipped.estimate == result.clipped.high == 1.0


def test_the_four_estimates_are_returned_together() -> None:
    labels, judged, rest = continuous(2)
    result = estimate_means(labels, judged, rest)
    assert found(result.classical).interval.estimate == pytest.approx(labels.mean())
    assert found(result.judge_only).interval.estimate == pytest.approx(np.concatenate([judged, rest]).mean())
    assert found(result.judge_only).effective_labels is None
    assert found(result.tuned).interval.method == "PPI++, Student's t"
    worth = found(result.tuned).effective_labels
    assert worth is not None
    assert worth > 200


def test_a_paired_difference_is_narrower_than_an_unpaired_one() -> None:
    rng = np.random.default_rng(4)
    ease = rng.beta(4, 2, 400)
    runs = [np.clip(ease + shift + rng.normal(0, 0.05, 400), 0, 1) for shift in (0.0, 0.05)]
    judges = [np.clip(run + rng.normal(0, 0.1, 400), 0, 1) for run in runs]
    separate = [
        found(estimate_mean(run[:100], judge[:100], judge[100:])) for run, judge in zip(runs, judges, strict=True)
    ]
    unpaired = difference_of_estimates(*separate)
    gap = judges[1] - judges[0]
    paired = found(estimate_mean((runs[1] - runs[0])[:100], gap[:100], gap[100:], bounds=(-1, 1))).interval
    assert isinstance(unpaired, Interval)
    assert unpaired.estimate == pytest.approx(separate[1].interval.estimate - separate[0].interval.estimate)
    assert paired.high - paired.low < (unpaired.high - unpaired.low) / 2
    error = math.hypot(separate[0].error, separate[1].error)
    assert unpaired.high - unpaired.low == pytest.approx(2 * 1.97 * error, rel=0.01)


def test_so_many_labels_make_the_interval_as_narrow_as_wanted() -> None:
    rng = np.random.default_rng(6)
    truth = rng.random(5000) < 0.7
    judged = np.where(rng.random(5000) < 0.85, truth, ~truth).astype(float)
    labels = truth.astype(float)
    needed = labels_needed(labels[:200], judged[:200], judged[200:], width=0.08)
    assert needed.labels is not None
    assert needed.without_judge is not None
    assert needed.more == needed.labels - 200
    assert needed.labels < needed.without_judge
    got = found(estimate_mean(labels[: needed.labels], judged[: needed.labels], judged[needed.labels :])).interval
    assert got.high - got.low == pytest.approx(0.08, rel=0.05)


def test_an_unreachable_width_is_reported() -> None:
    labels, judged, rest = continuous(3)
    needed = labels_needed(labels, judged, rest, width=0.001)
    assert (needed.labels, needed.more) == (None, None)
    assert needed.reason == "with all 620 items labelled, the interval would still be wider"
    assert labels_needed(labels, judged, rest, width=0.9).more == 0


@pytest.mark.parametrize("n", [150, 300])
@pytest.mark.parametrize("errors", [20, 30, 45])
@pytest.mark.parametrize(("design", "rest"), [("subset", 2000), ("subset", 300), ("separate", 4421)])
def test_with_20_rare_cases_to_be_expected_intervals_cover(
    coverage: ModuleType, n: int, errors: int, design: str, rest: int
) -> None:
    for judge in coverage.judges(n, errors):
        if judge.rarest * n < 20:
            continue
        seen = coverage.ppi_coverage(judge, n, rest, design=design, repeats=20_000, seed=3)
        assert 0.935 <= min(seen.ppi, seen.tuned) <= max(seen.ppi, seen.tuned) <= 0.965
        assert seen.widest <= 1.02


@pytest.mark.parametrize("n", [150, 300])
@pytest.mark.parametrize("errors", [5, 10])
def test_below_that_they_cover_what_the_warning_says(coverage: ModuleType, n: int, errors: int) -> None:
    for judge in coverage.judges(n, errors):
        seen = coverage.ppi_coverage(judge, n, 4421, design="separate", repeats=20_000, seed=3)
        assert 0.915 <= min(seen.ppi, seen.tuned) <= max(seen.ppi, seen.tuned) <= 0.96
