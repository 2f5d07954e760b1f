"""Tests of detecting changes of a mean over time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ragboard.stats import Batches, Change, find_changes, summarize_batches
from ragboard.stats.monitoring import (
    ALPHA_SHARE,
    DISPERSIONS,
    MIN_BATCHES,
    MIN_SAMPLES,
    NO_DISPERSION,
    SIZE_WEIGHTS,
    SIZES,
    WORSE_WEIGHT,
)


def days(seed: int, *parts: tuple[int, float], size: int = 40) -> list[list[float]]:
    """Scores of days, skewed towards 1: for each part its number of days, and the share of ones."""
    rng = np.random.default_rng(seed)
    found: list[list[float]] = []
    for count, share in parts:
        values = np.where(rng.random((count, size)) < share, 1.0, rng.beta(3, 2, (count, size)))
        found += values.tolist()
    return found


def test_moments_of_batches_by_hand() -> None:
    batches = summarize_batches([[0.0, 1.0, None, math.nan], [None], [0.2]])
    assert batches.n.tolist() == [2.0, 1.0]
    assert batches.mean.tolist() == [0.5, 0.2]
    assert batches.variance.tolist() == [0.25, 0.0]
    assert batches.third.tolist() == [0.0, 0.0]


def test_a_weight_counts_a_value_for_several_and_lowers_the_effective_number() -> None:
    batches = summarize_batches([[0.0, 1.0]], [[1.0, 3.0]])
    assert batches.mean.tolist() == [0.75]
    assert batches.n.tolist() == pytest.approx([16 / 10])
    assert batches.variance.tolist() == pytest.approx([0.75 * 0.25])
    with pytest.raises(ValueError, match="weights must be above 0"):
        summarize_batches([[1.0]], [[0.0]])


def test_a_drop_is_found_with_its_start_and_size() -> None:
    (change,) = find_changes(summarize_batches(days(1, (60, 0.7), (30, 0.5))), size=0.05)
    assert abs(change.start - 60) <= 1
    assert change.earliest <= change.start <= change.latest <= change.seen
    assert 60 <= change.seen <= 70
    assert change.before == pytest.approx(0.88, abs=0.02)
    assert change.difference == pytest.approx(-0.08, abs=0.04)


def test_what_comes_later_does_not_change_what_was_seen() -> None:
    values = days(2, (50, 0.7), (30, 0.45), (60, 0.7))
    complete = find_changes(summarize_batches(values))
    assert [math.copysign(1, change.difference) for change in complete] == [-1, 1]
    for stop in (40, 60, 80, 100):
        assert find_changes(summarize_batches(values[:stop])) == tuple(one for one in complete if one.seen < stop)


def test_without_variation_or_with_few_samples_nothing_is_found() -> None:
    assert find_changes(summarize_batches([])) == ()
    assert find_changes(summarize_batches([[1.0] * 50] * 50)) == ()
    assert find_changes(summarize_batches([[1.0, 0.0, 1.0]] * 8 + [[0.0, 0.0, 0.0]] * 8)) == ()


def test_one_bad_day_of_a_nearly_perfect_metric_is_not_enough() -> None:
    perfect = [[1.0] * 20 for _ in range(60)]
    perfect[10][3] = perfect[30][3] = 0.0
    assert find_changes(summarize_batches([*perfect, [0.0] + [1.0] * 19])) == ()
    assert find_changes(summarize_batches([*perfect, [0.0] * 10 + [1.0] * 10]), size=0.05)[0].start == 60


def test_days_that_differ_widen_the_evidence_that_is_needed() -> None:
    rng = np.random.default_rng(3)
    steady = summarize_batches(days(3, (120, 0.7), size=400))
    moving = Batches(
        n=steady.n, mean=steady.mean + rng.normal(0, 0.03, 120), variance=steady.variance, third=steady.third
    )
    assert find_changes(moving) == ()


def test_settings_out_of_range_are_rejected() -> None:
    batches = summarize_batches([[0.0, 1.0]])
    for wrong in ({"alpha": 0.0}, {"series": 0}, {"per_year": 0}, {"size": 0.0}):
        with pytest.raises(ValueError, match="alpha must be between 0 and 1"):
            find_changes(batches, **wrong)
    with pytest.raises(ValueError, match="different lengths"):
        Batches(n=np.ones(2), mean=np.ones(1), variance=np.ones(1), third=np.ones(1))
    with pytest.raises(ValueError, match="has no samples"):
        Batches(n=np.zeros(1), mean=np.ones(1), variance=np.ones(1), third=np.ones(1))


@given(seed=st.integers(0, 50), scale=st.sampled_from([0.01, 3.0, 1000.0]), shift=st.floats(-5, 5))
def test_shift_scale_and_order_within_a_day_do_not_matter(seed: int, scale: float, shift: float) -> None:
    values = days(seed, (30, 0.7), (20, 0.4), size=20)
    rng = np.random.default_rng(seed)
    moved = [[scale * value + shift * scale for value in rng.permutation(day)] for day in values]
    plain, other = find_changes(summarize_batches(values)), find_changes(summarize_batches(moved))
    assert [(one.start, one.seen) for one in plain] == [(one.start, one.seen) for one in other]
    for one, same in zip(plain, other, strict=True):
        assert same.difference == pytest.approx(scale * one.difference, rel=1e-6)


def test_the_mirrored_metric_has_the_mirrored_changes() -> None:
    values = days(5, (40, 0.7), (30, 0.45), (30, 0.75))
    found = find_changes(summarize_batches(values), worse="lower")
    mirrored = find_changes(summarize_batches([[1 - value for value in day] for day in values]), worse="higher")
    assert [(one.start, one.seen, round(one.difference, 9)) for one in found] == [
        (one.start, one.seen, round(-one.difference, 9)) for one in mirrored
    ]


def _plain_first(values: Sequence[Sequence[float]], size: float, alpha: float, per_year: int) -> int | None:
    """The batch after which a drop or rise is first seen: the formulas of the module, one value at a time."""
    for end in range(2, len(values) + 1):
        seen = values[:end]
        means = [sum(day) / len(day) for day in seen]
        freedom = sum(len(day) - 1 for day in seen)
        squares = sum((value - mean) ** 2 for day, mean in zip(seen, means, strict=True) for value in day)
        cubes = sum((value - mean) ** 3 for day, mean in zip(seen, means, strict=True) for value in day)
        variance = squares / max(freedom, 1)
        third = cubes / max(sum((len(day) - 1) * (len(day) - 2) / len(day) for day in seen), 1)
        total = 0.0
        for start in range(MIN_BATCHES, end):
            before = [value for day in seen[:start] for value in day]
            after = [value for day in seen[start:] for value in day]
            if len(before) < MIN_SAMPLES or freedom < MIN_SAMPLES or not variance:
                continue
            overall = sum(before + after) / len(before + after)
            between = sum(len(day) * (mean - overall) ** 2 for day, mean in zip(seen, means, strict=True))
            others = sum(1 / dispersion for dispersion in DISPERSIONS[1:])
            priors = [NO_DISPERSION, *((1 - NO_DISPERSION) / dispersion / others for dispersion in DISPERSIONS[1:])]
            likely = [
                prior * float(stats.chi2.pdf(between / variance / dispersion, end - 1)) / dispersion
                for dispersion, prior in zip(DISPERSIONS, priors, strict=True)
            ]
            for dispersion, one in zip(DISPERSIONS, likely, strict=True):
                scale = dispersion * variance * (1 / len(after) + 1 / len(before))
                error = math.sqrt(scale)
                z = (sum(after) / len(after) - sum(before) / len(before)) / error
                skew = third * (1 / len(after) ** 2 - 1 / len(before) ** 2) / scale**1.5
                if skew * z > 0:
                    root = math.copysign(abs(1 + skew * z / 2) ** (1 / 3), 1 + skew * z / 2)
                    corrected = 6 / skew * (root - 1) + skew / 6
                    z = 0.0 if corrected * z < 0 else min(corrected, z, key=abs)
                for multiple, weight in zip(SIZES, SIZE_WEIGHTS, strict=True):
                    shift = multiple * size / error
                    share_of_batch = sum(map(len, seen)) / end * (1 / len(after) + 1 / len(before))
                    half = shift / 2 * min(1.0, math.sqrt(share_of_batch))
                    below = float(stats.norm.cdf(half))
                    jump = (below - 0.5) / half / (half * below + float(stats.norm.pdf(half)))
                    for sign, share in ((-1, WORSE_WEIGHT), (1, 1 - WORSE_WEIGHT)):
                        ratio = math.exp(sign * shift * z - shift**2 / 2)
                        total += one / sum(likely) * share * weight / jump * ratio
        if total / per_year >= 1 / (ALPHA_SHARE * alpha):
            return end - 1
    return None


@pytest.mark.parametrize("seed", range(6))
def test_a_second_implementation_sees_the_first_change_after_the_same_batch(seed: int) -> None:
    values = days(seed, (18, 0.7), (14, (0.3, 0.5, 0.9)[seed % 3]), size=15)
    found = find_changes(summarize_batches(values), size=0.05)
    assert (found[0].seen if found else None) == _plain_first(values, 0.05, 0.05, 365)


def test_false_alarms_are_rarer_than_asked_for_and_a_drop_of_5_points_is_seen() -> None:
    alarms = [bool(find_changes(summarize_batches(days(seed, (150, 0.7), size=30)), size=0.05)) for seed in range(40)]
    assert sum(alarms) <= 3
    drops = [
        find_changes(summarize_batches(days(seed, (90, 0.7), (60, 0.575), size=50)), size=0.05) for seed in range(15)
    ]
    delays = [_delay(changes, 90) for changes in drops]
    assert np.median(delays) <= 12


def _delay(changes: Sequence[Change], planted: int) -> float:
    return next((one.seen - planted + 1 for one in changes if one.seen >= planted), math.inf)
