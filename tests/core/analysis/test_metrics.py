"""Tests of describing and searching metrics."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from ragboard import METRICS, Store
from ragboard.analysis import (
    metric_descriptions,
    metric_groups,
    metric_judge,
    metric_needs,
    metric_range,
    metric_settings,
    metric_source_label,
)
from ragboard.metrics import describe, metrics_named
from ragboard.metrics.base import CATEGORIES
from ragboard.metrics.ragas import AnswerRelevance

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
    questions = [CATEGORIES[metric.category] for metric in METRICS.values()]
    assert [*groups] == [question for question in CATEGORIES.values() if question in questions]
    assert groups == {
        question: tuple(one for one, its in zip(ALL, questions, strict=True) if its == question) for question in groups
    }


def test_every_metric_of_ours_answers_a_question_and_names_its_source() -> None:
    assert {
        metric.spec for metric in METRICS.values() if metric.category == "other" or not metric.source_label
    } == set()
    ours = {metric.spec: metric for metric in ALL}
    assert metric_source_label(ours["ragas.faithfulness"]) == "RAGAS paper"
    rated = describe(AnswerRelevance(method="direct"))
    assert (metric_source_label(rated), metric_source_label(ours["ragas.answer_relevance"])) == (
        "ragboard",
        "RAGAS paper",
    )
    assert metric_needs(ours["retrieval.recall"]) == "passages, gold passages"
    assert [metric_judge(ours[spec]) for spec in ("overlap.bleu", "ragas.faithfulness", "ragas.coherence")] == [
        "no judge",
        "any judge",
        "a chat model",
    ]


def test_metrics_without_code_are_grouped_by_what_they_are() -> None:
    (ours,) = (metric for metric in ALL if metric.spec == "overlap.bleu")
    theirs = replace(ours, spec="ragas-file.bleu", source="ragas-file")
    own = replace(ours, spec="mine.bleu", source="mine")
    assert [*metric_groups([theirs, own])] == ["Your own metrics", "Scores from run files, not computed by ragboard"]
    assert (metric_source_label(own), metric_judge(own)) == (own.paper, "")


def test_a_search_finds_those_with_all_of_its_words() -> None:
    assert [metric.spec for group in metric_groups(ALL, "GOLD discounted").values() for metric in group] == [
        "retrieval.ndcg"
    ]
    assert metric_groups(ALL, "gold zzz") == {}
