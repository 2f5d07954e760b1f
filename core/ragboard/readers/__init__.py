"""Readers: from a run file to runs, with a true report of how it was read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ragboard.errors import RunFileError
from ragboard.readers.formats import FIELDS, column_uses, format_name, match_columns
from ragboard.readers.report import Coerced, ColumnUse, ImportReport, Preview, ReadResult, Renamed, RowNote
from ragboard.readers.rows import Reading, read_rows
from ragboard.readers.tables import RawRow, Table, read_table
from ragboard.records import JsonValue, Run

__all__ = [
    "FIELDS",
    "Coerced",
    "ColumnUse",
    "ImportReport",
    "Preview",
    "ReadResult",
    "Renamed",
    "RowNote",
    "preview",
    "read_runs",
]

SHOWN = ("question", "answer", "contexts", "reference")
CELL = 200
FIRST_LINES = 5


def read_runs(
    path: Path,
    *,
    name: str | None = None,
    config: Mapping[str, JsonValue] | None = None,
    dataset: str | None = None,
    mapping: Mapping[str, str] | None = None,
    run_column: str | None = None,
    skip_bad: bool = False,
) -> ReadResult:
    """Read a run file: JSONL, JSON, CSV, TSV or Parquet.

    `mapping` says which column a field is read from where its name does not tell; `run_column` splits
    the file into one run for each of its values; `skip_bad` leaves bad rows out and lists them. Raises
    RunFileError, `file:line: field: got, expected`, where the file or a row cannot be read.
    """
    table = read_table(path)
    matched = _matched(path, table, mapping or {}, run_column)
    reading = read_rows(path, table, matched, run_column=run_column, skip_bad=skip_bad)
    if not reading.samples:
        raise RunFileError(path, "holds no sample that can be read" if table.rows else "is empty, expected samples")
    base = Run(
        name=name or _text(table.run.get("name")) or path.stem,
        samples=(),
        config=_file_config(path, table) | dict(config or {}),
        dataset=dataset or _text(table.run.get("dataset")),
        source=path.name,
        tags=tuple(str(tag) for tag in table.run.get("tags") or ()),
    )
    runs = tuple(_run(base, group, reading, run_column, prefixed=name is not None) for group in reading.samples)
    return ReadResult(runs=runs, report=_report(path, table, matched, reading, run_column))


def preview(path: Path, *, mapping: Mapping[str, str] | None = None, limit: int = 10) -> Preview:
    """What the file looks like: its columns, what they were taken for, the first rows. Raises RunFileError."""
    table = read_table(path)
    if not table.columns:
        raise RunFileError(path, "holds no sample that can be read")
    matched = match_columns(path, table.columns, mapping or {})
    rows = [row for row in table.rows if isinstance(row, RawRow)][:limit]
    return Preview(
        format=format_name(table.columns, table.kind, ours=table.ours),
        encoding=table.encoding,
        columns=column_uses(table.columns, matched),
        missing=tuple(shown for shown in SHOWN if shown not in matched),
        rows=tuple(tuple(_cell(row.cells.get(column)) for column in table.columns) for row in rows),
    )


def _matched(path: Path, table: Table, mapping: Mapping[str, str], run_column: str | None) -> dict[str, str]:
    columns = [column for column in table.columns if column != run_column]
    if not table.rows:
        raise RunFileError(path, "is empty, expected samples")
    if run_column is not None and run_column not in table.columns:
        raise RunFileError(path, f"has no column {run_column!r}; it has {', '.join(table.columns)}")
    matched = match_columns(path, columns, mapping)
    if "question" not in matched and table.columns:
        there = ", ".join(table.columns)
        raise RunFileError(path, f"no column was taken for the question; it has {there}: --map question=COLUMN")
    return matched


def _run(base: Run, group: str | None, reading: Reading, run_column: str | None, *, prefixed: bool) -> Run:
    samples = tuple(reading.samples[group])
    if group is None or run_column is None:
        return replace(base, samples=samples)
    name = f"{base.name}/{group}" if prefixed else group
    return replace(base, name=name, samples=samples, config={**base.config, run_column: group})


def _file_config(path: Path, table: Table) -> dict[str, JsonValue]:
    config = table.run.get("config", {})
    if not isinstance(config, dict):
        raise RunFileError(path, "expected an object of settings", line=1, field="run.config")
    return dict(config)


def _text(value: Any) -> str | None:
    return str(value) if value is not None else None


def _report(
    path: Path, table: Table, matched: Mapping[str, str], reading: Reading, run_column: str | None
) -> ImportReport:
    return ImportReport(
        path=path.name,
        format=format_name(table.columns, table.kind, ours=table.ours),
        encoding=table.encoding,
        rows_read=len(table.rows),
        columns=column_uses(table.columns, matched),
        dropped=tuple(reading.dropped),
        coerced=tuple(
            Coerced(what=what, count=len(lines), lines=tuple(dict.fromkeys(lines))[:FIRST_LINES])
            for what, lines in reading.notes.seen.items()
        ),
        duplicated=tuple(reading.renamed),
        notes=tuple(_notes(table, matched, reading, run_column)),
    )


def _notes(table: Table, matched: Mapping[str, str], reading: Reading, run_column: str | None) -> Iterator[str]:
    for shown in SHOWN:
        if shown not in matched:
            yield f"no column was taken for the {shown}"
    other = [column for column in table.columns if column not in matched.values() and column != run_column]
    if other:
        yield f"kept as metadata: {', '.join(other)}"
    if reading.derived_ids:
        yield f"{reading.derived_ids} samples without an id got one from their question"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text.encode("utf-8", errors="replace").decode()[:CELL]
