"""Tests of writing questions and answers by rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragboard.judges.embedded.writing import write_answer, write_questions
from ragboard.readers.corpus import read_corpus
from ragboard.sample_files import sample_folder
from ragboard.tasks import AnswerKind, Failure, WriteAnswer, WrittenText

PASSAGE = "The lighthouse at Fara was built in 1871 by Ines Dahl. Its lamp burned whale oil until 1904."
QUESTION = "When was the lighthouse at Fara built by Ines Dahl?"


def written(kind: AnswerKind, question: str = QUESTION, passage: str = PASSAGE, draw: int = 0) -> str:
    said = write_answer(WriteAnswer(question=question, passage=passage, kind=kind, draw=draw))
    assert isinstance(said, WrittenText)
    return said.text


def test_a_question_asks_for_a_fact_and_names_what_it_is_about() -> None:
    assert set(write_questions(PASSAGE, 3)) == {QUESTION, "By whom was the lighthouse at Fara built in 1871?"}


def test_a_verb_is_not_conjugated() -> None:
    assert set(write_questions("In 1858 Bessemer opened new works in Sheffield.", 9)) == {
        "When was it that Bessemer opened new works in Sheffield?",
        "Where was it that in 1858 Bessemer opened new works?",
    }


def test_statements_are_asked_in_turn_before_one_is_asked_twice() -> None:
    two = f"{PASSAGE} The harbour of Mora was painted in 1880 by Ines Dahl."
    first, second, *_ = write_questions(two, 9)
    assert ("Fara" in first, "Mora" in second) == (True, True)


def test_what_only_the_sentences_around_it_explain_gets_no_question() -> None:
    assert write_questions("It was built in 1871. They left it in 1904. The plan was drawn in 1905.", 3) == ()


def test_a_statement_that_fits_no_rule_is_asked_with_a_gap_in_any_language() -> None:
    assert write_questions("Lake Burley Griffin covers 6.6 km².", 3) == (
        'What fills the gap: "Lake Burley Griffin covers ____ km²"?',
    )
    assert write_questions("Le pont de Normandie mesure 2 143 mètres et relie Le Havre à Honfleur.", 1) == (
        "Le pont de Normandie mesure ____ mètres et relie Le Havre à Honfleur?",
    )


def test_as_many_questions_as_asked_for_at_most() -> None:
    assert write_questions(PASSAGE, 0) == ()
    assert len(write_questions(PASSAGE * 3, 1)) == 1


def test_an_answer_has_one_of_several_shapes_and_gives_what_was_asked_for() -> None:
    passage = f"{PASSAGE} The town of Fara stands on a rock."
    answers = {written("grounded", passage=passage, draw=draw) for draw in range(40)}
    assert "In 1871." in answers
    assert "The lighthouse at Fara was built in 1871 by Ines Dahl." in answers
    assert any(answer.endswith("The town of Fara stands on a rock.") for answer in answers)
    assert all("1871" in answer for answer in answers)


def test_a_contradictory_answer_has_the_shape_of_the_true_one_and_another_fact() -> None:
    for draw in range(40):
        true, false = written("grounded", draw=draw), written("contradictory", draw=draw)
        assert len(true.split()) == len(false.split())
        assert sum(one != other for one, other in zip(true.split(), false.split(), strict=True)) == 1
        assert "1871" not in false


def test_a_false_date_in_a_sentence_is_one_of_the_passage_where_there_is_another() -> None:
    false = [written("contradictory", draw=draw) for draw in range(20)]
    assert all("1904" in answer for answer in false if len(answer.split()) > 2)
    assert not any("1904" in answer for answer in false if len(answer.split()) == 2)


def test_the_same_task_gets_the_same_answer() -> None:
    assert written("contradictory") == written("contradictory")


def test_a_question_of_somebody_else_is_answered_by_the_sentence_that_answers_best() -> None:
    assert written("grounded", "What did the lamp burn?") == "Its lamp burned whale oil until 1904."
    assert written("contradictory", "What did the lamp burn?") not in PASSAGE


def test_an_incomplete_answer_leaves_out_its_last_phrase() -> None:
    assert written("incomplete") == "The lighthouse at Fara was built in 1871."


def test_without_a_passage_there_is_nothing_to_write_from() -> None:
    said = write_answer(WriteAnswer(question="When?", passage="", kind="unaided"))
    assert isinstance(said, Failure)


@pytest.mark.parametrize("kind", ["grounded", "contradictory", "incomplete"])
def test_an_empty_passage_gives_an_empty_answer(kind: AnswerKind) -> None:
    assert write_answer(WriteAnswer(question="When?", passage=" ", kind=kind)) == WrittenText(text="")


@given(st.text(max_size=200), st.integers(0, 4))
def test_any_text_gets_at_most_n_questions_each_once_and_each_is_answered(passage: str, n: int) -> None:
    found = write_questions(passage, n)
    assert len(found) == len(set(found)) <= n
    for question in found:
        assert question.endswith("?")
        assert isinstance(write_answer(WriteAnswer(question=question, passage=passage, kind="grounded")), WrittenText)


def test_the_sample_gets_a_good_hundred_questions_and_every_one_has_a_question_word() -> None:
    passages = [passage.text for passage in read_corpus(sample_folder() / "documents")]
    found = [question for passage in passages for question in write_questions(passage, 5)]
    assert len(found) > 100
    assert all(
        question.startswith(("When was", "When were", "Who or what", "Where was", "By whom", "What fills the gap: "))
        for question in found
    )


def test_german_answers_are_german_in_every_shape() -> None:
    passage = "Im Jahr 1890 wurde die Brücke von Fowler in Schottland eröffnet. Die Züge fuhren von da an schneller."
    (question,) = write_questions(passage, 1)
    answers = {written("grounded", question, passage, draw) for draw in range(30)}
    assert len(answers) > 2
    assert not any(word in answer for answer in answers for word in ("the", "text", "passage"))
    assert all("1890" not in written("contradictory", question, passage, draw) for draw in range(30))
