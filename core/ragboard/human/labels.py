"""People label answers in the store: verdicts on statements, grades, preferences, and taking them back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

import duckdb

from ragboard.errors import NotFoundError, SettingError
from ragboard.records import Label, Sample, Span
from ragboard.store import RunRef, Store
from ragboard.store.queries.labels import (
    LabelKind,
    Queue,
    append_label,
    keep_answer,
    keep_answer_of,
    last_label,
    statement_labels,
    statement_place,
    withdraw_labels,
)
from ragboard.tasks import Quality

__all__ = [
    "GRADES",
    "LabelledAnswer",
    "NewLabel",
    "Preferred",
    "Undone",
    "add_labels",
    "grade_answer",
    "label_statement",
    "prefer_answer",
    "swap_preference",
    "undo",
    "withdraw_statement",
]

Preferred: TypeAlias = Literal["a", "b", "tie"]

GRADES = (1, 5)
"""The worst grade and the best."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledAnswer:
    """An answer that labels hang on, with what is needed to find it in any run and to export it without one."""

    key: str
    sample: Sample
    """Question, history, answer and passages; nothing else of it is kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NewLabel:
    """A label to append. Labels are never changed: another verdict, or taking one back, is another label."""

    annotator: str
    kind: LabelKind
    answer_key: str
    value: str | None
    """A verdict, a grade from 1 to 5, or `a`, `b`, `tie`; None takes back what the person said there."""
    statement: str = ""
    span: Span | None = None
    dimension: str = ""
    """Of a grade or a preference: which quality."""
    other_key: str = ""
    """Of a preference: the answer that is b where the other is a."""
    note: str = ""
    queue: Queue = "browsing"
    design: str = ""
    """Of an imported label a `SamplingDesign`."""
    run_id: str = ""
    sample_id: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Undone:
    """The label that was taken back."""

    sample_id: str
    value: str
    statement: str
    """Empty unless it was a verdict on a statement."""


def label_statement(
    store: Store,
    run: RunRef,
    sample_id: str,
    number: int,
    verdict: Label,
    *,
    annotator: str,
    note: str = "",
    queue: Queue = "browsing",
) -> None:
    """Keep a person's verdict on a statement of an answer, by its number from 1; the judge's stays as it is.

    Raises NotFoundError if there is no such sample or statement, SettingError for a blank annotator and
    for text that cannot be stored.
    """
    by = _by(annotator, note, queue, run, sample_id)
    with store.database.write() as connection:
        subject = _statement(connection, run, sample_id, number)
        keep_answer_of(connection, run, sample_id)
        append_label(connection, subject | {"kind": "verdict", "value": verdict} | by)


def withdraw_statement(
    store: Store, run: RunRef, sample_id: str, number: int, *, annotator: str, queue: Queue = "browsing"
) -> bool:
    """Take back a person's verdict on a statement; False if there was none. Raises as `label_statement` does."""
    _check_annotator(annotator)
    with store.database.write() as connection:
        _statement(connection, run, sample_id, number)
        given = statement_labels(connection, run, sample_id, number, annotator=annotator.strip(), queue=queue)
        withdraw_labels(connection, given)
    return bool(given)


def grade_answer(
    store: Store,
    run: RunRef,
    sample_id: str,
    grade: int,
    *,
    annotator: str,
    dimension: Quality = "faithfulness",
    note: str = "",
    queue: Queue = "browsing",
) -> None:
    """Keep a person's grade of an answer, from 1 (worst) to 5. Raises NotFoundError, SettingError."""
    by = _by(annotator, note, queue, run, sample_id)
    if not GRADES[0] <= grade <= GRADES[1]:
        raise SettingError(f"a grade is from {GRADES[0]} to {GRADES[1]}, got {grade}")
    with store.database.write() as connection:
        key, _ = _kept(connection, run, sample_id)
        append_label(connection, {"answer_key": key, "kind": "grade", "dimension": dimension, "value": str(grade)} | by)


def prefer_answer(
    store: Store,
    run: RunRef,
    sample_id: str,
    against: RunRef,
    other_id: str,
    preferred: Preferred,
    *,
    annotator: str,
    dimension: Quality = "faithfulness",
    note: str = "",
    queue: Queue = "browsing",
) -> None:
    """Keep which answer a person prefers: `a`, that of `run`, `b`, that of `against`, or neither.

    Raises as `label_statement` does, and SettingError if a sample has no answer.
    """
    by = _by(annotator, note, queue, run, sample_id)
    with store.database.write() as connection:
        (ours, answer), (theirs, other) = (
            _kept(connection, run, sample_id),
            _kept(connection, against, other_id),
        )
        for ref, sample, text in ((run, sample_id, answer), (against, other_id, other)):
            if not text.strip(" "):
                raise SettingError(f"sample {sample!r} of run {ref.name!r} has no answer to compare")
        if theirs < ours:
            ours, theirs, preferred = theirs, ours, swap_preference(preferred)
        subject = {"answer_key": ours, "other_key": theirs, "kind": "preference", "dimension": dimension}
        append_label(connection, subject | {"value": preferred} | by)


def swap_preference(preferred: Preferred) -> Preferred:
    """The same preference with the sides swapped."""
    swapped: dict[Preferred, Preferred] = {"a": "b", "b": "a", "tie": "tie"}
    return swapped[preferred]


def undo(store: Store, run: RunRef, *, annotator: str, queue: Queue, kind: LabelKind) -> Undone | None:
    """Take back the last label of that kind that a person gave in a queue of a run; None if there is none left."""
    with store.database.write() as connection:
        last = last_label(connection, run, annotator=annotator.strip(), queue=queue, kind=kind)
        if last is None:
            return None
        number, sample_id, value, statement = last
        withdraw_labels(connection, [number])
    return Undone(sample_id=sample_id, value=value, statement=statement)


def add_labels(store: Store, answers: Iterable[LabelledAnswer], labels: Iterable[NewLabel]) -> None:
    """Append labels and keep the answers they hang on, all or none. Raises SettingError for a blank annotator."""
    new = list(labels)
    for label in new:
        _check_annotator(label.annotator)
    with store.database.write() as connection:
        for answer in answers:
            keep_answer(connection, answer.key, answer.sample)
        for label in new:
            row: dict[str, Any] = asdict(label) | {"annotator": label.annotator.strip(), "note": label.note.strip()}
            span = row.pop("span") or {}
            append_label(connection, row | {f"span_{name}": span.get(name) for name in ("start", "end", "how")})


def _check_annotator(annotator: str, note: str = "") -> None:
    """Raise SettingError for a blank name, and for a name or note that cannot be stored."""
    if not annotator.strip():
        raise SettingError("a label needs the name of the annotator; give one with --annotator")
    try:
        (annotator + note).encode()
    except UnicodeEncodeError as error:
        raise SettingError(f"the annotator's name or note cannot be stored: {error}") from error


def _by(annotator: str, note: str, queue: Queue, run: RunRef, sample_id: str) -> dict[str, Any]:
    """The columns that say who labels, why, and in which run."""
    _check_annotator(annotator, note)
    return {
        "annotator": annotator.strip(),
        "note": note.strip(),
        "queue": queue,
        "run_id": run.run_id,
        "sample_id": sample_id,
    }


def _statement(connection: duckdb.DuckDBPyConnection, run: RunRef, sample_id: str, number: int) -> dict[str, Any]:
    place = statement_place(connection, run, sample_id, number)
    if place is None:
        raise NotFoundError(f"sample {sample_id!r} of run {run.name!r} has no statement {number}")
    return place


def _kept(connection: duckdb.DuckDBPyConnection, run: RunRef, sample_id: str) -> tuple[str, str]:
    kept = keep_answer_of(connection, run, sample_id)
    if kept is None:
        raise NotFoundError(f"run {run.name!r} has no sample {sample_id!r}")
    return kept
