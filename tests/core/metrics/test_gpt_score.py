"""Tests of GPT Score: ratings, prompts, and every empty case."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.core.metrics.asked import SAMPLE, outcome_of

from ragboard import METRICS, Score, Unscored
from ragboard.tasks import Failure, Quality, Rate, Rating

PASSAGES = ("One is here. Two is here.", "Three is.")


@pytest.mark.parametrize(
    ("quality", "answer", "contexts"),
    [
        ("faithfulness", "An answer.", PASSAGES),
        ("answer_relevance", "An answer.", ()),
        ("context_relevance", "", PASSAGES),
    ],
)
def test_the_rating_is_the_score_and_only_what_it_is_about_is_shown(
    quality: Quality, answer: str, contexts: tuple[str, ...]
) -> None:
    found, asked = outcome_of(METRICS[f"gpt_score.{quality}"], SAMPLE, lambda _: Rating(value=7, reason="why"))
    assert found == Score(value=7.0, counted="one rating, 0 to 10")
    assert asked == [Rate(quality=quality, question="q?", answer=answer, contexts=contexts)]


@pytest.mark.parametrize(
    ("quality", "change", "detail"),
    [
        ("faithfulness", {"answer": " "}, "the answer is empty"),
        ("faithfulness", {"contexts": ()}, "no passage was retrieved"),
        ("answer_relevance", {"answer": ""}, "the answer is empty"),
        ("context_relevance", {"contexts": ()}, "no passage was retrieved"),
    ],
)
def test_an_empty_case_is_undefined_and_needs_no_call(quality: str, change: dict[str, object], detail: str) -> None:
    sample = replace(SAMPLE, **change)  # type: ignore[arg-type]
    found, asked = outcome_of(METRICS[f"gpt_score.{quality}"], sample, lambda _: Rating(value=7))
    assert (found, asked) == (Unscored(reason="undefined", detail=detail), [])


def test_a_failed_rating_has_its_reason() -> None:
    found, _ = outcome_of(METRICS["gpt_score.faithfulness"], SAMPLE, lambda _: Failure(detail="no number"))
    assert found == Unscored(reason="failed", detail="no number")
