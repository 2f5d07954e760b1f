"""Tests of symmetry: swapping A and B mirrors every comparison."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragboard.stats import (
    Interval,
    MeanEstimate,
    NoInterval,
    Pair,
    PairedDifference,
    correlation_interval,
    difference_of_estimates,
    estimate_means,
    gate,
    group_difference,
    mcnemar,
    mcnemar_test,
    paired_difference,
    pairwise_accuracy,
    rank_systems,
    worst_case_difference,
)
from ragboard.stats.auroc_intervals import auroc_difference

GRID = st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 0.9, 1.0])
BITS = st.sampled_from([0.0, 1.0])
SCORES = st.one_of(GRID, st.floats(0, 1))
PAIRS = st.one_of(
    st.lists(st.tuples(SCORES, SCORES), min_size=5, max_size=60),
    st.lists(st.tuples(BITS, BITS), min_size=5, max_size=60),
    st.lists(st.tuples(st.just(0.0), st.floats(-1, 1)), min_size=5, max_size=12, unique=True),
)
CLUSTERS = st.sampled_from([None, 1, 2, 3])


def near(value: float) -> Any:
    return pytest.approx(value, rel=1e-6, abs=1e-7)


def mirrored(one: Interval | NoInterval, other: Interval | NoInterval) -> None:
    """The two are of opposite differences; so are their verdicts at opposite thresholds."""
    assert type(one) is type(other)
    if not isinstance(one, Interval) or not isinstance(other, Interval):
        assert one == other
        return
    assert (one.estimate, one.low, one.high) == (near(-other.estimate), near(-other.high), near(-other.low))
    assert (one.n, one.level, one.method, one.warning) == (other.n, other.level, other.method, other.warning)
    for threshold in (-0.2, 0.0, 0.05):
        if min(abs(one.low - threshold), abs(one.high - threshold)) > 1e-6:
            assert gate(one, threshold=threshold) == gate(other, threshold=-threshold, fail="above")


def opposite(one: PairedDifference, other: PairedDifference) -> None:
    mirrored(one.interval, other.interval)
    assert one.difference == near(-other.difference)
    assert (one.p, one.p_method) == (near(other.p), other.p_method)
    assert (one.sign.wins, one.sign.losses, one.sign.p) == (other.sign.losses, other.sign.wins, other.sign.p)
    assert (one.n, one.ties, one.warning) == (other.n, other.ties, other.warning)
    assert (one.detectable is None) == (other.detectable is None)
    if one.detectable is not None and other.detectable is not None:
        assert one.detectable == near(other.detectable)


def both_ways(pairs: list[tuple[float, float]], **given: Any) -> tuple[PairedDifference, PairedDifference]:
    first, second = zip(*pairs, strict=True)
    return paired_difference(first, second, **given), paired_difference(second, first, **given)


@given(PAIRS, st.sampled_from([(-1.0, 1.0), None]), CLUSTERS)
def test_paired_differences(
    pairs: list[tuple[float, float]], bounds: tuple[float, float] | None, size: int | None
) -> None:
    clusters = None if size is None else [place // size for place in range(len(pairs))]
    opposite(*both_ways(pairs, bounds=bounds, clusters=clusters))


def test_ten_differences_of_which_none_is_more_common_than_another() -> None:
    """It was +0.740 [+0.106, +0.999], swapped -0.740 [-0.931, +0.995]."""
    differences = [0.6, 0.65, 0.7, 0.7 + 1 / 300, 0.72, 0.75, 0.76, 0.8, 0.85, 0.9]
    one, other = both_ways([(0.0, value) for value in differences], bounds=(-1, 1))
    opposite(one, other)
    assert isinstance(one.interval, Interval)
    assert 0.66 < one.interval.low < 0.69 < 0.80 < one.interval.high < 0.83
    assert one.p == 2 / 2**10, "the least that ten differences can give"


@given(group=PAIRS, others=PAIRS, clustered=st.booleans())
def test_groups(group: list[tuple[float, float]], others: list[tuple[float, float]], *, clustered: bool) -> None:
    ours, theirs = ([value for value, _ in pairs] for pairs in (group, others))
    labels = [[place // 2 for place in range(len(values))] if clustered else None for values in (ours, theirs)]
    one = group_difference(ours, theirs, bounds=(0, 1), clusters=labels[0], other_clusters=labels[1], draws=200)
    other = group_difference(theirs, ours, bounds=(0, 1), clusters=labels[1], other_clusters=labels[0], draws=200)
    mirrored(one.interval, other.interval)
    assert (one.p, one.p_method) == (near(other.p), other.p_method)


@given(PAIRS, st.lists(st.integers(0, 59), max_size=10))
def test_differences_of_which_some_are_missing(pairs: list[tuple[float, float]], missing: list[int]) -> None:
    def outer(pairs: list[tuple[float, float]]) -> PairedDifference:
        first, second = (np.array(side) for side in zip(*pairs, strict=True))
        gone = np.array([place in missing for place in range(len(pairs))])
        seen = paired_difference(first, second, bounds=(-1, 1))
        low = paired_difference(np.where(gone, 1.0, first), np.where(gone, 0.0, second), bounds=(-1, 1))
        high = paired_difference(np.where(gone, 0.0, first), np.where(gone, 1.0, second), bounds=(-1, 1))
        return worst_case_difference(seen, low, high)

    opposite(outer(pairs), outer([(second, first) for first, second in pairs]))


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_estimates_by_labels_and_judge(one: int, other: int) -> None:
    def estimate(seed: int) -> MeanEstimate:
        rng = np.random.default_rng(seed)
        labels = (rng.random(120) < 0.6).astype(float)
        judged = np.where(rng.random(120) < 0.7, labels, 1 - labels)
        found = estimate_means(labels, judged, (rng.random(400) < 0.6).astype(float)).tuned
        assert isinstance(found, MeanEstimate)
        return found

    first, second = estimate(one), estimate(other)
    mirrored(
        *(
            found if isinstance(found, NoInterval) else _without_method(found)
            for found in (difference_of_estimates(first, second), difference_of_estimates(second, first))
        )
    )


def _without_method(found: Interval) -> Interval:
    """The method names both in their order."""
    assert found.method == "difference of PPI++, Student's t and PPI++, Student's t, Welch's t"
    return found


@settings(max_examples=25)
@given(st.lists(st.tuples(GRID, GRID, st.booleans()), min_size=12, max_size=40))
def test_areas_under_the_curve(rows: list[tuple[float, float, bool]]) -> None:
    first, second, positive = (list(side) for side in zip(*rows, strict=True))
    if len(set(positive)) == 2:
        groups = range(len(rows))
        mirrored(
            auroc_difference(first, second, positive, groups, draws=100),
            auroc_difference(second, first, positive, groups, draws=100),
        )


@given(rows=st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0, None]), BITS), max_size=40), grouped=st.booleans())
def test_contenders_and_flags(rows: list[tuple[float | None, float]], *, grouped: bool) -> None:
    first = {str(place): row[0] for place, row in enumerate(rows)}
    second = {str(place): row[1] for place, row in enumerate(rows)}
    groups = {name: int(name) // 3 for name in first} if grouped else None
    one, other = mcnemar_test(first, second, groups=groups), mcnemar_test(second, first, groups=groups)
    assert (one.wins, one.losses, one.p) == (other.losses, other.wins, other.p)
    flags = [[value == 1 for value in side.values()] for side in (first, second)]
    ahead, behind = mcnemar(*flags), mcnemar(*flags[::-1])
    assert (ahead.wins, ahead.losses, ahead.p) == (behind.losses, behind.wins, behind.p)


@settings(max_examples=25)
@given(st.lists(st.tuples(GRID, GRID), min_size=12, max_size=40), st.sampled_from(["half", "exclude"]))
def test_preferences_turned_around_lose_what_they_won(pairs: list[tuple[float, float]], ties: Any) -> None:
    one, other = (
        pairwise_accuracy([Pair(id=str(place), preferred=a, other=b) for place, (a, b) in enumerate(side)], ties=ties)
        for side in (pairs, [(b, a) for a, b in pairs])
    )
    assert (one.wins, one.losses, one.ties) == (other.losses, other.wins, other.ties)
    for ours, theirs in ((one.wilson, other.wilson), (one.bootstrap, other.bootstrap)):
        assert type(ours) is type(theirs)
        if isinstance(ours, Interval) and isinstance(theirs, Interval):
            assert (ours.low, ours.high) == (near(1 - theirs.high), near(1 - theirs.low))


@settings(max_examples=25)
@given(st.lists(st.tuples(GRID, GRID), min_size=10, max_size=30), st.sampled_from(["pearson", "spearman", "kendall"]))
def test_correlations(pairs: list[tuple[float, float]], kind: str) -> None:
    x, y = zip(*pairs, strict=True)
    if len(set(x)) > 1 and len(set(y)) > 1:
        one, other = (correlation_interval(*sides, kind=kind, draws=50) for sides in ((x, y), (y, x)))
        turned = correlation_interval([-value for value in x], y, kind=kind, draws=50)
        mirrored(one, turned)
        if isinstance(one, Interval) and isinstance(other, Interval):
            assert (one.low, one.high) == (near(other.low), near(other.high))


@settings(max_examples=25)
@given(st.lists(st.tuples(GRID, GRID, GRID), min_size=10, max_size=40))
def test_ranks_do_not_hang_on_the_order_of_systems(rows: list[tuple[float, float, float]]) -> None:
    values = dict(zip("abc", zip(*rows, strict=True), strict=True))

    def difference(one: str, other: str, level: float) -> Interval | NoInterval:
        return paired_difference(values[one], values[other], bounds=(-1, 1), level=level).interval

    means = {name: float(np.mean(column)) for name, column in values.items()}
    there = rank_systems(means, difference)
    back = rank_systems(dict(reversed(means.items())), difference)
    assert {one.name: one for one in there} == {one.name: one for one in back}
