"""Read run files as runs, with a report of how each file was read."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from ragboard.errors import RunFileError
from ragboard.readers.cells import storable
from ragboard.readers.columns import FIELDS, MEANINGS, column_uses, match_columns, unclear_answer
from ragboard.readers.files import EXTENSIONS
from ragboard.readers.formats import format_of
from ragboard.readers.packed import stem_of
from ragboard.readers.paths import root_of, with_paths
from ragboard.readers.report import Coerced, ColumnUse, DroppedRow, ImportReport, Preview, ReadResult, Renamed
from ragboard.readers.runs import (
    MAIN_FIELDS,
    SUGGESTED_FIELDS,
    empty_file_error,
    format_of_table,
    runs_from_table,
    suggested_fields,
)
from ragboard.readers.sources import FileSource, opened
from ragboard.readers.stream import MIN_BYTES, RunStream, run_stream
from ragboard.readers.tables import RawRow, Table, read_table
from ragboard.records import JsonValue, Run

__all__ = [
    "EXTENSIONS",
    "FIELDS",
    "MEANINGS",
    "SUGGESTED_FIELDS",
    "Coerced",
    "ColumnUse",
    "DroppedRow",
    "ImportReport",
    "Preview",
    "ReadResult",
    "Renamed",
    "RunStream",
    "Table",
    "described_run",
    "open_runs",
    "preview",
    "read_runs",
    "read_table",
    "stem_of",
]

MAX_CELL = 200
"""Maximum characters of a cell in a preview."""


def read_runs(
    file: FileSource,
    *,
    name: str | None = None,
    config: Mapping[str, JsonValue] | None = None,
    dataset: str | None = None,
    mapping: Mapping[str, str | None] | None = None,
    run_column: str | None = None,
    skip_bad: bool = False,
    table: Table | None = None,
    sheet: str | None = None,
    limit: int | None = None,
) -> ReadResult:
    """Read a run file: JSONL, JSON, CSV, TSV, Parquet, Arrow or Excel (also compressed), or a file of another tool.

    - `file`: a path, a URL (`https://...` or `s3://...`; needs the extra `ragboard[remote]`) or a stream of bytes. For
      a file in several parts: the path of their folder, or the paths of the parts.
    - `mapping`: for each field, the column to read it from, or a path into a column
      (`outputs.documents[].page_content`). None leaves the field empty.
    - `run_column`: split the file into one run for each value of this column.
    - `skip_bad`: skip rows that cannot be read, and list them in the report.
    - `table`: the table that `read_table` returned for this file, to parse the file only once.
    - `sheet`: a sheet of an Excel file.
    - `limit`: read only this many rows.

    Raises RunFileError (`file:line: field: got, expected`) if the file or a row cannot be read, or if it is unclear
    which column is the answer.
    """
    with opened(file) as source:
        path = source.path
        table = _table(path, mapping, sheet, table, source.parts)
        if limit is not None:
            table = _first_rows(path, table, mapping or {}, limit)
        result = runs_from_table(
            path,
            table,
            _base_run(path, table, name, config, dataset),
            mapping=mapping or {},
            run_column=run_column or table.split_by or None,
            prefixed=name is not None or bool(table.split_by),
            skip_bad=skip_bad,
        )
        return source.with_source_name(result)


@contextmanager
def open_runs(
    file: FileSource,
    *,
    name: str | None = None,
    config: Mapping[str, JsonValue] | None = None,
    dataset: str | None = None,
    mapping: Mapping[str, str | None] | None = None,
    run_column: str | None = None,
    skip_bad: bool = False,
    sheet: str | None = None,
    min_bytes: int = MIN_BYTES,
) -> Generator[tuple[RunStream | None, Callable[[], ReadResult]]]:
    """Yield a stream of a large JSONL file (None for any other file), and a function that reads the whole file.

    Use the function if there is no stream. Arguments and errors are the same as for `read_runs`.
    """
    with opened(file) as source:
        read = partial(
            read_runs,
            list(source.parts) or source.path,
            name=name,
            config=config,
            dataset=dataset,
            mapping=mapping,
            run_column=run_column,
            skip_bad=skip_bad,
            sheet=sheet,
        )
        if source.parts or run_column or sheet:
            yield None, read
            return

        def base(path: Path, table: Table) -> Run:
            run = _base_run(path, table, name, config, dataset)
            return replace(run, source=storable(source.shown)) if source.shown else run

        streamed = run_stream(source.path, base, mapping=mapping or {}, skip_bad=skip_bad, min_bytes=min_bytes)
        with streamed as stream:
            yield stream, lambda: source.with_source_name(read())


def _base_run(
    path: Path, table: Table, name: str | None, config: Mapping[str, JsonValue] | None, dataset: str | None
) -> Run:
    """Return the run that the file describes, with no samples. The arguments override the file."""
    run = described_run(path, table)
    return replace(run, name=name or run.name, config={**run.config, **(config or {})}, dataset=dataset or run.dataset)


def preview(
    path: Path, *, mapping: Mapping[str, str | None] | None = None, limit: int = 10, table: Table | None = None
) -> Preview:
    """Return a preview of a file: its columns, the fields they are read as, and the first rows.

    `table` is the table that `read_table` returned for this file. Raises RunFileError if the file cannot be read.
    """
    table = _first_rows(path, _table(path, mapping, table=table), mapping or {}, limit)
    if not table.columns:
        raise empty_file_error(path, table)
    ours = table.has_field_names
    matched = match_columns(path, table.columns, mapping or {}, ours=ours)
    rows = [row for row in table.rows if isinstance(row, RawRow)][:limit]
    return Preview(
        format=format_of_table(table),
        encoding=table.encoding,
        columns=column_uses(table.columns, matched),
        missing=tuple(field for field in MAIN_FIELDS if field not in matched),
        unclear=unclear_answer(table.columns, mapping or {}, ours=ours),
        suggested=suggested_fields(table, matched, [name for name in table.columns if name not in matched.values()]),
        rows=tuple(tuple(_cell(row.cells.get(column)) for column in table.columns) for row in rows),
    )


def _table(
    path: Path,
    mapping: Mapping[str, str | None] | None,
    sheet: str | None = None,
    table: Table | None = None,
    parts: Sequence[Path] = (),
) -> Table:
    """Return the table of a file.

    If the mapping has a column that only the raw file of another tool has, the file is read as a plain table.
    """
    table = table or read_table(path, sheet=sheet, parts=parts)
    named = [column for column in (mapping or {}).values() if column is not None]
    other = [column for column in named if column not in table.columns and root_of(column, table.columns) is None]
    return read_table(path, plain=True, sheet=sheet, parts=parts) if table.tool and other else table


def _first_rows(path: Path, table: Table, mapping: Mapping[str, str | None], limit: int) -> Table:
    """Return the first `limit` readable rows of a table, with a column for each path in the mapping.

    A table with a row for each passage is returned whole, because the rows of a sample may be anywhere in it. Raises
    RunFileError for a path that has no value in the whole file.
    """
    known = None if table.tool else format_of(table.columns)
    if known and known.passage_rows:
        return with_paths(path, table, mapping)
    ends = (index for index, row in enumerate(table.rows, 1) if isinstance(row, RawRow))
    end = next(islice(ends, limit - 1, None), None)
    try:
        return with_paths(path, replace(table, rows=table.rows[:end]), mapping)
    except RunFileError:
        whole = with_paths(path, table, mapping)
        return replace(whole, rows=whole.rows[:end])


def described_run(path: Path, table: Table) -> Run:
    """Return the run that the file describes, with no samples. A run without a name is named after the file."""
    described: dict[str, Any] = dict(table.run.cells) if table.run else {}
    tool = table.tool
    return Run(
        name=(described.get("name") or "").strip() or (tool and storable(tool.name).strip()) or storable(stem_of(path)),
        samples=(),
        config=described.get("config") or (tool.config if tool else {}),
        dataset=described.get("dataset"),
        source=storable(path.name),
        tags=tuple(map(str, described.get("tags") or ())),
    )


def _cell(value: JsonValue) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text[:MAX_CELL]
