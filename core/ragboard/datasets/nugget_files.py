"""Export and import nuggets as JSON Lines with one question per line, like AutoNuggetizer's files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ragboard.datasets.datasets import Dataset
from ragboard.datasets.nuggets import check_nuggets
from ragboard.errors import RunFileError, SettingError
from ragboard.readers.cells import BadCellError, read_history, read_nuggets
from ragboard.records import Nugget
from ragboard.store import Store
from ragboard.store.queries.nuggets import append_lists, asked_questions, history_json

__all__ = ["ImportedNuggets", "export_nuggets", "import_nuggets"]


@dataclass(frozen=True, kw_only=True)
class ImportedNuggets:
    """How many questions with nuggets were imported from a file."""

    questions: int
    unknown: int
    """Number of questions that are not in any run in the store; their nuggets are stored for future runs."""


def export_nuggets(dataset: Dataset) -> Iterator[str]:
    """Yield a JSON line for each question with nuggets, in the format that `import_nuggets` reads."""
    for number, question in enumerate(dataset.questions, 1):
        if question.nuggets is None:
            continue
        turns = [{"role": turn.role, "text": turn.text} for turn in question.history]
        yield json.dumps(
            {
                "qid": str(number),
                "query": question.question,
                **({"history": turns} if turns else {}),
                "nuggets": [
                    {"text": nugget.text, "importance": nugget.importance} for nugget in question.nuggets.nuggets
                ],
                "author": question.nuggets.author,
                "approved": question.nuggets.approved,
            },
            ensure_ascii=False,
        )


def import_nuggets(store: Store, path: Path, *, author: str = "") -> ImportedNuggets:
    """Store the nuggets in a file as the newest version for each question.

    A line has `query` (or `question`) and `nuggets`, and optionally `history`, `author` and `approved`. The argument
    `author` is used for lines without an author. Raises RunFileError for a line that cannot be read; then nothing is
    stored.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise RunFileError(path, f"{error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise RunFileError(path, "not UTF-8") from error
    read = [_read_line(path, number, line, author) for number, line in enumerate(lines, 1) if line.strip()]
    if not read:
        raise RunFileError(path, "the file is empty; expected one JSON object per question")
    with store.database.write() as connection:
        asked = asked_questions(connection)
        append_lists(
            connection, ((line.question, line.history, line.nuggets, line.author, line.approved) for line in read)
        )
    return ImportedNuggets(
        questions=len(read), unknown=sum((line.question, line.history) not in asked for line in read)
    )


@dataclass(frozen=True, kw_only=True)
class _Line:
    """One line of a nugget file."""

    question: str
    history: str
    nuggets: tuple[Nugget, ...]
    author: str
    approved: bool


def _read_line(path: Path, number: int, line: str, author: str) -> _Line:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise RunFileError(path, f"invalid JSON: {error}", line=number) from error
    if not isinstance(row, dict):
        raise RunFileError(path, "expected a JSON object with `query` and `nuggets`", line=number)
    question = row.get("query", row.get("question"))
    if not isinstance(question, str) or not question.strip():
        raise RunFileError(path, "the line has no `query`; expected the text of the question", line=number)
    try:
        nuggets = read_nuggets("nuggets", row.get("nuggets"), lambda _: None)
        history = read_history("history", row.get("history"), lambda _: None)
        checked = check_nuggets(nuggets or ())
    except (BadCellError, SettingError) as error:
        raise RunFileError(path, str(error), line=number, field="nuggets") from error
    if nuggets is None:
        raise RunFileError(
            path, "the line has no `nuggets`; expected a list of texts with their importance", line=number
        )
    row_author = row.get("author")
    return _Line(
        question=question,
        history=history_json(history),
        nuggets=checked,
        author=row_author if isinstance(row_author, str) and row_author.strip() else author or path.name,
        approved=row.get("approved") is True,
    )
