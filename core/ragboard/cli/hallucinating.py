"""The command that lists statements which the passages do not support, over any runs."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from ragboard import exporting
from ragboard.analysis import (
    UNSUPPORTED,
    Grouping,
    Hallucination,
    HallucinationGroups,
    HallucinationPage,
    HallucinationQuery,
    Human,
    hallucination_groups,
    hallucination_table,
    hallucinations,
)
from ragboard.cli.options import as_json, force_option, store_option
from ragboard.cli.output import MARKS, one_line, print_json, print_table
from ragboard.store import Store

__all__ = ["list_hallucinations"]


@click.command("hallucinations")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--verdict", type=click.Choice(UNSUPPORTED), help="Only these; else both.")
@click.option("--judge", "judged_by", default="", metavar="NAME", help="Each run's newest evaluation by this judge.")
@click.option("--text", default="", help="Words that all stand in the statement, its question or its reason.")
@click.option("--passage", default="", metavar="ID", help="Only where this passage was retrieved.")
@click.option("--human", type=click.Choice(get_args(Human)), help="Only those of which people say so.")
@click.option("--by", type=click.Choice(get_args(Grouping)), help="Count them by question, passage or judge.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="So many lines.")
@click.option("--format", "kind", type=click.Choice(exporting.TABLE_FORMATS), help="Write all of them as a table.")
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help="File for the table.")
@force_option
@store_option
@as_json
def list_hallucinations(
    runs: tuple[str, ...],
    verdict: str | None,
    judged_by: str,
    text: str,
    passage: str,
    human: Human | None,
    by: Grouping | None,
    limit: int,
    kind: str | None,
    out: Path | None,
    force: bool,
    store: Store,
    as_json: bool,
) -> None:
    """List the statements that the passages do not support, of each RUN or of all, the worst first.

    \b
    ragboard hallucinations
    ragboard hallucinations bm25-k3 --verdict contradicted --text tunnel
    ragboard hallucinations --by passage
    ragboard hallucinations -o made-up.csv
    """
    query = HallucinationQuery(
        runs=tuple(map(store.resolve, runs)),
        verdict=next((label for label in UNSUPPORTED if label == verdict), None),
        judge=judged_by,
        text=text,
        passage=passage,
        human=human,
        limit=limit,
    )
    if kind or out:
        exporting.write_table(hallucination_table(store, query), kind=kind, out=out, force=force)
    elif by:
        groups = hallucination_groups(store, query, by)
        print_json(groups) if as_json else _print_groups(groups, by)
    else:
        page = hallucinations(store, query)
        print_json(page) if as_json else _print_page(page)


def _print_page(page: HallucinationPage) -> None:
    click.echo(f"{page.total:,} of {sum(page.labels.values()):,} judged statements")
    for row in page.rows:
        _print_row(row)
    _more(len(page.rows), page.total)


def _print_row(row: Hallucination) -> None:
    label = row.said.verdict.label if row.said.verdict else row.said.alone
    reason = row.said.verdict.reason if row.said.verdict else row.said.alone_in_words
    click.echo(f"{MARKS[label or 'unsupported']} {label:<12} {one_line(row.said.statement.text)}")
    people = [f"{one.label}, says {one.annotator}{f': {one.note}' if one.note else ''}" for one in row.said.people]
    for note in filter(None, (reason, *people, f"{row.run} {row.sample_id}: {row.question}")):
        click.echo(f"  {'':<12} {one_line(note)}")


def _print_groups(found: HallucinationGroups, by: Grouping) -> None:
    head = ["statements", "contradicted", by]
    print_table(
        head,
        [
            [str(group.statements), str(group.contradicted), " ".join(filter(None, (group.passage_id, group.title)))]
            for group in found.groups
        ],
    )
    _more(len(found.groups), found.total)


def _more(shown: int, total: int) -> None:
    if shown < total:
        click.echo(f"... {shown:,} of {total:,}; --limit shows more", err=True)
