"""Tests of gates: pass or fail only if the whole interval is on one side."""

from __future__ import annotations

import pytest

from ragboard.stats import Interval, NoInterval, gate


def between(low: float, high: float) -> Interval:
    return Interval(estimate=(low + high) / 2, low=low, high=high, level=0.95, n=50, method="made up")


@pytest.mark.parametrize(
    ("low", "high", "below", "above"),
    [
        (0.90, 0.95, "pass", "fail"),
        (0.80, 0.95, "inconclusive", "inconclusive"),
        (0.80, 0.85, "fail", "pass"),
        (0.80, 0.89, "fail", "pass"),
    ],
)
def test_the_interval_decides(low: float, high: float, below: str, above: str) -> None:
    assert gate(between(low, high), threshold=0.89999) == below
    assert gate(between(low, high), threshold=0.89999, fail="above") == above


def test_a_mean_equal_to_the_threshold_passes() -> None:
    assert gate(between(0.9, 1.0), threshold=0.9) == "pass"
    assert gate(between(0.1, 0.2), threshold=0.2, fail="above") == "pass"


def test_without_an_interval_nothing_is_concluded() -> None:
    assert gate(NoInterval(reason="too few", n=3), threshold=0.9) == "inconclusive"
