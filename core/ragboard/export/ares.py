"""Rows as ARES keeps synthetic data: tab-separated, its own columns first and ours behind."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from ragboard.readers.ares import ARES_QUALITIES, AresRow

__all__ = ["ares_tsv"]

COLUMNS: tuple[str, ...] = (
    "document_index",
    "document",
    "synthetic_query",
    "Context_Relevance_Label",
    "generated_answer",
    "Answer_Faithfulness_Label",
    "Answer_Relevance_Label",
    "document_id",
    "split",
    "negative",
)
IF_ANY: dict[str, str] = {"Contradictory_Answer": "contradictory", "run": "run"}
"""Columns that stand only where some row fills them, by what they hold."""


def ares_tsv(rows: Iterable[AresRow]) -> str:
    """The text of the file; `document_index` numbers the documents in order of appearance.

    Contradictory answers, as in ARES's few-shot files, and runs get their columns only where there are some.
    """
    numbers: dict[str, int] = {}
    text = io.StringIO()
    kept = tuple(rows)
    columns = (*COLUMNS, *(column for column, what in IF_ANY.items() if any(getattr(row, what) for row in kept)))
    writer = csv.DictWriter(text, columns, delimiter="\t", lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for row in kept:
        writer.writerow(_cells(row, numbers.setdefault(row.document, len(numbers))))
    return text.getvalue()


def _cells(row: AresRow, number: int) -> dict[str, str | int]:
    labels = {column: _label(getattr(row, quality)) for quality, column in ARES_QUALITIES.items()}
    return {
        "document_index": number,
        "document": _readable(row.document),
        "synthetic_query": _readable(row.question),
        "generated_answer": _readable(row.answer),
        "document_id": row.document_id,
        "split": row.split,
        "negative": row.negative,
        **{column: getattr(row, what) for column, what in IF_ANY.items()},
        **labels,
    }


def _readable(text: str) -> str:
    """The text with one kind of line break, and without the null that would make the file a binary one."""
    return text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")


def _label(value: bool | None) -> str:  # noqa: FBT001 - it is the value
    return "" if value is None else "Yes" if value else "No"
