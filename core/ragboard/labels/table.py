"""The SQL of labels: append, take back, and read what people say of the statements of an evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import duckdb

from ragboard.errors import NotFoundError, SettingError
from ragboard.labels.nouns import HumanVerdict, LabelledAnswer, NewLabel, Queue
from ragboard.records import Label
from ragboard.store import RunRef, Store

__all__ = [
    "add_labels",
    "check_annotator",
    "human_verdicts",
    "keep_answer_of_sample",
    "label_statement",
    "latest_verdicts",
    "people_of_statements",
    "put_answer",
    "put_label",
    "withdraw_statement",
]


def add_labels(store: Store, answers: Iterable[LabelledAnswer], labels: Iterable[NewLabel]) -> None:
    """Append labels and keep the answers they hang on, all or none. Raises SettingError for a blank annotator."""
    given = list(labels)
    for label in given:
        check_annotator(label.annotator)
    with store.database.write() as connection:
        for answer in answers:
            put_answer(connection, answer)
        for label in given:
            put_label(connection, label)


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
        subject = _statement(connection, run, sample_id, number)
        keep_answer_of_sample(connection, run.run_id, sample_id)
        _append(
            connection,
            subject
            | {
                "annotator": annotator.strip(),
                "kind": "verdict",
                "value": verdict,
                "note": note.strip(),
                "queue": queue,
                "run_id": run.run_id,
                "sample_id": sample_id,
            },
        )


def withdraw_statement(
    store: Store, run: RunRef, sample_id: str, number: int, *, annotator: str, queue: Queue = "browsing"
) -> bool:
    """Take back what a person said of a statement in that queue; False where there was nothing. Raises as above."""
    check_annotator(annotator)
    with store.database.write() as connection:
        _statement(connection, run, sample_id, number)
        done = connection.execute(
            "INSERT INTO labels BY NAME SELECT * REPLACE (nextval('label_numbers') AS number,"
            " now() AT TIME ZONE 'UTC' AS said, NULL AS value, '' AS note) FROM current_labels WHERE number IN"
            " (SELECT h.number FROM human_verdicts h JOIN samples s ON s.run_id = $run AND s.position = h.position"
            " WHERE h.evaluation_id = $evaluation AND s.sample_id = $sample AND h.statement = $statement"
            " AND h.annotator = $annotator AND h.queue = $queue) RETURNING number",
            _at(run, sample_id, number) | {"annotator": annotator.strip(), "queue": queue},
        )
        return bool(done.fetchall())


def human_verdicts(
    connection: duckdb.DuckDBPyConnection, evaluation_id: str | None, position: int
) -> Mapping[int, tuple[HumanVerdict, ...]]:
    """By statement of a sample's answer, from 0, what people say of it now, the latest last."""
    rows = connection.execute(
        f"{_SAID} WHERE evaluation_id = ? AND position = ? ORDER BY number", [evaluation_id, position]
    ).fetchall()
    return {statement: said for (_, _, statement), said in _verdicts(rows).items()}


def people_of_statements(
    connection: duckdb.DuckDBPyConnection, keys: Iterable[tuple[str, int, int]]
) -> Mapping[tuple[str, int, int], tuple[HumanVerdict, ...]]:
    """The same of statements by evaluation, position and number from 0; those without a label are left out."""
    wanted = set(keys)
    rows = connection.execute(
        f"{_SAID} WHERE evaluation_id IN (SELECT unnest(?::VARCHAR[])) AND position IN (SELECT unnest(?::INTEGER[]))"
        " ORDER BY number",
        [[key[0] for key in wanted], [key[1] for key in wanted]],
    ).fetchall()
    return {key: said for key, said in _verdicts(rows).items() if key in wanted}


def latest_verdicts(connection: duckdb.DuckDBPyConnection, evaluation_id: str) -> Mapping[tuple[int, int], Label]:
    """By position and statement of an evaluation the verdict that counts where people gave any: the latest."""
    rows = connection.execute(
        "SELECT position, statement, arg_max(label, number) FROM human_verdicts WHERE evaluation_id = ? GROUP BY ALL",
        [evaluation_id],
    ).fetchall()
    return {(position, statement): label for position, statement, label in rows}


def check_annotator(annotator: str, *texts: str) -> None:
    """Raise SettingError for a blank name, and for a name or note that cannot be stored."""
    if not annotator.strip():
        raise SettingError("a label needs the name of who says so; give one with --annotator")
    try:
        "".join((annotator, *texts)).encode()
    except UnicodeEncodeError as error:
        raise SettingError(f"the annotator's name or note cannot be stored: {error}") from error


def put_answer(connection: duckdb.DuckDBPyConnection, answer: LabelledAnswer) -> None:
    """Keep an answer that labels hang on, unless it is there."""
    sample = answer.sample
    history = [{"role": turn.role, "text": turn.text} for turn in sample.history]
    connection.execute(
        "INSERT OR IGNORE INTO labelled_answers VALUES (?, ?, to_json(?), ?, ?::VARCHAR[])",
        [answer.key, sample.question, history, sample.answer or "", [one.text for one in sample.contexts or ()]],
    )


def put_label(connection: duckdb.DuckDBPyConnection, label: NewLabel) -> None:
    """Append a label."""
    span = label.span
    _append(
        connection,
        {
            "annotator": label.annotator.strip(),
            "kind": label.kind,
            "answer_key": label.answer_key,
            "other_key": label.other_key,
            "dimension": label.dimension,
            "statement": label.statement,
            "span_start": span.start if span else None,
            "span_end": span.end if span else None,
            "span_how": span.how if span else None,
            "value": label.value,
            "note": label.note.strip(),
            "queue": label.queue,
            "design": label.design,
            "run_id": label.run_id,
            "sample_id": label.sample_id,
        },
    )


def keep_answer_of_sample(connection: duckdb.DuckDBPyConnection, run_id: str, sample_id: str) -> None:
    """Keep the answer of a sample of a run as one that labels hang on."""
    connection.execute(
        "INSERT OR IGNORE INTO labelled_answers SELECT s.answer_key, s.question, s.history, coalesce(s.answer, ''),"
        " coalesce((SELECT list(p.text ORDER BY p.rank) FROM passages p WHERE p.run_id = s.run_id"
        " AND p.position = s.position), []) FROM samples s WHERE s.run_id = ? AND s.sample_id = ?",
        [run_id, sample_id],
    )


def _statement(connection: duckdb.DuckDBPyConnection, run: RunRef, sample_id: str, number: int) -> dict[str, Any]:
    """What a label on a statement hangs on."""
    given = _at(run, sample_id, number)
    row = connection.execute(
        "SELECT s.answer_key, t.text, t.span_start, t.span_end, t.span_how FROM samples s JOIN statements t"
        " ON t.evaluation_id = $evaluation AND t.position = s.position AND t.side = 'response'"
        " AND t.statement = $statement WHERE s.run_id = $run AND s.sample_id = $sample",
        given,
    ).fetchone()
    if row is None:
        raise NotFoundError(f"sample {sample_id!r} of run {run.name!r} has no statement {number}")
    return dict(zip(("answer_key", "statement", "span_start", "span_end", "span_how"), row, strict=True))


def _at(run: RunRef, sample_id: str, number: int) -> dict[str, Any]:
    return {"run": run.run_id, "evaluation": run.evaluation_id, "sample": sample_id, "statement": number - 1}


_SAID = "SELECT evaluation_id, position, statement, label, annotator, note, said, queue FROM human_verdicts"
_EMPTY = {"other_key": "", "dimension": "", "statement": "", "note": "", "design": ""}


def _append(connection: duckdb.DuckDBPyConnection, row: Mapping[str, Any]) -> None:
    whole = _EMPTY | dict(row)
    columns, values = ", ".join(whole), ", ".join(f"${name}" for name in whole)
    connection.execute(f"INSERT INTO labels (said, {columns}) VALUES (now() AT TIME ZONE 'UTC', {values})", whole)


def _verdicts(rows: Iterable[Sequence[Any]]) -> dict[tuple[str, int, int], tuple[HumanVerdict, ...]]:
    found: dict[tuple[str, int, int], tuple[HumanVerdict, ...]] = {}
    for evaluation, position, statement, label, annotator, note, at, queue in rows:
        said = HumanVerdict(label=label, annotator=annotator, note=note, at=at, queue=queue)
        key = (evaluation, position, statement)
        found[key] = (*found.get(key, ()), said)
    return found
