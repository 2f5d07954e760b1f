"""From a file to rows of cells: one parser a format, each row with its line."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ragboard.errors import RunFileError
from ragboard.readers.cells import BadCellError, clean, kind_of_value
from ragboard.readers.files import (
    MAX_ROW,
    RepeatedKey,
    file_lines,
    file_text,
    kind_of,
    parse,
    parse_located,
    what_is_wrong,
)
from ragboard.readers.formats import FORMATS, Format
from ragboard.records import JsonValue

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

__all__ = ["BadRow", "RawRow", "Table", "read_table", "table_of"]

SAMPLE_KEYS: dict[str, Format | None] = {"samples": None} | {
    key: known for known in FORMATS for key in known.sample_keys
}
"""Keys under which an object keeps its samples, ours first, and whose they are."""

MAX_COLUMNS = 10_000
"""More than any table of samples has: each is named in the report, and drawn on pages."""

PARQUET_BATCH = 1024
BYTES_A_VALUE = 64
"""About what a value takes in memory, besides its text."""
PARQUET_ALLOWED = 256 * 2**20
PARQUET_EXPANSION = 100
"""Texts that repeat, and zeros, take almost no room in a file: so many times its size is more than honest ones need."""
PARQUET_LARGEST = 4 * 2**30

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
    """The tool's own means, in percent by metric; empty where the file has none."""


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
        name = next((key for key in SAMPLE_KEYS if isinstance(value.get(key), list)), "")
        if not name:
            rows = _rows_of_columns(path, value)
            return Table(kind="JSON", encoding=encoding, rows=rows, columns=_columns(path, rows))
        if name == "samples" and "run" in value:
            run = _run(path, value["run"], lines["run"][0])
        owner = SAMPLE_KEYS[name]
        totals = owner.totals(value) if owner else {}
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
        names, rows = _parquet_rows(path)
    except (pa.ArrowException, OSError, ValueError, OverflowError, KeyError, NotImplementedError) as error:
        reason = " ".join(str(error).split())[:200]
        raise RunFileError(path, f"not readable as Parquet ({reason})") from error
    _once(path, names)
    read = tuple(_row(number, row) for number, row in enumerate(rows, 1))
    return Table(kind="Parquet", encoding=encoding, rows=read, columns=tuple(names))


def _parquet_rows(path: Path) -> tuple[list[str], list[dict[str, Any]]]:
    """The names of the columns, and the rows. Raises RunFileError where they are too large, pyarrow's own errors."""
    import pyarrow.parquet as pq

    size = path.stat().st_size
    limit = min(PARQUET_ALLOWED + PARQUET_EXPANSION * size, PARQUET_LARGEST)
    with pq.ParquetFile(path) as file:
        columns = [file.metadata.schema.column(place) for place in range(file.metadata.num_columns)]
        _check_memory(path, _declared(file), size, limit)
    texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    rows: list[dict[str, Any]] = []
    taken = 0
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        for batch in file.iter_batches(PARQUET_BATCH):
            taken += sum(_size(column) for column in batch.columns)
            _check_memory(path, taken, size, limit)
            rows.extend(batch.to_pylist())
        return list(file.schema_arrow.names), rows


def _check_memory(path: Path, needed: int, size: int, limit: int) -> None:
    if needed > limit:
        raise RunFileError(
            path,
            f"has {size:,} bytes but takes more than {limit // 2**20:,} MiB when it is read; write it as JSONL,"
            " or leave out the columns that are not needed",
        )


def _declared(file: ParquetFile) -> int:
    """What the file's own table of contents says that its values take, at the least."""
    groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
    chunks = [group.column(place) for group in groups for place in range(group.num_columns)]
    values = sum(int(chunk.num_values) for chunk in chunks) + int(file.metadata.num_rows)
    return BYTES_A_VALUE * values + sum(int(chunk.total_uncompressed_size) for chunk in chunks)


def _size(array: Any) -> int:
    """What the values of an array take as Python objects; a text that they share is counted each time."""
    import pyarrow as pa

    own = BYTES_A_VALUE * len(array)
    if isinstance(array, pa.DictionaryArray):
        return own + _size_of_texts(array)
    if isinstance(array, pa.StructArray):
        return own + sum(_size(inner) for inner in array.flatten())
    if isinstance(array, (pa.ListArray, pa.LargeListArray, pa.FixedSizeListArray)):
        return own + _size(array.flatten())
    return own + int(array.nbytes)


def _size_of_texts(array: Any) -> int:
    import pyarrow as pa
    import pyarrow.compute

    compute: Any = pyarrow.compute
    kind = array.type.value_type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind)):
        return 0
    lengths = compute.binary_length(array.dictionary).take(array.indices)
    return int(compute.sum(lengths).as_py() or 0)


_PARSERS: dict[str, Callable[[Path, str], Table]] = {
    "JSONL": _jsonl,
    "JSON": _json,
    "CSV": _delimited(",", "CSV"),
    "TSV": _delimited("\t", "TSV"),
    "Parquet": _parquet,
}
