"""What a person says of an answer in the store, and taking it back: each is one more row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import duckdb

from ragboard.errors import NotFoundError, SettingError
from ragboard.human.label_rows import append, check_annotator
from ragboard.human.label_types import LabelKind, Queue
from ragboard.human.outcomes import GRADES
from ragboard.judges.tasks import Quality
from ragboard.records import Label
from ragboard.store import RunRef, Store

__all__ = [
    "Preferred",
    "Undone",
    "grade_answer",
    "label_statement",
    "prefer_answer",
    "turned",
    "undo",
    "withdraw_statement",
]

Preferred = Literal["a", "b", "tie"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Undone:
    """What was taken back."""

    sample_id: str
    value: str
    statement: str
    """Empty where it was no verdict on a statement."""


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

    Raises NotFoundError where there is no such sample or statement, SettingError for a blank annotator and
    for text that cannot be stored.
    """
    check_annotator(annotator, note)
    with store.database.write() as connection:
        subject = _statement(connection, run, sample_id, number) | {"kind": "verdict", "value": verdict}
        append(connection, subject | _by(annotator, note, queue, run, sample_id))
        _keep_answer(connection, run, sample_id)


def withdraw_statement(
    store: Store, run: RunRef, sample_id: str, number: int, *, annotator: str, queue: Queue = "browsing"
) -> bool:
    """Take back what a person said of a statement in that queue; False where there was nothing. Raises as above."""
    check_annotator(annotator)
    with store.database.write() as connection:
        _statement(connection, run, sample_id, number)
        rows = connection.execute(
            "SELECT h.number FROM human_verdicts h JOIN samples s ON s.run_id = $run AND s.position = h.position"
            " WHERE h.evaluation_id = $evaluation AND s.sample_id = $sample AND h.statement = $statement"
            " AND h.annotator = $annotator AND h.queue = $queue",
            _at(run, sample_id, number) | {"annotator": annotator.strip(), "queue": queue},
        ).fetchall()
        _take_back(connection, [row[0] for row in rows])
    return bool(rows)


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
    check_annotator(annotator, note)
    if not GRADES[0] <= grade <= GRADES[1]:
        raise SettingError(f"a grade is from {GRADES[0]} to {GRADES[1]}, got {grade}")
    with store.database.write() as connection:
        key = _keep_answer(connection, run, sample_id)
        subject = {"answer_key": key, "kind": "grade", "dimension": dimension, "value": str(grade)}
        append(connection, subject | _by(annotator, note, queue, run, sample_id))


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

    Raises as above, and SettingError where a sample has no answer.
    """
    check_annotator(annotator, note)
    with store.database.write() as connection:
        for one, sample in ((run, sample_id), (against, other_id)):
            _check_answered(connection, one, sample)
        ours, theirs = _keep_answer(connection, run, sample_id), _keep_answer(connection, against, other_id)
        if theirs < ours:
            ours, theirs, preferred = theirs, ours, turned(preferred)
        subject = {"answer_key": ours, "other_key": theirs, "kind": "preference", "dimension": dimension}
        append(connection, subject | {"value": preferred} | _by(annotator, note, queue, run, sample_id))


def turned(preferred: Preferred) -> Preferred:
    """The same preference with the sides changed."""
    other: dict[Preferred, Preferred] = {"a": "b", "b": "a", "tie": "tie"}
    return other[preferred]


def undo(store: Store, run: RunRef, *, annotator: str, queue: Queue, kind: LabelKind) -> Undone | None:
    """Take back the last thing of that kind that a person said in a queue of a run; None where nothing is left."""
    with store.database.write() as connection:
        row = connection.execute(
            "SELECT number, sample_id, value, statement FROM current_labels WHERE annotator = ? AND queue = ?"
            " AND kind = ? AND run_id = ? ORDER BY number DESC LIMIT 1",
            [annotator.strip(), queue, kind, run.run_id],
        ).fetchone()
        if row is None:
            return None
        number, sample_id, value, statement = row
        _take_back(connection, [number])
    return Undone(sample_id=sample_id, value=value, statement=statement)


def _take_back(connection: duckdb.DuckDBPyConnection, numbers: list[int]) -> None:
    connection.execute(
        "INSERT INTO labels BY NAME SELECT * REPLACE (nextval('label_numbers') AS number,"
        " now() AT TIME ZONE 'UTC' AS said, NULL AS value, '' AS note) FROM labels WHERE number IN (SELECT unnest(?))",
        [numbers],
    )


def _keep_answer(connection: duckdb.DuckDBPyConnection, run: RunRef, sample_id: str) -> str:
    """Keep the answer of a sample as one that labels hang on, with its passages; its key."""
    row = connection.execute(
        "SELECT answer_key FROM samples WHERE run_id = ? AND sample_id = ?", [run.run_id, sample_id]
    ).fetchone()
    if row is None:
        raise NotFoundError(f"run {run.name!r} has no sample {sample_id!r}")
    connection.execute(
        "INSERT OR IGNORE INTO labelled_answers SELECT s.answer_key, s.question, s.history, coalesce(s.answer, ''),"
        " coalesce((SELECT list(p.text ORDER BY p.rank) FROM passages p WHERE p.run_id = s.run_id"
        " AND p.position = s.position), []) FROM samples s WHERE s.run_id = ? AND s.sample_id = ?",
        [run.run_id, sample_id],
    )
    return str(row[0])


def _check_answered(connection: duckdb.DuckDBPyConnection, run: RunRef, sample_id: str) -> None:
    empty = connection.execute(
        "SELECT 1 FROM samples WHERE run_id = ? AND sample_id = ? AND trim(coalesce(answer, '')) = ''",
        [run.run_id, sample_id],
    ).fetchone()
    if empty:
        raise SettingError(f"sample {sample_id!r} of run {run.name!r} has no answer to compare")


def _statement(connection: duckdb.DuckDBPyConnection, run: RunRef, sample_id: str, number: int) -> dict[str, Any]:
    """What a label on a statement hangs on."""
    row = connection.execute(
        "SELECT s.answer_key, t.text, t.span_start, t.span_end, t.span_how FROM samples s JOIN statements t"
        " ON t.evaluation_id = $evaluation AND t.position = s.position AND t.side = 'response'"
        " AND t.statement = $statement WHERE s.run_id = $run AND s.sample_id = $sample",
        _at(run, sample_id, number),
    ).fetchone()
    if row is None:
        raise NotFoundError(f"sample {sample_id!r} of run {run.name!r} has no statement {number}")
    return dict(zip(("answer_key", "statement", "span_start", "span_end", "span_how"), row, strict=True))


def _at(run: RunRef, sample_id: str, number: int) -> dict[str, Any]:
    return {"run": run.run_id, "evaluation": run.evaluation_id, "sample": sample_id, "statement": number - 1}


def _by(annotator: str, note: str, queue: Queue, run: RunRef, sample_id: str) -> dict[str, Any]:
    """Who says so, why, and where they were."""
    return {
        "annotator": annotator.strip(),
        "note": note.strip(),
        "queue": queue,
        "run_id": run.run_id,
        "sample_id": sample_id,
    }
