"""Tests of correlations: scipy, by hand, published intervals, and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from ragboard.stats import CORRELATIONS, Interval, NoInterval, correlation_interval, fisher_interval, kendall, spearman

THEIRS = {"pearson": scipy_stats.pearsonr, "spearman": scipy_stats.spearmanr, "kendall": scipy_stats.kendalltau}
GRADES = st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=3, max_size=150)


@pytest.mark.parametrize("kind", CORRELATIONS)
@given(pairs=GRADES)
def test_correlations_are_those_of_scipy_to_1e_12(kind: str, pairs: list[tuple[int, int]]) -> None:
    x, y = zip(*pairs, strict=True)
    if len(set(x)) == 1 or len(set(y)) == 1:
        with pytest.raises(ValueError, match="x values that differ and y values that differ"):
            CORRELATIONS[kind](x, y)
        return
    assert CORRELATIONS[kind](x, y) == pytest.approx(THEIRS[kind](x, y).statistic, abs=1e-12)


@pytest.mark.parametrize("kind", CORRELATIONS)
def test_long_lists_of_fractions_too(kind: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.random(3000)
    y = np.round(x + rng.random(3000), 2)
    assert CORRELATIONS[kind](x, y) == pytest.approx(THEIRS[kind](x, y).statistic, abs=1e-12)


def test_tau_and_rho_by_hand() -> None:
    """1 2 3 4 against 1 3 2 4: five pairs in order, one not; sum of squared rank differences 2."""
    assert kendall([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(4 / 6)
    assert spearman([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(1 - 6 * 2 / 60)


def test_lengths_must_be_equal() -> None:
    with pytest.raises(ValueError, match="3 and 2 values are not pairs"):
        kendall([1, 2, 3], [1, 2])


def test_the_interval_of_pearson_is_that_of_scipy() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=50)
    result = scipy_stats.pearsonr(x, x + rng.normal(size=50))
    ours = fisher_interval(result.statistic, 50, kind="pearson")
    assert isinstance(ours, Interval)
    assert (ours.low, ours.high) == pytest.approx(tuple(result.confidence_interval(0.95)))


def test_a_perfect_correlation_or_few_pairs_have_no_interval() -> None:
    assert isinstance(fisher_interval(1.0, 50, kind="pearson"), NoInterval)
    assert isinstance(fisher_interval(0.5, 9, kind="kendall"), NoInterval)
    assert isinstance(correlation_interval(range(20), range(20), kind="spearman"), NoInterval)


def test_rows_that_share_a_group_widen_the_interval() -> None:
    rng = np.random.default_rng(3)
    base = np.repeat(rng.normal(size=(20, 2)), 10, axis=0)
    x, y = (base + rng.normal(0, 0.1, base.shape)).T
    groups = np.repeat(np.arange(20), 10).tolist()
    alone = correlation_interval(x, y, kind="pearson", draws=500)
    together = correlation_interval(x, y, kind="pearson", groups=groups, draws=500)
    assert isinstance(alone, Interval)
    assert isinstance(together, Interval)
    assert together.n == 20
    assert together.high - together.low > 2 * (alone.high - alone.low)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "truth"), [("pearson", 0.6), ("kendall", 2 / np.pi * np.arcsin(0.6))])
def test_intervals_of_correlations_cover(kind: str, truth: float) -> None:
    rng = np.random.default_rng(4)
    by_draws = by_formula = 0
    for seed in range(1000):
        x, other = rng.normal(size=(2, 60))
        y = 0.6 * x + 0.8 * other
        found = correlation_interval(x, y, kind=kind, draws=300, seed=seed)
        formula = fisher_interval(CORRELATIONS[kind](x, y), 60, kind=kind)
        assert isinstance(found, Interval)
        assert isinstance(formula, Interval)
        by_draws += found.low <= truth <= found.high
        by_formula += formula.low <= truth <= formula.high
    assert 0.925 <= by_draws / 1000 <= 0.975
    assert 0.925 <= by_formula / 1000 <= 0.975
