"""Tests of extreme and invalid numbers: never inf, never NaN."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragboard.stats import (
    CORRELATIONS,
    Interval,
    Moments,
    Pair,
    alpha_interval,
    auroc,
    binary_agreement,
    calibration,
    cluster_moments,
    clustered_interval,
    cohen_kappa,
    confusion,
    correlation_interval,
    estimate_means,
    fisher_interval,
    fit_platt,
    gate,
    group_difference,
    holm,
    kappa_interval,
    kendall,
    krippendorff_alpha,
    labels_needed,
    mcnemar,
    mcnemar_test,
    mean_interval,
    moments,
    outcomes,
    paired_difference,
    pairwise_accuracy,
    pearson,
    rank_systems,
    roc,
    simulate_ranking,
    spearman,
    wilson_interval,
)
from ragboard.stats.auroc_intervals import auroc_difference, clustered_auroc

N = 40
HALF = [place % 2 == 0 for place in range(N)]
OTHERS = [place / N for place in range(N)]
INTERVAL = Interval(estimate=0.5, low=0.4, high=0.6, level=0.95, n=9, method="")

TAKES: dict[str, Callable[[Sequence[float]], Any]] = {
    "moments": moments,
    "clustered moments": lambda values: moments(values, [place // 2 for place in range(len(values))]),
    "cluster sums": lambda values: cluster_moments([2] * len(values), values),
    "paired, first": lambda values: paired_difference(values, OTHERS),
    "paired, second": lambda values: paired_difference(OTHERS, values),
    "group": lambda values: group_difference(values, OTHERS, draws=50),
    "others": lambda values: group_difference(OTHERS, values, draws=50),
    "pearson": lambda values: pearson(values, OTHERS),
    "spearman": lambda values: spearman(OTHERS, values),
    "kendall": lambda values: kendall(values, OTHERS),
    **{
        f"interval of {kind}": lambda values, kind=kind: correlation_interval(values, OTHERS, kind=kind, draws=20)  # type: ignore[misc]
        for kind in CORRELATIONS
    },
    "auroc": lambda values: auroc(values, HALF),
    "roc": lambda values: roc(values, HALF),
    "interval of auroc": lambda values: clustered_auroc(values, HALF, range(N), draws=20),
    "difference of auroc": lambda values: auroc_difference(OTHERS, values, HALF, range(N), draws=20),
    "calibration": lambda values: calibration(values, HALF),
    "alpha": lambda values: krippendorff_alpha(list(zip(values, OTHERS, strict=True)), scale="interval"),
    "interval of alpha": lambda values: alpha_interval(
        list(zip(values, OTHERS, strict=True)), range(N), scale="interval", draws=20
    ),
    "kappa": lambda values: cohen_kappa(values, OTHERS),
    "interval of kappa": lambda values: kappa_interval(values, OTHERS, range(N), draws=20),
    "platt": lambda values: fit_platt(values, HALF),
    "labels": lambda values: estimate_means(values, OTHERS, OTHERS),
    "judged": lambda values: estimate_means(OTHERS, values, OTHERS),
    "rest": lambda values: estimate_means(OTHERS, OTHERS, values),
    "labels needed": lambda values: labels_needed(values, OTHERS, OTHERS, width=0.1),
    "outcomes": lambda values: outcomes([Pair(id=str(v), preferred=p, other=0.0) for v, p in enumerate(values)]),
    "accuracy": lambda values: pairwise_accuracy(
        [Pair(id=str(v), preferred=0.0, other=p) for v, p in enumerate(values)]
    ),
    "contenders": lambda values: mcnemar_test(dict(enumerate(values)), dict(enumerate(OTHERS))),  # type: ignore[arg-type]
    "ranks": lambda values: rank_systems({str(v): p for v, p in enumerate(values[:3])}, lambda *_: INTERVAL),
    "holm": holm,
    "bootstrap": lambda values: clustered_interval(lambda rows: float(np.max(np.array(values)[rows])), range(N)),
}


@pytest.mark.parametrize("name", TAKES)
def test_nan_is_rejected(name: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        TAKES[name]([0.1, math.nan, *OTHERS[2:]])


@pytest.mark.parametrize(
    "call",
    [
        lambda: fisher_interval(math.nan, 40, kind="pearson"),
        lambda: gate(INTERVAL, threshold=math.nan),
        lambda: wilson_interval(math.nan, 10),
        lambda: mean_interval(Moments(n=40, mean=math.nan, deviation=1.0, untied=30), bounds=None),
        lambda: labels_needed(OTHERS, OTHERS, OTHERS, width=math.nan),
        lambda: simulate_ranking(sensitivity=math.nan),
    ],
)
def test_nan_is_rejected_for_a_single_number(call: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        call()


def test_a_missing_rating_is_none_and_a_nan_is_reported_where() -> None:
    assert krippendorff_alpha([[1, 1], [2, 2], [3, None]]) == 1.0
    with pytest.raises(ValueError, match=r"ratings\[5\] is nan"):
        krippendorff_alpha([[1, 1], [2, 2], [3, math.nan]])
    with pytest.raises(ValueError, match=r"first\[1\] is nan"):
        paired_difference([0.0, math.nan], [0.0, 0.0])


EXTREME = st.lists(
    st.sampled_from([0.0, 1e-300, -1e-300, 1e-200, 1e200, -1e200, 2e200, 1e289, -1e289, 1e308, 1.0, 0.5]),
    min_size=N,
    max_size=N,
)


def finite(found: Any) -> None:
    """No number in a result is inf or NaN."""
    if isinstance(found, float):
        assert math.isfinite(found)
    elif isinstance(found, tuple):
        for one in found:
            finite(one)
    elif hasattr(found, "__dataclass_fields__"):
        for name in found.__dataclass_fields__:
            finite(getattr(found, name))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", TAKES)
@settings(max_examples=20)
@given(values=EXTREME)
def test_very_large_and_very_small_values_give_numbers_or_are_rejected(name: str, values: list[float]) -> None:
    try:
        found = TAKES[name](values)
    except ValueError:
        return
    finite(found)
    if name == "moments":
        finite(mean_interval(found, bounds=None))


def test_squares_that_overflow_are_computed() -> None:
    values = np.array([1.0, 2.0, 4.0, 8.0, 3.0, 5.0])
    assert pearson(values * 1e200, values) == pytest.approx(1.0)
    assert moments(values * 1e200).deviation == pytest.approx(values.std(ddof=1) * 1e200)
    assert moments(values * 1e-200).deviation == pytest.approx(values.std(ddof=1) * 1e-200)
    one, other = (mean_interval(moments(values * scale), bounds=(0, 10 * scale)) for scale in (1.0, 1e200))
    assert isinstance(one, Interval)
    assert isinstance(other, Interval)
    assert (other.low, other.high) == (pytest.approx(one.low * 1e200), pytest.approx(one.high * 1e200))


def test_12_standard_errors_have_a_p_that_is_not_0() -> None:
    """Of 1,003 differences with mean 12 standard errors; 2 * scipy.stats.t.sf(12, 1002)."""
    noise = np.random.default_rng(0).normal(size=1003)
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    found = paired_difference(np.zeros(1003), noise + 12 / math.sqrt(1003))
    assert found.p == pytest.approx(4.26e-31, rel=0.01)


@pytest.mark.parametrize("missing", [None, math.nan, 0.5, "yes"])
def test_only_true_and_false_are_booleans(missing: Any) -> None:
    with pytest.raises(ValueError, match=r"\[1\] is .*, expected True or False"):
        mcnemar([True, missing, False], [True, False, True])
    with pytest.raises(ValueError, match=r"decisions\[1\]"):
        binary_agreement([True, missing, True], [True, False, True])
    for estimate in (auroc, roc, calibration):
        with pytest.raises(ValueError, match=r"positive\[1\]"):
            estimate([0.1, 0.5, 0.9], [False, missing, True])


@pytest.mark.parametrize("missing", [None, math.nan])
def test_a_missing_rating_is_no_category(missing: Any) -> None:
    for estimate in (cohen_kappa, confusion):
        with pytest.raises(ValueError, match=r"\[2\] is .*: omit missing ratings"):
            estimate([1, 2, missing], [1, 2, missing])
