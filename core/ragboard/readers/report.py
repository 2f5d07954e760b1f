"""The result of reading a file: the runs, and a report of what was done to get them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ragboard.records import Run

__all__ = ["Coerced", "ColumnUse", "ImportReport", "Preview", "ReadResult", "Renamed", "RowNote"]


@dataclass(frozen=True, kw_only=True)
class ColumnUse:
    """A column of the file and the field of a sample it was read as.

    Field None: the column is kept as metadata; `run`: it says which run a row belongs to.
    """

    column: str
    field: str | None


@dataclass(frozen=True, kw_only=True)
class RowNote:
    """A row that was left out, and why."""

    line: int
    field: str | None
    """In a JSON file, with the location of the row: `results[3].answer`."""
    message: str


@dataclass(frozen=True, kw_only=True)
class Coerced:
    """A kind of value that was read as something else: how often, and the first lines (at most 5)."""

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
    """What was read, left out, coerced and renamed. Lines count from 1.

    In a Parquet file, and in a JSON file of columns, rows have no lines, so the number of the row is given.
    """

    path: str
    format: str
    """The format that the file was read as: `ragas 0.2 or later (JSONL)`."""
    encoding: str
    rows_read: int
    """Number of rows in the file, including those that were left out."""
    columns: tuple[ColumnUse, ...]
    dropped: tuple[RowNote, ...] = ()
    coerced: tuple[Coerced, ...] = ()
    duplicated: tuple[Renamed, ...] = ()
    notes: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    """Columns that look like a field that no column was read as, each with the option that reads it as this field."""


@dataclass(frozen=True, kw_only=True)
class ReadResult:
    """The runs of a file, and how they were read."""

    runs: tuple[Run, ...]
    report: ImportReport


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What a file looks like, before it is imported."""

    format: str
    encoding: str
    columns: tuple[ColumnUse, ...]
    missing: tuple[str, ...]
    """Those of the fields question, answer, contexts and reference that no column was matched to."""
    unclear: tuple[str, ...]
    """Columns that may be the answer or the reference; a person has to say which is which."""
    suggested: Mapping[str, str]
    """Columns that no field is read from, but that look like a field, with that field: lists of texts look like
    `contexts`, conversations like `history`, or like `question` if they include the question."""
    rows: tuple[tuple[str, ...], ...]
    """The first rows, a cell for each column, cut to 200 characters."""
