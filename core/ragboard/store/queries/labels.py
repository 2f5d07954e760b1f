"""People's labels in the store: append-only rows that hang on the text of an answer, and what holds of them now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from ragboard.records import Label, Sample
from ragboard.store.nouns import RunRef
from ragboard.store.queries.query import Connection

__all__ = [
    "HumanVerdict",
    "LabelKind",
    "Queue",
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
    "statement_labels",
    "statement_place",
    "withdraw_labels",
]

LabelKind: TypeAlias = Literal["verdict", "grade", "preference"]

Queue: TypeAlias = Literal["browsing", "random", "disagreement", "imported"]
"""Where a label comes from: from looking at a sample with its verdicts in sight; from a random draw, or from
disagreements, without seeing them; or from a file."""

Place: TypeAlias = tuple[str, int, int]
"""Evaluation, position and number of a statement, both from 0."""

_DEFAULTS = {"other_key": "", "dimension": "", "statement": "", "note": "", "design": ""}


@dataclass(frozen=True, kw_only=True, slots=True)
class HumanVerdict:
    """A person's verdict on a statement, given all the passages together."""

    label: Label
    annotator: str
    note: str
    at: datetime
    """UTC."""
    queue: Queue


def append_label(connection: Connection, row: Mapping[str, Any]) -> None:
    """Append a row of `labels`; columns that are not given stay empty."""
    whole = _DEFAULTS | dict(row)
    columns, values = ", ".join(whole), ", ".join(f"${name}" for name in whole)
    connection.execute(f"INSERT INTO labels (said, {columns}) VALUES (now() AT TIME ZONE 'UTC', {values})", whole)


def withdraw_labels(connection: Connection, numbers: Sequence[int]) -> None:
    """Take labels back: each gets a newer row without a value."""
    connection.execute(
        "INSERT INTO labels BY NAME SELECT * REPLACE (nextval('label_numbers') AS number,"
        " now() AT TIME ZONE 'UTC' AS said, NULL AS value, '' AS note) FROM labels WHERE number IN (SELECT unnest(?))",
        [list(numbers)],
    )


def keep_answer(connection: Connection, key: str, sample: Sample) -> None:
    """Keep an answer that labels hang on, unless it is there."""
    history = [{"role": turn.role, "text": turn.text} for turn in sample.history]
    connection.execute(
        "INSERT OR IGNORE INTO labelled_answers VALUES (?, ?, to_json(?), ?, ?::VARCHAR[])",
        [key, sample.question, history, sample.answer or "", [one.text for one in sample.contexts or ()]],
    )


def keep_answer_of(connection: Connection, run: RunRef, sample_id: str) -> tuple[str, str] | None:
    """The same for a sample of a run; its key and its answer, None if the run has no such sample."""
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


def statement_place(connection: Connection, run: RunRef, sample_id: str, number: int) -> dict[str, Any] | None:
    """The columns of `labels` that say which statement of an answer is meant, by its number from 1."""
    row = connection.execute(
        "SELECT s.answer_key, t.text, t.span_start, t.span_end, t.span_how FROM samples s JOIN statements t"
        " ON t.evaluation_id = $evaluation AND t.position = s.position AND t.side = 'response'"
        " AND t.statement = $statement WHERE s.run_id = $run AND s.sample_id = $sample",
        _at(run, sample_id, number),
    ).fetchone()
    names = ("answer_key", "statement", "span_start", "span_end", "span_how")
    return dict(zip(names, row, strict=True)) if row else None


def statement_labels(
    connection: Connection, run: RunRef, sample_id: str, number: int, *, annotator: str, queue: Queue
) -> list[int]:
    """The numbers of a person's current labels on a statement in a queue."""
    rows = connection.execute(
        "SELECT h.number FROM human_verdicts h JOIN samples s ON s.run_id = $run AND s.position = h.position"
        " WHERE h.evaluation_id = $evaluation AND s.sample_id = $sample AND h.statement = $statement"
        " AND h.annotator = $annotator AND h.queue = $queue",
        _at(run, sample_id, number) | {"annotator": annotator, "queue": queue},
    ).fetchall()
    return [row[0] for row in rows]


def last_label(
    connection: Connection, run: RunRef, *, annotator: str, queue: Queue, kind: LabelKind
) -> tuple[int, str, str, str] | None:
    """The number, sample, value and statement of the last label that a person gave in a queue of a run."""
    return connection.execute(
        "SELECT number, sample_id, value, statement FROM current_labels WHERE annotator = ? AND queue = ?"
        " AND kind = ? AND run_id = ? ORDER BY number DESC LIMIT 1",
        [annotator, queue, kind, run.run_id],
    ).fetchone()


def human_verdicts(connection: Connection, keys: Iterable[Place]) -> Mapping[Place, tuple[HumanVerdict, ...]]:
    """People's current verdicts on statements, the latest last; those without a label are left out."""
    wanted = set(keys)
    rows = connection.execute(
        "SELECT evaluation_id, position, statement, label, annotator, note, said, queue FROM human_verdicts"
        " WHERE evaluation_id IN (SELECT unnest(?::VARCHAR[])) AND position IN (SELECT unnest(?::INTEGER[]))"
        " ORDER BY number",
        [[key[0] for key in wanted], [key[1] for key in wanted]],
    ).fetchall()
    found: dict[Place, tuple[HumanVerdict, ...]] = {}
    for evaluation, position, statement, label, annotator, note, at, queue in rows:
        place = (evaluation, position, statement)
        if place in wanted:
            verdict = HumanVerdict(label=label, annotator=annotator, note=note, at=at, queue=queue)
            found[place] = (*found.get(place, ()), verdict)
    return found


def latest_verdicts(connection: Connection, evaluation_id: str) -> Mapping[tuple[int, int], Label]:
    """By position and statement of an evaluation the latest verdict of a person: the one that counts."""
    rows = connection.execute(
        "SELECT position, statement, human FROM latest_human_verdicts WHERE evaluation_id = ?", [evaluation_id]
    ).fetchall()
    return {(position, statement): label for position, statement, label in rows}


def labelled_answers(connection: Connection) -> list[tuple[str, str, str, str, list[str]]]:
    """Key, question, history (JSON), answer and passages of every answer that labels hang on."""
    return connection.execute("SELECT answer_key, question, history, answer, contexts FROM labelled_answers").fetchall()


def current_labels(connection: Connection, run: RunRef | None) -> list[tuple[Any, ...]]:
    """Every current label, or those on a run's answers: the labels of one answer, person and queue are together."""
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
    """What identifies each current label that came from a file."""
    return set(
        connection.execute(
            "SELECT annotator, kind, answer_key, other_key, dimension, statement, span_start, span_end, value, note,"
            " design FROM current_labels WHERE queue = 'imported'"
        ).fetchall()
    )


def answer_keys_of_runs(connection: Connection) -> set[str]:
    """The keys of the answers that the store's runs give."""
    return {row[0] for row in connection.execute("SELECT DISTINCT answer_key FROM samples").fetchall()}


def _at(run: RunRef, sample_id: str, number: int) -> dict[str, Any]:
    return {"run": run.run_id, "evaluation": run.evaluation_id, "sample": sample_id, "statement": number - 1}
