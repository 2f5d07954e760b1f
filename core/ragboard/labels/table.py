"""Labels as rows: append."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import duckdb

from ragboard.errors import SettingError
from ragboard.labels.nouns import LabelledAnswer, NewLabel
from ragboard.store import Store

__all__ = [
    "add_labels",
    "append",
    "check_annotator",
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


_EMPTY = {"other_key": "", "dimension": "", "statement": "", "note": "", "design": ""}


def append(connection: duckdb.DuckDBPyConnection, row: Mapping[str, Any]) -> None:
    """Append a row of `labels`; of columns that are not given, what says nothing."""
    whole = _EMPTY | dict(row)
    columns, values = ", ".join(whole), ", ".join(f"${name}" for name in whole)
    connection.execute(f"INSERT INTO labels (said, {columns}) VALUES (now() AT TIME ZONE 'UTC', {values})", whole)
