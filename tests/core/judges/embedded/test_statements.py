"""Tests of splitting answers into statements: spans, rewriting, refusals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragboard.judges.embedded.statements import extract

WORDS = st.sampled_from(
    (
        *("The", "Fowler", "Tay", "bridge", "It", "He", "which", "who", "was", "is", "built", "opened", "1990"),
        *("in", "and", "but", "Sure", "I", "don't", "know", "Die", "wurde", "und", "gebaut", "\u4ed6"),
        *(",", ".", ";", "?", "!", ":", "[1]", "(Source 2)", "**", "-", "#", "\n", "\u3002"),
    )
)
ANSWERS = st.text(max_size=200) | st.lists(WORDS, max_size=60).map(" ".join)


def said(text: str) -> list[str]:
    return [statement.text for statement in extract(text).statements]


def places(text: str) -> list[str]:
    return [text[s.span.start : s.span.end] for s in extract(text).statements if s.span]


@given(ANSWERS)
def test_every_statement_has_words_and_a_span_in_order_and_apart(text: str) -> None:
    last = 0
    for statement in extract(text).statements:
        assert statement.text.strip()
        assert statement.span is not None
        assert last <= statement.span.start < statement.span.end <= len(text)
        verbatim = text[statement.span.start : statement.span.end] == statement.text
        assert statement.span.how == ("verbatim" if verbatim else "aligned")
        last = statement.span.end


@given(ANSWERS)
def test_the_same_text_always_gives_the_same_statements(text: str) -> None:
    assert extract(text) == extract(text)


def test_statements_are_sentences_with_their_span() -> None:
    text = "The bridge is long. Sheep eat grass."
    assert said(text) == places(text) == ["The bridge is long.", "Sheep eat grass."]


def test_a_semicolon_parts_statements() -> None:
    assert said("The bridge is long; the tunnel is short.") == ["The bridge is long", "the tunnel is short."]


def test_a_second_predicate_gets_the_subject_and_keeps_its_place() -> None:
    text = "The Forth Bridge was built in 1890 by Arrol and opened in March 1890."
    assert said(text) == ["The Forth Bridge was built in 1890 by Arrol", "The Forth Bridge opened in March 1890."]
    assert places(text)[1] == "opened in March 1890."


def test_a_second_clause_with_its_own_subject_is_not_restated() -> None:
    assert said("The bridge was finished early, and the tunnel was late.") == [
        "The bridge was finished early",
        "the tunnel was late.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Bread and butter are sold here.",
        "The wall was painted and restored in 1995.",
        "When the bridge was built and opened in 1890, crowds came.",
        "The firm sells red, green and blue paint.",
        "Fowler and Baker designed the bridge.",
    ],
)
def test_what_belongs_together_stays_together(text: str) -> None:
    assert said(text) == [text]


def test_a_side_remark_about_a_name_is_a_statement_of_its_own() -> None:
    text = "The Tay Bridge, which was opened in 1878, is 3 km long."
    assert said(text) == ["The Tay Bridge was opened in 1878", "The Tay Bridge is 3 km long."]
    assert said("It was designed by Thomas Bouch, who was knighted in 1879.")[1] == "Thomas Bouch was knighted in 1879."


def test_a_pronoun_is_replaced_by_the_name_before_it_and_the_span_keeps_the_pronoun() -> None:
    text = "John Fowler was born in 1817. He was an engineer."
    assert said(text)[1] == "John Fowler was an engineer."
    assert places(text)[1] == "He was an engineer."


@pytest.mark.parametrize(
    "text",
    [
        "Cars are fast. He was an engineer.",
        "John Fowler was rich. They were poor.",
        "- The Tay Bridge is long\n- It is red",
    ],
)
def test_a_pronoun_of_doubtful_meaning_stays(text: str) -> None:
    assert said(text)[1] in text


def test_citation_marks_are_no_part_of_a_statement() -> None:
    text = "The bridge is long [1]. It is red [2, 3](Source 4). [5] Trains [6] use it."
    assert said(text)[0] == places(text)[0] == "The bridge is long"
    assert not any(mark in statement for statement in said(text) for mark in ("[", "Source"))
    assert said(text)[-1] == "Trains use it."


def test_emphasis_is_no_part_of_a_statement() -> None:
    assert said("- **Cost**: 3 million pounds") == ["Cost: 3 million pounds"]


@pytest.mark.parametrize(
    "text",
    [
        "Sure, here is the answer:",
        "Is the bridge long?",
        "Yes",
        "I hope this helps!",
        "## Overview",
        "Let me know if you need more.",
        "You\u2019re welcome!",
        "Glad to help! Have a nice day.",
        "Consider features such as: 1.",
        "",
        "***",
    ],
)
def test_greetings_questions_and_headings_state_nothing(text: str) -> None:
    assert said(text) == []
    assert not extract(text).refuses


def test_a_bare_name_is_a_statement() -> None:
    assert said("Paris.") == ["Paris."]


@pytest.mark.parametrize(
    "text",
    [
        "I don't know.",
        "I do not have enough information to answer this question.",
        "I\u2019m sorry, but I cannot answer that.",
        "The passages do not say who built the bridge.",
        "The provided context does not mention the cost.",
        "There is no information about the cost in the documents.",
        "The cost is not mentioned in the context.",
        "The passages do not name the dog.",
        "None of the passages says what it cost.",
        "I found no figure for the building of the town.",
        "Nothing in the documents tells why.",
        "Leider geht das aus dem Kontext nicht hervor.",
        "Ich wei\u00df es nicht.",
        "Das steht nicht in den Passagen.",
        "Der Kontext enth\u00e4lt keine Angaben dazu.",
    ],
)
def test_a_refusal_is_noticed_and_is_no_statement(text: str) -> None:
    assert extract(text).refuses
    assert said(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "The company does not provide heating.",
        "He could not find the river.",
        "He found no gold.",
        "None of the towers is red.",
        "The law says nothing of cars.",
        "Er kam nicht aus Berlin.",
    ],
)
def test_a_denial_is_no_refusal(text: str) -> None:
    assert not extract(text).refuses
    assert said(text) == [text]


def test_what_follows_a_partial_refusal_is_stated() -> None:
    text = "The passages do not say who built it, but the bridge was opened in 1890."
    assert extract(text).refuses
    assert said(text) == ["the bridge was opened in 1890."]


def test_german_participles_are_taken_apart() -> None:
    text = "Die Br\u00fccke wurde 1990 gebaut und 1995 er\u00f6ffnet. Sie ist 300 m lang."
    assert said(text) == [
        "Die Br\u00fccke wurde 1990 gebaut",
        "Die Br\u00fccke wurde 1995 er\u00f6ffnet.",
        "Die Br\u00fccke ist 300 m lang.",
    ]


def test_list_items_are_statements() -> None:
    assert said("The facts are:\n1. It is long.\n2. It is red.") == ["It is long.", "It is red."]


@pytest.mark.parametrize("fence", ["```", "~~~"])
def test_code_states_nothing(fence: str) -> None:
    text = f"Run this:\n{fence}python\nprint(1)\n{fence}\nIt prints a number."
    assert [one.text for one in extract(text).statements] == ["It prints a number."]


def test_code_may_be_cut_off() -> None:
    assert extract("Run this:\n```python\nprint(1)\nIt is").statements == ()
