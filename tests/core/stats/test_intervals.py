"""Tests of intervals: by hand, scipy, and simulated coverage."""

from __future__ import annotations

import gc
import weakref
from random import Random
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from ragboard.stats import (
    ClusterMoments,
    Interval,
    Moments,
    NoInterval,
    ci_text,
    cluster_moments,
    estimate_text,
    interval_text,
    mean_interval,
    moments,
    range_text,
    wilson_interval,
)
from ragboard.stats.distributions import fair_coin_cdf, t_quantile, two_sided_t_p
from ragboard.stats.intervals import LARGE_SAMPLE


def test_a_small_p_is_not_rounded_to_0() -> None:
    """12 standard errors, and 0 wins of 200; counted in exact fractions, and by mpmath for t."""
    assert two_sided_t_p(12.0, 1e9) == pytest.approx(3.553e-33, rel=1e-3)
    assert two_sided_t_p(12.0, 1002.0) == pytest.approx(4.252e-31, rel=1e-2)
    assert fair_coin_cdf(0, 200) == pytest.approx(0.5**200)


def test_a_published_t_value() -> None:
    """Any printed table: t(0.975, 10) = 2.228."""
    assert t_quantile(0.975, 10) == pytest.approx(2.228, abs=5e-4)


def test_a_hand_made_interval_of_symmetric_values_is_that_of_t() -> None:
    values = np.tile([0.2, 0.4, 0.6, 0.8], 10)
    found = mean_interval(moments(values), bounds=(0, 1))
    assert isinstance(found, Interval)
    half = 2.022691 * values.std(ddof=1) / np.sqrt(40)
    assert (found.low, found.high) == (pytest.approx(0.5 - half, abs=1e-6), pytest.approx(0.5 + half, abs=1e-6))
    assert found.method == "Student's t"


def test_the_interval_of_many_values_is_that_of_scipy() -> None:
    values = np.random.default_rng(1).beta(4, 3, size=LARGE_SAMPLE + 1)
    found = mean_interval(moments(values), bounds=(0, 1))
    assert isinstance(found, Interval)
    theirs = scipy_stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (found.low, found.high) == (pytest.approx(theirs.low), pytest.approx(theirs.high))


@pytest.mark.parametrize("n", range(5, 16))
def test_ten_scores_and_eleven_have_intervals_of_like_width(n: int) -> None:
    """Scores from .79 to .81: of 10 it was .44 to .98, of 11 .794 to .803."""
    found = mean_interval(moments(np.linspace(0.79, 0.81, n)), bounds=(0, 1))
    assert isinstance(found, Interval)
    t = 2 * scipy_stats.t.ppf(0.975, n - 1) * np.linspace(0.79, 0.81, n).std(ddof=1) / np.sqrt(n)
    assert t - 1e-9 <= found.high - found.low <= (1.25 if n >= 8 else 2) * t


def test_few_values_and_scores_without_bounds_come_with_a_warning() -> None:
    values = np.linspace(0.2, 0.9, 40)
    for n, bounds, words in ((14, (0, 1), "fewer than 15 values"), (15, (0, 1), ""), (40, None, "no bounds")):
        found = mean_interval(moments(values[:n]), bounds=bounds)
        assert isinstance(found, Interval)
        assert words in found.warning
        assert bool(found.warning) == bool(words)


@given(st.lists(st.sampled_from([0.0, 0.2, 0.25, 0.5, 0.95, 1.0]) | st.floats(0, 1), min_size=5, max_size=60))
def test_mirrored_values_have_the_mirrored_interval(values: list[float]) -> None:
    one, other = (mean_interval(moments(side), bounds=(0, 1)) for side in (values, [1 - value for value in values]))
    assert isinstance(one, Interval)
    assert isinstance(other, Interval)
    assert (one.method, one.warning) == (other.method, other.warning)
    assert (one.low, one.high) == (pytest.approx(1 - other.high, abs=1e-6), pytest.approx(1 - other.low, abs=1e-6))


@given(st.lists(st.floats(0, 1), min_size=5, max_size=30), st.randoms())
def test_the_order_of_values_changes_nothing(values: list[float], random: Random) -> None:
    shuffled = random.sample(values, len(values))
    assert mean_interval(moments(values), bounds=(0, 1)) == mean_interval(moments(shuffled), bounds=(0, 1))


def test_equal_values_are_no_certainty() -> None:
    found = mean_interval(Moments(n=30, mean=1.0, deviation=0.0, untied=0), bounds=(0, 1))
    assert isinstance(found, Interval)
    assert found.high == 1.0
    assert found.low == pytest.approx(0.025 ** (1 / 30)), "30 of 30 by Clopper and Pearson"


def test_too_few_values_have_no_interval_and_say_why() -> None:
    found = mean_interval(Moments(n=4, mean=0.5, deviation=0.1, untied=3), bounds=(0, 1))
    assert found == NoInterval(reason="an interval needs at least 5 values, got 4", n=4)


def test_few_failures_have_the_exact_interval_of_scipy() -> None:
    values = np.repeat([1.0, 0.0], [48, 2])
    found = mean_interval(moments(values), bounds=(0, 1))
    assert isinstance(found, Interval)
    theirs = scipy_stats.binomtest(48, 50).proportion_ci(0.95, method="exact")
    assert (found.low, found.high) == (pytest.approx(theirs.low), pytest.approx(theirs.high))


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1, 0.9, 0.99])
@pytest.mark.parametrize("n", [5, 8, 11, 16])
def test_few_yeses_lie_beyond_a_limit_at_most_once_in_40_where_the_limit_is_the_truth(share: float, n: int) -> None:
    above = below = 0.0
    for yes, chance in enumerate(scipy_stats.binom.pmf(np.arange(n + 1), n, share)):
        found = mean_interval(moments(np.repeat([1.0, 0.0], [yes, n - yes])), bounds=(0, 1))
        assert isinstance(found, Interval)
        above += chance * (found.low > share)
        below += chance * (found.high < share)
    assert max(above, below) <= 0.025


def test_wilson_published() -> None:
    """Newcombe 1998, Statistics in Medicine 17, table I: 81 of 263 gives 0.2553 to 0.3662."""
    found = wilson_interval(81 / 263, 263)
    assert (round(found.low, 4), round(found.high, 4)) == (0.2553, 0.3662)


def test_bounds_other_than_the_unit_interval() -> None:
    found = mean_interval(Moments(n=20, mean=-1.0, deviation=0.0, untied=0), bounds=(-1.0, 1.0))
    assert isinstance(found, Interval)
    assert found.low == -1.0
    assert -1.0 < found.high < 0.0


@given(st.lists(st.floats(0, 1), min_size=5, max_size=60))
def test_an_interval_holds_its_estimate_and_stays_within_the_bounds(values: list[float]) -> None:
    found = mean_interval(moments(np.array(values)), bounds=(0, 1))
    assert isinstance(found, Interval)
    assert -1e-9 <= found.low <= found.estimate + 1e-9
    assert found.estimate - 1e-9 <= found.high <= 1 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("a", "b", "n"), [(4, 3, 30), (4, 3, 200), (8, 1, 60), (1, 1, 30)])
def test_a_95_percent_interval_covers_about_95_percent_of_the_time(a: float, b: float, n: int) -> None:
    rng = np.random.default_rng(7)
    truth = a / (a + b)
    hits = 0
    for _ in range(4000):
        found = mean_interval(moments(rng.beta(a, b, size=n)), bounds=(0, 1))
        assert isinstance(found, Interval)
        hits += found.low <= truth <= found.high
    assert 0.93 <= hits / 4000 <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("ceiling", [0.8, 0.95])
def test_a_ceiling_heavy_mean_is_covered_at_least_93_percent_of_the_time(ceiling: float) -> None:
    rng = np.random.default_rng(8)
    truth = ceiling + (1 - ceiling) * 0.5
    hits = 0
    for _ in range(4000):
        values = np.where(rng.random(60) < ceiling, 1.0, rng.random(60))
        found = mean_interval(moments(values), bounds=(0, 1))
        assert isinstance(found, Interval)
        hits += found.low <= truth <= found.high
    assert hits / 4000 >= 0.93


@pytest.mark.parametrize(
    ("scores", "n"),
    [
        ("beta(.3, 6)", 15),
        ("beta(6, .3)", 30),
        ("90% 1, beta(1, 1)", 15),
        ("paired, 80% ties, others beta(1, 4)", 15),
    ],
)
def test_means_of_skewed_scores_are_covered(coverage: ModuleType, scores: str, n: int) -> None:
    """Student's t covers 86, 90, 70 and 79 % of these."""
    method = {"ragboard": coverage.METHODS["ragboard"]}
    covered, _ = coverage.mean_coverage(coverage.GRID[scores], n, repeats=600, seed=8, methods=method)["ragboard"]
    assert covered >= 0.925


@pytest.mark.parametrize("ties", [0.5, 0.6])
def test_a_few_values_around_many_tied_ones_have_an_interval_not_much_wider_than_t(
    coverage: ModuleType, ties: float
) -> None:
    """Student's t covers 97 % of these; the interval was 1.30 and 1.39 times as wide."""
    grid = coverage.less(coverage.CEILING, coverage.CEILING, ties=ties)
    methods = {name: coverage.METHODS[name] for name in ("ragboard", "t")}
    seen = coverage.mean_coverage(grid, 15, repeats=600, seed=8, methods=methods)
    covered, width = seen["ragboard"]
    assert covered >= 0.935
    assert width <= 1.25 * seen["t"][1]


@pytest.mark.parametrize("sizes", ["5", "1 to 10"])
def test_means_of_clusters_are_covered(coverage: ModuleType, sizes: str) -> None:
    covered, alone = coverage.cluster_coverage("beta(5, .5)", 30, 0.7, sizes, repeats=200, seed=8)
    assert covered >= 0.915
    assert alone <= 0.85


def test_clusters_of_one_value_are_no_clusters() -> None:
    values = np.random.default_rng(2).beta(5, 0.5, 30)
    assert moments(values, range(30)) == moments(values)
    assert cluster_moments(np.ones(30), values) == moments(values)


def test_sums_of_clusters_give_what_their_values_give() -> None:
    values, clusters = np.random.default_rng(3).beta(5, 0.5, 60), [place // 3 for place in range(60)]
    known = moments(values, clusters)
    sums = cluster_moments(np.full(20, 3.0), values.reshape(20, 3).sum(axis=1))
    one, other = (mean_interval(each, bounds=(0, 1)) for each in (known, sums))
    assert isinstance(one, Interval)
    assert isinstance(other, Interval)
    assert (one.low, one.high) == (pytest.approx(other.low), pytest.approx(other.high))
    assert one.method.endswith("20 clusters")
    assert isinstance(known, ClusterMoments)
    means = values.reshape(20, 3).mean(axis=1)
    assert known.error == pytest.approx(means.std(ddof=1) / np.sqrt(20)), "of equal sizes: that of the means"
    assert known.df == pytest.approx(19)


def test_too_few_clusters_have_no_interval_and_say_why() -> None:
    values = np.random.default_rng(4).random(60)
    for clusters, words in (
        ([place % 4 for place in range(60)], "60 values in 4 clusters count as 4.0"),
        ([max(0, place - 50) for place in range(60)], "60 values in 10 clusters count as 1.4"),
    ):
        found = mean_interval(moments(values, clusters), bounds=(0, 1))
        assert isinstance(found, NoInterval)
        assert words in found.reason


def test_more_than_500_clusters_use_only_students_t() -> None:
    sums = np.random.default_rng(6).beta(5, 0.5, (LARGE_SAMPLE + 1, 2)).sum(axis=1)
    known = cluster_moments(np.full(sums.size, 2.0), sums)
    found = mean_interval(known, bounds=(0, 1))
    assert isinstance(known, ClusterMoments)
    assert isinstance(found, Interval)
    assert found.method == "Student's t, 501 clusters"
    assert found.high - known.mean == pytest.approx(t_quantile(0.975, known.df) * known.error)
    fewer = mean_interval(cluster_moments(np.full(LARGE_SAMPLE, 2.0), sums[:LARGE_SAMPLE]), bounds=(0, 1))
    assert isinstance(fewer, Interval)
    assert fewer.method == "Student's t and Bayesian bootstrap, 500 clusters"


def test_where_few_of_many_clusters_are_untied_the_bootstrap_widens_the_interval() -> None:
    sums = np.where(np.arange(600) < 5, 0.0, 2.0)
    known = cluster_moments(np.full(sums.size, 2.0), sums)
    found = mean_interval(known, bounds=(0, 1))
    assert isinstance(found, Interval)
    assert found.method == "Student's t and Bayesian bootstrap, 600 clusters"
    assert known.mean - found.low > t_quantile(0.975, known.df) * known.error


def test_no_interval_keeps_the_clusters_of_a_large_run() -> None:
    known = cluster_moments(np.full(50_000, 2.0), np.random.default_rng(7).random(50_000))
    gone = weakref.ref(known)
    mean_interval(known, bounds=(0, 2))
    del known
    gc.collect()
    assert gone() is None


def test_every_interval_is_worded_in_one_way() -> None:
    found = Interval(estimate=0.631, low=-0.0612, high=0.05, level=0.95, n=60, method="m")
    none = NoInterval(reason="an interval needs at least 5 values, got 2", n=2)
    assert range_text(0.5, 0.75, ".0%") == "50% to 75%"
    assert interval_text(found, "+.2f") == "-0.06 to +0.05"
    assert range_text(-0.0004, 0.06, "+.2f") == "-0.0004 to +0.0600"
    assert range_text(0.003, 0.06, "+.2f") == "+0.003 to +0.060"
    assert range_text(-0.004, 0.02, ".0%") == "-0.4% to 2.0%"
    assert range_text(0.003, 0.06, ".2f") == "0.00 to 0.06", "no mean is below 0"
    assert range_text(0.0051, 0.0134, "+.2f") == "+0.005 to +0.013", "different bounds look different"
    assert range_text(0.75, 0.75 + 1e-12, ".2f") == "0.75 to 0.75", "equal but for rounding errors"
    assert range_text(-0.0, -1e-12, "+.2f") == "+0.000000 to -0.000000"
    assert ci_text(found) == "95% CI -0.061 to 0.050"
    assert estimate_text(found.estimate, found, ".2f") == "0.63 (-0.06 to 0.05)"
    assert (interval_text(none), interval_text(None), estimate_text(0.5, none, ".2f")) == ("", "", "0.50")
    assert ci_text(none) == "no CI: an interval needs at least 5 values, got 2"
