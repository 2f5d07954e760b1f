"""Readers: from a run file to runs, with a true report of how it was read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ragboard.readers.cells import storable
from ragboard.readers.columns import FIELDS, column_uses, format_name, match_columns, unclear_answer
from ragboard.readers.report import Coerced, ColumnUse, ImportReport, Preview, ReadResult, Renamed, RowNote
from ragboard.readers.runs import SHOWN, nothing_in, runs_of
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

CELL = 200


def read_runs(
    path: Path,
    *,
    name: str | None = None,
    config: Mapping[str, JsonValue] | None = None,
    dataset: str | None = None,
    mapping: Mapping[str, str | None] | None = None,
    run_column: str | None = None,
    skip_bad: bool = False,
) -> ReadResult:
    """Read a run file: JSONL, JSON, CSV, TSV or Parquet.

    `mapping` says which column a field is read from where its name does not tell, or None where it is read
    from none; `run_column` splits the file into one run for each of its values; `skip_bad` leaves bad rows
    out and lists them. Raises RunFileError, `file:line: field: got, expected`, where the file or a row cannot
    be read, or where it is not clear which column holds the answer.
    """
    table = read_table(path)
    own = _own_run(path, table)
    base = replace(own, name=name or own.name, config={**own.config, **(config or {})}, dataset=dataset or own.dataset)
    return runs_of(
        path,
        table,
        base,
        mapping=mapping or {},
        run_column=run_column,
        prefixed=name is not None,
        skip_bad=skip_bad,
    )


def preview(path: Path, *, mapping: Mapping[str, str | None] | None = None, limit: int = 10) -> Preview:
    """What the file looks like: its columns, what they were taken for, the first rows. Raises RunFileError."""
    table = read_table(path)
    if not table.columns:
        raise nothing_in(path, table)
    ours = table.run is not None
    matched = match_columns(path, table.columns, mapping or {}, ours=ours)
    rows = [row for row in table.rows if isinstance(row, RawRow)][:limit]
    return Preview(
        format=format_name(table.columns, table.kind, ours=table.ours),
        encoding=table.encoding,
        columns=column_uses(table.columns, matched),
        missing=tuple(shown for shown in SHOWN if shown not in matched),
        unclear=unclear_answer(table.columns, mapping or {}, ours=ours),
        rows=tuple(tuple(_cell(row.cells.get(column)) for column in table.columns) for row in rows),
    )


def _own_run(path: Path, table: Table) -> Run:
    """The run as the file itself describes it, without samples."""
    said: dict[str, Any] = dict(table.run.cells) if table.run else {}
    return Run(
        name=(said.get("name") or "").strip() or storable(path.stem),
        samples=(),
        config=said.get("config") or {},
        dataset=said.get("dataset"),
        source=storable(path.name),
        tags=tuple(map(str, said.get("tags") or ())),
    )


def _cell(value: JsonValue) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text[:CELL]
