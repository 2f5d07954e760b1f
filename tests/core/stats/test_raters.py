"""Tests of intervals for agreement between annotators, also with repeated rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragboard.stats import (
    Interval,
    alpha_interval,
    cohen_kappa,
    correlation_interval,
    kappa_interval,
    kendall,
    krippendorff_alpha,
    spearman,
)
from ragboard.stats.bootstrap import clustered_interval

GRADES = st.lists(st.tuples(*[st.integers(1, 4)] * 3), min_size=12, max_size=40)
ORDER = [1, 2, 3, 4]


def drawn(seed: int, n: int = 60) -> tuple[list[int], list[int]]:
    rng = np.random.default_rng(seed)
    first = rng.integers(1, 5, n)
    return first.tolist(), np.clip(first + rng.integers(-1, 2, n), 1, 4).tolist()


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_the_interval_of_kappa_equals_a_direct_bootstrap(weights: str | None) -> None:
    first, second = drawn(1)
    groups = [place // 4 for place in range(60)]
    found = kappa_interval(first, second, groups, weights=weights, order=ORDER, draws=200)  # type: ignore[arg-type]

    def plain(rows: object) -> float:
        ours, theirs = ([side[row] for row in rows] for side in (first, second))  # type: ignore[attr-defined]
        return cohen_kappa(ours, theirs, weights=weights, order=ORDER)  # type: ignore[arg-type]

    slow = clustered_interval(plain, groups, draws=200)
    assert isinstance(found, Interval)
    assert isinstance(slow, Interval)
    assert (found.estimate, found.low, found.high) == pytest.approx((slow.estimate, slow.low, slow.high))


@given(GRADES)
def test_the_interval_of_alpha_has_alpha_for_its_estimate(units: list[tuple[int, int, int]]) -> None:
    try:
        alpha = krippendorff_alpha(units, scale="ordinal")
    except ValueError:
        with pytest.raises(ValueError, match="alpha needs"):
            alpha_interval(units, range(len(units)), scale="ordinal", draws=10)
        return
    found = alpha_interval(units, range(len(units)), scale="ordinal", draws=10)
    if isinstance(found, Interval):
        assert found.estimate == pytest.approx(alpha)


def test_the_interval_of_alpha_equals_a_direct_bootstrap() -> None:
    units = list(zip(*drawn(2), strict=True))
    found = alpha_interval(units, range(60), scale="interval", draws=200)
    slow = clustered_interval(
        lambda rows: krippendorff_alpha([units[row] for row in rows], scale="interval"), range(60), draws=200
    )
    assert isinstance(found, Interval)
    assert isinstance(slow, Interval)
    assert (found.low, found.high) == pytest.approx((slow.low, slow.high))


@pytest.mark.parametrize(("kind", "plain"), [("kendall", kendall), ("spearman", spearman)])
def test_correlations_of_resampled_rows_equal_direct_computation(kind: str, plain: object) -> None:
    first, second = (np.array(values, dtype=float) for values in drawn(3))
    groups = [place // 3 for place in range(60)]
    found = correlation_interval(first, second, kind=kind, groups=groups, draws=200)
    slow = clustered_interval(lambda rows: plain(first[rows], second[rows]), groups, draws=200)  # type: ignore[operator]
    assert isinstance(found, Interval)
    assert isinstance(slow, Interval)
    assert (found.estimate, found.low, found.high) == pytest.approx((slow.estimate, slow.low, slow.high))


def test_ratings_outside_the_order_or_of_unequal_number_are_rejected() -> None:
    with pytest.raises(ValueError, match="weights need the order"):
        kappa_interval([1, 2], [1, 2], range(2), weights="linear")
    with pytest.raises(ValueError, match="equally many ratings"):
        kappa_interval([1, 2], [1], range(2))
    with pytest.raises(ValueError, match="equally many ratings"):
        kappa_interval([1, 2], [1, 5], range(2), order=ORDER)
