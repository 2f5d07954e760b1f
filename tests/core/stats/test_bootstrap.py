"""Tests of resampling clusters: resamples, missing intervals, and coverage."""

from __future__ import annotations

import numpy as np
import pytest

from ragboard.stats import Interval, NoInterval, clustered_interval
from ragboard.stats.bootstrap import Rows, mean_over_sets, resample


def test_whole_groups_are_drawn() -> None:
    groups = [row // 3 for row in range(36)]
    seen: list[Rows] = []

    def statistic(rows: Rows) -> float:
        seen.append(rows)
        return float(rows.mean())

    clustered_interval(statistic, groups, draws=50)
    assert list(seen[0]) == list(range(36))
    for rows in seen[1:]:
        assert len(rows) == 36
        assert all(list(three) == [three[0], three[0] + 1, three[0] + 2] for three in rows.reshape(12, 3))


def test_the_same_seed_gives_the_same_interval() -> None:
    values = np.random.default_rng(0).random(40)
    one, same, other = (
        clustered_interval(lambda rows: float(values[rows].mean()), range(40), seed=seed) for seed in (1, 1, 2)
    )
    assert one == same != other
    assert isinstance(one, Interval)
    assert (one.n, one.method) == (40, "bootstrap of clusters, expanded percentiles, 2000 draws, seed 1")
    assert one.low < one.estimate < one.high


def test_few_groups_equal_draws_and_draws_without_value_are_rejected() -> None:
    assert clustered_interval(lambda _: 1.0, ["a"] * 30 + ["b"] * 30) == NoInterval(
        reason="an interval needs at least 10 clusters, got 2", n=2
    )
    assert clustered_interval(lambda _: 1.0, range(30)) == NoInterval(reason="every draw gives the same value", n=30)

    def only_with_the_first_row(rows: Rows) -> float:
        if 0 not in rows:
            raise ValueError("no value")
        return float(rows.mean())

    refused = clustered_interval(only_with_the_first_row, range(30), draws=200)
    assert isinstance(refused, NoInterval)
    assert "of 200 bootstrap samples" in refused.reason


def test_rows_without_a_value_are_an_error() -> None:
    def never(_: Rows) -> float:
        raise ValueError("nothing to say")

    with pytest.raises(ValueError, match="nothing to say"):
        clustered_interval(never, range(30))


def covered(groups: int, repeats: int) -> float:
    """Five rows a group that share most of their value; the mean of a skewed distribution."""
    rng = np.random.default_rng(9)
    names = np.repeat(np.arange(groups), 5)
    held = 0
    for seed in range(repeats):
        values = np.repeat(rng.beta(4, 2, groups), 5) + rng.normal(0, 0.1, groups * 5)
        found = clustered_interval(
            lambda rows, values=values: float(values[rows].mean()), names.tolist(), seed=seed, draws=400
        )
        assert isinstance(found, Interval)
        held += found.low <= 2 / 3 <= found.high
    return held / repeats


def test_clustered_intervals_cover_in_a_quick_simulation() -> None:
    assert 0.90 <= covered(30, 200) <= 0.99


@pytest.mark.slow
@pytest.mark.parametrize("groups", [15, 30, 80])
def test_clustered_intervals_cover_95_percent(groups: int) -> None:
    assert 0.935 <= covered(groups, 2000) <= 0.965


def test_the_mean_over_sets_varies_as_the_mean_of_independent_means() -> None:
    """Its half-width is that of the sum of the sets' variances, and the order of the sets is of no account."""
    rng = np.random.default_rng(5)
    values = {name: rng.normal(size=n) for name, n in (("b", 40), ("a", 400), ("c", 40))}
    found = {
        name: resample(lambda rows, of=of: float(of[rows].mean()), range(len(of)), draws=2000)
        for name, of in values.items()
    }
    interval = mean_over_sets(found)
    assert isinstance(interval, Interval)
    assert interval == mean_over_sets(dict(sorted(found.items())))
    assert interval.estimate == pytest.approx(np.mean([of.mean() for of in values.values()]))
    error = np.sqrt(sum(of.var(ddof=1) / len(of) for of in values.values())) / 3
    assert (interval.high - interval.low) / 2 == pytest.approx(2.0 * error, rel=0.08)
    few = found | {"few": resample(lambda rows: float(rows.mean()), range(5))}
    assert mean_over_sets(few) == NoInterval(reason="few: an interval needs at least 10 clusters, got 5", n=485)
    with pytest.raises(ValueError, match="at least one set"):
        mean_over_sets({})
