"""The command by which a person says what they think of a statement."""

from __future__ import annotations

import getpass

import click

from ragboard.cli.options import store_option
from ragboard.cli.output import plain
from ragboard.labels import label_statement, withdraw_statement
from ragboard.records import Label
from ragboard.store import Store

__all__ = ["annotator_option", "label"]

VERDICTS: tuple[Label, ...] = ("supported", "unsupported", "contradicted")

annotator_option = click.option(
    "--annotator",
    default=getpass.getuser,
    envvar="RAGBOARD_ANNOTATOR",
    show_envvar=True,
    help="Who says so; else your user name.",
)


@click.command()
@click.argument("run")
@click.argument("sample")
@click.argument("statement", type=click.IntRange(1))
@click.argument("verdict", type=click.Choice((*VERDICTS, "none")))
@click.option("--note", default="", help="Why.")
@annotator_option
@store_option
def label(run: str, sample: str, statement: int, verdict: str, note: str, annotator: str, store: Store) -> None:
    """Overrule or confirm the VERDICT on a STATEMENT (by its number) of a SAMPLE's answer; `none` takes yours back.

    The judge's verdict is kept beside yours, and scores are shown with and without.

    \b
    ragboard label bm25-k3 q07 2 contradicted --note 'the passage says 1983'
    ragboard label bm25-k3 q07 2 none
    """
    ref = store.resolve(run)
    given = next((one for one in VERDICTS if one == verdict), None)
    where = plain(f"{ref.name} {sample}, statement {statement}")
    if given:
        label_statement(store, ref, sample, statement, given, annotator=annotator, note=note)
        click.echo(f"{where}: {given}, says {plain(annotator)}")
    elif withdraw_statement(store, ref, sample, statement, annotator=annotator):
        click.echo(f"{where}: taken back")
    else:
        click.echo(f"{where}: {plain(annotator)} had said nothing there")
