"""Tests of the RAGAS paper's metrics: by hand, and every empty case."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.metrics.asked import outcome_of

from ragboard import DEFAULT_METRICS, Passage, Sample, Score, Unscored, Verdict
from ragboard.metrics import Metric, compute_outcome
from ragboard.metrics.base import resolve
from ragboard.metrics.ragas import AnswerRelevance, ContextRelevance, Faithfulness
from ragboard.records import Label, Outcome
from ragboard.tasks import (
    AnswerRating,
    ExtractedStatement,
    Extraction,
    ExtractStatements,
    Failure,
    GenerateQuestions,
    Questions,
    RateAnswer,
    Reply,
    Selection,
    SelectSentences,
    Similarities,
    Similarity,
    Task,
    Verification,
    Verify,
)

SAMPLE = Sample(
    id="s",
    question="q?",
    answer="An answer.",
    contexts=(Passage(id="a", text="One is here. Two is here.", rank=1), Passage(id="b", text="Three is.", rank=2)),
)


def score(metric: Metric, sample: Sample, *replies: Reply | Failure) -> tuple[Outcome, list[Task]]:
    """The metric's outcome where the judge gives these replies, by task type, and what it was asked."""
    asked: list[Task] = []
    by_task = dict(
        zip((ExtractStatements, Verify) if len(replies) == 2 else (ExtractStatements,), replies, strict=False)
    )
    if not isinstance(metric, Faithfulness):
        by_task = {GenerateQuestions: replies[0], Similarity: replies[-1], SelectSentences: replies[0]}

    async def ask(task: Task) -> Reply | Failure:
        asked.append(task)
        return by_task[type(task)]

    results = asyncio.run(resolve(sample, metric.needs(), ask))
    return compute_outcome(metric, sample, results), asked


def said(*texts: str, refuses: bool = False) -> Extraction:
    return Extraction(statements=tuple(ExtractedStatement(text=text) for text in texts), refuses=refuses)


def verdicts(*labels: Label) -> Verification:
    return Verification(joint=tuple(Verdict(label=label) for label in labels))


def test_faithfulness_is_supported_over_all() -> None:
    found, asked = score(
        Faithfulness(), SAMPLE, said("a", "b", "c"), verdicts("supported", "contradicted", "unsupported")
    )
    assert found == Score(value=1 / 3, counted="1 of 3 statements")
    assert asked[1] == Verify(
        question="q?",
        statements=("a", "b", "c"),
        passages=("One is here. Two is here.", "Three is."),
        joint=True,
        single=False,
    )


def test_faithfulness_without_statements_is_undefined() -> None:
    found, asked = score(Faithfulness(), SAMPLE, said())
    assert found == Unscored(reason="undefined", detail="the judge found no statement in the answer")
    assert len(asked) == 1


def test_faithfulness_of_a_refusal_is_a_refusal() -> None:
    found, _ = score(Faithfulness(), SAMPLE, said(refuses=True))
    assert found == Unscored(reason="refusal", detail="the answer only refuses")


def test_faithfulness_of_an_empty_answer_is_undefined_and_makes_no_calls() -> None:
    found, asked = score(Faithfulness(), replace(SAMPLE, answer=" "), said())
    assert found == Unscored(reason="undefined", detail="the answer is empty")
    assert asked == []


@pytest.mark.parametrize("contexts", [(), (Passage(id="a", text=" ", rank=1),)])
def test_where_nothing_was_retrieved_no_statement_is_supported(contexts: tuple[Passage, ...]) -> None:
    found, asked = score(Faithfulness(), replace(SAMPLE, contexts=contexts), said("a", "b"))
    assert found == Score(value=0.0, counted="0 of 2 statements")
    assert len(asked) == 1


def test_a_partial_refusal_counts_its_statements() -> None:
    found, _ = score(Faithfulness(), SAMPLE, said("a", refuses=True), verdicts("supported"))
    assert found == Score(value=1.0, counted="1 of 1 statements")


@given(st.lists(st.sampled_from(["supported", "contradicted", "unsupported"]), min_size=1, max_size=20))
def test_faithfulness_is_in_range_and_counts_statements(labels: list[Label]) -> None:
    found, _ = score(Faithfulness(), SAMPLE, said(*map(str, range(len(labels)))), verdicts(*labels))
    assert isinstance(found, Score)
    assert 0 <= found.value <= 1
    assert found.value * len(labels) == pytest.approx(labels.count("supported"))


def test_answer_relevance_is_the_mean_cosine() -> None:
    found, asked = score(AnswerRelevance(), SAMPLE, Questions(questions=("x", "y")), Similarities(values=(0.9, -0.1)))
    assert found == Score(value=pytest.approx(0.4), counted="2 questions")
    assert asked == [GenerateQuestions(answer="An answer.", n=3), Similarity(text="q?", others=("x", "y"))]


def test_answer_relevance_without_questions_is_undefined() -> None:
    found, asked = score(AnswerRelevance(), SAMPLE, Questions(questions=()), Similarities(values=()))
    assert found == Unscored(reason="undefined", detail="the judge generated no question from the answer")
    assert len(asked) == 1


def test_answer_relevance_with_another_n_has_another_name() -> None:
    assert AnswerRelevance().spec == "ragas.answer_relevance"
    assert AnswerRelevance(n=5).spec == "ragas.answer_relevance(n=5)"


def test_context_relevance_is_chosen_over_all_sentences() -> None:
    found, asked = score(ContextRelevance(), SAMPLE, Selection(chosen=(1,)))
    assert found == Score(value=1 / 3, counted="1 of 3 sentences")
    assert asked == [SelectSentences(question="q?", sentences=("One is here.", "Two is here.", "Three is."))]


def test_no_sentence_chosen_is_zero() -> None:
    found, _ = score(ContextRelevance(), SAMPLE, Selection(chosen=()))
    assert found == Score(value=0.0, counted="0 of 3 sentences")


def test_context_relevance_without_sentences_is_undefined() -> None:
    found, asked = score(ContextRelevance(), replace(SAMPLE, contexts=()), Selection(chosen=()))
    assert found == Unscored(reason="undefined", detail="no passage was retrieved")
    assert asked == []


@pytest.mark.parametrize("metric", DEFAULT_METRICS, ids=lambda metric: metric.spec)
def test_a_missing_column_is_skipped_and_named(metric: Metric) -> None:
    for column in metric.requires:
        found, _ = score(metric, replace(SAMPLE, **{column: None}), said("a"), verdicts("supported"))
        assert found == Unscored(reason="skipped", detail=f"the run file has no {column} for this sample")


@pytest.mark.parametrize("metric", DEFAULT_METRICS, ids=lambda metric: metric.spec)
def test_a_judge_that_fails_leaves_a_reason(metric: Metric) -> None:
    found, _ = score(metric, SAMPLE, Failure(detail="out of order"))
    assert found == Unscored(reason="failed", detail="out of order")


def test_direct_answer_relevance_is_another_identity_and_the_rating() -> None:
    metric = AnswerRelevance(method="direct")
    assert metric.spec == "ragas.answer_relevance(method=direct)"
    found, asked = outcome_of(metric, SAMPLE, lambda _: AnswerRating(score=0.3, reason="half"))
    assert found == Score(value=0.3, counted="rated directly by the judge")
    assert asked == [RateAnswer(question="q?", answer="An answer.")]


def test_direct_answer_relevance_of_an_empty_answer_is_undefined() -> None:
    found, asked = outcome_of(
        AnswerRelevance(method="direct"), replace(SAMPLE, answer=" "), lambda _: AnswerRating(score=1)
    )
    assert (found, asked) == (Unscored(reason="undefined", detail="the answer is empty"), [])


@pytest.mark.parametrize("settings", [{"n": 5}, {"compat": True}])
def test_the_direct_method_has_no_settings_of_the_other(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="do not apply with method=direct"):
        AnswerRelevance(method="direct", **settings)


def relevance_as_the_library(*questions: str, statements: tuple[str, ...] = ("a",), refuses: bool = False) -> Outcome:
    replies: dict[type[Task], Reply] = {
        ExtractStatements: said(*statements, refuses=refuses),
        GenerateQuestions: Questions(questions=questions),
        Similarity: Similarities(values=(0.8,) * len(questions)),
    }
    return outcome_of(AnswerRelevance(compat=True), SAMPLE, lambda task: replies[type(task)])[0]


def test_as_the_library_an_answer_that_only_declines_is_0() -> None:
    assert relevance_as_the_library("x", statements=(), refuses=True) == Score(
        value=0.0, counted="0 by convention: the answer only refuses"
    )
    assert relevance_as_the_library("x", refuses=True) == Score(value=0.8, counted="1 question")


def test_as_the_library_no_question_is_0() -> None:
    assert relevance_as_the_library() == Score(
        value=0.0, counted="0 by convention: the judge generated no question from the answer"
    )
