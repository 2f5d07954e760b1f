"""Tests of the difference of two groups: symmetry, and the rate of false positives."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragboard.stats import Interval, NoInterval, group_difference

values = st.lists(st.floats(0, 1), min_size=5, max_size=20)


def test_two_groups_by_hand() -> None:
    """Clopper and Pearson: 10 of 20 are 0.2720 to 0.7280, 15 of 30 are 0.3130 to 0.6870."""
    found = group_difference([0.0] * 10 + [1.0] * 10, [0.0] * 15 + [1.0] * 15, bounds=(0, 1))
    assert (found.n, found.others, found.mean, found.mean_others, found.difference) == (20, 30, 0.5, 0.5, 0)
    assert isinstance(found.interval, Interval)
    assert found.interval.high == pytest.approx(math.hypot(0.2280, 0.1870), abs=1e-4)
    assert (found.p, found.p_method) == (1, "Welch's t")


def test_welch_by_hand() -> None:
    """T = 6.5 / sqrt(65 / 12) with 16.18 degrees of freedom."""
    ours, theirs = np.arange(12.0), np.arange(12.0) * 2 + 1
    found = group_difference(ours, theirs)
    assert found.difference == -6.5
    assert found.p == pytest.approx(0.0129, abs=0.0002)


def test_where_few_values_differ_p_is_the_share_of_divisions() -> None:
    """Of the ways to choose 5 of 12 values, counted one by one, as many are as far from their mean."""
    pooled = [0.0, 0.0, 0.0, 0.0, 0.5, *([1.0] * 7)]
    sums = [abs(sum(chosen) - 5 * sum(pooled) / 12) for chosen in combinations(pooled, 5)]
    exact = np.mean([one >= sums[0] - 1e-9 for one in sums])
    found = group_difference(pooled[:5], pooled[5:], bounds=(0, 1))
    assert found.p_method == "permutation test, 5000 draws, seed 0"
    assert found.p == pytest.approx(exact, abs=0.02)


def test_equal_values_differ_by_nothing() -> None:
    found = group_difference([1.0] * 6, [1.0] * 9, bounds=(0, 1))
    assert (found.difference, found.p) == (0, 1)
    assert isinstance(found.interval, Interval)
    assert found.interval.low < 0 < found.interval.high


def test_too_few_values_have_no_interval() -> None:
    assert isinstance(group_difference([1.0] * 4, [0.0] * 9, bounds=(0, 1)).interval, NoInterval)
    assert isinstance(group_difference([1.0] * 9, [0.0] * 4, bounds=(0, 1)).interval, NoInterval)


@given(values, values)
def test_groups_that_change_places_mirror_the_interval(one: list[float], other: list[float]) -> None:
    forth, back = (group_difference(*pair, bounds=(0, 1), draws=100) for pair in ((one, other), (other, one)))
    assert isinstance(forth.interval, Interval)
    assert isinstance(back.interval, Interval)
    assert forth.interval.low == pytest.approx(-back.interval.high)
    assert forth.difference == -back.difference
    assert forth.interval.low <= forth.difference <= forth.interval.high


@pytest.mark.parametrize("share", [0.9, 0.5])
@pytest.mark.parametrize("size", [6, 30])
def test_a_difference_is_found_falsely_at_most_as_often_as_said(share: float, size: int) -> None:
    rng, runs = np.random.default_rng(1), 600
    false = 0
    for _ in range(runs):
        drawn = rng.binomial(3, share, size=size + 60) / 3
        found = group_difference(drawn[:size], drawn[size:], bounds=(0, 1), draws=1000)
        assert isinstance(found.interval, Interval)
        false += found.p < 0.05 and not found.interval.low <= 0 <= found.interval.high
    assert false / runs <= 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5


def test_a_group_of_fewer_than_five_clusters_is_not_tested() -> None:
    scores, others = [0.0, 1.0, 0.0, 0.5, 0.0, 0.0], np.random.default_rng(5).random(60)
    turns = [place // 3 for place in range(60)]
    for clusters in (["a"] * 6, ["a", "b"] * 3, ["a"] * 5 + ["b"]):
        found = group_difference(scores, others, bounds=(0, 1), clusters=clusters, other_clusters=turns)
        assert isinstance(found.interval, NoInterval)
        assert (found.p, found.p_method) == (1.0, "not tested: one side has fewer than 5 effective clusters")
