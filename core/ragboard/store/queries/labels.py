"""Human labels in the store. Rows are only appended; later rows replace or remove earlier ones.

A label refers to an answer by a key of its text, so that it counts in every run with the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from ragboard.records import Label, Sample
from ragboard.store.queries.query import Connection, StatementKey
from ragboard.store.run_refs import RunRef

__all__ = [
    "HumanVerdict",
    "LabelKind",
    "LabelQueue",
    "answer_keys_of_runs",
    "append_label",
    "current_labels",
    "human_verdicts",
    "imported_labels",
    "keep_answer",
    "keep_answer_of",
    "labelled_answers",
    "last_label",
    "latest_verdicts",
    "remove_labels",
    "statement_columns",
    "statement_labels",
]

LabelKind: TypeAlias = Literal["verdict", "grade", "preference"]
"""A verdict on a statement, a grade of an answer, or a preference between two answers."""

LabelQueue: TypeAlias = Literal["browsing", "random", "disagreement", "imported"]
"""The queue in which a label was given. random, disagreement: a queue for annotation, which hides the judge's verdicts.
browsing: no queue, but a page that shows the verdicts. imported: no queue, but a file."""


_DEFAULTS = {"other_key": "", "dimension": "", "statement": "", "note": "", "design": ""}
"""The values of columns that a row lacks. `design` is how the answers of imported labels were selected (a
`SamplingDesign`)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HumanVerdict:
    """An annotator's verdict on a statement, checked against all passages together."""

    label: Label
    annotator: str
    note: str
    at: datetime
    """UTC."""
    queue: LabelQueue


def append_label(connection: Connection, row: Mapping[str, Any]) -> None:
    """Append a row to the table `labels`. Columns that the row lacks get their defaults."""
    complete = _DEFAULTS | dict(row)
    columns, values = ", ".join(complete), ", ".join(f"${name}" for name in complete)
    connection.execute(f"INSERT INTO labels (said, {columns}) VALUES (now() AT TIME ZONE 'UTC', {values})", complete)


def remove_labels(connection: Connection, numbers: Sequence[int]) -> None:
    """Remove labels, by appending a row without a value for each."""
    connection.execute(
        "INSERT INTO labels BY NAME SELECT * REPLACE (nextval('label_numbers') AS number,"
        " now() AT TIME ZONE 'UTC' AS said, NULL AS value, '' AS note) FROM labels WHERE number IN (SELECT unnest(?))",
        [list(numbers)],
    )


def keep_answer(connection: Connection, key: str, sample: Sample) -> None:
    """Store an answer that labels refer to, unless it is stored already."""
    history = [{"role": turn.role, "text": turn.text} for turn in sample.history]
    connection.execute(
        "INSERT OR IGNORE INTO labelled_answers VALUES (?, ?, to_json(?), ?, ?::VARCHAR[])",
        [key, sample.question, history, sample.answer or "", [one.text for one in sample.contexts or ()]],
    )


def keep_answer_of(connection: Connection, run: RunRef, sample_id: str) -> tuple[str, str] | None:
    """Store the answer of a sample, and return its key and text; None if the run has no such sample."""
    row = connection.execute(
        "SELECT answer_key, coalesce(answer, '') FROM samples WHERE run_id = ? AND sample_id = ?",
        [run.run_id, sample_id],
    ).fetchone()
    if row:
        connection.execute(
            "INSERT OR IGNORE INTO labelled_answers SELECT s.answer_key, s.question, s.history, coalesce(s.answer, ''),"
            " coalesce((SELECT list(p.text ORDER BY p.rank) FROM passages p WHERE p.run_id = s.run_id"
            " AND p.position = s.position), []) FROM samples s WHERE s.run_id = ? AND s.sample_id = ?",
            [run.run_id, sample_id],
        )
    return row


def statement_columns(connection: Connection, run: RunRef, sample_id: str, number: int) -> dict[str, Any] | None:
    """Return the columns of `labels` that identify statement `number` (from 1) of an answer; None if it has none."""
    row = connection.execute(
        "SELECT s.answer_key, t.text, t.span_start, t.span_end, t.span_how FROM samples s JOIN statements t"
        " ON t.evaluation_id = $evaluation AND t.position = s.position AND t.side = 'response'"
        " AND t.statement = $statement WHERE s.run_id = $run AND s.sample_id = $sample",
        _at(run, sample_id, number),
    ).fetchone()
    names = ("answer_key", "statement", "span_start", "span_end", "span_how")
    return dict(zip(names, row, strict=True)) if row else None


def statement_labels(
    connection: Connection, run: RunRef, sample_id: str, number: int, *, annotator: str, queue: LabelQueue
) -> list[int]:
    """Return the numbers of an annotator's current labels on a statement in a queue."""
    rows = connection.execute(
        "SELECT h.number FROM human_verdicts h JOIN samples s ON s.run_id = $run AND s.position = h.position"
        " WHERE h.evaluation_id = $evaluation AND s.sample_id = $sample AND h.statement = $statement"
        " AND h.annotator = $annotator AND h.queue = $queue",
        _at(run, sample_id, number) | {"annotator": annotator, "queue": queue},
    ).fetchall()
    return [row[0] for row in rows]


def last_label(
    connection: Connection, run: RunRef, *, annotator: str, queue: LabelQueue, kind: LabelKind
) -> tuple[int, str, str, str] | None:
    """Return (number, sample, value, statement) of an annotator's last label in a queue; None if there is none."""
    return connection.execute(
        "SELECT number, sample_id, value, statement FROM current_labels WHERE annotator = ? AND queue = ?"
        " AND kind = ? AND run_id = ? ORDER BY number DESC LIMIT 1",
        [annotator, queue, kind, run.run_id],
    ).fetchone()


def human_verdicts(
    connection: Connection, keys: Iterable[StatementKey]
) -> Mapping[StatementKey, tuple[HumanVerdict, ...]]:
    """Return the current human verdicts on statements, latest last, without statements that have none."""
    requested = set(keys)
    if not connection.execute("SELECT 1 FROM labels WHERE kind = 'verdict' LIMIT 1").fetchall():
        return {}  # without labels, much faster than the view
    rows = connection.execute(
        "SELECT evaluation_id, position, statement, label, annotator, note, said, queue FROM human_verdicts"
        " WHERE evaluation_id IN (SELECT unnest(?::VARCHAR[])) AND position IN (SELECT unnest(?::INTEGER[]))"
        " ORDER BY number",
        [[key[0] for key in requested], [key[1] for key in requested]],
    ).fetchall()
    found: dict[StatementKey, tuple[HumanVerdict, ...]] = {}
    for evaluation, position, statement, label, annotator, note, at, queue in rows:
        key = (evaluation, position, statement)
        if key in requested:
            verdict = HumanVerdict(label=label, annotator=annotator, note=note, at=at, queue=queue)
            found[key] = (*found.get(key, ()), verdict)
    return found


def latest_verdicts(connection: Connection, evaluation_id: str) -> Mapping[tuple[int, int], Label]:
    """Return {(position, statement): the latest human verdict}, which is the one that counts."""
    rows = connection.execute(
        "SELECT position, statement, human FROM latest_human_verdicts WHERE evaluation_id = ?", [evaluation_id]
    ).fetchall()
    return {(position, statement): label for position, statement, label in rows}


def labelled_answers(connection: Connection) -> list[tuple[str, str, str, str, list[str]]]:
    """Return (key, question, history as JSON, answer, passages) of every answer with labels."""
    return connection.execute("SELECT answer_key, question, history, answer, contexts FROM labelled_answers").fetchall()


def current_labels(connection: Connection, run: RunRef | None) -> list[tuple[Any, ...]]:
    """Return the current labels of the answers of a run, or of all answers, sorted by kind, then by answer."""
    return connection.execute(
        "SELECT l.kind, l.annotator, l.queue, l.answer_key, l.other_key, l.dimension, l.statement, l.span_start,"
        " l.span_end, l.value, l.note, l.design, l.said, r.name, l.sample_id FROM current_labels l"
        " LEFT JOIN runs r ON r.run_id = l.run_id WHERE $run IS NULL OR EXISTS (FROM samples s"
        " WHERE s.run_id = $run AND s.answer_key IN (l.answer_key, l.other_key))"
        " ORDER BY l.kind = 'preference', l.kind = 'grade', l.answer_key, l.annotator, l.queue, l.design,"
        " l.span_start NULLS LAST, l.number",
        {"run": run.run_id if run else None},
    ).fetchall()


def imported_labels(connection: Connection) -> set[tuple[Any, ...]]:
    """Return the identifying columns of each current label that was imported from a file."""
    return set(
        connection.execute(
            "SELECT annotator, kind, answer_key, other_key, dimension, statement, span_start, span_end, value, note,"
            " design FROM current_labels WHERE queue = 'imported'"
        ).fetchall()
    )


def answer_keys_of_runs(connection: Connection) -> set[str]:
    """Return the keys of all answers of the store's runs."""
    return {row[0] for row in connection.execute("SELECT DISTINCT answer_key FROM samples").fetchall()}


def _at(run: RunRef, sample_id: str, number: int) -> dict[str, Any]:
    return {"run": run.run_id, "evaluation": run.evaluation_id, "sample": sample_id, "statement": number - 1}
