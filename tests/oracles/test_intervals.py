"""Tests of intervals of shares, and of moments, against scipy, statsmodels and numpy."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats as scipy
from statsmodels.stats.proportion import proportion_confint

from ragboard.stats import ClusterMoments, cluster_moments, moments, wilson_interval
from ragboard.stats.intervals import share_bounds


def test_wilsons_interval_is_that_of_statsmodels_and_scipy(rng: np.random.Generator) -> None:
    n, level = int(rng.integers(1, 500)), float(rng.choice([0.8, 0.9, 0.95, 0.99]))
    count = int(rng.integers(0, n + 1))
    found = wilson_interval(count / n, n, level=level)
    assert (found.low, found.high) == pytest.approx(
        proportion_confint(count, n, alpha=1 - level, method="wilson"), abs=1e-9
    )
    theirs = scipy.binomtest(count, n).proportion_ci(level, method="wilson")
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_the_exact_bounds_of_a_share_are_those_of_clopper_and_pearson(rng: np.random.Generator) -> None:
    n, level = int(rng.integers(1, 500)), float(rng.choice([0.8, 0.9, 0.95, 0.99]))
    count = int(rng.integers(0, n + 1))
    theirs = scipy.binomtest(count, n).proportion_ci(level, method="exact")
    assert share_bounds(count, n, level=level) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert share_bounds(count, n, level=level) == pytest.approx(
        proportion_confint(count, n, alpha=1 - level, method="beta"), abs=1e-9
    )


def test_moments_are_those_of_numpy(rng: np.random.Generator) -> None:
    values = rng.beta(0.5, 2, int(rng.integers(2, 200))).round(1)
    found = moments(values)
    assert (found.n, found.mean, found.deviation) == pytest.approx(
        (values.size, np.mean(values), np.std(values, ddof=1)), abs=1e-12
    )
    assert found.untied == values.size - scipy.mode(values).count


def test_the_error_of_clusters_of_equal_size_is_the_cluster_robust_one_of_statsmodels(rng: np.random.Generator) -> None:
    groups, size = int(rng.integers(5, 40)), int(rng.integers(2, 6))
    clusters = np.repeat(np.arange(groups), size)
    values = rng.beta(2, 2, groups)[clusters] / 2 + rng.random(clusters.size) / 2
    known = moments(values, clusters.tolist())
    assert isinstance(known, ClusterMoments)
    fitted = sm.OLS(values, np.ones(values.size)).fit(cov_type="cluster", cov_kwds={"groups": clusters})
    assert (known.mean, known.error) == pytest.approx((fitted.params[0], fitted.bse[0]), rel=1e-9)


def test_the_error_of_clusters_of_any_size_is_that_of_leaving_one_out(rng: np.random.Generator) -> None:
    """The jackknife, about the mean of all."""
    clusters = rng.integers(0, 12, int(rng.integers(40, 120)))
    values = rng.random(clusters.size)
    known = moments(values, clusters.tolist())
    assert isinstance(known, ClusterMoments)
    there = np.unique(clusters)
    left = np.array([values[clusters != one].mean() for one in there])
    jackknife = np.sqrt((there.size - 1) / there.size * np.square(left - values.mean()).sum())
    assert known.error == pytest.approx(jackknife, rel=1e-9)
    counts, sums = np.unique(clusters, return_counts=True)[1], np.bincount(clusters, weights=values)
    again = cluster_moments(counts, sums[there])
    assert (again.mean, again.error) == pytest.approx((known.mean, known.error), rel=1e-12)
