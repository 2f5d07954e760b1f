"""Labels as rows: append, and read what people say of the statements of an evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import duckdb

from ragboard.errors import SettingError
from ragboard.human.label_types import HumanVerdict, LabelledAnswer, NewLabel
from ragboard.records import Label
from ragboard.store import Store

__all__ = [
    "add_labels",
    "append",
    "check_annotator",
    "human_verdicts",
    "latest_verdicts",
    "people_of_statements",
    "put_answer",
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
            _put_label(connection, label)


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


def _put_label(connection: duckdb.DuckDBPyConnection, label: NewLabel) -> None:
    """Append a label."""
    span = label.span
    append(
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


_SAID = "SELECT evaluation_id, position, statement, label, annotator, note, said, queue FROM human_verdicts"
_EMPTY = {"other_key": "", "dimension": "", "statement": "", "note": "", "design": ""}


def append(connection: duckdb.DuckDBPyConnection, row: Mapping[str, Any]) -> None:
    """Append a row of `labels`; of columns that are not given, what says nothing."""
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
