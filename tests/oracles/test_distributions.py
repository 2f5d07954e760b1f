"""Tests of distributions against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy

from ragboard.stats.distributions import (
    beta_quantile,
    fair_coin_cdf,
    normal_cdf,
    normal_quantile,
    t_cdf,
    t_quantile,
)


def test_the_normal_distribution(rng: np.random.Generator) -> None:
    p, x = rng.uniform(1e-6, 1 - 1e-6), rng.normal(0, 3)
    assert normal_quantile(p) == pytest.approx(scipy.norm.ppf(p), abs=1e-9)
    assert normal_cdf(x) == pytest.approx(scipy.norm.cdf(x), abs=1e-12)


def test_students_t(rng: np.random.Generator) -> None:
    p, x, df = rng.uniform(1e-4, 1 - 1e-4), rng.normal(0, 4), rng.uniform(1, 500)
    assert t_cdf(x, df) == pytest.approx(scipy.t.cdf(x, df), abs=1e-12)
    assert t_quantile(p, df) == pytest.approx(scipy.t.ppf(p, df), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("x", [8.0, 12.0, 30.0])
def test_far_tails_of_students_t_are_not_0(x: float) -> None:
    for df in (4, 30, 1000):
        assert t_cdf(-x, df) == pytest.approx(scipy.t.cdf(-x, df), rel=1e-9)


def test_the_beta_distribution(rng: np.random.Generator) -> None:
    p, (a, b) = rng.uniform(0.001, 0.999), rng.uniform(0.5, 300, 2)
    assert beta_quantile(p, a, b) == pytest.approx(scipy.beta.ppf(p, a, b), abs=1e-9)


def test_heads_of_a_fair_coin(rng: np.random.Generator) -> None:
    n = int(rng.integers(0, 400))
    count = int(rng.integers(0, n + 1))
    theirs = scipy.binom.cdf(count, n, 0.5)
    assert fair_coin_cdf(count, n) == pytest.approx(theirs, rel=1e-9)
    assert math.isfinite(theirs)
