"""Readers: from a run file to runs, with a true report of how it was read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ragboard.errors import RunFileError
from ragboard.readers.cells import storable
from ragboard.readers.formats import FIELDS, column_uses, format_name, match_columns, named
from ragboard.readers.report import Coerced, ColumnUse, ImportReport, Preview, ReadResult, Renamed, RowNote
from ragboard.readers.rows import Reading, read_rows
from ragboard.readers.scores import ScoreColumns, disagreeing, file_scores, scores_in
from ragboard.readers.tables import BadRow, RawRow, Table, read_table
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
    mapping: Mapping[str, str | None] | None = None,
    run_column: str | None = None,
    skip_bad: bool = False,
) -> ReadResult:
    """Read a run file: JSONL, JSON, CSV, TSV or Parquet.

    `mapping` says which column a field is read from where its name does not tell, or None where it is read
    from none; `run_column` splits the file into one run for each of its values; `skip_bad` leaves bad rows
    out and lists them. Raises RunFileError, `file:line: field: got, expected`, where the file or a row cannot
    be read.
    """
    table = read_table(path)
    matched = _matched(path, table, mapping or {}, run_column)
    scores = scores_in(table, matched, run_column)
    reading = read_rows(path, table, matched, scores=scores, run_column=run_column, skip_bad=skip_bad)
    if not reading.samples:
        first = reading.dropped[0]
        raise RunFileError(path, f"no row can be read; the first: {first.message}", line=first.line, field=first.field)
    own = _own_run(path, table)
    base = replace(own, name=name or own.name, config={**own.config, **(config or {})}, dataset=dataset or own.dataset)
    bare = (_run(base, group, reading, run_column, prefixed=name is not None) for group in reading.samples)
    runs = tuple(
        replace(run, scores=file_scores(table, scores, reading.scores.get(group, ())))
        for run, group in zip(bare, reading.samples, strict=True)
    )
    return ReadResult(runs=runs, report=_report(path, table, matched, scores, reading, run_column))


def preview(path: Path, *, mapping: Mapping[str, str | None] | None = None, limit: int = 10) -> Preview:
    """What the file looks like: its columns, what they were taken for, the first rows. Raises RunFileError."""
    table = read_table(path)
    if not table.columns:
        raise _nothing(path, table)
    matched = match_columns(path, table.columns, mapping or {})
    rows = [row for row in table.rows if isinstance(row, RawRow)][:limit]
    return Preview(
        format=format_name(table.columns, table.kind, ours=table.ours),
        encoding=table.encoding,
        columns=column_uses(table.columns, matched),
        missing=tuple(shown for shown in SHOWN if shown not in matched),
        rows=tuple(tuple(_cell(row.cells.get(column)) for column in table.columns) for row in rows),
    )


def _matched(path: Path, table: Table, mapping: Mapping[str, str | None], run_column: str | None) -> dict[str, str]:
    if not table.rows or not table.columns:
        raise _nothing(path, table)
    if run_column is not None and run_column not in table.columns:
        raise RunFileError(path, f"has no column {run_column!r}; it has {named(table.columns)}")
    matched = match_columns(path, [column for column in table.columns if column != run_column], mapping)
    if "question" not in matched:
        there = named(table.columns)
        raise RunFileError(path, f"no column was taken for the question; it has {there}: --map question=COLUMN")
    return matched


def _nothing(path: Path, table: Table) -> RunFileError:
    """Why no row of a file has a cell."""
    first = next((row for row in table.rows if isinstance(row, BadRow)), None)
    if first:
        return RunFileError(path, first.message, line=first.line, field=first.place or None)
    return RunFileError(path, "is empty, expected samples")


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


def _run(base: Run, group: str | None, reading: Reading, run_column: str | None, *, prefixed: bool) -> Run:
    samples = tuple(reading.samples[group])
    if group is None or run_column is None:
        return replace(base, samples=samples)
    name = f"{base.name}/{group}" if prefixed else group
    return replace(base, name=name, samples=samples, config={**base.config, run_column: group})


def _report(
    path: Path,
    table: Table,
    matched: Mapping[str, str],
    scores: ScoreColumns | None,
    reading: Reading,
    run_column: str | None,
) -> ImportReport:
    return ImportReport(
        path=storable(path.name),
        format=format_name(table.columns, table.kind, ours=table.ours),
        encoding=table.encoding,
        rows_read=len(table.rows),
        columns=column_uses(table.columns, {**matched, **({"run": run_column} if run_column else {})}),
        dropped=tuple(reading.dropped),
        coerced=tuple(
            Coerced(what=what, count=len(lines), lines=tuple(dict.fromkeys(lines))[:FIRST_LINES])
            for what, lines in reading.coerced.items()
        ),
        duplicated=tuple(reading.renamed),
        notes=(*_notes(table, matched, scores, reading, run_column), *_score_notes(table, scores, reading)),
    )


def _notes(
    table: Table, matched: Mapping[str, str], scores: ScoreColumns | None, reading: Reading, run_column: str | None
) -> Iterator[str]:
    for shown in SHOWN:
        if shown not in matched:
            yield f"no column was taken for the {shown}"
    taken = {*matched.values(), run_column, *(scores.taken if scores else ())}
    other = [column for column in table.columns if column not in taken]
    if other:
        yield f"kept as metadata: {', '.join(other)}"
    if reading.derived_ids:
        yield f"{reading.derived_ids} samples without an id got one from their question"


def _score_notes(table: Table, scores: ScoreColumns | None, reading: Reading) -> Iterator[str]:
    if scores:
        yield f"kept as scores of {scores.tool}, beside ours: {', '.join(scores.columns.values())}"
    elif table.totals:
        yield "the file's table of means left out: it has no scores of single samples"
    odd = disagreeing(table.totals, (row for rows in reading.scores.values() for row in rows))
    if odd and not reading.dropped:
        yield f"the file's table of means is not that of its samples' scores: {', '.join(odd)}"


def _cell(value: JsonValue) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text[:CELL]
