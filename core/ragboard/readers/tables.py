"""Read a file as rows of cells with their line numbers, with one parser per format."""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, cast

import orjson

from ragboard.errors import RunFileError
from ragboard.readers.binary import arrow_rows, parquet_rows, sheet_rows
from ragboard.readers.cells import BadCellError, UniqueIds, clean, count_keys, kind_of_value, storable
from ragboard.readers.columns import FIELDS, list_columns
from ragboard.readers.files import (
    KINDS,
    MAX_ROW,
    ObjectWithRepeatedKey,
    file_lines,
    file_text,
    is_folder,
    kind_of,
    parse,
    parse_located,
    table_encoding,
    what_is_wrong,
)
from ragboard.readers.formats import FORMATS, REPEATED_COLUMNS, Format, ParsedFile, file_format_of
from ragboard.readers.formats.base import ToolFile, ToolSample
from ragboard.readers.formats.shapes import as_list, as_object
from ragboard.readers.packed import packed_name, unpacked
from ragboard.records import JsonValue

__all__ = [
    "BadRow",
    "RawRow",
    "Table",
    "clean_row",
    "columns_of",
    "line_row",
    "read_table",
    "run_line",
    "table_of",
    "tool_table",
]

SAMPLE_KEYS: dict[str, Format | None] = {"samples": None} | {
    key: known for known in FORMATS for key in known.sample_keys
}
"""Keys of a JSON object that may have the list of samples, with the format that uses the key (None: ragboard's)."""

FIELD_COLUMNS = frozenset(name for names in FIELDS.values() for name in names)
"""All column names that are recognised as a field of a sample."""

NUMBER = re.compile(r"\d{1,18}")
SPLIT_COLUMNS = ("split", "split of the dataset", "split of the dataset, as its folder")
"""Names for the added column with the split of a dataset; the first that the dataset does not use is chosen."""

MAX_COLUMNS = 10_000
"""Maximum number of columns of a file; the import report and pages list every column."""

RUN_FIELDS: dict[str, tuple[type, str]] = {
    "name": (str, "a text"),
    "config": (dict, "an object of settings"),
    "dataset": (str, "a text"),
    "tags": (list, "a list of texts"),
}
"""Fields of a run in a file of ragboard's format, with their type and its name in errors."""


@dataclass(frozen=True, kw_only=True)
class RawRow:
    """The cells of one row by column, cleaned so that they can be stored."""

    line: int
    cells: dict[str, JsonValue]
    location: str = ""
    """The location of the row in a JSON file: `results[3]`."""
    notes: tuple[str, ...] = ()
    """What was changed to make the cells storable, for the import report."""
    lists_as_text: bool = False
    """Whether the file format cannot hold lists and objects, such as CSV. They are then written as text."""
    tool_sample: ToolSample | None = None
    """In a file of another tool: the sample with these cells, and its scores and verdicts."""


@dataclass(frozen=True, kw_only=True)
class BadRow:
    """A row that cannot be read."""

    line: int
    message: str
    location: str = ""


@dataclass(frozen=True, kw_only=True)
class Table:
    """The rows of a file, its columns in order of first appearance, and its description of the run."""

    kind: str
    encoding: str
    rows: tuple[RawRow | BadRow, ...]
    columns: tuple[str, ...]
    run: RawRow | None = None
    """The run's name, config, dataset and tags; None if the file does not describe its run."""
    ours: bool = False
    """Whether the file is in ragboard's format."""
    means: Mapping[str, float] = field(default_factory=dict[str, float])
    """The mean of each metric in percent, as the tool wrote it to the file; empty if the file has no means."""
    tool: ToolFile | None = None
    """The parsed file of another tool; None if no tool's format was recognised."""
    format: str = ""
    """Name and version of the tool's format; empty without `tool`."""
    split_by: str = ""
    """The column with the split of a dataset whose splits become runs; empty for other files."""
    notes: tuple[str, ...] = ()
    """Notes for the report on how the file was read."""

    @property
    def has_field_names(self) -> bool:
        """Whether the columns have the names of fields, and need not be matched by other names."""
        return self.run is not None or self.tool is not None


def read_table(path: Path, *, plain: bool = False, sheet: str | None = None, parts: Sequence[Path] = ()) -> Table:
    """Read every row of a file, or of a folder of shards.

    - `plain`: do not recognise the formats of other tools.
    - `sheet`: a sheet of an Excel file; the default is the first.
    - `parts`: the files of one run, to be read in this order instead of `path`.

    A row that cannot be read becomes a BadRow. Raises RunFileError if the file cannot be read.
    """
    if parts:
        return _joined_files(path, parts, plain=plain)
    if is_folder(path):
        return _folder_table(path, plain=plain)
    with unpacked(path) as file:
        kind, encoding = kind_of(file)
        if kind == "JSON":
            table = _json(file, encoding, plain=plain)
        elif kind == "Excel":
            table = _excel(file, sheet)
        elif kind in _PARSERS:
            table = _PARSERS[kind](file, encoding)
        else:
            return tool_table(ParsedFile(path=file, kind=kind), encoding) or _unknown(file, kind)
        if sheet is not None and kind != "Excel":
            raise RunFileError(path, f"is {kind}, which has no sheets")
        if file != path:
            table = replace(table, notes=(*table.notes, f"unpacked from {path.name}"))
        return table if plain or table.tool else _recognised(file, table)


def _recognised(path: Path, table: Table) -> Table:
    """Return a table of another tool's samples if the rows have its format, else the table unchanged."""
    read = [row for row in table.rows if isinstance(row, RawRow)]
    if table.ours or not read:
        return table
    lines = [row.line for row in read]
    rows = ParsedFile(path=path, kind=table.kind, value=[row.cells for row in read], lines=lines)
    found = None if table.split_by else tool_table(rows, table.encoding)
    bad = [row for row in table.rows if isinstance(row, BadRow)]
    return replace(found, rows=(*bad, *found.rows), notes=table.notes) if found else table


def _unknown(path: Path, kind: str) -> Table:
    what = {
        "zip": "is a damaged zip archive, or has several files that no known tool wrote",
        "SQLite": "is an SQLite database that no known tool wrote",
        "protobuf": "has no protobuf traces",
    }[kind]
    raise RunFileError(path, f"{what}, expected JSONL, JSON, CSV or Parquet")


def tool_table(file: ParsedFile, encoding: str = "") -> Table | None:
    """Return a table with the samples of another tool's file; None if no tool's format is recognised.

    The columns are fields of a sample. Raises RunFileError if the file has no samples or is nested too deeply.
    """
    known = file_format_of(file)
    if known is None:
        return None
    try:
        tool = _storable(known.read(file))
    except RecursionError:
        raise RunFileError(file.path, "nested too deeply") from None
    if not tool.samples:
        raise RunFileError(file.path, f"is a {known.name} file without samples")
    if len({sample.run for sample in tool.samples}) == 1:
        tool = _of_one_run(tool)
    rows = tuple(_tool_row(sample) for sample in tool.samples)
    return Table(
        kind=file.kind,
        encoding=encoding,
        rows=rows,
        columns=columns_of(file.path, rows),
        tool=tool,
        format=f"{known.name} {tool.version}".strip(),
    )


def _storable(value: Any) -> Any:
    """Return a value without lone surrogates, NaN and infinity. Does not change `cells`, which `_row` cleans."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_storable(key): _storable(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_storable, value))
    if is_dataclass(value) and not isinstance(value, type):
        parts = {part.name: getattr(value, part.name) for part in fields(value) if part.name != "cells"}
        return replace(value, **{name: _storable(part) for name, part in parts.items()})
    return value


def _of_one_run(tool: ToolFile) -> ToolFile:
    """Return the file with the name and configuration of its only run."""
    only = tool.samples[0].run
    return replace(
        tool,
        name=tool.name or only,
        config={**tool.config, **tool.configs.get(only, {})},
        samples=[replace(sample, run="") for sample in tool.samples],
    )


def _tool_row(sample: ToolSample) -> RawRow | BadRow:
    row = _row(sample.line, {name: cell for name, cell in sample.cells.items() if cell is not None}, sample.location)
    return row if isinstance(row, BadRow) else replace(row, notes=(*row.notes, *sample.notes), tool_sample=sample)


def table_of(path: Path, rows: Iterable[Any]) -> Table:
    """Return a table of rows in memory, numbered from 1. `path` is their name in errors."""
    read = tuple(_row(number, row) for number, row in enumerate(rows, 1))
    return Table(kind="memory", encoding="", rows=read, columns=columns_of(path, read))


def _jsonl(path: Path, encoding: str) -> Table:
    rows: list[RawRow | BadRow] = []
    run: RawRow | None = None
    for number, line in file_lines(path, encoding):
        if run is None and not rows:
            run = run_line(path, number, line)
            if run:
                continue
        row = line_row(number, line)
        if row:
            rows.append(row)
    return Table(
        kind="JSONL", encoding=encoding, rows=tuple(rows), columns=columns_of(path, rows), run=run, ours=run is not None
    )


def run_line(path: Path, number: int, line: str) -> RawRow | None:
    """Return the description of the run on a line of JSONL; None if the line is anything else."""
    try:
        value = parse(line)
    except (ValueError, RecursionError):
        return None
    return _run(path, value["run"], number) if isinstance(value, dict) and set(value) == {"run"} else None


def line_row(number: int, line: str) -> RawRow | BadRow | None:
    """Return the row on a line of JSONL; None for an empty line."""
    if not line.strip():
        return None
    try:
        value = parse(line)
    except (ValueError, RecursionError) as error:
        return BadRow(line=number, message=f"not JSON ({what_is_wrong(error)})")
    may_have_surrogates = "\\ud" in line or "\\uD" in line
    if type(value) is dict and not may_have_surrogates and count_keys(value) is not None:
        return RawRow(line=number, cells=value)
    return _row(number, value)


KEY = re.compile(rb'"[ \t\r\n]*:')
"""Matches the end of every key in JSON, and the same characters in a text."""


def clean_row(number: int, line: bytes) -> RawRow | None:
    """Return the row on a line of JSONL in UTF-8; None if only `line_row` can read it.

    This takes half of the CPU time of `line_row`, which returns the same for most lines. None for an object with a
    repeated key, of which orjson keeps only the last value: `KEY` then has more matches than the object has keys.
    """
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if type(value) is dict and count_keys(value) == len(KEY.findall(line)):
        return RawRow(line=number, cells=value)
    return None


def _json(path: Path, encoding: str, *, plain: bool) -> Table:
    text = file_text(path, encoding)
    try:
        value, lines = parse_located(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        if line and line > 1 and what_is_wrong(error).startswith("Extra data"):
            return _jsonl(path, encoding)
        raise RunFileError(path, f"not JSON ({what_is_wrong(error)})", line=line) from error
    if isinstance(value, ObjectWithRepeatedKey):
        line = next(iter(lines[value.key]), None)
        raise RunFileError(path, f"duplicate key {value.key!r}", line=line)
    if not plain:
        parsed = ParsedFile(path=path, kind="JSON", value=value, lines=lines.get("", ()), lines_by_key=lines)
        found = tool_table(parsed, encoding)
        if found:
            return found
    name, run = "", None
    means: dict[str, float] = {}
    if isinstance(value, dict):
        name = next((key for key in SAMPLE_KEYS if isinstance(value.get(key), list)), "") or _only_rows(value)
        if not name:
            rows = _rows_of_columns(path, value)
            return Table(kind="JSON", encoding=encoding, rows=rows, columns=columns_of(path, rows))
        if name == "samples" and "run" in value:
            run = _run(path, value["run"], lines["run"][0])
        owner = SAMPLE_KEYS.get(name)
        means = owner.means(value) if owner else {}
        value = value[name]
    if not isinstance(value, list):
        raise RunFileError(path, f"contains {kind_of_value(value)}, expected a list of samples")
    located = zip(lines[name], value, strict=True)
    rows = tuple(_row(line, element, f"{name}[{index}]") for index, (line, element) in enumerate(located))
    return Table(
        kind="JSON",
        encoding=encoding,
        rows=rows,
        columns=columns_of(path, rows),
        run=run,
        ours=name == "samples",
        means=means,
        notes=(f"the samples are read from {name!r}",) if name and name not in SAMPLE_KEYS else (),
    )


def _only_rows(value: dict[str, Any]) -> str:
    """Return the key of the only list in an object, if its items are objects; empty if there is no such list.

    Also empty if the object or an object in it has the name of a field as a key: it is then a sample itself.
    """
    lists = [key for key, element in value.items() if isinstance(element, list)]
    objects = [value, *(element for element in value.values() if isinstance(element, dict))]
    part_of_sample = any(FIELD_COLUMNS.intersection(element) for element in objects)
    rows = value[lists[0]] if len(lists) == 1 and not part_of_sample else []
    return lists[0] if rows and all(isinstance(row, dict) for row in rows) else ""


def _rows_of_columns(path: Path, value: dict[str, Any]) -> tuple[RawRow | BadRow, ...]:
    """Return the rows of a table that pandas wrote as JSON.

    Its formats are `{"question": [..], "answer": [..]}`, `{"question": {"0": .., "1": ..}, ..}` and
    `{"columns": ["question", ..], "data": [[..], ..]}`.
    """
    names, data = value.get("columns"), value.get("data")
    if isinstance(names, list) and isinstance(data, list) and value.keys() <= {"columns", "index", "data"}:
        if not all(isinstance(cells, list) and len(cells) == len(names) for cells in data):
            raise RunFileError(path, f"has a row without a cell for each of the {len(names)} `columns`", field="data")
        return tuple(
            _row(number, dict(zip(map(str, names), cells, strict=True))) for number, cells in enumerate(data, 1)
        )
    columns = {name: cells if isinstance(cells, dict) else _by_index(cells) for name, cells in value.items()}
    indexes = next(iter(columns.values()), {})
    if not indexes or any(cells.keys() != indexes.keys() for cells in columns.values()):
        raise RunFileError(path, "is an object without `samples` or `results`, expected a list of samples")
    return tuple(
        _row(number, {name: cells[index] for name, cells in columns.items()}) for number, index in enumerate(indexes, 1)
    )


def _by_index(cells: Any) -> dict[int, Any]:
    return dict(enumerate(cells)) if isinstance(cells, list) else {}


def columns_of(path: Path, rows: Iterable[RawRow | BadRow]) -> tuple[str, ...]:
    """Return the columns of rows, in order of first appearance. Raises RunFileError if there are too many."""
    columns = tuple(dict.fromkeys(column for row in rows if isinstance(row, RawRow) for column in row.cells))
    if len(columns) > MAX_COLUMNS:
        raise RunFileError(path, f"has {len(columns):,} columns, expected at most {MAX_COLUMNS:,}")
    return columns


def _row(line: int, value: Any, location: str = "") -> RawRow | BadRow:
    if not isinstance(value, dict):
        message = f"got {kind_of_value(value)}, expected an object with the fields of a sample"
        return BadRow(line=line, message=message, location=location)
    notes: list[str] = []
    try:
        cells = cast("dict[str, JsonValue]", clean(value, notes.append, depth=-1))
    except BadCellError as error:
        return BadRow(line=line, message=str(error), location=location)
    return RawRow(line=line, cells=cells, location=location, notes=tuple(notes))


def _run(path: Path, value: Any, line: int) -> RawRow:
    """Return the description of the run in a file."""
    row = _row(line, value)
    if isinstance(row, BadRow):
        raise RunFileError(path, row.message.replace("a sample", "a run"), line=line, field="run")
    for name, given in row.cells.items():
        kind, expected = RUN_FIELDS.get(name, (object, ""))
        if given is not None and not isinstance(given, kind):
            raise RunFileError(path, f"got {kind_of_value(given)}, expected {expected}", line=line, field=f"run.{name}")
    unknown = (f"run: {name!r} left out" for name in row.cells if name not in RUN_FIELDS)
    return RawRow(line=line, cells=row.cells, notes=(*row.notes, *unknown))


def _delimited(delimiters: str, kind: str) -> Callable[[Path, str], Table]:
    def read(path: Path, encoding: str) -> Table:
        csv.field_size_limit(MAX_ROW)
        encoding = table_encoding(path, encoding)
        delimiter = _delimiter(path, encoding, delimiters)
        lines = (line for _, line in file_lines(path, encoding))
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        head: list[str] = []
        rows: list[RawRow | BadRow] = []
        begin = 1
        notes = [f"the separator is {delimiter!r}"] if delimiter != delimiters[0] else []
        if encoding == "windows-1252":
            notes.append("not UTF-8: read as Windows-1252 (Latin-1); save the file as UTF-8 if letters look wrong")
        try:
            for cells in reader:
                line, begin = begin, reader.line_num + 1
                if not any(cell.strip() for cell in cells):
                    continue
                if head:
                    rows.append(_csv_row(line, head, cells))
                else:
                    head = _head(path, cells, line)
        except csv.Error as error:
            reason = str(error).split(" - ")[0]
            raise RunFileError(path, f"not {kind} ({reason})", line=begin) from error
        return Table(kind=kind, encoding=encoding, rows=tuple(rows), columns=tuple(head), notes=tuple(notes))

    return read


def _delimiter(path: Path, encoding: str, delimiters: str) -> str:
    """Return the delimiter that occurs most often in the header; the first one if none occurs."""
    head = next((line for _, line in file_lines(path, encoding) if line.strip()), "")
    outside = re.sub(r'"[^"]*"', "", head)
    return max(delimiters, key=outside.count)


def _head(path: Path, cells: list[str], line: int) -> list[str]:
    """Return the names of the columns. A column without a name, such as a pandas index, becomes `column 1`.

    Repeated names are numbered if the file is of a tool that repeats columns. Raises RunFileError for other files.
    """
    names = [cell.strip() or f"column {index}" for index, cell in enumerate(cells, 1)]
    if any(repeated <= {*names} for repeated in REPEATED_COLUMNS):
        names = list(map(UniqueIds().assign, names))
    _check_unique(path, names, line)
    return names


def _check_unique(path: Path, names: list[str], line: int | None = None) -> None:
    if len(names) > MAX_COLUMNS:
        raise RunFileError(path, f"has {len(names):,} columns, expected at most {MAX_COLUMNS:,}", line=line)
    repeated = next((name for name, times in Counter(names).items() if times > 1), None)
    if repeated is not None:
        raise RunFileError(path, f"two columns are called {repeated!r}, expected unique names", line=line)


def _csv_row(line: int, head: list[str], cells: list[str]) -> RawRow | BadRow:
    if len(cells) != len(head):
        return BadRow(line=line, message=f"got {len(cells)} cells, expected {len(head)} as in the header")
    absent = [cell in ("NaN", "nan") for cell in cells]
    found: dict[str, JsonValue] = {
        name: cell if cell.strip() and not nan else None for name, cell, nan in zip(head, cells, absent, strict=True)
    }
    return RawRow(line=line, cells=found, notes=("NaN or infinity read as missing",) * sum(absent), lists_as_text=True)


def _binary(kind: str, read: Callable[[Path], tuple[list[str], list[dict[str, Any]]]]) -> Callable[[Path, str], Table]:
    def table(path: Path, encoding: str) -> Table:
        names, rows = read(path)
        _check_unique(path, names)
        read_rows = tuple(_row(number, row) for number, row in enumerate(rows, 1))
        return Table(kind=kind, encoding=encoding, rows=read_rows, columns=tuple(names))

    return table


def _excel(path: Path, sheet: str | None) -> Table:
    """Return a sheet of an Excel file. Its first row has the names of the columns.

    A formula is read as the value that Excel saved.
    """
    title, titles, lines = sheet_rows(path, sheet)
    begin, head = lines[0] if lines else (1, ())
    names = _head(path, ["" if cell is None else str(cell) for cell in head], begin)
    rows: list[RawRow | BadRow] = []
    for line, cells in lines[1:]:
        row = _row(line, {name: cell for name, cell in zip(names, cells, strict=False) if cell is not None})
        rows.append(replace(row, lists_as_text=True) if isinstance(row, RawRow) else row)
    notes = (f"only {title!r} of {len(titles)} sheets was read; --sheet NAME reads another",) if len(titles) > 1 else ()
    return Table(kind="Excel", encoding="binary", rows=tuple(rows), columns=tuple(names), notes=notes)


def _folder_table(path: Path, *, plain: bool) -> Table:
    """Return the table of a folder that has one file, the shards of one file, or a Hugging Face dataset."""
    splits = _named_files(path / "dataset_dict.json", "splits")
    if splits:
        tables = [(split, _folder_table(path / split, plain=True)) for split in splits]
        column = next(name for name in SPLIT_COLUMNS if not any(name in table.columns for _, table in tables))
        whole = _joined(path, [(split, _with_column(table, column, split)) for split, table in tables])
        return replace(whole, split_by=column, notes=(*whole.notes, f"a run for each split: {', '.join(splits)}"))
    files = _shards(path)
    if len(files) == 1:
        table = read_table(files[0], plain=plain)
        return replace(table, notes=(*table.notes, f"read from {files[0].name}"))
    return _joined_files(path, files, plain=plain)


def _joined_files(path: Path, files: Sequence[Path], *, plain: bool) -> Table:
    """Return the table of files that are its parts, in this order."""
    whole = _joined(path, [(file.name, read_table(file, plain=True)) for file in files])
    whole = replace(whole, notes=(*whole.notes, f"{len(files)} files read as one, {files[0].name} to {files[-1].name}"))
    return whole if plain else _recognised(path, whole)


def _joined(path: Path, tables: Sequence[tuple[str, Table]]) -> Table:
    """Return one table with the rows of (file name, table) pairs. The location of each row begins with its file."""
    rows = tuple(
        replace(row, location=".".join(filter(None, (name, row.location))))
        for name, table in tables
        for row in table.rows
    )
    _, first = tables[0]
    return replace(
        first,
        rows=rows,
        columns=columns_of(path, rows),
        ours=any(table.ours for _, table in tables),
        run=next((table.run for _, table in tables if table.run), None),
        notes=tuple(dict.fromkeys(note for _, table in tables for note in table.notes)),
    )


def _with_column(table: Table, column: str, value: str) -> Table:
    rows = (replace(row, cells={**row.cells, column: value}) if isinstance(row, RawRow) else row for row in table.rows)
    return replace(table, rows=tuple(rows))


def _shards(path: Path) -> list[Path]:
    """Return the files of a folder that are parts of one table, in the order of their numbers.

    Raises RunFileError if the folder has no such files, or files with different names.
    """
    if (path / "dataset_info.json").is_file() and (path / "state.json").is_file():
        listed = _named_files(path / "state.json", "_data_files")
        return [path / name for name in listed] or sorted(path.glob("*.arrow"))
    files = [file for file in path.iterdir() if not file.name.startswith((".", "_")) and file.is_file()]
    found = sorted((file for file in files if Path(packed_name(file.name)).suffix.lower() in KINDS), key=_numbers)
    if not found:
        raise RunFileError(path, f"is a folder without a file to read, expected one of {', '.join(KINDS)}")
    if len({NUMBER.sub("#", file.name) for file in found}) > 1:
        names = list_columns([file.name for file in found])
        raise RunFileError(
            path,
            f"is a folder of different files ({names}), expected parts of one file (part-0.jsonl ...); pass one file",
        )
    return found


def _numbers(file: Path) -> tuple[list[int], str]:
    return [int(digits) for digits in NUMBER.findall(file.name)], file.name


def _named_files(path: Path, key: str) -> list[str]:
    """Return the names under a key of a JSON file that describes its folder; empty if there is no such file.

    Raises RunFileError for a name outside the folder.
    """
    if not path.is_file():
        return []
    try:
        value = parse(file_text(path, "utf-8"))
    except (ValueError, RecursionError) as error:
        raise RunFileError(path, "not JSON, expected the description of a dataset") from error
    listed = as_list(as_object(value).get(key))
    named = [as_object(one).get("filename", one) for one in listed]
    for name in named:
        if not isinstance(name, str) or name in ("", ".", "..") or Path(name).name != name or "\\" in name:
            raise RunFileError(path, f"lists {name!r}, expected the name of a file or folder next to it", field=key)
    return named


_PARSERS: dict[str, Callable[[Path, str], Table]] = {
    "JSONL": _jsonl,
    "CSV": _delimited(",;\t", "CSV"),
    "TSV": _delimited("\t", "TSV"),
    "Parquet": _binary("Parquet", parquet_rows),
    "Arrow": _binary("Arrow", arrow_rows),
}
