"""The result of reading a file: the runs, and a report of what was read, converted and left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ragboard.records import Run

__all__ = ["Coerced", "ColumnUse", "DroppedRow", "ImportReport", "Preview", "ReadResult", "Renamed"]


@dataclass(frozen=True, kw_only=True)
class ColumnUse:
    """A column of the file, and the field of a sample that it was read as.

    The field is None for a column kept as metadata, and `run` for the column that names the run of a row.
    """

    column: str
    field: str | None


@dataclass(frozen=True, kw_only=True)
class DroppedRow:
    """A row that was dropped, and why."""

    line: int
    field: str | None
    """The field; in a JSON file, with the location of the row: `results[3].answer`."""
    message: str


@dataclass(frozen=True, kw_only=True)
class Coerced:
    """A kind of conversion: how often it happened, and on which lines (at most the first 5)."""

    what: str
    count: int
    lines: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Renamed:
    """A sample with the same id as an earlier sample of its run."""

    line: int
    given: str
    assigned: str


@dataclass(frozen=True, kw_only=True)
class ImportReport:
    """What was read, dropped, converted and renamed.

    Lines count from 1. In a Parquet file and in a JSON file of columns, a line is the number of a row.
    """

    path: str
    format: str
    """The format that the file was read as: `ragas 0.2 or later (JSONL)`."""
    encoding: str
    rows_read: int
    """Number of rows in the file, including dropped rows."""
    columns: tuple[ColumnUse, ...]
    dropped: tuple[DroppedRow, ...] = ()
    coerced: tuple[Coerced, ...] = ()
    duplicated: tuple[Renamed, ...] = ()
    notes: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    """What the user can do with unused columns: an option to read one as a field, or a command that uses grades."""


@dataclass(frozen=True, kw_only=True)
class ReadResult:
    """The runs of a file, and the report of how they were read."""

    runs: tuple[Run, ...]
    report: ImportReport


@dataclass(frozen=True, kw_only=True)
class Preview:
    """The columns and first rows of a file, before it is imported."""

    format: str
    encoding: str
    columns: tuple[ColumnUse, ...]
    missing: tuple[str, ...]
    """Which of the fields question, answer, contexts and reference have no column."""
    unclear: tuple[str, ...]
    """Columns that may be the answer or the reference; the user has to choose."""
    suggested: Mapping[str, str]
    """Unused columns that look like a field, with that field: `contexts`, `history` or `question`."""
    rows: tuple[tuple[str, ...], ...]
    """The first rows, with one cell for each column, cut to 200 characters."""
