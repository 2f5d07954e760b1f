"""Intervals: by hand, against scipy, and by simulated coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from ragboard.stats import Interval, Moments, NoInterval, mean_interval, wilson_interval
from ragboard.stats.distributions import t_cdf, t_quantile


def moments(values: np.ndarray) -> Moments:
    _, counts = np.unique(values, return_counts=True)
    return Moments(
        n=len(values),
        mean=float(values.mean()),
        deviation=float(values.std(ddof=1)),
        varying=int(len(values) - counts.max()),
    )


@given(p=st.floats(0.001, 0.999), df=st.floats(1, 1e6))
def test_the_t_quantile_is_that_of_scipy(p: float, df: float) -> None:
    """To 1e-7, for near the median scipy rounds to it."""
    assert t_quantile(p, df) == pytest.approx(scipy_stats.t.ppf(p, df), rel=1e-7, abs=1e-7)


@given(x=st.floats(-50, 50), df=st.floats(1, 1e4))
def test_the_t_distribution_is_that_of_scipy(x: float, df: float) -> None:
    """To 1e-7, for near 0 scipy rounds to one half."""
    assert t_cdf(x, df) == pytest.approx(scipy_stats.t.cdf(x, df), abs=1e-7)


def test_a_published_t_value() -> None:
    """Any printed table: t(0.975, 10) = 2.228."""
    assert t_quantile(0.975, 10) == pytest.approx(2.228, abs=5e-4)


def test_a_hand_made_interval() -> None:
    values = np.tile([0.2, 0.4, 0.6, 0.8], 5)
    found = mean_interval(moments(values), bounds=(0, 1))
    assert isinstance(found, Interval)
    half = 2.093024 * values.std(ddof=1) / np.sqrt(20)
    assert (found.low, found.high) == (pytest.approx(0.5 - half, abs=1e-6), pytest.approx(0.5 + half, abs=1e-6))
    assert found.method == "Student's t"


def test_the_interval_of_varied_values_is_that_of_scipy() -> None:
    values = np.random.default_rng(1).beta(4, 3, size=40)
    found = mean_interval(moments(values), bounds=(0, 1))
    assert isinstance(found, Interval)
    theirs = scipy_stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (found.low, found.high) == (pytest.approx(theirs.low), pytest.approx(theirs.high))


def test_equal_values_are_no_certainty() -> None:
    found = mean_interval(Moments(n=30, mean=1.0, deviation=0.0, varying=0), bounds=(0, 1))
    assert isinstance(found, Interval)
    assert found.high == 1.0
    assert found.low == pytest.approx(0.025 ** (1 / 30)), "30 of 30 by Clopper and Pearson"


def test_too_few_values_have_no_interval_and_say_why() -> None:
    found = mean_interval(Moments(n=4, mean=0.5, deviation=0.1, varying=3), bounds=(0, 1))
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
    found = mean_interval(Moments(n=20, mean=-1.0, deviation=0.0, varying=0), bounds=(-1.0, 1.0))
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
