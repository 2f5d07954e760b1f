"""From a table to runs, with a true report of how it was read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote

from ragboard.errors import RunFileError
from ragboard.readers.cells import NAMES_ONLY, storable
from ragboard.readers.columns import column_uses, format_name, match_columns, named, unclear_answer
from ragboard.readers.formats import format_of
from ragboard.readers.report import Coerced, ImportReport, ReadResult
from ragboard.readers.rows import Layout, Reading, lay_out, read_rows
from ragboard.readers.scores import ScoreColumns, disagreeing, file_scores
from ragboard.readers.tables import BadRow, RawRow, Table
from ragboard.records import Run

__all__ = ["SHOWN", "nothing_in", "runs_of"]

SHOWN = ("question", "answer", "contexts", "reference")
FIRST_LINES = 5


def runs_of(
    path: Path,
    table: Table,
    base: Run,
    *,
    mapping: Mapping[str, str | None],
    run_column: str | None = None,
    prefixed: bool = False,
    skip_bad: bool = False,
) -> ReadResult:
    """The runs of a table, each as `base` with its samples; `path` is what errors and the report call it.

    With `prefixed` the name of `base` stands before the values of the run column. Raises RunFileError where a row
    cannot be read, or where it is not clear which column is which.
    """
    known = format_of(table.columns)
    if known and known.refused:
        raise RunFileError(path, f"is a file of {known.name}: it {known.refused}")
    matched = _matched(path, table, mapping, run_column)
    layout = lay_out(path, table, known, matched)
    free = [column for column in table.columns if column not in matched.values() and column != run_column]
    rows = [row.cells for row in table.rows if isinstance(row, RawRow)]
    scores = known.scores(free, rows) if known and not table.ours else None
    reading = read_rows(path, layout.table, matched, scores=scores, run_column=run_column, skip_bad=skip_bad)
    if not reading.samples:
        first = reading.dropped[0]
        raise RunFileError(path, f"no row can be read; the first: {first.message}", line=first.line, field=first.field)
    _require_texts(path, table, matched, reading)
    named_format = format_name(table.columns, table.kind, ours=table.ours)
    bare = (_run(base, group, reading, run_column, prefixed=prefixed) for group in reading.samples)
    runs = tuple(
        replace(run, scores=file_scores(named_format, scores, reading.scores.get(group, ())))
        for run, group in zip(bare, reading.samples, strict=True)
    )
    return ReadResult(runs=runs, report=_report(path, table, layout, matched, scores, reading, run_column))


def nothing_in(path: Path, table: Table) -> RunFileError:
    """Why no row of a table has a cell."""
    first = next((row for row in table.rows if isinstance(row, BadRow)), None)
    if first:
        return RunFileError(path, first.message, line=first.line, field=first.place or None)
    return RunFileError(path, "is empty, expected samples")


def _matched(path: Path, table: Table, mapping: Mapping[str, str | None], run_column: str | None) -> dict[str, str]:
    if not table.rows or not table.columns:
        raise nothing_in(path, table)
    if run_column is not None and run_column not in table.columns:
        raise RunFileError(path, f"has no column {run_column!r}; it has {named(table.columns)}")
    columns = [column for column in table.columns if column != run_column]
    matched = match_columns(path, columns, mapping, ours=table.run is not None)
    if "question" not in matched:
        there = named(table.columns)
        how = _option(table, {"question": "COLUMN"})
        raise RunFileError(path, f"no column was taken for the question; it has {there}: {how}")
    unclear = unclear_answer(columns, mapping, ours=table.run is not None)
    if unclear:
        raise RunFileError(path, _which_answer(table, unclear, {*matched, *mapping}))
    return matched


def _which_answer(table: Table, unclear: Sequence[str], told: Collection[str]) -> str:
    """That it is not clear which column is the system's answer, and what to type for each case."""
    answer, other = unclear[:2]
    both = ({"answer": other, "reference": answer}, {"answer": answer, "reference": other})
    ways = [_option(table, {name: column for name, column in way.items() if name not in told}) for way in both]
    beside = ", ".join(repr(column) for column in unclear[1:])
    return f"columns {answer!r} and {beside} could each be the answer or the reference; choose with {' or '.join(ways)}"


def _option(table: Table, mapping: Mapping[str, str]) -> str:
    """A mapping as the user writes it: an argument in Python (where empty is None), options on the command line."""
    if table.kind == "memory":
        return f"mapping={ {field: column or None for field, column in mapping.items()} }"
    return " ".join(f"--map {quote(f'{field}={column}')}" for field, column in mapping.items())


def _require_texts(path: Path, table: Table, matched: Mapping[str, str], reading: Reading) -> None:
    """Raises RunFileError where what was taken for passages are the names of files or addresses, all of them."""
    samples = [sample for group in reading.samples.values() for sample in group]
    texts = [passage.text for sample in samples for passage in sample.contexts or () if passage.text.strip()]
    if texts and len(texts) == len(reading.coerced.get(f"contexts: {NAMES_ONLY}", ())):
        raise RunFileError(
            path,
            f"column {matched['contexts']!r} holds file names or addresses ({texts[0][:60]!r}), not the texts of the"
            f" passages: add a column with the texts, or leave it out with {_option(table, {'contexts': ''})}",
            field="contexts",
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
    layout: Layout,
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
        notes=(
            *layout.notes,
            *_notes(table, layout, matched, scores, reading, run_column),
            *_score_notes(table, scores, reading),
        ),
    )


def _notes(
    table: Table,
    layout: Layout,
    matched: Mapping[str, str],
    scores: ScoreColumns | None,
    reading: Reading,
    run_column: str | None,
) -> Iterator[str]:
    for shown in SHOWN:
        if shown not in matched:
            yield f"no column was taken for the {shown}"
    taken = {*matched.values(), run_column, *layout.read, *layout.left_out, *(scores.taken if scores else ())}
    other = [column for column in table.columns if column not in taken]
    if other:
        yield f"kept as metadata: {named(other)}"
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
