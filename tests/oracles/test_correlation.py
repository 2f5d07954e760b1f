"""Tests of correlations with ties and of their intervals against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy

from ragboard.stats import (
    Interval,
    clustered_interval,
    correlation_interval,
    fisher_interval,
    kendall,
    pearson,
    spearman,
)
from ragboard.stats.checks import FloatArray

SCIPY = {"pearson": scipy.pearsonr, "spearman": scipy.spearmanr, "kendall": scipy.kendalltau}


def pairs(rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Two lists that go together more or less, with ties more or less."""
    size, places = int(rng.integers(10, 300)), int(rng.integers(0, 4))
    x = rng.normal(size=size)
    return x.round(places), (rng.uniform(-1, 1) * x + rng.normal(size=size)).round(places)


def test_all_three_are_those_of_scipy(rng: np.random.Generator) -> None:
    x, y = pairs(rng)
    assert pearson(x, y) == pytest.approx(scipy.pearsonr(x, y).statistic, abs=1e-9)
    assert spearman(x, y) == pytest.approx(scipy.spearmanr(x, y).statistic, abs=1e-9)
    assert kendall(x, y) == pytest.approx(scipy.kendalltau(x, y).statistic, abs=1e-9)


def test_fishers_interval_of_pearson_is_that_of_scipy(rng: np.random.Generator) -> None:
    x, y = pairs(rng)
    found = fisher_interval(pearson(x, y), x.size, kind="pearson")
    theirs = scipy.pearsonr(x, y).confidence_interval(0.95)
    assert isinstance(found, Interval)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


@pytest.mark.parametrize("kind", SCIPY)
@pytest.mark.parametrize("seed", range(3))
def test_drawn_intervals_are_of_scipys_number(kind: str, seed: int) -> None:
    """The quick ways to find a correlation of drawn rows find that of the rows themselves."""
    rng = np.random.default_rng(seed)
    x, y = pairs(rng)
    groups = rng.integers(0, 15, x.size).tolist()
    found = correlation_interval(x, y, kind=kind, groups=groups, draws=100)
    theirs = clustered_interval(lambda rows: float(SCIPY[kind](x[rows], y[rows]).statistic), groups, draws=100)
    assert isinstance(found, Interval)
    assert isinstance(theirs, Interval)
    assert (found.estimate, found.low, found.high) == pytest.approx(
        (theirs.estimate, theirs.low, theirs.high), abs=1e-9
    )


@pytest.mark.parametrize("seed", range(3))
def test_groups_are_drawn_as_scipy_draws_rows(seed: int) -> None:
    """Of groups of one row each, at the level that the correction for few groups asks for; to the Monte Carlo error."""
    values = np.random.default_rng(seed).beta(2, 5, 40)
    found = clustered_interval(lambda rows: float(values[rows].mean()), range(40), draws=20_000, seed=seed)
    tail = scipy.norm.cdf(np.sqrt(40 / 39) * scipy.t.ppf(0.025, 39))
    theirs = scipy.bootstrap(
        (values,), np.mean, n_resamples=20_000, confidence_level=1 - 2 * tail, method="percentile", rng=seed
    ).confidence_interval
    assert isinstance(found, Interval)
    error = 6 * values.std() / np.sqrt(40) / np.sqrt(20_000 * 0.02)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=error)
