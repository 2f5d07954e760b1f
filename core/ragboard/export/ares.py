"""Write synthetic data in ARES's format: tab-separated values, with ARES's columns first and then ragboard's."""

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
OPTIONAL_COLUMNS: dict[str, str] = {"Contradictory_Answer": "contradictory", "run": "run"}
"""Columns that are written only if a row has a value, each with the attribute of AresRow that holds the value."""


def ares_tsv(rows: Iterable[AresRow]) -> str:
    """Return the rows as the text of a file; `document_index` numbers the documents in order of appearance.

    The columns for contradictory answers (which ARES's few-shot files have) and for runs are left out if they are
    empty.
    """
    numbers: dict[str, int] = {}
    text = io.StringIO()
    all_rows = tuple(rows)
    columns = (
        *COLUMNS,
        *(column for column, attribute in OPTIONAL_COLUMNS.items() if any(getattr(row, attribute) for row in all_rows)),
    )
    writer = csv.DictWriter(text, columns, delimiter="\t", lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for row in all_rows:
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
        **{column: getattr(row, attribute) for column, attribute in OPTIONAL_COLUMNS.items()},
        **labels,
    }


def _readable(text: str) -> str:
    """Return the text with uniform line breaks, and without null characters, which would make the file binary."""
    return text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")


def _label(value: bool | None) -> str:  # noqa: FBT001 - it is the value
    return "" if value is None else "Yes" if value else "No"
