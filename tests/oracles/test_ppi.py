"""Tests of PPI against ppi-python, and of the required number of labels against a linear search.

ppi-python assumes a separate labelled set, variances with divisor n, and the normal distribution. ragboard's default is
a labelled subset, variances with n - 1, and Student's t. To compare them, the tests pass all items as unlabelled items
to ppi-python, and recompute the interval from its parts.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
from scipy import stats as scipy

from ragboard.stats import (
    Interval,
    MeanEstimate,
    MethodResult,
    difference_of_estimates,
    estimate_mean,
    labels_needed,
    rank_systems,
    simulate_ranking,
)
from ragboard.stats.checks import FloatArray
from ragboard.stats.ppi import PpiDesign, half_width, ppi_estimates, ppi_moments

DESIGNS: tuple[PpiDesign, ...] = ("separate", "subset")


def drawn(rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Labels, the judge's scores of the same items, and its scores of the others."""
    n, m = int(rng.integers(40, 200)), int(rng.integers(100, 1000))
    truth = rng.beta(2, 2, n + m)
    judged = np.clip(truth + rng.normal(0.05, 0.2, n + m), 0, 1)
    return truth[:n], judged[:n], judged[n:]


def powered(*given: FloatArray, design: PpiDesign, weight: float | None = None) -> MeanEstimate:
    found = estimate_mean(*given, design=design, weight=weight)
    assert isinstance(found, MeanEstimate)
    return found


def estimate(labels: FloatArray, judged: FloatArray, others: FloatArray, weight: float | None) -> float:
    return float(np.ravel(ppi_mean_pointestimate(labels, judged, others, lam=weight))[0])


def half(labels: FloatArray, judged: FloatArray, others: FloatArray, weight: float | None) -> float:
    low, high = (float(np.ravel(end)[0]) for end in ppi_mean_ci(labels, judged, others, alpha=0.05, lam=weight))
    return (high - low) / 2


@pytest.mark.parametrize("weight", [1.0, 0.4, 0.0])
def test_the_estimate_with_a_weight_given(rng: np.random.Generator, weight: float) -> None:
    labels, judged, rest = drawn(rng)
    separate = powered(labels, judged, rest, design="separate", weight=weight)
    assert separate.interval.estimate == pytest.approx(estimate(labels, judged, rest, weight), abs=1e-9)
    subset = powered(labels, judged, rest, design="subset", weight=weight)
    everything = np.concatenate([judged, rest])
    assert subset.interval.estimate == pytest.approx(estimate(labels, judged, everything, weight), abs=1e-9)


def test_as_ares_computes_it_is_ppi_python_to_the_last_digit(rng: np.random.Generator) -> None:
    labels, judged, rest = drawn(rng)
    found = estimate_mean(labels, judged, rest, compat="ares")
    assert isinstance(found, MeanEstimate)
    assert found.interval.high - found.interval.estimate == pytest.approx(half(labels, judged, rest, 1.0), abs=1e-9)


@pytest.mark.parametrize("weight", [1.0, 0.4])
def test_the_error_is_of_its_two_parts(rng: np.random.Generator, weight: float) -> None:
    """Each part alone by taking the variance from the other; then n - 1 for n."""
    labels, judged, rest = drawn(rng)
    z, n, m = scipy.norm.ppf(0.975), labels.size, rest.size
    labelled = half(labels, judged, np.full_like(rest, 0.5), weight) / z * math.sqrt(n / (n - 1))
    unlabelled = half(weight * judged, judged, rest, weight) / z * math.sqrt(m / (m - 1))
    found = powered(labels, judged, rest, design="separate", weight=weight)
    assert found.error == pytest.approx(math.hypot(labelled, unlabelled), rel=1e-9)
    df = math.floor((labelled**2 + unlabelled**2) ** 2 / (labelled**4 / (n - 1) + unlabelled**4 / (m - 1)))
    width = scipy.t.ppf(0.975, df) * found.error
    assert found.interval.high - found.interval.estimate == pytest.approx(width, rel=1e-9)


def test_the_weight_of_ppi_plus_plus_has_the_least_variance_of_all_tried(rng: np.random.Generator) -> None:
    labels, judged, rest = drawn(rng)
    weights = np.linspace(0, 1, 201)
    for design in DESIGNS:
        tuned = powered(labels, judged, rest, design=design)
        tried = [powered(labels, judged, rest, design=design, weight=weight).error for weight in weights]
        assert tuned.weight == pytest.approx(weights[int(np.argmin(tried))], abs=1 / 200) or tuned.weight == 0.0


def test_the_weight_of_ppi_plus_plus_is_that_of_ppi_python_but_for_the_variance_of_the_judge(
    rng: np.random.Generator,
) -> None:
    """ppi-python takes that of all scores together, ragboard that of each part, and n - 1."""
    labels, judged, rest = drawn(rng)
    ours = powered(labels, judged, rest, design="separate").weight
    theirs = (labels.mean() - estimate(labels, judged, rest, None)) / (judged.mean() - rest.mean())
    assert 0 < theirs < 1
    n, m = labels.size, rest.size
    of_both = np.concatenate([judged, rest]).var(ddof=1) * (1 / n + 1 / m)
    of_each = judged.var(ddof=1) / n + rest.var(ddof=1) / m
    assert ours * of_each == pytest.approx(theirs * of_both * n / (n - 1), rel=1e-6) or ours == 0.0


def test_how_many_labels_are_needed_is_the_first_number_that_suffices(rng: np.random.Generator) -> None:
    labels, judged, rest = drawn(rng)
    parts = ppi_moments(labels, judged, rest)
    width = float(rng.uniform(0.04, 0.2))
    found = labels_needed(labels, judged, rest, width=width)

    def at(n: int) -> float:
        moved = replace(parts, n=n, m=parts.n + parts.m - n)
        return 2 * float(half_width(ppi_estimates(moved, design="subset", weight=None), 0.95))

    most = labels.size + rest.size - 2
    assert found.labels == next((n for n in range(3, most + 1) if at(n) <= width), None)


def test_two_estimates_differ_by_welchs_t(rng: np.random.Generator) -> None:
    """With the judge left out, that is of labels alone, it is the interval of scipy for two independent means."""
    first, second = rng.beta(2, 2, 60), rng.beta(2, 3, 80)
    ours = difference_of_estimates(
        *(
            powered(labels, rng.random(labels.size), rng.random(200), design="separate", weight=0.0)
            for labels in (first, second)
        )
    )
    theirs = scipy.ttest_ind(second, first, equal_var=False).confidence_interval(0.95)
    assert isinstance(ours, Interval)
    # degrees of freedom are rounded down here, those of scipy are not
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=2e-4)
    assert ours.high - ours.low >= theirs.high - theirs.low - 1e-12


def test_ranks_are_those_that_the_differences_leave_open(rng: np.random.Generator) -> None:
    """Against every order of the systems that no difference forbids."""
    means = {name: float(rng.random()) for name in "abcde"}

    def difference(a: str, b: str, level: float) -> Interval:
        gap = means[b] - means[a]
        return Interval(estimate=gap, low=gap - 0.3, high=gap + 0.3, level=level, n=9, method="made")

    orders = [
        order
        for order in permutations(means)
        if all(means[b] - means[a] <= 0.3 for place, a in enumerate(order) for b in order[place + 1 :])
    ]
    for system in rank_systems(means, difference):
        ranks = [order.index(system.name) + 1 for order in orders]
        assert (system.best, system.worst) == (min(ranks), max(ranks))


def test_the_mock_systems_are_put_in_order_as_scipy_says() -> None:
    """With labels for nearly all items and a judge that is a coin, labels alone find the order."""
    found = simulate_ranking(
        rates=(0.2, 0.5, 0.8), sensitivity=0.5, specificity=0.5, labels=900, items=1000, repeats=50
    )
    methods: dict[str, MethodResult] = {method.name: method for method in found.methods}
    assert methods["labels alone"].tau == pytest.approx(scipy.kendalltau([1, 2, 3], [1, 2, 3]).statistic, abs=1e-9)
    assert abs(methods["judge alone"].tau) < 0.5
