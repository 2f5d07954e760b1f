"""Tests of marking statements and evidence in texts."""

from __future__ import annotations

from ragboard.analysis import JudgedStatement
from ragboard.analysis.verdict_style import VERDICT_STYLES
from ragboard.export.html import MAX_CHARACTERS, TextPart, cut, cut_note, mark_answer, mark_passage
from ragboard.records import Evidence, Label, Passage, Span, Statement, Verdict

ANSWER = "It is red. It is old."
SUPPORTED, UNSUPPORTED, CONTRADICTED = VERDICT_STYLES.values()


def said(text: str, label: Label | None, start: int, end: int) -> JudgedStatement:
    return JudgedStatement(
        statement=Statement(side="response", text=text, span=Span(start=start, end=end, how="verbatim")),
        verdict=Verdict(label=label) if label else None,
    )


def test_a_statement_is_marked_by_its_verdict_and_its_number_is_behind_it() -> None:
    parts = mark_answer(ANSWER, [said("It is red", "supported", 0, 9), said("It is old", "unsupported", 11, 20)])
    assert [part for part in parts if part.text] == [
        TextPart("It is red", SUPPORTED, ((1, SUPPORTED),)),
        TextPart(". "),
        TextPart("It is old", UNSUPPORTED, ((2, UNSUPPORTED),)),
        TextPart("."),
    ]


def test_where_two_statements_share_a_place_the_worse_is_seen_and_both_are_named() -> None:
    parts = mark_answer(ANSWER, [said("a", "supported", 0, 9), said("b", "contradicted", 0, 9)])
    assert parts[1] == TextPart("It is red", CONTRADICTED, ((1, SUPPORTED), (2, CONTRADICTED)))


def test_a_span_that_leaves_the_text_marks_nothing_and_loses_nothing() -> None:
    assert mark_answer(ANSWER, [said("a", "supported", 5, 400)]) == [TextPart(ANSWER)]


def test_evidence_names_the_statement_it_is_of_and_how_it_was_found() -> None:
    evidence = (Evidence(rank=1, start=0, end=9, stance="for", how="quoted"),)
    statements = [
        said("It is old", "unsupported", 0, 9),
        JudgedStatement(
            statement=Statement(side="response", text="It is red"),
            verdict=Verdict(label="supported", evidence=evidence),
        ),
    ]
    parts, hows = mark_passage(Passage(id="p", text="It is red.", rank=1), statements)
    assert parts[1] == TextPart("It is red", SUPPORTED, ((2, SUPPORTED),))
    assert hows == ["quoted by the judge"]


def test_a_long_text_is_truncated_and_reported() -> None:
    assert (cut("short"), cut_note("short")) == ("short", "")
    long = "x" * (MAX_CHARACTERS + 1)
    assert len(cut(long)) == MAX_CHARACTERS
    assert cut_note(long) == "The first 20,000 of 20,001 characters are shown."
