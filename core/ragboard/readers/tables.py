"""From a file to rows of cells: one parser a format, each row with its line."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragboard.errors import RunFileError
from ragboard.readers.files import MAX_ROW, file_lines, file_text, kind_of

__all__ = ["BadRow", "RawRow", "Table", "read_table"]


@dataclass(frozen=True, kw_only=True)
class RawRow:
    """The cells of one row by column; a missing one is not in it."""

    line: int
    cells: dict[str, Any]
    written: bool = False
    """Whether cells are text as written in a CSV, where a list is its own source."""


@dataclass(frozen=True, kw_only=True)
class BadRow:
    """A row that is no row of cells."""

    line: int
    message: str


@dataclass(frozen=True, kw_only=True)
class Table:
    """A file's rows, its columns in order of first appearance, and what it says of its run."""

    kind: str
    encoding: str
    rows: tuple[RawRow | BadRow, ...]
    columns: tuple[str, ...]
    run: dict[str, Any] = field(default_factory=dict[str, Any])
    ours: bool = False


def read_table(path: Path) -> Table:
    """Read every row. Raises RunFileError where the file as a whole cannot be read."""
    kind, encoding = kind_of(path)
    return _PARSERS[kind](path, encoding)


def _table(kind: str, encoding: str, rows: list[RawRow | BadRow], **more: Any) -> Table:
    columns = dict.fromkeys(column for row in rows if isinstance(row, RawRow) for column in row.cells)
    return Table(kind=kind, encoding=encoding, rows=tuple(rows), columns=tuple(columns), **more)


def _jsonl(path: Path, encoding: str) -> Table:
    rows: list[RawRow | BadRow] = []
    run: dict[str, Any] | None = None
    for number, line in file_lines(path, encoding):
        if not line.strip():
            continue
        try:
            value = _parse(line)
        except ValueError as error:
            rows.append(BadRow(line=number, message=f"not JSON ({error})"))
            continue
        if run is None and not rows and isinstance(value, dict) and set(value) == {"run"}:
            run = _run(path, value["run"], number)
            continue
        rows.append(_row(number, value))
    return _table("JSONL", encoding, rows, run=run or {}, ours=run is not None)


def _json(path: Path, encoding: str) -> Table:
    text = file_text(path, encoding)
    try:
        value = _parse(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and error.lineno > 1:
            return _jsonl(path, encoding)
        raise RunFileError(path, f"not JSON ({error.msg})", line=error.lineno) from error
    except ValueError as error:
        raise RunFileError(path, f"not JSON ({error})") from error
    return _from_value(path, encoding, text, value)


def _from_value(path: Path, encoding: str, text: str, value: Any) -> Table:
    run: dict[str, Any] = {}
    ours = False
    if isinstance(value, dict):
        name = next((key for key in ("samples", "results", "input_data") if isinstance(value.get(key), list)), None)
        if name is None:
            return _table("JSON", encoding, _columns_as_rows(path, value))
        ours = name == "samples"
        run = _run(path, value.get("run", {}), 1)
        value = value[name]
    if not isinstance(value, list):
        raise RunFileError(path, f"holds a {_name(value)}, expected a list of samples")
    lines = _element_lines(text, len(value))
    rows = [_row(line, element) for line, element in zip(lines, value, strict=True)]
    return _table("JSON", encoding, rows, run=run, ours=ours)


def _columns_as_rows(path: Path, value: dict[str, Any]) -> list[RawRow | BadRow]:
    """`{"question": [..], "answer": [..]}`, or with `{"0": ..}` in place of lists, as pandas writes them."""
    columns = {key: list(cells.values()) if isinstance(cells, dict) else cells for key, cells in value.items()}
    lengths = {len(cells) for cells in columns.values() if isinstance(cells, list)}
    if len(lengths) == 1 and all(isinstance(cells, list) for cells in columns.values()):
        (length,) = lengths
        return [RawRow(line=n + 1, cells={key: cells[n] for key, cells in columns.items()}) for n in range(length)]
    raise RunFileError(path, "holds one object without `samples` or `results`, expected a list of samples")


def _element_lines(text: str, count: int) -> Iterator[int]:
    """The line on which each element of the list of samples begins; 1 where that cannot be told."""
    decoder = json.JSONDecoder()
    start = text.find("[")
    head = text[:start]
    if head.strip() and not any(f'"{name}"' in head for name in ("samples", "results", "input_data")):
        yield from (1 for _ in range(count))
        return
    at, line = start + 1, text.count("\n", 0, start + 1) + 1
    for _ in range(count):
        begin = at
        while text[at] in " \t\r\n,":
            at += 1
        line += text.count("\n", begin, at)
        yield line
        _, end = decoder.raw_decode(text, at)
        line += text.count("\n", at, end)
        at = end


def _row(line: int, value: Any) -> RawRow | BadRow:
    if not isinstance(value, dict):
        return BadRow(line=line, message=f"got a {_name(value)}, expected an object with the sample's fields")
    return RawRow(line=line, cells={str(key): cell for key, cell in value.items() if cell is not None})


def _run(path: Path, value: Any, line: int) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise RunFileError(path, f"got a {_name(value)}, expected an object", line=line, field="run")
    return dict(value)


def _parse(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=lambda _: None, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _name(value: Any) -> str:
    names: dict[type, str] = {dict: "object", list: "list", str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")


def _delimited(delimiter: str, kind: str) -> Callable[[Path, str], Table]:
    def parse(path: Path, encoding: str) -> Table:
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
                    rows.append(_cells(line, head, cells))
                else:
                    head = _head(path, cells, line)
        except csv.Error as error:
            raise RunFileError(path, f"not {kind} ({error})", line=begin) from error
        table = _table(kind, encoding, rows)
        return Table(kind=kind, encoding=encoding, rows=table.rows, columns=tuple(head))

    return parse


def _head(path: Path, cells: list[str], line: int) -> list[str]:
    names = [cell.strip() for cell in cells]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RunFileError(path, f"two columns are called {twice[0]!r}, expected each name once", line=line)
    return names


def _cells(line: int, head: list[str], cells: list[str]) -> RawRow | BadRow:
    if len(cells) != len(head):
        return BadRow(line=line, message=f"got {len(cells)} cells, expected {len(head)} as in the header")
    found = {name: cell for name, cell in zip(head, cells, strict=True) if cell.strip() and cell not in ("NaN", "nan")}
    return RawRow(line=line, cells=found, written=True)


def _parquet(path: Path, encoding: str) -> Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        frame = pq.read_table(path)
        found: list[dict[str, Any]] = frame.to_pylist()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise RunFileError(path, f"not readable as Parquet ({str(error).splitlines()[0][:200]})") from error
    rows: list[RawRow | BadRow] = [
        RawRow(line=number, cells={key: cell for key, cell in row.items() if not _absent(cell)})
        for number, row in enumerate(found, 1)
    ]
    return Table(kind="Parquet", encoding=encoding, rows=tuple(rows), columns=tuple(frame.column_names))


def _absent(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and not math.isfinite(cell))


_PARSERS: dict[str, Callable[[Path, str], Table]] = {
    "JSONL": _jsonl,
    "JSON": _json,
    "CSV": _delimited(",", "CSV"),
    "TSV": _delimited("\t", "TSV"),
    "Parquet": _parquet,
}
