"""From a file to rows of cells: one parser a format, each row with its line."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from ragboard.errors import RunFileError
from ragboard.readers.cells import BadCellError, clean, kind_of_value
from ragboard.readers.files import MAX_ROW, file_lines, file_text, kind_of
from ragboard.readers.located import RepeatedKey, parse, parse_located, what_is_wrong
from ragboard.readers.parquet import read_parquet
from ragboard.records import JsonValue

__all__ = ["BadRow", "RawRow", "Table", "read_table", "table_of"]

SAMPLES = ("samples", "results", "input_data")
"""Keys under which an object keeps its samples: ours, RAGChecker's, RAGChecker's first."""

MAX_COLUMNS = 10_000
"""More than any table of samples has: each is named in the report, and drawn on pages."""

HEADER: dict[str, tuple[type, str]] = {
    "name": (str, "a text"),
    "config": (dict, "an object of settings"),
    "dataset": (str, "a text"),
    "tags": (list, "a list of texts"),
}
"""What a file of ours may say of its run."""


@dataclass(frozen=True, kw_only=True)
class RawRow:
    """The cells of one row by column, fit to be stored."""

    line: int
    cells: dict[str, JsonValue]
    place: str = ""
    """Where in a JSON file: `results[3]`."""
    notes: tuple[str, ...] = ()
    """What had to be changed to make the cells fit."""
    written: bool = False
    """Whether cells are text as written in a CSV, where a list is its own source."""


@dataclass(frozen=True, kw_only=True)
class BadRow:
    """A row that is no row of cells."""

    line: int
    message: str
    place: str = ""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A file's rows, its columns in order of first appearance, and what it says of its run."""

    kind: str
    encoding: str
    rows: tuple[RawRow | BadRow, ...]
    columns: tuple[str, ...]
    run: RawRow | None = None
    """Name, config, dataset and tags; None where the file says nothing of its run."""
    ours: bool = False
    totals: Mapping[str, float] = field(default_factory=dict[str, float])
    """RAGChecker's own table: metric to its mean in percent; empty in any other file."""


def read_table(path: Path) -> Table:
    """Read every row. Raises RunFileError where the file as a whole cannot be read."""
    kind, encoding = kind_of(path)
    return _PARSERS[kind](path, encoding)


def table_of(path: Path, rows: Iterable[Any]) -> Table:
    """The table of rows that are in memory already, numbered from 1; `path` is what errors call them."""
    read = tuple(_row(number, row) for number, row in enumerate(rows, 1))
    return Table(kind="memory", encoding="", rows=read, columns=_columns(path, read))


def _jsonl(path: Path, encoding: str) -> Table:
    rows: list[RawRow | BadRow] = []
    run: RawRow | None = None
    for number, line in file_lines(path, encoding):
        if not line.strip():
            continue
        try:
            value = parse(line)
        except (ValueError, RecursionError) as error:
            rows.append(BadRow(line=number, message=f"not JSON ({what_is_wrong(error)})"))
            continue
        if run is None and not rows and isinstance(value, dict) and set(value) == {"run"}:
            run = _run(path, value["run"], number)
        else:
            rows.append(_row(number, value))
    return Table(
        kind="JSONL", encoding=encoding, rows=tuple(rows), columns=_columns(path, rows), run=run, ours=run is not None
    )


def _json(path: Path, encoding: str) -> Table:
    text = file_text(path, encoding)
    try:
        value, lines = parse_located(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        if line and line > 1 and what_is_wrong(error).startswith("Extra data"):
            return _jsonl(path, encoding)
        raise RunFileError(path, f"not JSON ({what_is_wrong(error)})", line=line) from error
    if isinstance(value, RepeatedKey):
        line = next(iter(lines[value.key]), None)
        raise RunFileError(path, f"duplicate key {value.key!r}", line=line)
    name, run = "", None
    totals: dict[str, float] = {}
    if isinstance(value, dict):
        name = next((key for key in SAMPLES if isinstance(value.get(key), list)), "")
        if not name:
            rows = _rows_of_columns(path, value)
            return Table(kind="JSON", encoding=encoding, rows=rows, columns=_columns(path, rows))
        if name == "samples" and "run" in value:
            run = _run(path, value["run"], lines["run"][0])
        totals = {} if name == "samples" else _totals(value.get("metrics"))
        value = value[name]
    if not isinstance(value, list):
        raise RunFileError(path, f"holds {kind_of_value(value)}, expected a list of samples")
    located = zip(lines[name], value, strict=True)
    rows = tuple(_row(line, element, f"{name}[{place}]") for place, (line, element) in enumerate(located))
    return Table(
        kind="JSON",
        encoding=encoding,
        rows=rows,
        columns=_columns(path, rows),
        run=run,
        ours=name == "samples",
        totals=totals,
    )


def _totals(groups: Any) -> dict[str, float]:
    """The numbers of a table of means, in groups as either version of RAGChecker calls them."""
    tables = [table for table in groups.values() if isinstance(table, dict)] if isinstance(groups, dict) else []
    return {name: float(value) for table in tables for name, value in table.items() if isinstance(value, float)}


def _rows_of_columns(path: Path, value: dict[str, Any]) -> tuple[RawRow | BadRow, ...]:
    """`{"question": [..], "answer": [..]}`, or with `{"0": .., "1": ..}` in place of lists, as pandas writes them."""
    columns = {name: cells if isinstance(cells, dict) else _by_place(cells) for name, cells in value.items()}
    places = next(iter(columns.values()), {})
    if not places or any(cells.keys() != places.keys() for cells in columns.values()):
        raise RunFileError(path, "holds one object without `samples` or `results`, expected a list of samples")
    return tuple(
        _row(number, {name: cells[place] for name, cells in columns.items()}) for number, place in enumerate(places, 1)
    )


def _by_place(cells: Any) -> dict[int, Any]:
    return dict(enumerate(cells)) if isinstance(cells, list) else {}


def _columns(path: Path, rows: Iterable[RawRow | BadRow]) -> tuple[str, ...]:
    columns = tuple(dict.fromkeys(column for row in rows if isinstance(row, RawRow) for column in row.cells))
    if len(columns) > MAX_COLUMNS:
        raise RunFileError(path, f"has {len(columns):,} columns, expected at most {MAX_COLUMNS:,}")
    return columns


def _row(line: int, value: Any, place: str = "") -> RawRow | BadRow:
    if not isinstance(value, dict):
        message = f"got {kind_of_value(value)}, expected an object with the fields of a sample"
        return BadRow(line=line, message=message, place=place)
    notes: list[str] = []
    try:
        cells = cast("dict[str, JsonValue]", clean(value, notes.append, depth=-1))
    except BadCellError as error:
        return BadRow(line=line, message=str(error), place=place)
    return RawRow(line=line, cells=cells, place=place, notes=tuple(notes))


def _run(path: Path, value: Any, line: int) -> RawRow:
    """What a file says of its run."""
    row = _row(line, value)
    if isinstance(row, BadRow):
        raise RunFileError(path, row.message.replace("a sample", "a run"), line=line, field="run")
    for name, given in row.cells.items():
        kind, expected = HEADER.get(name, (object, ""))
        if given is not None and not isinstance(given, kind):
            raise RunFileError(path, f"got {kind_of_value(given)}, expected {expected}", line=line, field=f"run.{name}")
    unknown = (f"run: {name!r} left out" for name in row.cells if name not in HEADER)
    return RawRow(line=line, cells=row.cells, notes=(*row.notes, *unknown))


def _delimited(delimiter: str, kind: str) -> Callable[[Path, str], Table]:
    def read(path: Path, encoding: str) -> Table:
        csv.field_size_limit(MAX_ROW)
        lines = (line for _, line in file_lines(path, encoding))
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        head: list[str] = []
        rows: list[RawRow | BadRow] = []
        begin = 1
        try:
            for cells in reader:
                line, begin = begin, reader.line_num + 1
                if not any(cell.strip() for cell in cells):
                    continue
                if head:
                    rows.append(_written_row(line, head, cells))
                else:
                    head = _head(path, cells, line)
        except csv.Error as error:
            said = str(error).split(" - ")[0]
            raise RunFileError(path, f"not {kind} ({said})", line=begin) from error
        return Table(kind=kind, encoding=encoding, rows=tuple(rows), columns=tuple(head))

    return read


def _head(path: Path, cells: list[str], line: int) -> list[str]:
    """The names of the columns; one without a name, as pandas leaves its index, is called by its place."""
    names = [cell.strip() or f"column {place}" for place, cell in enumerate(cells, 1)]
    _once(path, names, line)
    return names


def _once(path: Path, names: list[str], line: int | None = None) -> None:
    if len(names) > MAX_COLUMNS:
        raise RunFileError(path, f"has {len(names):,} columns, expected at most {MAX_COLUMNS:,}", line=line)
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise RunFileError(path, f"two columns are called {twice!r}, expected each name once", line=line)


def _written_row(line: int, head: list[str], cells: list[str]) -> RawRow | BadRow:
    if len(cells) != len(head):
        return BadRow(line=line, message=f"got {len(cells)} cells, expected {len(head)} as in the header")
    absent = [cell in ("NaN", "nan") for cell in cells]
    found: dict[str, JsonValue] = {
        name: cell if cell.strip() and not nan else None for name, cell, nan in zip(head, cells, absent, strict=True)
    }
    return RawRow(line=line, cells=found, notes=("NaN or infinity left out",) * sum(absent), written=True)


def _parquet(path: Path, encoding: str) -> Table:
    import pyarrow as pa

    try:
        names, rows = read_parquet(path)
    except (pa.ArrowException, OSError, ValueError, OverflowError, KeyError, NotImplementedError) as error:
        reason = " ".join(str(error).split())[:200]
        raise RunFileError(path, f"not readable as Parquet ({reason})") from error
    _once(path, names)
    read = tuple(_row(number, row) for number, row in enumerate(rows, 1))
    return Table(kind="Parquet", encoding=encoding, rows=read, columns=tuple(names))


_PARSERS: dict[str, Callable[[Path, str], Table]] = {
    "JSONL": _jsonl,
    "JSON": _json,
    "CSV": _delimited(",", "CSV"),
    "TSV": _delimited("\t", "TSV"),
    "Parquet": _parquet,
}
