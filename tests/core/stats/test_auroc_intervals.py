"""Tests of differences between AUROCs: by hand, and with clusters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragboard.stats import Interval, NoInterval, auroc
from ragboard.stats.auroc_intervals import auroc_difference, clustered_auroc


def values(seed: int, n: int = 60) -> tuple[list[float], list[bool], list[int]]:
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.5
    scores = positive + rng.normal(size=n)
    return list(map(float, scores)), list(map(bool, positive)), list(range(n))


def test_the_estimate_is_the_auroc_and_is_in_its_interval() -> None:
    scores, positive, clusters = values(1)
    found = clustered_auroc(scores, positive, clusters)
    assert isinstance(found, Interval)
    assert found.estimate == pytest.approx(auroc(scores, positive))
    assert found.low < found.estimate < found.high
    assert (found.n, found.level) == (60, 0.95)


def test_a_score_is_no_better_than_itself() -> None:
    scores, positive, clusters = values(2)
    found = auroc_difference(scores, scores, positive, clusters)
    assert found == NoInterval(reason="every draw gives the same value", n=60)


def test_the_interval_of_a_difference_holds_the_difference_of_the_areas() -> None:
    scores, positive, clusters = values(5)
    others = [score + 3 * (number % 2) for number, score in enumerate(scores)]
    found = auroc_difference(scores, others, positive, clusters)
    assert isinstance(found, Interval)
    assert found.estimate == pytest.approx(auroc(scores, positive) - auroc(others, positive))
    assert found.low < found.estimate < found.high


def test_copies_of_a_cluster_add_no_certainty() -> None:
    scores, positive, clusters = values(3)
    once = clustered_auroc(scores, positive, clusters)
    thrice = clustered_auroc(scores * 3, positive * 3, clusters * 3)
    alone = clustered_auroc(scores * 3, positive * 3, range(180))
    assert isinstance(once, Interval)
    assert isinstance(thrice, Interval)
    assert isinstance(alone, Interval)
    assert thrice.high - thrice.low == pytest.approx(once.high - once.low)
    assert alone.high - alone.low < 0.8 * (once.high - once.low)


def test_the_same_seed_gives_the_same_bounds_and_another_gives_others() -> None:
    scores, positive, clusters = values(4)
    assert clustered_auroc(scores, positive, clusters, seed=1) == clustered_auroc(scores, positive, clusters, seed=1)
    assert clustered_auroc(scores, positive, clusters, seed=1) != clustered_auroc(scores, positive, clusters, seed=2)


def test_too_few_clusters_and_too_few_of_a_class_have_no_interval() -> None:
    few = clustered_auroc([0.1, 0.9, 0.2, 0.8], [False, True, False, True], [0, 0, 1, 1])
    assert isinstance(few, NoInterval)
    rare = clustered_auroc([0.1] * 9 + [0.9], [False] * 9 + [True], range(10))
    assert isinstance(rare, NoInterval)
    with pytest.raises(ValueError, match="at least one positive and one negative"):
        clustered_auroc([0.1] * 9, [False] * 9, range(9))


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    truth = 0.7602  # P(N(1, 1) > N(0, 1)) = Phi(1 / sqrt(2))
    found = [clustered_auroc(*values(seed), draws=200) for seed in range(200)]
    hits = sum(isinstance(each, Interval) and each.low <= truth <= each.high for each in found)
    assert 0.88 <= hits / 200 <= 0.99


@given(st.lists(st.tuples(st.sampled_from((0.1, 0.5, 0.5, 0.9)), st.booleans()), min_size=12, max_size=30))
def test_ties_count_half_in_every_draw_as_in_the_whole(pairs: list[tuple[float, bool]]) -> None:
    scores, positive = [score for score, _ in pairs], [label for _, label in pairs]
    if len(set(positive)) == 2:
        found = clustered_auroc(scores, positive, range(len(pairs)), draws=50)
        assert isinstance(found, NoInterval) or 0.0 <= found.low <= found.high <= 1.0
