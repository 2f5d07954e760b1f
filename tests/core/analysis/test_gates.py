"""Tests of gates: the whole interval decides, and metrics can have short names."""

from __future__ import annotations

import pytest

from ragboard import NotFoundError, SettingError
from ragboard.analysis import Condition, read_condition, resolve_spec

SPECS = ("ragas.faithfulness", "ragchecker.faithfulness", "retrieval.recall(k=5)", "ragchecker.f1", "other.f1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("faithfulness < -0.02", Condition(metric="faithfulness", fail="below", threshold=-0.02)),
        ("retrieval.recall(k=5)>.5", Condition(metric="retrieval.recall(k=5)", fail="above", threshold=0.5)),
        (" a < 1e-3 ", Condition(metric="a", fail="below", threshold=0.001)),
    ],
)
def test_a_condition_is_a_metric_a_sign_and_a_number(text: str, expected: Condition) -> None:
    assert read_condition(text) == expected


@pytest.mark.parametrize(
    "text", ["", "faithfulness", "a <", "a < b", "a <= 1", "< 1", "a < 1 < 2", "a < nan", "a < 1.2.3", "a < 1e999"]
)
def test_anything_else_is_rejected_with_what_was_expected(text: str) -> None:
    with pytest.raises(SettingError, match="expected METRIC < NUMBER"):
        read_condition(text)


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("ragas.faithfulness", "ragas.faithfulness"),
        ("ragchecker.faithfulness", "ragchecker.faithfulness"),
        ("recall", "retrieval.recall(k=5)"),
        ("retrieval.recall", "retrieval.recall(k=5)"),
    ],
)
def test_a_name_is_enough_where_one_metric_has_it(name: str, spec: str) -> None:
    assert resolve_spec(name, SPECS) == spec


@pytest.mark.parametrize(
    ("name", "specs", "spec"),
    [
        ("faithfulness", SPECS, "ragas.faithfulness"),
        (
            "answer_relevance",
            ("gpt_score.answer_relevance", "ragas.answer_relevance(method=direct)"),
            "ragas.answer_relevance(method=direct)",
        ),
        (
            "answer_relevance",
            ("ragas.answer_relevance(method=direct)", "ragas.answer_relevance"),
            "ragas.answer_relevance",
        ),
    ],
)
def test_a_name_of_several_metrics_means_the_default_one(name: str, specs: tuple[str, ...], spec: str) -> None:
    assert resolve_spec(name, specs) == spec


def test_an_ambiguous_or_unknown_name_is_rejected_with_the_candidates() -> None:
    with pytest.raises(SettingError, match=r"ambiguous: ragchecker\.f1 or other\.f1"):
        resolve_spec("f1", SPECS)
    with pytest.raises(NotFoundError, match=r"available: ragas\.faithfulness, "):
        resolve_spec("nope", SPECS)
