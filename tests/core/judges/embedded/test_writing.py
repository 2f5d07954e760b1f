"""Questions and answers that rules write to a passage."""

from __future__ import annotations

import pytest

from ragboard.judges.embedded.writing import questions_to, write_answer
from ragboard.judges.tasks import AnswerKind, Failure, WriteAnswer, Written

PASSAGE = "The lighthouse at Fara was built in 1871 by Ines Dahl. Its lamp burned whale oil until 1904."


def written(kind: AnswerKind, question: str = "When was the lighthouse at Fara built?") -> str:
    said = write_answer(WriteAnswer(question=question, passage=PASSAGE, kind=kind))
    assert isinstance(said, Written)
    return said.text


def test_a_question_asks_for_a_fact_and_names_what_it_is_about() -> None:
    assert questions_to(PASSAGE, 3) == ("When was the lighthouse at Fara built by Ines Dahl?",)


def test_a_figure_is_left_out_where_no_question_word_fits() -> None:
    said = "Olkhon, the largest island, measures 730 km² and lies in Lake Baikal."
    assert any("____" in question and "730" not in question for question in questions_to(said, 2))


def test_a_statement_that_only_its_neighbours_explain_gets_no_question() -> None:
    assert questions_to("It was built in 1871. They left it in 1904.", 3) == ()


def test_as_many_questions_as_asked_for_at_most() -> None:
    assert questions_to(PASSAGE, 0) == ()
    assert len(questions_to(PASSAGE * 3, 1)) == 1


def test_a_grounded_answer_is_the_sentence_that_answers() -> None:
    assert written("grounded") == "The lighthouse at Fara was built in 1871 by Ines Dahl."


def test_a_contradictory_answer_is_the_same_but_for_one_thing_and_the_same_each_time() -> None:
    answer = written("contradictory")
    assert answer == written("contradictory")
    assert answer not in PASSAGE
    assert len(set(answer.split()) ^ set(written("grounded").split())) <= 4


def test_an_incomplete_answer_leaves_out_its_last_phrase() -> None:
    assert written("incomplete") == "The lighthouse at Fara was built in 1871."


def test_without_a_passage_there_is_nothing_to_write_from() -> None:
    said = write_answer(WriteAnswer(question="When?", passage="", kind="unaided"))
    assert isinstance(said, Failure)


@pytest.mark.parametrize("kind", ["grounded", "contradictory", "incomplete"])
def test_an_empty_passage_gives_an_empty_answer(kind: AnswerKind) -> None:
    assert write_answer(WriteAnswer(question="When?", passage=" ", kind=kind)) == Written(text="")
