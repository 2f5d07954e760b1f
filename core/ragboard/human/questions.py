"""Human labels of questions: whether a question can be answered. A label counts in every run that asks the question."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragboard.answerability import READ_COLUMNS, answerability_of
from ragboard.errors import RunFileError, SettingError
from ragboard.readers.cells import BadCellError, read_history, read_text
from ragboard.readers.tables import BadRow, RawRow, Table
from ragboard.records import Answerability, Turn
from ragboard.store import RunRef, Store
from ragboard.store.queries.nuggets import asked_questions, history_json
from ragboard.store.queries.question_labels import (
    QuestionLabel,
    append_question_labels,
    current_question_labels,
    question_label,
)

__all__ = [
    "QuestionLabelCounts",
    "export_question_labels",
    "find_question_label",
    "has_question_labels",
    "import_question_labels",
    "label_question",
    "label_question_of_sample",
]

OTHER_LABELS = ("answer", "a", "b", "statements", "sentences", "grades", "human", "passage_grades", "context_v1")
"""A file with one of these columns is another kind of label file."""


@dataclass(frozen=True, kw_only=True)
class QuestionLabelCounts:
    """Counts of the question labels in an imported file."""

    rows: int
    """Number of rows of the file."""
    added: int
    """Number of new labels."""
    unchanged: int
    """Number of labels that were already stored."""
    without_a_run: int
    """Number of labels of questions that no run in the store asks; they are stored, too."""


def label_question(
    store: Store, question: str, history: Sequence[Turn], answerability: Answerability | None, *, annotator: str
) -> None:
    """Store whether a question can be answered (None removes the label). Raises SettingError for a blank annotator."""
    if not annotator.strip():
        raise SettingError("the annotator's name is missing; enter a name")
    with store.database.write() as connection:
        append_question_labels(connection, [(question, history_json(history), answerability, annotator.strip())])


def label_question_of_sample(
    store: Store, run: RunRef, sample_id: str, answerability: Answerability | None, *, annotator: str
) -> str:
    """Label a sample's question, and return the question. Raises NotFoundError if the run has no such sample."""
    _, sample = store.sample(run, sample_id)
    label_question(store, sample.question, sample.history, answerability, annotator=annotator)
    return sample.question


def find_question_label(store: Store, question: str, history: Sequence[Turn]) -> QuestionLabel | None:
    """Return the newest label of a question, or None."""
    with store.database.read() as connection:
        return question_label(connection, question, history_json(history))


def export_question_labels(store: Store, run: RunRef | None = None) -> Iterator[str]:
    """Yield the labels of the questions of a run, or of all questions, as JSON lines."""
    with store.database.read() as connection:
        rows = current_question_labels(connection, run.run_id if run else None)
    for question, history, answerability, annotator, labelled_at in rows:
        turns = json.loads(history)
        yield json.dumps(
            {
                "question": question,
                **({"history": turns} if turns else {}),
                "answerability": answerability,
                "annotator": annotator,
                "labelled_at": f"{labelled_at.isoformat(timespec='seconds')}Z",
            },
            ensure_ascii=False,
        )


def has_question_labels(table: Table) -> bool:
    """Return whether a file has the columns of question labels."""
    columns = set(table.columns)
    return "question" in columns and not columns.isdisjoint(READ_COLUMNS) and columns.isdisjoint(OTHER_LABELS)


def import_question_labels(
    store: Store, path: Path, table: Table, *, annotator: str = "unknown"
) -> QuestionLabelCounts:
    """Import labels of questions; importing them again changes nothing.

    `annotator` is the annotator of rows that do not name one. Raises RunFileError at the first row that cannot be read;
    nothing is imported then.
    """
    labels = [label for row in table.rows if (label := _read_label(path, row, annotator))]
    with store.database.write() as connection:
        asked = asked_questions(connection)
        added = append_question_labels(connection, labels)
    return QuestionLabelCounts(
        rows=len(table.rows),
        added=added,
        unchanged=len(labels) - added,
        without_a_run=sum((question, history) not in asked for question, history, *_ in labels),
    )


def _read_label(path: Path, row: RawRow | BadRow, annotator: str) -> tuple[str, str, Answerability | None, str] | None:
    """Return the label of a row (question, history, answerability, annotator); None if the row has no answerability."""
    if isinstance(row, BadRow):
        raise RunFileError(path, row.message, line=row.line, field=row.location or None)
    cells: Mapping[str, Any] = row.cells
    try:
        question = _read_question(cells)
        history = read_history("history", cells.get("history"), _ignore)
        answerability = answerability_of(cells)
        name = read_text("annotator", cells.get("annotator"), _ignore)
    except (BadCellError, ValueError) as error:
        field = error.field if isinstance(error, BadCellError) else None
        raise RunFileError(path, str(error), line=row.line, field=field or None) from error
    return (question, history_json(history), answerability, (name or annotator).strip()) if answerability else None


def _read_question(cells: Mapping[str, Any]) -> str:
    text = read_text("question", cells.get("question"), _ignore)
    if text is None or not text.strip():
        raise BadCellError("question", "is empty, expected text")
    return text


def _ignore(_note: str) -> None:
    """Ignore a note that a cell was converted."""
