"""Tests of selecting sentences that help to answer a question."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from ragboard.judges.embedded import select

SENTENCES = (
    "The Forth Bridge stands in Scotland.",
    "It was opened on 4 March 1890.",
    "Sheep eat grass.",
    "The weather was fine.",
)


def helpful_sentences(question: str, sentences: Sequence[str]) -> tuple[int, ...]:
    return select.helpful_sentences(question, sentences)[0]


def test_a_sentence_that_holds_the_date_asked_for_is_chosen_with_what_it_refers_to() -> None:
    assert 1 in helpful_sentences("When was the Forth Bridge opened?", SENTENCES)
    assert 2 not in helpful_sentences("When was the Forth Bridge opened?", SENTENCES)


def test_none_may_help() -> None:
    assert helpful_sentences("What is quantum foam?", SENTENCES) == ()


def test_a_question_without_content_chooses_nothing() -> None:
    assert helpful_sentences("What is it?", SENTENCES) == ()


def test_german_sentences_are_chosen_too() -> None:
    offered = ("Die Br\u00fccke wurde 1890 er\u00f6ffnet.", "Schafe fressen Gras.")
    assert helpful_sentences("Wann wurde die Br\u00fccke er\u00f6ffnet?", offered) == (0,)


@given(st.text(max_size=40), st.lists(st.text(max_size=40), max_size=6))
def test_places_are_ascending_and_among_those_offered(question: str, sentences: list[str]) -> None:
    chosen = helpful_sentences(question, sentences)
    assert list(chosen) == sorted(set(chosen))
    assert all(0 <= place < len(sentences) for place in chosen)


@given(st.text(max_size=40), st.lists(st.text(max_size=40), max_size=6))
def test_a_score_for_each_sentence_says_which_are_chosen(question: str, sentences: list[str]) -> None:
    chosen, scores = select.helpful_sentences(question, sentences)
    assert len(scores) == len(sentences)
    assert chosen == tuple(place for place, score in enumerate(scores) if score >= select.MIN_HELPFUL_SCORE)
    assert all(0.0 <= score <= 1.0 for score in scores)


def test_padding_lowers_the_share_of_helping_sentences_and_more_help_raises_it() -> None:
    padded = (*SENTENCES, "Cows eat grass too.", "Nothing was said of the rest.")
    more = (*SENTENCES, "The Forth Bridge was opened by the Prince of Wales in March 1890.")
    question = "When was the Forth Bridge opened?"
    share = len(helpful_sentences(question, SENTENCES)) / len(SENTENCES)
    assert len(helpful_sentences(question, padded)) / len(padded) < share
    assert len(helpful_sentences(question, more)) / len(more) > share
