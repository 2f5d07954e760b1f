"""Show one sample to label: the statements of an answer, the whole answer, or two answers side by side.

The judge's verdicts are hidden. Each sample has its own buttons, so a second key press cannot label the next sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from ragboard.analysis.verdict_style import VERDICT_STYLES
from ragboard.errors import RagboardError
from ragboard.human.annotation import QueueItem
from ragboard.human.labels import Preferred, grade_answer, label_statement, prefer_answer, swap_preference
from ragboard.records import Label, Passage, Sample, Statement
from ragboard.spans import covered_pieces, strip_bidi_controls
from ragboard.store import RunRef
from ragboard.store.queries.labels import LabelQueue
from ragboard.tasks import Quality
from ragboard_dashboard.components import COMPONENTS, safe_key, utf16, widget
from ragboard_dashboard.data import get_sample, store
from ragboard_dashboard.text import plain

__all__ = [
    "AnnotationSession",
    "AnnotatorState",
    "note_field",
    "save_sent_labels",
    "show_answer",
    "show_pair",
    "show_statements",
]

GRADES = {1: "worst", 2: "poor", 3: "fair", 4: "good", 5: "best"}
KEY = "annotator-answer"
_draw = widget(
    "annotator",
    "reader",
    Path(__file__).with_name("annotator.js"),
    COMPONENTS / "answer.css",
    Path(__file__).with_name("annotator.css"),
)


@dataclass(frozen=True, kw_only=True)
class AnnotationSession:
    """An annotator, and what they label."""

    run: RunRef
    queue: LabelQueue
    name: str
    """The annotator's name."""
    dimension: Quality = "faithfulness"
    against: RunRef | None = None
    """For pairs, the other run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnnotatorState:
    """The labels of a sample's statements that the browser sent last."""

    sample: str
    labels: tuple[Label | None, ...]
    at: int | None
    """The current statement, from 0; None if all statements have a label."""
    when: int
    """Time in the browser, in milliseconds. It distinguishes a choice made twice from a message received twice."""


def annotator_state() -> AnnotatorState | None:
    """Return what the browser sent last; None if it sent nothing, or invalid data."""
    now: Any = st.session_state.get(KEY, {}).get("now")
    match now:
        case {"sample": str(sample), "labels": [*sent], "at": int() | None as at, "when": int(when)}:
            labels: list[Label | None] = [
                next((label for label in VERDICT_STYLES if label == one), None) for one in sent
            ]
            return AnnotatorState(sample=sample, labels=tuple(labels), at=at, when=when)
        case _:
            return None


def save_sent_labels(session: AnnotationSession) -> None:
    """Save the labels that the browser sent since the last call."""
    now = annotator_state()
    if now is None or now == st.session_state.get("annotator-saved"):
        return
    mine = _own_labels(session, now.sample)
    for place, label in enumerate(now.labels):
        if label and place < len(mine) and label != mine[place]:
            note = st.session_state.get(_note_key(now.sample, place)) or ""
            _save(_label_writer(session, now.sample, place, label, note))
    st.session_state["annotator-saved"] = now


def _label_writer(
    session: AnnotationSession, sample_id: str, place: int, label: Label, note: str
) -> Callable[[], None]:
    return partial(
        label_statement,
        store(),
        session.run,
        sample_id,
        place + 1,
        label,
        annotator=session.name,
        note=note,
        queue=session.queue,
    )


def show_statements(session: AnnotationSession, item: QueueItem) -> None:
    """Show the answer with its statements. The keys `1`, `2` and `3` label the current statement."""
    report = get_sample(session.run, item.sample_id)
    _question(report.sample)
    sample, statements = report.sample, [statement.statement for statement in report.statements]
    answer = sample.answer or ""
    _draw(
        key=KEY,
        data={
            "sample": item.sample_id,
            "answer": strip_bidi_controls(answer),
            "pieces": _pieces(answer, statements),
            "statements": [strip_bidi_controls(one.text) for one in statements],
            "labels": _own_labels(session, item.sample_id),
            "passages": [
                {"rank": passage.rank, "text": strip_bidi_controls(passage.text)} for passage in sample.contexts or ()
            ],
            "verdicts": {
                label: {"icon": look.icon, "word": look.word, "key": str(key)}
                for key, (label, look) in enumerate(VERDICT_STYLES.items(), 1)
            },
        },
        on_now_change=lambda: None,
    )


def _pieces(answer: str, statements: Sequence[Statement]) -> list[dict[str, Any]]:
    spans = {place: (one.span.start, one.span.end) for place, one in enumerate(statements) if one.span}
    unit = utf16(answer)
    return [
        {"start": unit(piece.start), "end": unit(piece.end), "of": sorted(piece.members)}
        for piece in covered_pieces(spans, len(answer))
    ]


def note_field(session: AnnotationSession, item: QueueItem) -> None:
    """Show the field for a note on the current statement. If the statement has a label, the note is stored with it."""
    now = annotator_state()
    mine = _own_labels(session, item.sample_id)
    following = next((place for place, label in enumerate(mine) if not label), 0)
    at = now.at if now and now.sample == item.sample_id and now.at is not None else following
    note = st.text_input(
        "Note",
        key=_note_key(item.sample_id, at),
        placeholder=f"n: note on statement {at + 1}",
        label_visibility="collapsed",
        width=260,
    )
    label = mine[at] if at < len(mine) else None
    if label and note and note != _saved_note(session, item.sample_id, at):
        _save(_label_writer(session, item.sample_id, at, label, note))


def _note_key(sample_id: str, place: int) -> str:
    return safe_key("annotate-note", sample_id, str(place))


def show_answer(session: AnnotationSession, item: QueueItem) -> None:
    """Show the whole answer. The keys `1` to `5` grade it."""
    sample = get_sample(session.run, item.sample_id).sample
    _question(sample)
    row = st.container(horizontal=True, vertical_alignment="center")
    note = _typed_note(item)
    for grade, word in GRADES.items():
        if row.button(word, key=f"grade-{item.sample_id}-{grade}", shortcut=str(grade)):
            _save(
                partial(
                    grade_answer,
                    store(),
                    session.run,
                    item.sample_id,
                    grade,
                    annotator=session.name,
                    dimension=session.dimension,
                    note=note,
                    queue=session.queue,
                )
            )
            st.rerun()
    with row:
        _note(item)
    answer, passages = st.columns(2, gap="large")
    with answer:
        _text("Answer", sample.answer or "")
    with passages:
        _passages(sample.contexts or ())


def show_pair(session: AnnotationSession, item: QueueItem, against: RunRef) -> None:
    """Show two answers to one question, in random order. The keys are `a`, `b` and `t` for a tie."""
    sides = [get_sample(session.run, item.sample_id).sample, get_sample(against, item.other_id).sample]
    _question(sides[0])
    row = st.container(horizontal=True, vertical_alignment="center")
    note = _typed_note(item)
    words: dict[Preferred, str] = {"a": "A is better", "b": "B is better", "tie": "Tie"}
    for seen, word in words.items():
        if row.button(word, key=f"prefer-{item.sample_id}-{seen}", shortcut=seen[0]):
            preferred = swap_preference(seen) if item.swapped else seen
            _save(
                partial(
                    prefer_answer,
                    store(),
                    session.run,
                    item.sample_id,
                    against,
                    item.other_id,
                    preferred,
                    annotator=session.name,
                    dimension=session.dimension,
                    note=note,
                    queue=session.queue,
                )
            )
            st.rerun()
    with row:
        _note(item)
    for column, name, sample in zip(
        st.columns(2, gap="large"), "AB", sides[::-1] if item.swapped else sides, strict=True
    ):
        with column:
            _text(name, sample.answer or "")
            _passages(sample.contexts or ())


def _own_labels(session: AnnotationSession, sample_id: str) -> list[Label | None]:
    """Return the annotator's latest label of each statement in this queue; None if it has no label."""
    mine: list[Label | None] = []
    for each in get_sample(session.run, sample_id).statements:
        given: list[Label] = [
            one.label for one in each.people if one.annotator == session.name and one.queue == session.queue
        ]
        mine.append(given[-1] if given else None)
    return mine


def _saved_note(session: AnnotationSession, sample_id: str, place: int) -> str:
    people = get_sample(session.run, sample_id).statements[place].people
    return next(
        (one.note for one in reversed(people) if one.annotator == session.name and one.queue == session.queue), ""
    )


def _question(sample: Sample) -> None:
    for turn in sample.history:
        plain(f"{turn.role}: {turn.text}", "note")
    plain(sample.question, "title")


def _note(item: QueueItem) -> None:
    st.text_input(
        "Note",
        key=f"annotate-note-{item.sample_id}",
        placeholder="Note (type it before you choose)",
        label_visibility="collapsed",
        width=260,
    )


def _typed_note(item: QueueItem) -> str:
    """Return the text in the field for a note. The field comes after the buttons that use its text."""
    return str(st.session_state.get(f"annotate-note-{item.sample_id}") or "")


def _text(title: str, text: str) -> None:
    st.subheader(title, anchor=False)
    plain(text)


def _passages(passages: tuple[Passage, ...]) -> None:
    st.subheader("Passages", anchor=False)
    for passage in passages:
        plain(f"{passage.rank}  {passage.text}")


def _save(write: Callable[[], None]) -> None:
    try:
        write()
    except RagboardError as error:
        st.error("Your label was not saved.", icon=":material/error:")
        plain(str(error))
        st.stop()
