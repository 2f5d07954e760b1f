"""Add, change and remove annotators' labels in the store: verdicts, grades and preferences."""

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
    LabelQueue,
    append_label,
    keep_answer,
    keep_answer_of,
    last_label,
    remove_labels,
    statement_columns,
    statement_labels,
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
    "remove_label",
    "swap_preference",
    "undo",
]

Preferred: TypeAlias = Literal["a", "b", "tie"]

GRADES = (1, 5)
"""The worst and the best grade."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledAnswer:
    """A labelled answer. It is stored with its labels, so it can be exported even if no run has it."""

    key: str
    """The answer's key (`answer_key`)."""
    sample: Sample
    """The sample with the answer; only its question, history, answer and passages are stored."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NewLabel:
    """A label to append. Stored labels never change: a changed or removed label is stored as another label."""

    annotator: str
    kind: LabelKind
    answer_key: str
    value: str | None
    """A verdict, a grade from 1 to 5, or `a`, `b`, `tie`; None removes the annotator's label."""
    statement: str = ""
    span: Span | None = None
    dimension: str = ""
    """The quality that a grade or preference is about."""
    other_key: str = ""
    """For a preference, the key of answer `b`; `answer_key` is the key of answer `a`."""
    note: str = ""
    queue: LabelQueue = "browsing"
    design: str = ""
    """The `SamplingDesign` of an imported label."""
    run_id: str = ""
    sample_id: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Undone:
    """A label that was removed by `undo`."""

    sample_id: str
    value: str
    statement: str
    """The labelled statement; empty for other kinds of label."""


def label_statement(
    store: Store,
    run: RunRef,
    sample_id: str,
    number: int,
    verdict: Label,
    *,
    annotator: str,
    note: str = "",
    queue: LabelQueue = "browsing",
) -> None:
    """Store an annotator's verdict on statement `number` (from 1) of an answer. The judge's verdict does not change.

    Raises NotFoundError if the sample or statement does not exist, SettingError if the annotator is blank or if the
    name or note cannot be stored.
    """
    common = _common_columns(annotator, note, queue, run, sample_id)
    with store.database.write() as connection:
        subject = _statement(connection, run, sample_id, number)
        keep_answer_of(connection, run, sample_id)
        append_label(connection, subject | {"kind": "verdict", "value": verdict} | common)


def remove_label(
    store: Store, run: RunRef, sample_id: str, number: int, *, annotator: str, queue: LabelQueue = "browsing"
) -> bool:
    """Remove an annotator's verdict on a statement; return whether there was a verdict to remove.

    Raises the same errors as `label_statement`.
    """
    _check_annotator(annotator)
    with store.database.write() as connection:
        _statement(connection, run, sample_id, number)
        existing = statement_labels(connection, run, sample_id, number, annotator=annotator.strip(), queue=queue)
        remove_labels(connection, existing)
    return bool(existing)


def grade_answer(
    store: Store,
    run: RunRef,
    sample_id: str,
    grade: int,
    *,
    annotator: str,
    dimension: Quality = "faithfulness",
    note: str = "",
    queue: LabelQueue = "browsing",
) -> None:
    """Store an annotator's grade of an answer, from 1 (worst) to 5 (best).

    Raises NotFoundError if the sample does not exist, SettingError for a blank annotator and a grade out of range.
    """
    common = _common_columns(annotator, note, queue, run, sample_id)
    if not GRADES[0] <= grade <= GRADES[1]:
        raise SettingError(f"the grade is {grade}; expected a number from {GRADES[0]} to {GRADES[1]}")
    with store.database.write() as connection:
        key, _ = _store_answer(connection, run, sample_id)
        append_label(
            connection, {"answer_key": key, "kind": "grade", "dimension": dimension, "value": str(grade)} | common
        )


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
    queue: LabelQueue = "browsing",
) -> None:
    """Store which answer an annotator prefers: `a` (of `run`), `b` (of `against`), or `tie`.

    Raises the same errors as `label_statement`, and SettingError if a sample has no answer.
    """
    common = _common_columns(annotator, note, queue, run, sample_id)
    with store.database.write() as connection:
        (key, answer), (other_key, other) = (
            _store_answer(connection, run, sample_id),
            _store_answer(connection, against, other_id),
        )
        for ref, sample, text in ((run, sample_id, answer), (against, other_id, other)):
            if not text.strip(" "):
                raise SettingError(f"sample {sample!r} of run {ref.name!r} has no answer to compare")
        if other_key < key:
            key, other_key, preferred = other_key, key, swap_preference(preferred)
        subject = {"answer_key": key, "other_key": other_key, "kind": "preference", "dimension": dimension}
        append_label(connection, subject | {"value": preferred} | common)


def swap_preference(preferred: Preferred) -> Preferred:
    """Return the preference after A and B are swapped."""
    swapped: dict[Preferred, Preferred] = {"a": "b", "b": "a", "tie": "tie"}
    return swapped[preferred]


def undo(store: Store, run: RunRef, *, annotator: str, queue: LabelQueue, kind: LabelKind) -> Undone | None:
    """Remove an annotator's last label of this kind in a queue of a run. Return it; None if there was no label."""
    with store.database.write() as connection:
        last = last_label(connection, run, annotator=annotator.strip(), queue=queue, kind=kind)
        if last is None:
            return None
        label_number, sample_id, value, statement = last
        remove_labels(connection, [label_number])
    return Undone(sample_id=sample_id, value=value, statement=statement)


def add_labels(store: Store, answers: Iterable[LabelledAnswer], labels: Iterable[NewLabel]) -> None:
    """Store labels and their answers in one transaction. Raises SettingError for a blank annotator."""
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
        raise SettingError("a label needs the name of its annotator; pass --annotator")
    try:
        (annotator + note).encode()
    except UnicodeEncodeError as error:
        raise SettingError(f"the annotator's name or note cannot be stored: {error}") from error


def _common_columns(annotator: str, note: str, queue: LabelQueue, run: RunRef, sample_id: str) -> dict[str, Any]:
    """Return the columns of a label that do not depend on its kind."""
    _check_annotator(annotator, note)
    return {
        "annotator": annotator.strip(),
        "note": note.strip(),
        "queue": queue,
        "run_id": run.run_id,
        "sample_id": sample_id,
    }


def _statement(connection: duckdb.DuckDBPyConnection, run: RunRef, sample_id: str, number: int) -> dict[str, Any]:
    columns = statement_columns(connection, run, sample_id, number)
    if columns is None:
        raise NotFoundError(f"sample {sample_id!r} of run {run.name!r} has no statement {number}")
    return columns


def _store_answer(connection: duckdb.DuckDBPyConnection, run: RunRef, sample_id: str) -> tuple[str, str]:
    stored = keep_answer_of(connection, run, sample_id)
    if stored is None:
        raise NotFoundError(f"run {run.name!r} has no sample {sample_id!r}")
    return stored
