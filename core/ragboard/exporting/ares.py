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


def ares_tsv(rows: Iterable[AresRow]) -> str:
    """The text of the file; `document_index` numbers the documents in order of appearance."""
    numbers: dict[str, int] = {}
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, delimiter="\t", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow(_cells(row, numbers.setdefault(row.document, len(numbers))))
    return text.getvalue()


def _cells(row: AresRow, number: int) -> dict[str, str | int]:
    labels = {column: _label(getattr(row, quality)) for quality, column in ARES_QUALITIES.items()}
    return {
        "document_index": number,
        "document": row.document,
        "synthetic_query": row.question,
        "generated_answer": row.answer,
        "document_id": row.document_id,
        "split": row.split,
        "negative": row.negative,
        **labels,
    }


def _label(value: bool | None) -> str:  # noqa: FBT001 - it is the value
    return "" if value is None else "Yes" if value else "No"
