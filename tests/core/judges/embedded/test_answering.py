"""Tests of rating answer relevance."""

from __future__ import annotations

import asyncio

import pytest

from ragboard.judges.embedded import EmbeddedJudge
from ragboard.judges.embedded.select import question_parts, rate
from ragboard.tasks import AnswerRating, RateAnswer

QUESTION = "When was the Forth Bridge opened?"
RIGHT = "The Forth Bridge was opened on 4 March 1890."


def score(question: str, answer: str) -> float:
    return rate(question, answer)[0]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (QUESTION, QUESTION),
        (QUESTION, "The Forth Bridge was opened."),
        (QUESTION, ""),
        (QUESTION, "I do not know."),
        (QUESTION, "The provided context does not mention when the Forth Bridge was opened."),
        ("Wer baute die Brücke?", "Wer baute die Brücke?"),
        ("Wer baute die Brücke?", "Ich weiß es leider nicht."),
    ],
)
def test_a_copy_a_refusal_and_nothing_are_worth_nothing(question: str, answer: str) -> None:
    assert score(question, answer) == 0.0


@pytest.mark.parametrize(
    "worse",
    [
        "The Forth Bridge is a railway bridge.",
        "I think the Forth Bridge might be opened on 4 March 1890, but I am not sure.",
        "The Forth Bridge was opened on 4 March 1890. I do not know more; I cannot answer when the bridge was opened.",
        f"{RIGHT} {RIGHT} {RIGHT}",
    ],
)
def test_another_kind_of_thing_a_hedge_a_part_refusal_and_repetition_are_worth_less(worse: str) -> None:
    assert 0.0 < score(QUESTION, worse) < score(QUESTION, RIGHT)


@pytest.mark.parametrize(
    ("question", "right", "other"),
    [
        ("Who designed the tower?", "The tower was designed by Anna Berg.", "The tower is a tall lattice of iron."),
        ("How many arches has it?", "It has 48 arches.", "It has many fine arches of stone."),
        ("Why was the tree felled?", "It was felled because it was ill.", "It stood below the summit."),
        ("Wann wurde das Museum eröffnet?", "Das Museum wurde 1830 eröffnet.", "Das Museum steht auf einer Insel."),
        ("Wer malte das Bild?", "Das Bild ist von Adolph Menzel.", "Das Bild ist ein Gemälde auf Holz."),
    ],
)
def test_the_kind_of_thing_asked_for_is_worth_more(question: str, right: str, other: str) -> None:
    assert score(question, right) > score(question, other)


def test_each_of_two_things_asked_for_counts() -> None:
    question = "When was the bridge opened, and who designed it?"
    half = "The bridge was opened in 1890."
    assert [each.kind for each in question_parts(question)] == ["date", "person"]
    assert score(question, half) < score(question, f"{half} It was designed by John Fowler.")
    assert "a person" in rate(question, half)[1]


def test_a_bare_name_and_a_bare_yes_are_answers() -> None:
    assert score("Who wrote Faust?", "Goethe") > 0.5
    assert 0.5 < score("Is the bridge red?", "Yes.") < score("Is the bridge red?", "Yes, it was painted in 2012.")


def test_the_judge_answers_the_task() -> None:
    (reply,) = asyncio.run(EmbeddedJudge().answer([RateAnswer(question=QUESTION, answer=RIGHT)]))
    assert reply == AnswerRating(
        score=score(QUESTION, RIGHT), reason="It seems to give what the question asks for: a date."
    )
    assert RateAnswer in EmbeddedJudge().answers
