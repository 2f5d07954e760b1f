"""Tests of generating questions from an answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ragboard.judges.embedded.judge import generate_questions


def test_a_statement_is_asked_for_its_date_place_and_subject() -> None:
    assert generate_questions("The Forth Bridge was built in 1890 by Arrol in Scotland.", 3) == (
        "When was the Forth Bridge built by Arrol in Scotland?",
        "Where was the Forth Bridge built in 1890 by Arrol?",
        "What was built in 1890 by Arrol in Scotland?",
    )


def test_each_statement_is_asked_once_before_any_is_asked_twice() -> None:
    first, second = generate_questions(
        "The tunnel opened to traffic in 1995. The Forth Bridge was built in 1890 by Arrol.", 2
    )
    assert "Bridge" in first
    assert second == "What opened to traffic in 1995?"


def test_a_person_is_asked_for_by_who() -> None:
    assert "Who was born in 1817?" in generate_questions("John Fowler was born in 1817.", 3)


def test_german_answers_are_asked_in_german() -> None:
    assert generate_questions("Die Br\u00fccke wurde 1990 von COWI gebaut.", 1) == ("Was wurde 1990 von COWI gebaut?",)


def test_a_refusal_answers_no_question() -> None:
    assert generate_questions("I don't know.", 3) == ()


@given(st.text(max_size=150), st.integers(0, 5))
def test_at_most_n_questions_each_once(answer: str, n: int) -> None:
    found = generate_questions(answer, n)
    assert len(found) == len(set(found)) <= n
    assert all(question.endswith("?") for question in found)
