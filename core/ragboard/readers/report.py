"""What reading a file says: the runs, and a true account of what was done to get them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ragboard.records import Run

__all__ = ["Coerced", "ColumnUse", "ImportReport", "Preview", "ReadResult", "Renamed", "RowNote"]


@dataclass(frozen=True, kw_only=True)
class ColumnUse:
    """A column of the file and the field of a sample it was read as.

    None: it went to the metadata; `run`: it tells the runs apart.
    """

    column: str
    field: str | None


@dataclass(frozen=True, kw_only=True)
class RowNote:
    """A row that was left out, and why."""

    line: int
    field: str | None
    """In a JSON file with the row's place: `results[3].answer`."""
    message: str


@dataclass(frozen=True, kw_only=True)
class Coerced:
    """A kind of value that was read as something else: how often, and on which lines first (at most 5)."""

    what: str
    count: int
    lines: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Renamed:
    """A sample whose id another sample of its run has already."""

    line: int
    given: str
    assigned: str


@dataclass(frozen=True, kw_only=True)
class ImportReport:
    """What was read, left out, coerced and renamed. Lines count from 1.

    A Parquet file and a JSON of columns have no lines for their rows: there the row is counted.
    """

    path: str
    format: str
    """What the file was taken for: `ragas 0.2 or later (JSONL)`."""
    encoding: str
    rows_read: int
    """Rows in the file, those left out among them."""
    columns: tuple[ColumnUse, ...]
    dropped: tuple[RowNote, ...] = ()
    coerced: tuple[Coerced, ...] = ()
    duplicated: tuple[Renamed, ...] = ()
    notes: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    """Columns that look like a field nothing was read as, each with the option that reads it so."""


@dataclass(frozen=True, kw_only=True)
class ReadResult:
    """The runs of a file, and how they were read."""

    runs: tuple[Run, ...]
    report: ImportReport


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What a file looks like before it is read for good."""

    format: str
    encoding: str
    columns: tuple[ColumnUse, ...]
    missing: tuple[str, ...]
    """Fields that no column was matched to, of question, answer, contexts, reference."""
    unclear: tuple[str, ...]
    """Columns of which one may hold the answer and another the reference: a person has to say which."""
    suggested: Mapping[str, str]
    """Columns that no field is read from and that look like one, with that field: lists of texts like `contexts`,
    conversations like `history`, or like `question` where they hold the question too."""
    rows: tuple[tuple[str, ...], ...]
    """The first rows, a cell for each column, cut to 200 characters."""
