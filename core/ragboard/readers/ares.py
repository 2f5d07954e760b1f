"""Read ARES's tab-separated files: a question, a document, an answer and three labels per row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ragboard.errors import RunFileError
from ragboard.readers.tables import BadRow, RawRow, read_table
from ragboard.records import JsonValue

__all__ = ["ARES_QUALITIES", "AresRow", "read_ares"]

ARES_QUALITIES = {
    "context_relevance": "Context_Relevance_Label",
    "answer_faithfulness": "Answer_Faithfulness_Label",
    "answer_relevance": "Answer_Relevance_Label",
}
"""The three qualities of ARES, and the columns of their labels."""

_QUESTION = ("Query", "synthetic_query", "query", "question")
_DOCUMENT = ("Document", "document", "passage")
_ANSWER = ("Answer", "generated_answer", "answer")
_RUN = ("run", "Run", "system", "System")
_YES = {"yes", "[[yes]]", "1", "1.0", "true"}
_NO = {"no", "[[no]]", "0", "0.0", "false"}
_NONE = {"", "nan", "none", "null"}


@dataclass(frozen=True, kw_only=True, slots=True)
class AresRow:
    """A question with a document and an answer, and its labels; None for a missing label."""

    question: str
    document: str
    answer: str = ""
    contradictory: str = ""
    """In few-shot files, an answer that the document contradicts."""
    context_relevance: bool | None = None
    """Whether the document helps to answer the question."""
    answer_faithfulness: bool | None = None
    """Whether the document supports the answer."""
    answer_relevance: bool | None = None
    """Whether the answer answers the question."""
    document_id: str = ""
    """The id of the whole document from which `document` is a part. Empty if the file has no ids."""
    split: str = ""
    """`train`, `validation` or `held out`; empty if unknown."""
    negative: str = ""
    """`weak` or `strong` for a generated negative example; else empty."""
    run: str = ""
    """The run or system that gave the answer; empty if unknown."""


def read_ares(path: Path) -> tuple[AresRow, ...]:
    """Return the rows of a few-shot, synthetic or labelled file. Raises RunFileError for any other file."""
    table = read_table(path)
    question, document = (_column(path, table.columns, names) for names in (_QUESTION, _DOCUMENT))
    answer = next((name for name in _ANSWER if name in table.columns), "")
    return tuple(_row(path, row, question, document, answer) for row in table.rows)


def _column(path: Path, columns: tuple[str, ...], names: tuple[str, ...]) -> str:
    column = next((name for name in names if name in columns), None)
    if column is None:
        raise RunFileError(path, f"has the columns {', '.join(columns)}, expected one of {', '.join(names)}")
    return column


def _row(path: Path, row: RawRow | BadRow, question: str, document: str, answer: str) -> AresRow:
    if isinstance(row, BadRow):
        raise RunFileError(path, row.message, line=row.line)
    cells = row.cells
    labels = {quality: _label(path, row, column) for quality, column in ARES_QUALITIES.items()}
    return AresRow(
        question=_text(cells, question),
        document=_text(cells, document),
        answer=_text(cells, answer),
        contradictory=_text(cells, "Contradictory_Answer"),
        document_id=_text(cells, "document_id" if "document_id" in cells else "document_index"),
        split=_text(cells, "split"),
        negative=_text(cells, "negative"),
        run=next((_text(cells, name) for name in _RUN if name in cells), ""),
        **labels,
    )


def _text(cells: Mapping[str, JsonValue], column: str) -> str:
    cell = cells.get(column)
    return "" if cell is None else str(cell)


def _label(path: Path, row: RawRow, column: str) -> bool | None:
    word = _text(row.cells, column).strip().casefold()
    if word in _NONE:
        return None
    if word not in _YES | _NO:
        raise RunFileError(path, f"got {word!r}, expected Yes, No or nothing", line=row.line, field=column)
    return word in _YES
