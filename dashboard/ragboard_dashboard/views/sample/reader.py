"""Draw an answer, its statements and its passages as one browser component. A click on a statement shows its evidence.

Python computes offsets, in UTF-16 code units, and JavaScript draws. Offsets are inside their texts, and marks of one
kind do not overlap.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import streamlit as st

from ragboard.analysis import JudgedStatement
from ragboard.analysis.verdict_style import (
    CSS_CLASSES_WORST_FIRST,
    EVIDENCE_SOURCES,
    NOT_JUDGED,
    SINGLE_PASSAGE_STYLES,
    VERDICT_STYLES,
    citation_sentence,
    citation_style,
    evidence_style,
    human_verdict_line,
    origin_words,
    question_words_note,
    statement_style,
    style_of,
    support_sentence,
    verdict_words,
)
from ragboard.metrics.needs import Sentence
from ragboard.records import BEST_GRADE, Evidence, Passage, Verdict
from ragboard.spans import Offsets, covered_pieces, non_overlapping, strip_bidi_controls
from ragboard.store.queries.citations import SampleCitation
from ragboard_dashboard.components import COMPONENTS, utf16, widget

__all__ = ["reader_data", "statement_reader"]

_draw = widget("reader", "reader", Path(__file__).with_name("reader.js"), COMPONENTS / "answer.css")


def statement_reader(
    *,
    key: str,
    answer: str,
    statements: Sequence[JudgedStatement],
    passages: Sequence[Passage],
    chosen: int | None,
    rule_based: bool = False,
    answer_note: str = "",
    selected: Sequence[Sentence] = (),
    grades: Mapping[int, float] = MappingProxyType({}),
    citations: Sequence[SampleCitation] = (),
    asked: Sequence[str] = (),
) -> int | None:
    """Draw the answer with marked statements, the list of statements, and the passages.

    Return the number of the chosen statement, from 0; None if none is chosen.

    - `chosen`: the number of the statement that is chosen until the user chooses another one, from 0.
    - `answer_note`: a text below the heading.
    - `selected`: sentences of the passages that help to answer the question. They are marked while no statement is
      chosen.
    - `grades`: {rank of a passage: relevance}.
    - `citations`: citations in the answer, which link to the cited passages.
    - `asked`: the question, then earlier turns. A note says if they contain words that the judge found in no passage.
    """
    state: dict[str, int | None] = st.session_state.get(key, {})
    now = state.get("chosen", chosen)
    data = reader_data(
        answer=answer,
        statements=statements,
        passages=passages,
        chosen=now,
        rule_based=rule_based,
        answer_note=answer_note,
        selected=selected,
        grades=grades,
        citations=citations,
        asked=asked,
    )
    _draw(key=key, data=data, on_chosen_change=lambda: None)
    shown: int | None = data["chosen"]
    return shown


def reader_data(
    *,
    answer: str,
    statements: Sequence[JudgedStatement],
    passages: Sequence[Passage],
    chosen: int | None,
    rule_based: bool = False,
    answer_note: str = "",
    selected: Sequence[Sentence] = (),
    grades: Mapping[int, float] = MappingProxyType({}),
    citations: Sequence[SampleCitation] = (),
    asked: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the data of the browser component. `chosen` becomes None if there is no such statement."""
    counts = Counter(statement_style(judged).css for judged in statements)
    styles = (*VERDICT_STYLES.values(), *SINGLE_PASSAGE_STYLES.values(), NOT_JUDGED)
    by_rank = {passage.rank: passage for passage in passages}
    utf16_by_rank = {rank: utf16(passage.text) for rank, passage in by_rank.items()}
    citation_marks = _by_mark(citations, len(answer))
    return {
        "answer": strip_bidi_controls(answer),
        "note": answer_note,
        "pieces": _pieces(answer, statements, list(citation_marks)),
        "citations": [
            _citation(of_mark, statements, by_rank, utf16_by_rank, rule_based=rule_based)
            for of_mark in citation_marks.values()
        ],
        "verdicts": {
            style.css: {"icon": style.icon, "word": style.word, "count": counts[style.css]} for style in styles
        },
        "statements": [
            _statement(judged, by_rank, utf16_by_rank, asked, rule_based=rule_based) for judged in statements
        ],
        "passages": [
            _passage(passage, selected, grades.get(passage.rank), utf16_by_rank[passage.rank]) for passage in passages
        ],
        "chosen": chosen if chosen is not None and 0 <= chosen < len(statements) else None,
    }


def _by_mark(citations: Sequence[SampleCitation], length: int) -> dict[Offsets, list[SampleCitation]]:
    """Return {offsets of a mark in the answer: its citations}, in order."""
    found: dict[Offsets, list[SampleCitation]] = {}
    for citation in citations:
        if citation.start is not None and citation.end is not None:
            found.setdefault((citation.start, citation.end), []).append(citation)
    return {offsets: found[offsets] for offsets in non_overlapping(found, length)}


def _pieces(
    answer: str, statements: Sequence[JudgedStatement], citation_marks: Sequence[Offsets]
) -> list[dict[str, Any]]:
    """Return the marked parts of the answer in order. Citation marks split the marks of statements.

    Where statements overlap, the worst verdict comes first.
    """
    spans = {
        index: (judged.statement.span.start, judged.statement.span.end)
        for index, judged in enumerate(statements)
        if judged.statement.span
    }
    to_utf16 = utf16(answer)

    def badness(index: int) -> tuple[int, int]:
        return CSS_CLASSES_WORST_FIRST.index(statement_style(statements[index]).css), index

    pieces: list[dict[str, Any]] = [
        {"start": to_utf16(start), "end": to_utf16(end), "of": sorted(piece.members, key=badness)}
        for piece in covered_pieces(spans, len(answer))
        for start, end in _around(piece.start, piece.end, citation_marks)
    ]
    cited = [
        {"start": to_utf16(start), "end": to_utf16(end), "cites": index}
        for index, (start, end) in enumerate(citation_marks)
    ]
    return sorted([*pieces, *cited], key=lambda piece: piece["start"])


def _around(start: int, end: int, marks: Sequence[Offsets]) -> Iterator[Offsets]:
    """Yield the parts of the text from `start` to `end` that no mark covers."""
    for mark_start, mark_end in marks[bisect_left(marks, (start, 0)) :]:
        if mark_start >= end:
            break
        if start < mark_start:
            yield start, mark_start
        start = mark_end
    if start < end:
        yield start, end


def _citation(
    citations: Sequence[SampleCitation],
    statements: Sequence[JudgedStatement],
    passages: dict[int, Passage],
    utf16_by_rank: dict[int, Callable[[int], int]],
    *,
    rule_based: bool,
) -> dict[str, Any]:
    """Return a citation mark with the passages that it cites, in the style of the worst of them."""
    styles = [citation_style(citation, statements) for citation in citations]
    worst = min(styles, key=lambda style: (CSS_CLASSES_WORST_FIRST.index(style.css), style.icon == "✓"))
    return {
        "verdict": worst.css,
        "icon": worst.icon,
        "says": strip_bidi_controls(" ".join(citation_sentence(one, rule_based=rule_based) for one in citations)),
        "support": "",
        "evidence": [
            _cited_evidence(style.css, one, statements, passages[one.rank].text, utf16_by_rank[one.rank])
            for one, style in zip(citations, styles, strict=True)
            if one.rank in passages
        ],
    }


def _cited_evidence(
    css: str,
    citation: SampleCitation,
    statements: Sequence[JudgedStatement],
    text: str,
    to_utf16: Callable[[int], int],
) -> dict[str, Any]:
    """Return the evidence in a cited passage for the statements of the citing sentence."""
    found: dict[Offsets, tuple[str, str]] = {}
    for judged in (statements[index] for index in citation.statements):
        for verdict in filter(None, (judged.single.get(citation.rank or 0), judged.verdict)):
            for mark in verdict.evidence:
                if mark.rank == citation.rank:
                    css_and_source = evidence_style(verdict, mark).css, EVIDENCE_SOURCES[mark.how]
                    found.setdefault((mark.start, mark.end), css_and_source)
    kept = non_overlapping(found, len(text))
    return {
        "rank": citation.rank,
        "look": css,
        "how": ", ".join(dict.fromkeys(found[offsets][1] for offsets in kept)),
        "marks": [
            {"start": to_utf16(start), "end": to_utf16(end), "look": found[start, end][0]} for start, end in kept
        ],
    }


def _statement(
    judged: JudgedStatement,
    passages: dict[int, Passage],
    utf16_by_rank: dict[int, Callable[[int], int]],
    asked: Sequence[str],
    *,
    rule_based: bool,
) -> dict[str, Any]:
    if judged.verdict is None and judged.single:
        return _statement_by_passage(judged, passages, utf16_by_rank)
    verdict = judged.verdict
    evidence = [mark for mark in verdict.evidence if mark.rank in passages] if verdict else []
    return {
        "text": strip_bidi_controls(judged.statement.text),
        "verdict": style_of(verdict).css,
        "words": verdict_words(judged, rule_based=rule_based),
        "reason": strip_bidi_controls(
            " ".join(filter(None, [verdict.reason, question_words_note(verdict.reason, asked)]))
        )
        if verdict
        else "",
        "origin": origin_words(judged),
        "support": "; ".join(filter(None, [_support(judged, rule_based=rule_based), judged.draws_in_words])),
        "people": _people(judged),
        "says": support_sentence(judged, passages),
        "evidence": [
            _evidence(
                verdict,
                rank,
                [mark for mark in evidence if mark.rank == rank],
                passages[rank].text,
                utf16_by_rank[rank],
            )
            for rank in sorted({mark.rank for mark in evidence})
            if verdict
        ],
    }


def _support(judged: JudgedStatement, *, rule_based: bool) -> str:
    """Return the judge's score as text. The score of a rule-based judge is a probability."""
    verdict = judged.verdict
    if verdict is None or verdict.score is None:
        return ""
    if not rule_based:
        return f"support {verdict.score:.2f}"
    percent = round(100 * verdict.score)
    return f"probability of support {'under 1%' if percent < 1 else 'over 99%' if percent > 99 else f'{percent}%'}"


def _statement_by_passage(
    judged: JudgedStatement, passages: dict[int, Passage], utf16_by_rank: dict[int, Callable[[int], int]]
) -> dict[str, Any]:
    """Return a statement without a joint verdict, with the single passages that support or contradict it."""
    return {
        "text": strip_bidi_controls(judged.statement.text),
        "verdict": statement_style(judged).css,
        "words": statement_style(judged).word,
        "reason": "",
        "origin": origin_words(judged),
        "support": "",
        "people": _people(judged),
        "says": support_sentence(judged, passages),
        "evidence": [
            _evidence_of_one_passage(verdict, rank, passages[rank].text, utf16_by_rank[rank])
            for rank, verdict in judged.single.items()
            if rank in passages and verdict.label != "unsupported"
        ],
    }


def _people(judged: JudgedStatement) -> list[dict[str, str]]:
    """Return the annotators' labels of a statement, oldest first."""
    return [
        {"look": VERDICT_STYLES[one.label].css, "text": strip_bidi_controls(human_verdict_line(one))}
        for one in judged.people
    ]


def _evidence_of_one_passage(verdict: Verdict, rank: int, text: str, to_utf16: Callable[[int], int]) -> dict[str, Any]:
    """Return the evidence for a verdict against one passage."""
    found = _evidence(verdict, rank, [mark for mark in verdict.evidence if mark.rank == rank], text, to_utf16)
    return found | {"how": ", ".join(filter(None, ["only this passage", found["how"]]))}


def _evidence(
    verdict: Verdict, rank: int, marks: Sequence[Evidence], text: str, to_utf16: Callable[[int], int]
) -> dict[str, Any]:
    """Return the evidence for a verdict in one passage: the marked parts, and how they were found."""
    by_offsets: dict[Offsets, Evidence] = {(mark.start, mark.end): mark for mark in reversed(marks)}
    marks_apart = [by_offsets[span] for span in non_overlapping(by_offsets, len(text))]
    return {
        "rank": rank,
        "look": evidence_style(verdict, marks[0]).css if marks else style_of(verdict).css,
        "how": ", ".join(dict.fromkeys(EVIDENCE_SOURCES[mark.how] for mark in marks_apart)),
        "marks": [
            {"start": to_utf16(mark.start), "end": to_utf16(mark.end), "look": evidence_style(verdict, mark).css}
            for mark in marks_apart
        ],
    }


def _passage(
    passage: Passage, selected: Sequence[Sentence], grade: float | None, to_utf16: Callable[[int], int]
) -> dict[str, Any]:
    graded = "" if grade is None else f"relevance {grade:g} of {BEST_GRADE}"
    score = "" if passage.score is None else f"score {passage.score:.4g}"
    sentences = [(one.start, one.end) for one in selected if one.rank == passage.rank]
    return {
        "rank": passage.rank,
        "title": "" if passage.id == str(passage.rank) else strip_bidi_controls(passage.id),
        "score": " · ".join(filter(None, (graded, score))),
        "text": strip_bidi_controls(passage.text),
        "selected": [
            {"start": to_utf16(start), "end": to_utf16(end)}
            for start, end in non_overlapping(sentences, len(passage.text))
        ],
    }
