"""Tests of means and differences with missing values: the bounds hold for any values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragboard.stats import (
    Interval,
    NoInterval,
    PairedDifference,
    mean_interval,
    moments,
    paired_difference,
    worst_case_difference,
    worst_case_interval,
)

UNIT = (0.0, 1.0)
SPREAD = (-1.0, 1.0)
unit = st.floats(0, 1)


def interval(values: list[float]) -> Interval | NoInterval:
    return mean_interval(moments(values), bounds=UNIT)


def test_it_reaches_from_the_lower_end_at_the_least_to_the_upper_end_at_the_greatest() -> None:
    seen = [0.5] * 8
    low, high = interval([*seen, 0, 0]), interval([*seen, 1, 1])
    found = worst_case_interval(low, high, estimate=0.5)
    assert isinstance(low, Interval)
    assert isinstance(high, Interval)
    assert isinstance(found, Interval)
    assert (low.estimate, high.estimate) == pytest.approx((0.4, 0.6))
    assert (found.low, found.high, found.estimate, found.n) == (low.low, high.high, 0.5, 10)
    assert "Horowitz and Manski 2000" in found.method


def test_without_an_interval_of_both_there_is_none() -> None:
    few = NoInterval(reason="few", n=3)
    assert worst_case_interval(few, interval([0.5] * 8), estimate=0.5) == few
    assert worst_case_interval(interval([0.5] * 8), few, estimate=0.5) == few


def test_intervals_of_different_levels_or_sizes_are_rejected() -> None:
    one = interval([0.5] * 8)
    assert isinstance(one, Interval)
    with pytest.raises(ValueError, match="cannot be combined"):
        worst_case_interval(one, replace(one, n=9), estimate=0.5)
    with pytest.raises(ValueError, match="cannot be combined"):
        worst_case_interval(one, replace(one, level=0.9), estimate=0.5)


@pytest.mark.parametrize("missing_where", ["low", "high", "at random"])
def test_the_mean_of_all_is_covered_for_any_missing_values(missing_where: str) -> None:
    """500 draws of 60 values, a third of the low, the high or of any of them missing: at least 95% are covered."""
    rng = np.random.default_rng(7)
    covered, draws, mean = 0, 500, 2 / 5
    for _ in range(draws):
        values = rng.beta(2, 3, 60)
        chance = {"low": values < 0.3, "high": values > 0.5, "at random": np.ones(60, dtype=bool)}[missing_where]
        gone = chance & (rng.random(60) < 1 / 3)
        ends = [interval(list(np.where(gone, fill, values))) for fill in (0.0, 1.0)]
        found = worst_case_interval(ends[0], ends[1], estimate=float(values[~gone].mean()))
        assert isinstance(found, Interval)
        covered += found.low <= mean <= found.high
    assert covered / draws >= 0.95


def test_the_observed_values_would_miss_what_the_bounds_cover() -> None:
    """The control of the test above: with the low values missing, the interval of the others misses the mean."""
    rng = np.random.default_rng(7)
    missed = 0
    for _ in range(200):
        values = rng.beta(2, 3, 60)
        gone = (values < 0.3) & (rng.random(60) < 0.9)
        found = interval(list(values[~gone]))
        assert isinstance(found, Interval)
        missed += not found.low <= 2 / 5 <= found.high
    assert missed > 100


def difference(first: list[float], second: list[float]) -> PairedDifference:
    return paired_difference(first, second, bounds=SPREAD)


def test_p_is_that_of_the_nearer_case_and_1_where_either_sign_is_possible() -> None:
    seen = difference([0.0] * 20, [1.0] * 20)
    worse = difference([0.0] * 20 + [1.0], [1.0] * 20 + [0.0])
    same = difference([0.0] * 20 + [0.0], [1.0] * 20 + [1.0])
    found = worst_case_difference(seen, worse, same)
    assert (found.p, found.n, found.difference) == (worse.p, 20, 1.0)
    assert isinstance(found.interval, Interval)
    assert (found.interval.n, found.interval.high) == (21, 1.0)
    assert found.detectable is None
    nearer = difference([1.0] * 20 + [0.0], [0.0] * 20 + [1.0])
    turned = worst_case_difference(difference([1.0] * 20, [0.0] * 20), difference([1.0] * 21, [0.0] * 21), nearer)
    assert turned.p == nearer.p == worse.p
    either = worst_case_difference(seen, difference([1.0] * 41, [0.0] * 41), difference([0.0] * 41, [1.0] * 41))
    assert either.p == 1.0


@given(st.lists(st.tuples(unit | st.none(), unit | st.none()), min_size=6, max_size=30))
def test_the_difference_is_within_the_bounds_for_any_missing_values(
    pairs: list[tuple[float | None, float | None]],
) -> None:
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    if not both:
        return

    def filled(first: float, second: float) -> PairedDifference:
        return difference([first if a is None else a for a, _ in pairs], [second if b is None else b for _, b in pairs])

    seen = difference([a for a, _ in both], [b for _, b in both])
    low, high = filled(1, 0), filled(0, 1)
    found = worst_case_difference(seen, low, high)
    assert isinstance(found.interval, Interval)
    for first, second in ((0, 0), (1, 1), (0.5, 0.2)):
        other = filled(first, second)
        assert low.difference - 1e-9 <= other.difference <= high.difference + 1e-9
        assert found.interval.low - 1e-9 <= other.difference <= found.interval.high + 1e-9
