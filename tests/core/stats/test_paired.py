"""Tests of paired differences: by hand, scipy, and simulation."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from ragboard.stats import Interval, NoInterval, mcnemar, paired_difference, pairs_needed, sign_test

SCORES = st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 2 / 3, 0.75, 1.0])
PAIRS = st.lists(st.tuples(SCORES, SCORES), min_size=1, max_size=60)


def test_a_hand_made_difference() -> None:
    """Differences -10 to 10 hundredths and 2 more: their mean, deviation and t(.975, 20) = 2.085963."""
    differences = [step / 100 + 0.02 for step in range(-10, 11)]
    found = paired_difference([0.0] * 21, differences, bounds=(-1, 1))
    half = 2.085963 * np.sqrt(0.077 / 20) / np.sqrt(21)
    assert isinstance(found.interval, Interval)
    assert found.difference == pytest.approx(0.02)
    assert (found.interval.low, found.interval.high) == (
        pytest.approx(0.02 - half, abs=1e-6),
        pytest.approx(0.02 + half, abs=1e-6),
    )
    assert (found.n, found.ties, found.sign.wins, found.sign.losses) == (21, 1, 12, 8)
    assert found.warning == ""


@pytest.mark.parametrize("seed", range(5))
def test_interval_and_p_of_many_pairs_are_those_of_scipy(seed: int) -> None:
    first, second = np.random.default_rng(seed).beta(4, 3, size=(2, 600))
    found = paired_difference(first, second)
    theirs = scipy_stats.ttest_rel(second, first)
    assert isinstance(found.interval, Interval)
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-9)
    bounds = theirs.confidence_interval(0.95)
    assert (found.interval.low, found.interval.high) == (pytest.approx(bounds.low), pytest.approx(bounds.high))


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=20, max_size=60))
def test_the_interval_holds_that_of_scipy_and_p_is_no_smaller(pairs: list[tuple[float, float]]) -> None:
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    found = paired_difference(first, second, bounds=(-1, 1))
    if np.ptp(second - first) < 1e-3:
        return
    theirs = scipy_stats.ttest_rel(second, first)
    assert isinstance(found.interval, Interval)
    bounds = theirs.confidence_interval(0.95)
    assert found.p >= theirs.pvalue - 1e-9
    assert found.interval.low <= max(bounds.low, -1) + 1e-9
    assert found.interval.high >= min(bounds.high, 1) - 1e-9


@given(PAIRS)
def test_an_interval_holds_0_exactly_where_p_is_above_5_percent(pairs: list[tuple[float, float]]) -> None:
    found = paired_difference(*zip(*pairs, strict=True), bounds=(-1, 1))
    if isinstance(found.interval, Interval) and abs(found.p - 0.05) > 1e-6 and found.p_method != "exact sign flips":
        assert (found.interval.low <= 0 <= found.interval.high) == (found.p >= 0.05)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=4))
def test_where_there_is_no_interval_p_is_that_of_the_sign_flips_of_scipy(differences: list[float]) -> None:
    differences = [round(256 * value) / 256 for value in differences]
    found = paired_difference([0.0] * len(differences), differences)
    theirs = scipy_stats.permutation_test(
        (np.array(differences),),
        lambda flipped, axis: np.abs(flipped.sum(axis=axis)),
        permutation_type="samples",
        alternative="greater",
        vectorized=True,
        n_resamples=np.inf,
    )
    assert found.p_method == ("exact sign flips" if any(differences) else "all pairs are tied")
    assert found.p == pytest.approx(theirs.pvalue)


def test_all_pairs_equal_is_no_certainty_and_no_difference() -> None:
    values = [0.5] * 30
    found = paired_difference(values, values)
    assert found.interval == NoInterval(reason="all 30 values are tied, and the scores have no bounds", n=30)
    assert (found.p, found.ties, found.detectable) == (1.0, 30, None)
    bounded = paired_difference(values, values, bounds=(-1, 1))
    assert isinstance(bounded.interval, Interval)
    share = 1 - 0.025 ** (1 / 30)
    assert (bounded.interval.low, bounded.interval.high) == (pytest.approx(-share), pytest.approx(share))
    assert bounded.warning == "all 30 values are tied: the interval is conservative"


def test_a_constant_shift_is_no_certainty_either() -> None:
    found = paired_difference([0.2] * 30, [0.3] * 30, bounds=(-1, 1))
    assert isinstance(found.interval, Interval)
    assert found.interval.low < 0.1 < found.interval.high
    assert found.p == pytest.approx(2 * (1 / 1.1) ** 30), "at worst a new pair differs by -1"


def test_rounding_is_no_difference() -> None:
    found = paired_difference([0.1 + 0.2] * 20, [0.3] * 20)
    assert found.ties == 20


def test_pairs_must_be_pairs_and_lie_within_the_bounds() -> None:
    with pytest.raises(ValueError, match="2 first and 1 second values"):
        paired_difference([0.1, 0.2], [0.1])
    with pytest.raises(ValueError, match="no values"):
        paired_difference([], [])
    with pytest.raises(ValueError, match="outside the bounds"):
        paired_difference([0.0], [1.5], bounds=(-1, 1))


@given(st.integers(0, 400), st.integers(0, 400))
def test_the_sign_test_is_the_binomial_test_of_scipy(wins: int, losses: int) -> None:
    theirs = scipy_stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert sign_test(wins, losses).p == pytest.approx(theirs, abs=1e-9)


def test_mcnemar_counts_only_the_pairs_that_disagree() -> None:
    """Three wins and a loss: p = 2 (1 + 4) / 16."""
    found = mcnemar([True, True, False, False, False, False], [True, False, True, True, True, False])
    assert (found.wins, found.losses, found.p) == (3, 1, pytest.approx(0.625))
    assert mcnemar([False] * 6, [True] * 6).p == pytest.approx(2 / 2**6)


def test_a_detectable_difference_is_found_about_as_often_as_the_power_says() -> None:
    rng = np.random.default_rng(3)
    first = np.zeros(40)
    seen = paired_difference(first, rng.normal(0, 0.2, 40))
    assert seen.detectable is not None
    scale = 0.2 / np.sqrt(40)
    assert seen.detectable == pytest.approx((2.0227 + 0.8511) * scale, rel=0.35)
    true = (2.0227 + 0.8511) * scale
    found = np.mean([paired_difference(first, rng.normal(true, 0.2, 40)).p < 0.05 for _ in range(600)])
    assert 0.75 < found < 0.85


def test_intervals_of_differences_cover_in_a_quick_simulation(coverage: ModuleType) -> None:
    for name in ("ceiling-heavy", "50 % ties"):
        seen = coverage.paired_coverage(coverage.WORLDS[name], 60, 0.1, repeats=1000, seed=1)
        assert 0.93 <= seen.covered <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("name", ["normal-like", "ceiling-heavy", "50 % ties", "90 % ties"])
@pytest.mark.parametrize("effect", [0.0, 0.1, 0.2])
@pytest.mark.parametrize("n", [30, 60, 200])
def test_intervals_of_differences_cover_95_percent(coverage: ModuleType, name: str, effect: float, n: int) -> None:
    seen = coverage.paired_coverage(coverage.WORLDS[name], n, effect, repeats=2000, seed=1)
    warned = (1 - seen.offered) * seen.wide if seen.offered < 1 else 0.0
    assert seen.offered * seen.covered + warned >= 0.93


def alarms_are_few(coverage: ModuleType, name: str, n: int, repeats: int) -> None:
    seen = coverage.false_alarms(coverage.WORLDS[name], n, metrics=5, repeats=repeats, seed=2)
    assert seen <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / repeats)


def test_equal_configurations_raise_few_alarms_in_a_quick_simulation(coverage: ModuleType) -> None:
    alarms_are_few(coverage, "50 % ties", 60, 400)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["normal-like", "ceiling-heavy", "50 % ties", "90 % ties"])
@pytest.mark.parametrize("n", [30, 60, 200])
def test_equal_configurations_raise_few_alarms(coverage: ModuleType, name: str, n: int) -> None:
    alarms_are_few(coverage, name, n, 3000)


def test_clusters_widen_the_interval_raise_p_and_the_detectable_difference() -> None:
    """Each of 20 pairs three times over, in clusters: the interval is that of the 20."""
    rng = np.random.default_rng(6)
    first, second = rng.beta(5, 2, 20), rng.beta(6, 2, 20)
    once = paired_difference(first, second, bounds=(-1, 1))
    thrice = np.repeat(first, 3), np.repeat(second, 3)
    clustered = paired_difference(*thrice, bounds=(-1, 1), clusters=np.repeat(np.arange(20), 3).tolist())
    alone = paired_difference(*thrice, bounds=(-1, 1))
    assert isinstance(once.interval, Interval)
    assert isinstance(clustered.interval, Interval)
    assert isinstance(alone.interval, Interval)
    assert (clustered.interval.low, clustered.interval.high) == (
        pytest.approx(once.interval.low),
        pytest.approx(once.interval.high),
    )
    assert clustered.p == pytest.approx(once.p)
    assert clustered.detectable == pytest.approx(once.detectable)
    assert clustered.sign.p == once.sign.p
    assert clustered.interval.method.endswith("20 clusters")
    assert alone.interval.high - alone.interval.low < 0.7 * (once.interval.high - once.interval.low)


@pytest.mark.parametrize("wins", [3, 8, 12, 30, 49])
@pytest.mark.parametrize("n", [501, 800])
def test_p_and_the_interval_agree_where_most_of_many_pairs_are_tied(n: int, wins: int) -> None:
    second = [1.0] * wins + [0.5] * (n - wins)
    found = paired_difference([0.5] * n, second, bounds=(-1, 1))
    assert isinstance(found.interval, Interval)
    assert (found.p < 0.05) == (found.interval.low > 0)
    swapped = paired_difference(second, [0.5] * n, bounds=(-1, 1))
    assert swapped.p == pytest.approx(found.p, rel=1e-9)


def test_the_pairs_needed_for_half_a_standard_deviation_are_34() -> None:
    """The textbook case: two-sided t test at 5%, power 80%, effect 0.5.

    By hand with t tables: (2.0345 + 0.8530) / sqrt(34) = 0.4952 reaches 0.5, and (2.0369 + 0.8534) / sqrt(33) = 0.5031
    does not.
    """
    pilot = np.tile([-1.0, 1.0], 200) * np.sqrt(399 / 400)  # a standard deviation of 1
    found = paired_difference(np.zeros(400), pilot)
    assert pairs_needed(found, 0.5) == 34


@given(PAIRS, st.floats(0.005, 0.5))
def test_the_difference_found_with_the_pairs_there_are_needs_that_many(
    pairs: list[tuple[float, float]], wanted: float
) -> None:
    first, second = zip(*pairs, strict=True)
    found = paired_difference(first, second, bounds=(-1, 1))
    if found.detectable is None:
        assert pairs_needed(found, wanted) is None
        return
    assert pairs_needed(found, found.detectable * (1 + 1e-9)) == found.n
    needed, fewer = pairs_needed(found, wanted), pairs_needed(found, 2 * wanted)
    assert needed is not None
    assert fewer is not None
    assert fewer <= needed
    back = paired_difference(second, first, bounds=(-1, 1))
    assert pairs_needed(back, wanted) == needed


def test_no_difference_needs_no_number() -> None:
    found = paired_difference([0.1, 0.5, 0.4, 0.2], [0.2, 0.1, 0.9, 0.4])
    with pytest.raises(ValueError, match="above 0"):
        pairs_needed(found, 0.0)


@pytest.mark.parametrize("wanted", [0.03, 0.05, 0.1])
def test_as_many_pairs_find_the_difference_four_times_out_of_five(wanted: float) -> None:
    """Scores as faithfulness has them, in thirds and quarters, B better by `wanted` on average."""
    rng = np.random.default_rng(7)

    def draw(pairs: int, shift: float) -> tuple[np.ndarray, np.ndarray]:
        first = rng.choice([0.0, 0.25, 0.5, 2 / 3, 0.75, 1.0], pairs, p=[0.1, 0.1, 0.2, 0.2, 0.1, 0.3])
        up, down = rng.random(pairs) < 0.2 + shift / 0.5, rng.random(pairs) < 0.2
        return first / 2, first / 2 + 0.5 * up - 0.5 * down

    needed = pairs_needed(paired_difference(*draw(20_000, wanted)), wanted)
    assert needed is not None
    found = [paired_difference(*draw(needed, wanted)).p < 0.05 for _ in range(500)]
    assert 0.75 < np.mean(found) < 0.85
