"""Tests of thresholds: stored for each metric, and met, missed or inconclusive for each mean."""

from __future__ import annotations

import pytest
from tests.core.analysis.test_unscored import FAITHFULNESS, LOWER, MEASURE, scored_run

from ragboard import Interval, SettingError, Store
from ragboard.analysis import (
    SampleQuery,
    Threshold,
    ThresholdStatus,
    distribution,
    leaderboard,
    sample_rows,
    set_threshold,
    thresholds,
)
from ragboard.stats import wilson_interval


def threshold_status(store: Store, spec: str = FAITHFULNESS) -> ThresholdStatus | None:
    return leaderboard(store)[0].file_scores[spec].threshold_status


def test_a_threshold_is_kept_until_it_is_taken_away(store: Store) -> None:
    assert set_threshold(store, FAITHFULNESS, 0.8) == Threshold(metric=FAITHFULNESS, value=0.8, fail="below")
    set_threshold(store, FAITHFULNESS, 0.9)
    assert [str(one) for one in thresholds(store).values()] == ["at least 0.9"]
    assert set_threshold(store, FAITHFULNESS, None) is None
    assert thresholds(store) == {}


@pytest.mark.parametrize(
    ("limit", "expected"), [(0.2, "met"), (0.9, "missed"), (0.5, "inconclusive")], ids=["met", "missed", "inconclusive"]
)
def test_a_mean_is_met_or_missed_only_if_its_whole_interval_is(
    store: Store, limit: float, expected: ThresholdStatus
) -> None:
    store.add_runs([scored_run("run", [0.4, 0.6] * 30)])
    assert threshold_status(store) is None
    set_threshold(store, FAITHFULNESS, limit)
    assert threshold_status(store) == expected


def test_where_lower_is_better_the_good_side_is_below(store: Store) -> None:
    store.add_runs([scored_run("run", [0.1, 0.2] * 30, LOWER)])
    set_threshold(store, LOWER.spec, 0.3)
    assert threshold_status(store, LOWER.spec) == "met"
    assert str(thresholds(store)[LOWER.spec]) == "at most 0.3"


def test_what_can_be_no_threshold_is_rejected(store: Store) -> None:
    with pytest.raises(SettingError, match=r"1\.2 is out of range for ragas\.faithfulness: 0 to 1"):
        set_threshold(store, FAITHFULNESS, 1.2)
    with pytest.raises(SettingError, match="is out of range"):
        set_threshold(store, FAITHFULNESS, float("nan"))
    with pytest.raises(SettingError, match="no better direction"):
        set_threshold(store, "ragchecker.self_knowledge", 0.5)
    with pytest.raises(SettingError, match="no metric 'x'"):
        set_threshold(store, "x", 0.5)
    assert thresholds(store) == {}


def test_the_share_on_the_good_side_includes_the_threshold_and_has_a_wilson_interval(store: Store) -> None:
    store.add_runs([scored_run("run", [0.8, 0.9, 1.0, 0.79, 0.1, 0.2, None, None])])
    set_threshold(store, FAITHFULNESS, 0.8)
    ref = store.resolve("run")
    found = distribution(store, ref, FAITHFULNESS).meeting_threshold
    assert found
    assert (found.good, found.n, found.interval) == (3, 6, wilson_interval(0.5, 6))
    zero = distribution(store, ref, FAITHFULNESS, unscored="zero").meeting_threshold
    assert zero
    assert (zero.good, zero.n, zero.interval) == (3, 8, wilson_interval(3 / 8, 8))
    bounds = distribution(store, ref, FAITHFULNESS, unscored="bounds").meeting_threshold
    assert bounds
    assert isinstance(bounds.interval, Interval)
    assert (bounds.good, bounds.n) == (3, 6)
    assert bounds.interval.low == wilson_interval(3 / 8, 8).low
    assert bounds.interval.high == wilson_interval(5 / 8, 8).high


def test_samples_on_the_bad_side_are_a_filter(store: Store) -> None:
    store.add_runs([scored_run("run", [0.8, 0.9, 0.79, 0.1, None])])
    ref = store.resolve("run")
    query = SampleQuery(column=FAITHFULNESS, only="beyond")
    assert sample_rows(store, ref, query).total == 0
    set_threshold(store, FAITHFULNESS, 0.8)
    assert [row.sample_id for row in sample_rows(store, ref, query).rows] == ["s2", "s3"]
    assert sample_rows(store, ref, SampleQuery(only="beyond")).total == 0


def test_where_lower_is_better_those_above_are(store: Store) -> None:
    store.add_runs([scored_run("run", [0.8, 0.9, 0.79, 0.1, None], LOWER)])
    set_threshold(store, LOWER.spec, 0.8)
    query = SampleQuery(column=LOWER.spec, only="beyond")
    assert [row.sample_id for row in sample_rows(store, store.resolve("run"), query).rows] == ["s1"]


def test_a_threshold_of_an_unknown_metric_is_left_out(store: Store) -> None:
    store.set_threshold("gone.metric", 0.5)
    assert thresholds(store) == {}
    assert MEASURE.spec not in thresholds(store)
