"""One sample to be labelled: its statements by keyboard, the answer as a whole, or two answers side by side.

Who made the answer and what a judge says of it is not shown. A button's key names its sample: a key pressed twice
says nothing of the next one.
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
from ragboard.store.queries.labels import LabelSource
from ragboard.tasks import Quality
from ragboard_dashboard.components import COMPONENTS, safe_key, utf16, widget
from ragboard_dashboard.data import get_sample, store
from ragboard_dashboard.text import plain

__all__ = [
    "AnnotationSession",
    "AnnotatorState",
    "draw_answer",
    "draw_pair",
    "draw_statements",
    "note_field",
    "take_statements",
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
    """Who is labelling what."""

    run: RunRef
    queue: LabelSource
    name: str
    dimension: Quality = "faithfulness"
    against: RunRef | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class AnnotatorState:
    """What a person has said of the statements of a sample so far, as the browser knows it."""

    sample: str
    labels: tuple[Label | None, ...]
    at: int | None
    """The statement that is next, from 0; None if all have a verdict."""
    when: int
    """In the browser's milliseconds; distinguishes a repeated choice from a redelivered one."""


def annotator_state() -> AnnotatorState | None:
    """Return what the browser last sent; None before the first choice, and for what it could not have sent."""
    now: Any = st.session_state.get(KEY, {}).get("now")
    match now:
        case {"sample": str(sample), "said": [*said], "at": int() | None as at, "when": int(when)}:
            labels: list[Label | None] = [
                next((label for label in VERDICT_STYLES if label == one), None) for one in said
            ]
            return AnnotatorState(sample=sample, labels=tuple(labels), at=at, when=when)
        case _:
            return None


def take_statements(session: AnnotationSession) -> None:
    """Save what a person said of statements since the last time."""
    now = annotator_state()
    if now is None or now == st.session_state.get("annotator-taken"):
        return
    mine = _own_labels(session, now.sample)
    for place, label in enumerate(now.labels):
        if label and place < len(mine) and label != mine[place]:
            note = st.session_state.get(_note_key(now.sample, place)) or ""
            _save(_statement_write(session, now.sample, place, label, note))
    st.session_state["annotator-taken"] = now


def _statement_write(
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


def draw_statements(session: AnnotationSession, item: QueueItem) -> None:
    """Draw the answer with its statements; the keys `1`, `2` and `3` label one."""
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
    """Draw the field for a note on the next statement. A note on a labelled statement is stored with its label."""
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
        _save(_statement_write(session, item.sample_id, at, label, note))


def _note_key(sample_id: str, place: int) -> str:
    return safe_key("annotate-note", sample_id, str(place))


def draw_answer(session: AnnotationSession, item: QueueItem) -> None:
    """Draw the whole answer; the keys `1` to `5` grade it."""
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


def draw_pair(session: AnnotationSession, item: QueueItem, against: RunRef) -> None:
    """Two answers to one question, in an order by lot; `a`, `b` or `t` for a tie."""
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
    """Return the person's verdict on each statement, in that queue."""
    mine: list[Label | None] = []
    for each in get_sample(session.run, sample_id).statements:
        said: list[Label] = [
            one.label for one in each.people if one.annotator == session.name and one.queue == session.queue
        ]
        mine.append(said[-1] if said else None)
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
    """Return what the field for a note holds, which is drawn behind the buttons that send it."""
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
