"""One sample to be labelled: its statements by keyboard, the answer as a whole, or two answers side by side.

Who made the answer and what a judge says of it is not shown. A button's key names its sample, so that a key
pressed twice says nothing of the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import streamlit as st

from ragboard.errors import RagboardError
from ragboard.human.annotation import QueueItem
from ragboard.human.labels import (
    Preferred,
    grade_answer,
    label_statement,
    prefer_answer,
    swap_preference,
)
from ragboard.records import Label, Passage, Sample
from ragboard.store import RunRef
from ragboard.store.queries.labels import Queue
from ragboard.tasks import Quality
from ragboard_dashboard.components.annotator import annotator, told
from ragboard_dashboard.components.keys import safe_key
from ragboard_dashboard.data import get_sample, store
from ragboard_dashboard.shared import plain

__all__ = ["Sitting", "draw_answer", "draw_pair", "draw_statements", "take_statements"]

GRADES = {1: "worst", 2: "poor", 3: "fair", 4: "good", 5: "best"}


@dataclass(frozen=True, kw_only=True)
class Sitting:
    """Who is labelling what."""

    run: RunRef
    queue: Queue
    name: str
    dimension: Quality = "faithfulness"
    against: RunRef | None = None


def take_statements(sitting: Sitting) -> None:
    """Keep what the browser told of statements since the last time."""
    now = told()
    if now is None or now == st.session_state.get("annotator-taken"):
        return
    mine = _mine(sitting, now.sample)
    for place, label in enumerate(now.labels):
        if label and place < len(mine) and label != mine[place]:
            note = st.session_state.get(_note_key(now.sample, place)) or ""
            _keep(_statement_kept(sitting, now.sample, place, label, note))
    st.session_state["annotator-taken"] = now


def _statement_kept(sitting: Sitting, sample_id: str, place: int, label: Label, note: str) -> Callable[[], None]:
    return partial(
        label_statement,
        store(),
        sitting.run,
        sample_id,
        place + 1,
        label,
        annotator=sitting.name,
        note=note,
        queue=sitting.queue,
    )


def draw_statements(sitting: Sitting, item: QueueItem) -> None:
    """The answer with its statements, judged by `1`, `2` and `3`."""
    report = get_sample(sitting.run, item.sample_id)
    _question(report.sample)
    annotator(
        sample=item.sample_id,
        answer=report.sample.answer or "",
        statements=[one.statement for one in report.statements],
        passages=report.sample.contexts or (),
        labels=_mine(sitting, item.sample_id),
    )


def note_field(sitting: Sitting, item: QueueItem) -> None:
    """A field for a note on the statement that is next; a note on one that has a verdict is kept with it."""
    now = told()
    mine = _mine(sitting, item.sample_id)
    following = next((place for place, label in enumerate(mine) if not label), 0)
    at = now.at if now and now.sample == item.sample_id and now.at is not None else following
    note = st.text_input(
        "Note",
        key=_note_key(item.sample_id, at),
        placeholder=f"n: a note on statement {at + 1}",
        label_visibility="collapsed",
        width=260,
    )
    label = mine[at] if at < len(mine) else None
    if label and note and note != _noted(sitting, item.sample_id, at):
        _keep(_statement_kept(sitting, item.sample_id, at, label, note))


def _note_key(sample_id: str, place: int) -> str:
    return safe_key("annotate-note", sample_id, str(place))


def draw_answer(sitting: Sitting, item: QueueItem) -> None:
    """The answer as a whole, graded by `1` to `5`."""
    sample = get_sample(sitting.run, item.sample_id).sample
    _question(sample)
    row = st.container(horizontal=True, vertical_alignment="center")
    note = _noted_before(item)
    for grade, word in GRADES.items():
        if row.button(word, key=f"grade-{item.sample_id}-{grade}", shortcut=str(grade)):
            _keep(
                partial(
                    grade_answer,
                    store(),
                    sitting.run,
                    item.sample_id,
                    grade,
                    annotator=sitting.name,
                    dimension=sitting.dimension,
                    note=note,
                    queue=sitting.queue,
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


def draw_pair(sitting: Sitting, item: QueueItem, against: RunRef) -> None:
    """Two answers to one question, in an order by lot; `a`, `b` or `t` for a tie."""
    sides = [get_sample(sitting.run, item.sample_id).sample, get_sample(against, item.other_id).sample]
    _question(sides[0])
    row = st.container(horizontal=True, vertical_alignment="center")
    note = _noted_before(item)
    words: dict[Preferred, str] = {"a": "A is better", "b": "B is better", "tie": "Tie"}
    for seen, word in words.items():
        if row.button(word, key=f"prefer-{item.sample_id}-{seen}", shortcut=seen[0]):
            preferred = swap_preference(seen) if item.swapped else seen
            _keep(
                partial(
                    prefer_answer,
                    store(),
                    sitting.run,
                    item.sample_id,
                    against,
                    item.other_id,
                    preferred,
                    annotator=sitting.name,
                    dimension=sitting.dimension,
                    note=note,
                    queue=sitting.queue,
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


def _mine(sitting: Sitting, sample_id: str) -> list[Label | None]:
    """The person's verdict on each statement, in that queue."""
    mine: list[Label | None] = []
    for each in get_sample(sitting.run, sample_id).statements:
        said: list[Label] = [
            one.label for one in each.people if one.annotator == sitting.name and one.queue == sitting.queue
        ]
        mine.append(said[-1] if said else None)
    return mine


def _noted(sitting: Sitting, sample_id: str, place: int) -> str:
    people = get_sample(sitting.run, sample_id).statements[place].people
    return next(
        (one.note for one in reversed(people) if one.annotator == sitting.name and one.queue == sitting.queue), ""
    )


def _question(sample: Sample) -> None:
    for turn in sample.history:
        plain(f"{turn.role}: {turn.text}", "note")
    plain(sample.question, "title")


def _note(item: QueueItem) -> None:
    st.text_input(
        "Note",
        key=f"annotate-note-{item.sample_id}",
        placeholder="A note, before you decide",
        label_visibility="collapsed",
        width=260,
    )


def _noted_before(item: QueueItem) -> str:
    """What the field for a note holds, which is drawn behind the buttons that send it."""
    return str(st.session_state.get(f"annotate-note-{item.sample_id}") or "")


def _text(title: str, text: str) -> None:
    st.subheader(title, anchor=False)
    plain(text)


def _passages(passages: tuple[Passage, ...]) -> None:
    st.subheader("Passages", anchor=False)
    for passage in passages:
        plain(f"{passage.rank}  {passage.text}")


def _keep(write: Callable[[], None]) -> None:
    try:
        write()
    except RagboardError as error:
        st.error("That was not kept.", icon=":material/error:")
        plain(str(error))
        st.stop()
