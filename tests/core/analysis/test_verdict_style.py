"""Tests of the words and signs for verdicts."""

from __future__ import annotations

from typing import get_args

import pytest

from ragboard.analysis.verdict_style import (
    NOT_JUDGED,
    SINGLE_PASSAGE_STYLES,
    VERDICT_STYLES,
    origin_words,
    question_words_note,
    style_of,
    verdict_words,
)
from ragboard.records import Label, Statement, Verdict
from ragboard.store.queries.statements import JudgedStatement


def test_every_label_has_a_look_and_no_two_share_an_icon_a_word_or_a_class() -> None:
    looks = [*VERDICT_STYLES.values(), NOT_JUDGED]
    assert set(VERDICT_STYLES) == set(get_args(Label))
    for part in ("icon", "word", "css"):
        assert len({getattr(look, part) for look in looks}) == len(looks)


def test_what_single_passages_say_has_words_and_a_class_of_its_own() -> None:
    assert set(SINGLE_PASSAGE_STYLES) == set(VERDICT_STYLES)
    looks = [*VERDICT_STYLES.values(), *SINGLE_PASSAGE_STYLES.values(), NOT_JUDGED]
    assert len({look.word for look in looks}) == len({look.css for look in looks}) == 7


def test_the_absence_of_a_verdict_is_not_a_verdict() -> None:
    assert style_of(None) is NOT_JUDGED
    assert style_of(Verdict(label="supported")) is VERDICT_STYLES["supported"]


@pytest.mark.parametrize(
    ("label", "score", "words"),
    [
        ("supported", 0.7, "likely supported"),
        ("supported", 0.69, "possibly supported"),
        ("unsupported", 0.31, "possibly unsupported"),
        ("unsupported", 0.3, "likely unsupported"),
        ("contradicted", 0.45, "likely contradicted"),
        ("unsupported", None, "unsupported"),
    ],
)
def test_a_rule_based_verdict_says_how_sure_it_is_and_a_models_does_not(
    label: Label, score: float | None, words: str
) -> None:
    verdict = Verdict(label=label, score=score)
    assert verdict_words(verdict, rule_based=True) == words
    assert verdict_words(verdict, rule_based=False) == label


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("'Androscoggin' appears in no passage.", "'Androscoggin' is in the question."),
        (
            "'Office' and '1999' appear in no passage.",
            "'Office' is in an earlier turn.",
        ),
        ("'Androscoggin' and 'river' appear in no passage.", "'Androscoggin' and 'river' are in the question."),
        ("'And' appears in no passage.", ""),
        ("Passage 2 does not mention 'Androscoggin'.", ""),
        ("", ""),
    ],
)
def test_words_that_no_passage_has_may_be_those_of_the_user(reason: str, words: str) -> None:
    asked = ("Is the Androscoggin River long?", "I wrote to the office.", "Which one?")
    assert question_words_note(reason, asked) == words


def test_a_claim_that_the_passages_support_together_says_why_its_class_names_no_passage() -> None:
    statement = Statement(side="response", text="It opened in 2000.")
    together = JudgedStatement(statement=statement, verdict=Verdict(label="supported"), origin="self_knowledge")
    assert origin_words(together) == "Also in the reference. The passages support it together, but none does alone."
    apart = JudgedStatement(statement=statement, verdict=Verdict(label="unsupported"), origin="hallucination")
    assert origin_words(apart) == "Not in the reference either."
    assert origin_words(JudgedStatement(statement=statement, verdict=None)) == ""
