"""Tests of selecting useful passages, and of extracting entities."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ragboard.judges.embedded.judge import usefulness
from ragboard.judges.embedded.reading import entities
from ragboard.tasks import JudgePassages

BRIDGE = "The Tay Bridge was opened in 1887. It is 3,264 metres long."


def useful(answer: str, *passages: str) -> tuple[bool, ...]:
    return usefulness(JudgePassages(question="When did the bridge open?", answer=answer, passages=passages)).useful


def test_a_passage_is_useful_if_it_supports_a_statement_of_the_answer() -> None:
    assert useful("The Tay Bridge opened in 1887.", BRIDGE, "Dundee lies on the north bank.", "") == (
        True,
        False,
        False,
    )
    assert useful("The Tay Bridge opened in 1878.", BRIDGE) == (False,)


def test_no_passage_is_useful_to_an_answer_that_states_nothing() -> None:
    found = usefulness(JudgePassages(question="When?", answer="I don't know.", passages=(BRIDGE,)))
    assert found.useful == (False,)
    assert found.reasons == ("The answer has no statement that a passage could support.",)


def test_names_numbers_and_dates_are_listed_as_written_in_order_and_once() -> None:
    text = "The Tay Bridge was opened by Queen Victoria on 20 June 1887. The Tay Bridge cost £670,000."
    assert entities(text) == ("Tay Bridge", "Queen Victoria", "20 June 1887", "£670,000")


def test_german_names_and_nouns_are_distinguished_by_the_words_before_them() -> None:
    assert entities("Die Brücke wurde 1887 von William Arrol in Dundee gebaut.") == ("1887", "William Arrol", "Dundee")


@given(st.text(max_size=200))
def test_every_entity_is_in_the_text_and_not_empty(text: str) -> None:
    found = entities(text)
    assert all(name and name in text for name in found)
    assert len(set(found)) == len(found)
