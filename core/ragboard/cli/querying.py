"""The command that reads the store in SQL."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ragboard.cli.options import force_option, store_option
from ragboard.cli.output import print_table
from ragboard.exporting import TABLE_FORMATS, write_table
from ragboard.outputs import check_output
from ragboard.query import QueryLimits, QueryResult, run_query
from ragboard.store import Store

__all__ = ["query"]

CELL = 80
"""Characters of a text that a table for people shows."""


@click.command()
@click.argument("sql")
@click.option(
    "--format", "kind", type=click.Choice(["table", *TABLE_FORMATS]), help="Else as the file is called, or a table."
)
@click.option(
    "-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help="File to write; else standard output."
)
@force_option
@click.option("--rows", type=click.IntRange(1), default=1000, show_default=True, help="The first so many rows.")
@click.option("--seconds", type=click.FloatRange(0.1), default=5.0, show_default=True, help="Stop after so long.")
@store_option
def query(sql: str, kind: str | None, out: Path | None, force: bool, rows: int, seconds: float, store: Store) -> None:
    """Read the store with one SELECT in DuckDB's SQL; `-` takes it from standard input.

    Nothing is changed, and no file is read. `SHOW TABLES` and `DESCRIBE runs` tell what there is.

    \b
    ragboard query "SELECT run, verdict, count(*) FROM statement_verdicts WHERE shown GROUP BY ALL"
    ragboard query "FROM sample_scores" --rows 100000 -o scores.parquet
    """
    if out:
        check_output(out, force=force)
    text = sys.stdin.read() if sql == "-" else sql
    result = run_query(store, text, QueryLimits(rows=rows, seconds=seconds))
    if out is None and kind in (None, "table"):
        _print(result)
    else:
        write_table(result.frame(), kind=None if kind == "table" else kind, out=out, force=force)
    if result.truncated:
        click.echo(f"the first {len(result.rows):,} rows; --rows N gives more", err=True)


def _print(result: QueryResult) -> None:
    cells = [["" if value is None else str(value)[:CELL] for value in row] for row in result.rows]
    print_table([column.name for column in result.columns], cells)
