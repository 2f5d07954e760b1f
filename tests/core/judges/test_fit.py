"""Tests of checking replies against their task."""

from __future__ import annotations

from math import nan

import pytest

from ragboard.tasks import (
    TASKS,
    AnswerRating,
    Classification,
    Classify,
    Critique,
    CritiqueVerdict,
    Entities,
    ExtractEntities,
    Failure,
    GenerateQuestions,
    GradePassages,
    JudgePassages,
    MatchReference,
    PassageGrades,
    Prefer,
    Preference,
    Questions,
    Rate,
    RateAnswer,
    RateTurn,
    Rating,
    ReferenceMatch,
    Reply,
    Selection,
    SelectSentences,
    Task,
    Usefulness,
    decode_reply,
    encode,
    reply_or_failure,
    task_key,
)

CRITIQUE = Critique(question="q", answer="a", contexts=(), definition="Is it short?")
RATE = Rate(quality="faithfulness", question="q", answer="a", contexts=("c",))
PREFER = Prefer(quality="answer_relevance", question="q", a="x", b="y", contexts=())
PASSAGES = JudgePassages(question="q", answer="a", passages=("one", "two"))
GRADES = GradePassages(question="q", passages=("one", "two"))
ENTITIES = ExtractEntities(text="Ada met Bob.")
ANSWER = RateAnswer(question="q", answer="a")
MATCH = MatchReference(question="q", reference="r", answer="a")
TURN = RateTurn(question="q", contexts=("c",), reference="r", answer="a")
QUALITY = Classify(quality="context_relevance", question="q", contexts=("c",))

FITS: tuple[tuple[Task, Reply], ...] = (
    (CRITIQUE, CritiqueVerdict(yes=True)),
    (RATE, Rating(value=0)),
    (RATE, Rating(value=10, reason="all of it")),
    (PREFER, Preference(better="b")),
    (PASSAGES, Usefulness(useful=(True, False), reasons=("", "off"))),
    (GRADES, PassageGrades(grades=(0, 3), reasons=("", "exact"))),
    (ENTITIES, Entities(names=("Ada", "Bob"))),
    (ENTITIES, Entities(names=())),
    (ANSWER, AnswerRating(score=1.0)),
    (MATCH, ReferenceMatch(matches=False)),
    (TURN, Rating(value=1)),
    (QUALITY, Classification(holds=True)),
    (QUALITY, Classification(holds=False, probability=0.0, reason="off")),
)

MISFITS: tuple[tuple[Task, Reply, str], ...] = (
    (CRITIQUE, Rating(value=1), "Rating is not a reply to Critique"),
    (RATE, Rating(value=11), "a rating of 11"),
    (RATE, Rating(value=-1), "a rating of -1"),
    (PREFER, Preference(better="c"), "neither"),  # type: ignore[arg-type]
    (PASSAGES, Usefulness(useful=(True,), reasons=("",)), "expected 2 verdicts on passages, got 1"),
    (PASSAGES, Usefulness(useful=(True, True), reasons=("",)), "expected 2 reasons, got 1"),
    (GRADES, PassageGrades(grades=(3,), reasons=("",)), "expected 2 grades, got 1"),
    (GRADES, PassageGrades(grades=(3, 1), reasons=("",)), "expected 2 reasons, got 1"),
    (GRADES, PassageGrades(grades=(3, 4), reasons=("", "")), "a grade is not from 0 to 3"),
    (GRADES, PassageGrades(grades=(-1, 2), reasons=("", "")), "a grade is not from 0 to 3"),
    (ENTITIES, Entities(names=("Ada", " ")), "a name is empty"),
    (ENTITIES, Entities(names=("Ada", "Ada")), "a name occurs twice"),
    (ANSWER, AnswerRating(score=1.5), "it must be in [0, 1]"),
    (MATCH, CritiqueVerdict(yes=True), "CritiqueVerdict is not a reply to MatchReference"),
    (TURN, Rating(value=0), "a rating of 0; it must be from 1 to 10"),
    (ANSWER, AnswerRating(score=nan), "it must be in [0, 1]"),
    (QUALITY, Classification(holds=True, probability=1.1), "a probability of 1.1; it must be in [0, 1]"),
    (QUALITY, Classification(holds=True, probability=nan), "it must be in [0, 1]"),
    (GenerateQuestions(answer="a", n=1), Questions(questions=("x", "y")), "at most 1 question, got 2"),
    (SelectSentences(question="q", sentences=("x",)), Selection(chosen=(1,)), "not among the 1 sentences"),
    (SelectSentences(question="q", sentences=("x", "y")), Selection(chosen=(1, 0)), "out of order"),
)


@pytest.mark.parametrize(("task", "reply"), FITS)
def test_a_reply_that_fits_is_passed_on(task: Task, reply: Reply) -> None:
    assert reply_or_failure(task, reply) is reply


@pytest.mark.parametrize(("task", "reply", "why"), MISFITS)
def test_a_reply_that_does_not_fit_is_a_failure_that_says_why(task: Task, reply: Reply, why: str) -> None:
    said = reply_or_failure(task, reply)
    assert isinstance(said, Failure)
    assert why in said.detail


def test_a_failure_is_passed_on() -> None:
    failure = Failure(detail="no")
    assert reply_or_failure(RATE, failure) is failure


@pytest.mark.parametrize(("task", "reply"), FITS)
def test_a_reply_comes_back_from_json_as_it_was(task: Task, reply: Reply) -> None:
    import json

    assert decode_reply(type(task).__name__, json.loads(encode(reply))) == reply


def test_every_task_type_has_a_reply_type_and_a_draw_that_changes_its_key() -> None:
    assert len({kind.__name__ for kind in TASKS}) == len(TASKS)
    assert task_key(RATE, "me") != task_key(
        Rate(quality="faithfulness", question="q", answer="a", contexts=("c",), draw=1), "me"
    )
