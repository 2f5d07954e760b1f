"""What is said of a metric is read off its class, and searched by its words."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from ragboard import METRICS, Store
from ragboard.analysis import metric_descriptions, metric_groups, metric_range, metric_settings
from ragboard.metrics import describe, metrics_named

ALL = [describe(metric) for metric in METRICS.values()]


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.spec)
def test_every_metric_says_all_that_is_shown_of_it(metric: object) -> None:
    said = json.loads(json.dumps(asdict(metric), allow_nan=False))  # type: ignore[call-overload]
    assert all(said[name] for name in ("spec", "label", "text", "formula", "paper", "calls"))


def test_a_description_names_settings_with_what_they_may_be() -> None:
    (metric,) = map(describe, metrics_named(["retrieval.recall(k=5)"]))
    assert (metric.spec, metric.label) == ("retrieval.recall(k=5)", "Retrieval recall (k=5)")
    assert metric_settings(metric) == "k = not set (a whole number)"
    assert metric_range(metric) == "0 to 1"
    assert metric_range(describe(METRICS["overlap.length_ratio"])) == "0 to no bound"


def test_a_store_without_evaluations_knows_our_metrics(store: Store) -> None:
    assert list(metric_descriptions(store).values()) == ALL


def test_groups_hold_one_of_each_name_in_order() -> None:
    variants = map(describe, metrics_named(["retrieval.recall(k=5)", "retrieval.recall(k=9)"]))
    groups = metric_groups([*ALL, *variants])
    assert [metric for group in groups.values() for metric in group] == sorted(
        ALL, key=lambda metric: [*groups].index(metric.source)
    )


def test_a_search_finds_those_with_all_of_its_words() -> None:
    assert [metric.spec for group in metric_groups(ALL, "GOLD discounted").values() for metric in group] == [
        "retrieval.ndcg"
    ]
    assert metric_groups(ALL, "gold zzz") == {}
