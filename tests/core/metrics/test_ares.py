"""Tests of ARES's metrics: values, tasks, `compat`, and every empty case."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.core.metrics.asked import SAMPLE, outcome_of

from ragboard import METRICS, Score, Unscored
from ragboard.metrics import metrics_named
from ragboard.metrics.ares import AnswerFaithfulness, AnswerRelevance
from ragboard.tasks import AresQuality, Classification, Classify, Failure, Reply, Task

PASSAGES = ("One is here. Two is here.", "Three is.")


def classify(quality: AresQuality, answer: str = "An answer.", contexts: tuple[str, ...] = PASSAGES) -> Classify:
    return Classify(quality=quality, question="q?", contexts=contexts, answer=answer)


@pytest.mark.parametrize(
    ("quality", "answer"),
    [("context_relevance", ""), ("answer_faithfulness", "An answer."), ("answer_relevance", "An answer.")],
)
@pytest.mark.parametrize(
    ("reply", "score"),
    [
        (Classification(holds=True, probability=0.875), Score(value=1.0, counted="judged yes, probability 0.88")),
        (Classification(holds=False), Score(value=0.0, counted="judged no")),
    ],
)
def test_yes_is_one_and_no_is_zero_and_one_task_is_asked(
    quality: AresQuality, answer: str, reply: Classification, score: Score
) -> None:
    found, asked = outcome_of(METRICS[f"ares.{quality}"], SAMPLE, lambda _: reply)
    assert (found, asked) == (score, [classify(quality, answer)])


@pytest.mark.parametrize(
    ("quality", "change", "reason", "detail"),
    [
        ("context_relevance", {"contexts": ()}, "undefined", "no passage was retrieved"),
        ("context_relevance", {"contexts": None}, "skipped", "the run file has no contexts for this sample"),
        ("answer_faithfulness", {"contexts": ()}, "undefined", "no passage was retrieved"),
        ("answer_faithfulness", {"answer": " "}, "undefined", "the answer is empty"),
        ("answer_relevance", {"answer": ""}, "undefined", "the answer is empty"),
        ("answer_relevance", {"answer": None}, "skipped", "the run file has no answer for this sample"),
        ("answer_relevance(compat=True)", {"contexts": ()}, "undefined", "no passage was retrieved"),
    ],
)
def test_an_empty_case_is_never_0_and_needs_no_call(
    quality: str, change: dict[str, object], reason: str, detail: str
) -> None:
    (metric,) = metrics_named([f"ares.{quality}"])
    sample = replace(SAMPLE, **change)  # type: ignore[arg-type]
    found, asked = outcome_of(metric, sample, lambda _: Classification(holds=True))
    assert (found, asked) == (Unscored(reason=reason, detail=detail), [])  # type: ignore[arg-type]


def test_answer_relevance_needs_no_passages() -> None:
    found, asked = outcome_of(AnswerRelevance(), replace(SAMPLE, contexts=None), lambda _: Classification(holds=True))
    assert (found, asked) == (Score(value=1.0, counted="judged yes"), [classify("answer_relevance", contexts=())])


def test_a_failed_verdict_has_its_reason() -> None:
    found, _ = outcome_of(AnswerFaithfulness(), SAMPLE, lambda _: Failure(detail="no verdict"))
    assert found == Unscored(reason="failed", detail="no verdict")


@pytest.mark.parametrize("metric", [AnswerFaithfulness(compat=True), AnswerRelevance(compat=True)])
def test_with_compat_an_answer_to_passages_that_are_not_relevant_is_zero_without_asking(
    metric: AnswerFaithfulness | AnswerRelevance,
) -> None:
    found, asked = outcome_of(metric, SAMPLE, lambda task: Classification(holds=not _of_contexts(task)))
    assert (found, asked) == (Score(value=0.0, counted="judged no"), [classify("context_relevance", "")])


@pytest.mark.parametrize("metric", [AnswerFaithfulness(compat=True), AnswerRelevance(compat=True)])
def test_with_compat_an_answer_to_relevant_passages_is_asked_for_after_them(
    metric: AnswerFaithfulness | AnswerRelevance,
) -> None:
    found, asked = outcome_of(metric, SAMPLE, lambda task: Classification(holds=_of_contexts(task)))
    assert found == Score(value=0.0, counted="judged no")
    assert asked == [classify("context_relevance", ""), classify(metric.quality)]


def test_with_compat_passages_that_were_not_judged_leave_the_answer_unscored() -> None:
    def reply(task: Task) -> Reply | Failure:
        return Failure(detail="off") if _of_contexts(task) else Classification(holds=True)

    found, asked = outcome_of(AnswerFaithfulness(compat=True), SAMPLE, reply)
    assert (found, len(asked)) == (Unscored(reason="failed", detail="off"), 1)


def test_the_rule_is_part_of_the_name_and_the_source_names_all_three() -> None:
    assert AnswerFaithfulness(compat=True).spec == "ares.answer_faithfulness(compat=True)"
    assert [metric.name for metric in metrics_named(["ares"])] == [
        "context_relevance",
        "answer_faithfulness",
        "answer_relevance",
    ]


def _of_contexts(task: Task) -> bool:
    return isinstance(task, Classify) and task.quality == "context_relevance"
