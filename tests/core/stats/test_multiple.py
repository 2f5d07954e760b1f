"""Tests of Holm's correction: by hand, and properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragboard.stats import holm


def test_a_hand_made_correction() -> None:
    """Sorted .01 .03 .04 are multiplied by 3, 2, 1, and none falls below the one before."""
    assert holm([0.04, 0.01, 0.03]) == pytest.approx((0.06, 0.03, 0.06))


def test_no_test_needs_no_correction() -> None:
    assert holm([]) == ()


def test_a_p_value_outside_0_to_1_is_rejected() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([1.2])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_corrected_values_keep_their_order_and_are_between_p_and_bonferroni(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    for p, after in zip(p_values, adjusted, strict=True):
        assert p <= after <= min(1.0, p * len(p_values)) or after == 1.0
        assert all(after <= other for q, other in zip(p_values, adjusted, strict=True) if q > p)
