"""Tests of ranks, and of the simulated ranking experiment."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from ragboard.stats import Interval, NoInterval, rank_systems, simulate_ranking
from ragboard.stats.ranking import MOCK_RATES

UNEVEN = [0.95, 0.8, 0.95, 0.8, 0.95, 0.8, 0.95, 0.8, 0.95]


def known_error(error: float, estimates: dict[str, float]):
    def difference(first: str, second: str, level: float) -> Interval:
        gap = estimates[second] - estimates[first]
        half = error * float(scipy_stats.norm.ppf((1 + level) / 2))
        return Interval(estimate=gap, low=gap - half, high=gap + half, level=level, n=100, method="known error")

    return difference


def test_ranks_and_what_the_differences_leave_open() -> None:
    estimates = {"a": 0.5, "b": 0.9, "c": 0.52}
    ranked = rank_systems(estimates, known_error(0.05, estimates))
    assert [(one.name, one.rank, one.best, one.worst) for one in ranked] == [
        ("b", 1, 1, 1),
        ("c", 2, 2, 3),
        ("a", 3, 2, 3),
    ]


def test_without_intervals_every_rank_is_open() -> None:
    ranked = rank_systems({"a": 0.5, "b": 0.9}, lambda *_: NoInterval(reason="too few", n=3))
    assert [(one.best, one.worst) for one in ranked] == [(1, 2), (1, 2)]


def test_equal_estimates_share_the_better_rank() -> None:
    estimates = {"a": 0.5, "b": 0.5, "c": 0.4}
    assert [one.rank for one in rank_systems(estimates, known_error(0.1, estimates))] == [1, 1, 3]


def test_all_true_ranks_lie_within_their_bounds_at_least_95_percent_of_the_time() -> None:
    rng = np.random.default_rng(5)
    truth = {"a": 0.5, "b": 0.55, "c": 0.6, "d": 0.6}
    true_ranks = {"a": (4, 4), "b": (3, 3), "c": (1, 2), "d": (1, 2)}
    held = 0
    for _ in range(600):
        estimates = {name: rate + rng.normal(0, 0.02) for name, rate in truth.items()}
        ranked = rank_systems(estimates, known_error(0.02 * np.sqrt(2), estimates))
        held += all(one.best <= true_ranks[one.name][0] and one.worst >= true_ranks[one.name][1] for one in ranked)
    assert held / 600 >= 0.93


def test_a_perfect_judge_orders_as_well_as_counting_all_successes() -> None:
    rng = np.random.default_rng(11)
    counts = rng.binomial(500, MOCK_RATES, (3000, 9))
    direct = np.array([scipy_stats.kendalltau(row, MOCK_RATES).statistic for row in counts])
    found = simulate_ranking(sensitivity=1.0, specificity=1.0, labels=100, items=500, repeats=3000)
    for method in (found.methods[0], found.methods[2]):
        error = np.hypot(method.tau_error, direct.std() / np.sqrt(3000))
        assert method.tau == pytest.approx(float(direct.mean()), abs=4 * float(error))


def test_a_judge_that_favours_some_systems_is_put_right_by_labels() -> None:
    found = simulate_ranking(sensitivity=UNEVEN, specificity=UNEVEN[::-1], repeats=1000)
    judge, labels, ppi, tuned = found.methods
    assert judge.tau < 0.6
    assert ppi.tau > judge.tau + 0.2
    assert tuned.tau > labels.tau + 3 * labels.tau_error
    assert all(0.935 <= method.coverage <= 0.965 for method in (ppi, tuned))
    assert judge.coverage < 0.5


def test_the_simulation_echoes_its_settings_and_its_seed_repeats_it() -> None:
    found = simulate_ranking(repeats=50, seed=3)
    assert found == simulate_ranking(repeats=50, seed=3) != simulate_ranking(repeats=50, seed=4)
    assert (found.labels, found.items, found.repeats, found.seed) == (300, 4421, 50, 3)
    assert found.sensitivity == (0.9,) * 9


def test_impossible_settings_are_rejected() -> None:
    with pytest.raises(ValueError, match="at least 3 labels"):
        simulate_ranking(labels=500, items=500)
    with pytest.raises(ValueError, match="between 0 and 1"):
        simulate_ranking(sensitivity=1.2)


def test_with_a_perfect_judge_tau_is_that_of_binomial_samples_drawn_directly() -> None:
    found = simulate_ranking(sensitivity=1.0, specificity=1.0, labels=100, items=400, repeats=1500, seed=1)
    rng = np.random.default_rng(2)
    truth = np.array(found.rates)
    for name, size in (("judge alone", 400), ("labels alone", 100)):
        estimates = rng.binomial(size, truth, (1500, truth.size)) / size
        direct = [scipy_stats.kendalltau(row, truth).statistic for row in estimates]
        method = next(method for method in found.methods if method.name == name)
        error = np.hypot(method.tau_error, np.std(direct, ddof=1) / np.sqrt(1500))
        assert abs(method.tau - np.mean(direct)) < 4 * error
        assert method.tau_low == pytest.approx(np.quantile(direct, 0.025), abs=0.06)
        assert method.tau_high == pytest.approx(np.quantile(direct, 0.975), abs=0.06)
