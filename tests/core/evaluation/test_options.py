"""Tests of invalid evaluation options."""

from __future__ import annotations

from typing import Any

import pytest

from ragboard import SettingError
from ragboard.evaluation.options import EvaluationOptions


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"concurrency": 0}, "concurrency is 0, expected at least 1"),
        ({"sample": 0}, "sample is 0, expected at least 1"),
        ({"max_calls": -1}, "max_calls is -1, expected at least 0"),
        ({"max_cost": -0.5}, "max_cost is -0.5, expected at least 0"),
        ({"max_minutes": -1}, "max_minutes is -1, expected at least 0"),
    ],
)
def test_a_limit_below_what_anything_takes_is_rejected(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=f"^{said}$"):
        EvaluationOptions(**given)


def test_no_limit_and_a_limit_of_nothing_are_allowed() -> None:
    assert EvaluationOptions().max_calls is None
    assert EvaluationOptions(max_calls=0, max_cost=0, max_minutes=0, sample=1).max_calls == 0
