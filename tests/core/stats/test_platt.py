"""Tests of Platt scaling: by hand, and against another optimiser."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from ragboard.stats import Platt, fit_platt


def another_way(scores: list[float], positive: list[bool]) -> tuple[float, float]:
    """The same likelihood, maximised by somebody else."""
    ups, downs = sum(positive), len(positive) - sum(positive)
    targets = np.where(positive, (ups + 1) / (ups + 2), 1 / (downs + 2))
    values = np.array(scores)

    def loss(weights: np.ndarray) -> float:
        line = weights[0] * values + weights[1]
        return float(np.sum(np.logaddexp(0, line) - targets * line))

    found = minimize(loss, np.zeros(2), method="BFGS", options={"gtol": 1e-10})
    return float(found.x[0]), float(found.x[1])


def test_two_scores_give_the_curve_through_both_targets() -> None:
    """With one of each class the targets are 1/3 and 2/3, and a line through two points meets both."""
    curve = fit_platt([-1.0, 1.0], [False, True])
    assert curve.slope == pytest.approx(math.log(2))
    assert curve.offset == pytest.approx(0, abs=1e-9)
    assert curve.probability(1.0) == pytest.approx(2 / 3)


def test_the_curve_is_the_one_that_another_optimiser_finds() -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(4, 30, 200).tolist()
    positive = [bool(rng.random() < 1 / (1 + math.exp(-(score - 4) / 20))) for score in scores]
    curve = fit_platt(scores, positive)
    slope, offset = another_way(scores, positive)
    assert curve.slope == pytest.approx(slope, rel=1e-4)
    assert curve.offset == pytest.approx(offset, rel=1e-3, abs=1e-4)


def test_scores_that_part_the_classes_keep_a_finite_slope() -> None:
    curve = fit_platt([-3, -2, -1, 1, 2, 3], [False] * 3 + [True] * 3)
    assert 0 < curve.slope < 10
    assert curve.probability(3) < 1


@pytest.mark.parametrize("scores", [[1.0, 2.0, 3.0, 4.0], [5.0, 5.0, 5.0, 5.0]])
def test_scores_that_tell_nothing_give_the_share_of_positives(scores: list[float]) -> None:
    curve = fit_platt(scores, [True, True, False, False])
    assert curve.slope == 0
    assert curve.probability(-1e9) == curve.probability(1e9) == pytest.approx(0.5)


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(0, 1e3), st.floats(-1e3, 1e3))
def test_a_higher_score_is_never_less_probable(one: float, other: float, slope: float, offset: float) -> None:
    curve = Platt(slope=slope, offset=offset)
    low, high = sorted((one, other))
    assert 0 <= curve.probability(low) <= curve.probability(high) <= 1


def test_a_single_class_is_an_error() -> None:
    with pytest.raises(ValueError, match="got 2 and 0"):
        fit_platt([0.1, 0.2], [True, True])
    with pytest.raises(ValueError, match="1 scores and 2 outcomes"):
        fit_platt([0.1], [True, False])
