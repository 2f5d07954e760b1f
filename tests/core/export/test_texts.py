"""Texts with their statements and evidence marked."""

from __future__ import annotations

from ragboard.analysis import JudgedStatement
from ragboard.analysis.verdict_style import VERDICTS
from ragboard.export.html import LONGEST, answer_marked, cut, element, html, passage_marked
from ragboard.records import Label, Span, Statement, Verdict

ANSWER = "It is red. It is old."


def said(text: str, label: Label | None, start: int, end: int) -> JudgedStatement:
    return JudgedStatement(
        statement=Statement(side="response", text=text, span=Span(start=start, end=end, how="verbatim")),
        verdict=Verdict(label=label) if label else None,
    )


def shown(*statements: JudgedStatement, answer: str = ANSWER) -> str:
    return html(element("p", *answer_marked(answer, statements, "s1")))


def test_a_statement_is_marked_with_icon_number_and_the_word_where_it_is_not_supported() -> None:
    found = shown(said("It is red", "supported", 0, 9), said("It is old", "unsupported", 11, 20))
    assert '<mark class="tone supported">It is red</mark>' in found
    assert 'href="#s1-1">✓1</a>' in found
    assert 'href="#s1-2">?2 unsupported</a>' in found


def test_where_two_statements_share_a_place_the_worse_is_seen_and_both_are_named() -> None:
    found = shown(said("a", "supported", 0, 9), said("b", "contradicted", 0, 9))
    assert '<mark class="tone contradicted">It is red</mark>' in found
    assert "✓1" in found
    assert "✕2 contradicted" in found


def test_a_span_that_leaves_the_text_marks_nothing_and_loses_nothing() -> None:
    assert shown(said("a", "supported", 5, 400)) == f"<p>{ANSWER}</p>"


def test_evidence_names_the_statement_it_speaks_of() -> None:
    found = html(element("p", *passage_marked("It is red.", {0: ((0, 9), VERDICTS["supported"], 4)}, "s2")))
    assert 'href="#s2-5">✓5</a>' in found


def test_a_long_text_is_cut_and_that_is_said() -> None:
    assert cut("short") == ("short", "")
    text, rest = cut("x" * (LONGEST + 1))
    assert len(text) == LONGEST
    assert rest == "The first 20,000 of 20,001 characters are shown."
