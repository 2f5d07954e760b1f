"""Shares, their exact and their score intervals, and moments, against scipy, statsmodels and numpy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy
from statsmodels.stats.proportion import proportion_confint

from ragboard.stats import moments, wilson_interval
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
    assert found.varying == values.size - scipy.mode(values).count
