"""The command to import run files. It imports no judges, metrics and analyses, which would take a second."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ragboard.cli.json_output import print_json
from ragboard.cli.run_file_options import as_json, config_of, mapping_of, reading_options
from ragboard.cli.store_option import store_option
from ragboard.display import one_line
from ragboard.readers import ImportReport
from ragboard.store import AddedRun, Store

__all__ = ["add_file", "import_runs", "print_report"]

MAX_LISTED_ROWS = 5
"""Maximum number of skipped rows, and of renamed ids, to print."""


def add_file(
    store: Store,
    files: Sequence[str],
    *,
    name: str | None,
    as_one: str | None,
    pairs: tuple[str, ...],
    config_file: Path | None,
    dataset: str | None,
    maps: tuple[str, ...],
    run_column: str | None,
    skip_bad: bool,
    sheet: str | None,
    tags: tuple[str, ...],
) -> tuple[tuple[AddedRun, ...], ImportReport]:
    """Add the runs of a file, of standard input (`-`), or of several files that are parts of one run."""
    if as_one and name:
        raise click.UsageError("--as-one NAME already names the run; leave out --name")
    if len(files) > 1 and not as_one:
        raise click.UsageError(
            f"got {len(files)} files. To read them as parts of one run, add --as-one NAME; to make each a run, import"
            " one file at a time"
        )
    parts = [Path(file) for file in files] if len(files) > 1 else None
    return store.import_file(
        parts or (sys.stdin.buffer if files[0] == "-" else files[0]),
        name=as_one or name,
        config=config_of(pairs, config_file),
        dataset=dataset,
        mapping=mapping_of(maps),
        run_column=run_column,
        skip_bad=skip_bad,
        sheet=sheet,
        tags=tags,
    )


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE")
@reading_options
@store_option
@as_json
def import_runs(files: tuple[str, ...], store: Store, as_json: bool, **reading: Any) -> None:
    """Import a run FILE (JSONL, JSON, CSV, Excel, Parquet, or a file from another tool) without evaluating it.

    FILE can be compressed (.gz, .zst, .zip), a folder with the parts of one file, a URL, or - for standard input. With
    --as-one you can pass several files.

    \b
    ragboard import answers.jsonl --name rerank --config k=5 --config model=small
    ragboard import table.csv --map question=query --map contexts=docs
    ragboard import results.jsonl --run-column model
    ragboard import part-*.jsonl --as-one nightly
    """
    added, report = add_file(store, files, **reading)
    if as_json:
        print_json({"runs": added, "report": report})
        return
    print_report(report)
    for run in added:
        status = "imported" if run.added else "already in the store"
        click.echo(f"{one_line(run.name)}: {run.samples} sample{'' if run.samples == 1 else 's'} {status}")


def print_report(report: ImportReport) -> None:
    """Print an import report."""
    rows = f"{report.rows_read} row{'' if report.rows_read == 1 else 's'}"
    click.echo(one_line(f"{report.path}: {report.format}, {report.encoding}, {rows} read"), err=True)
    for row in report.dropped[:MAX_LISTED_ROWS]:
        click.echo(one_line(f"  skipped line {row.line}: {row.field or 'row'}: {row.message}"), err=True)
    _more("rows skipped", len(report.dropped))
    for change in report.coerced:
        lines = ", ".join(str(line) for line in change.lines)
        click.echo(one_line(f"  {change.count} x {change.what} (line {lines})"), err=True)
    for same in report.duplicated[:MAX_LISTED_ROWS]:
        click.echo(one_line(f"  duplicate id, line {same.line}: {same.given} is now {same.assigned}"), err=True)
    _more("duplicate ids", len(report.duplicated))
    for note in (*report.notes, *report.suggestions):
        click.echo(one_line(f"  {note}"), err=True)


def _more(what: str, count: int) -> None:
    if count > MAX_LISTED_ROWS:
        click.echo(f"  ... {count} {what} in all (--json lists them)", err=True)
