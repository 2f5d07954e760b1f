"""Commands to label statements and questions, to choose random samples to label, and to export and import labels."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Literal, cast, get_args

import click

from ragboard.answerability import ANSWERABILITY_CLASSES
from ragboard.cli.options import as_json, force_option, store_option
from ragboard.cli.output import one_line, print_json
from ragboard.human.annotation import draw_samples
from ragboard.human.label_files import export_labels, import_labels
from ragboard.human.labels import label_statement, remove_label
from ragboard.human.questions import (
    export_question_labels,
    has_question_labels,
    import_question_labels,
    label_question_of_sample,
)
from ragboard.outputs import check_output, write_output
from ragboard.readers.labels import SamplingDesign
from ragboard.readers.tables import read_table
from ragboard.records import Answerability, Label
from ragboard.store import Store

__all__ = ["label", "labels"]

VERDICTS: tuple[Label, ...] = ("supported", "unsupported", "contradicted")

annotator_option = click.option(
    "--annotator",
    default=getpass.getuser,
    envvar="RAGBOARD_ANNOTATOR",
    show_envvar=True,
    help="Name of the annotator.  [default: your user name]",
)


@click.command()
@click.argument("run")
@click.argument("sample")
@click.argument("statement", type=click.IntRange(1))
@click.argument("verdict", type=click.Choice((*VERDICTS, "none")))
@click.option("--note", default="", help="Reason for the label.")
@annotator_option
@store_option
def label(run: str, sample: str, statement: int, verdict: str, note: str, annotator: str, store: Store) -> None:
    """Label a STATEMENT (a number) of a SAMPLE with your VERDICT; `none` removes your label.

    The judge's verdict does not change. Scores are shown with and without your labels.

    \b
    ragboard label bm25-k3 q10 1 unsupported --note 'the passage is about ships'
    ragboard label bm25-k3 q10 1 none
    """
    ref = store.resolve(run)
    given = None if verdict == "none" else cast(Label, verdict)
    where = one_line(f"{ref.name} {sample}, statement {statement}")
    if given:
        label_statement(store, ref, sample, statement, given, annotator=annotator, note=note)
        click.echo(f"{where}: labelled {given} by {one_line(annotator)}")
    elif remove_label(store, ref, sample, statement, annotator=annotator):
        click.echo(f"{where}: label removed")
    else:
        click.echo(f"{where}: no label by {one_line(annotator)}")


@click.group()
@click.pass_context
def labels(context: click.Context) -> None:
    """Choose random samples to label; export and import human labels.

    \b
    ragboard labels draw bm25-k3 --size 150 --seed 7
    ragboard labels question bm25-k3 q10 unanswerable
    ragboard labels export -o labels.jsonl
    ragboard labels import labels.jsonl --design random
    """
    context.default_map = dict.fromkeys(labels.commands, context.default_map)  # the settings file, for each command


@labels.command()
@click.argument("run")
@click.option("--size", type=click.IntRange(1), default=150, show_default=True, help="Total number of samples.")
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Random seed. To choose more samples of the same run later, pass the same seed.",
)
@store_option
@as_json
def draw(run: str, size: int, seed: int, store: Store, as_json: bool) -> None:
    """Choose random samples of a RUN to label on the Annotate page. The choice is saved.

    \b
    ragboard labels draw bm25-k3 --size 150 --seed 7
    """
    drawn = draw_samples(store, store.resolve(run), size=size, seed=seed)
    if as_json:
        print_json(drawn)
        return
    count = len(drawn.positions)
    click.echo(f"{count:,} of {drawn.population:,} samples with statements, drawn with seed {drawn.seed}")


@labels.command()
@click.argument("run")
@click.argument("sample")
@click.argument("answerability", type=click.Choice((*ANSWERABILITY_CLASSES, "none")))
@annotator_option
@store_option
def question(
    run: str, sample: str, answerability: Answerability | Literal["none"], annotator: str, store: Store
) -> None:
    """Label whether the question of a SAMPLE can be answered; `none` removes the label.

    The label applies to every run with this question and overrides the run file. The newest label counts.

    \b
    ragboard labels question bm25-k3 q10 unanswerable
    """
    ref = store.resolve(run)
    given = None if answerability == "none" else answerability
    text = label_question_of_sample(store, ref, sample, given, annotator=annotator)
    done = f"labelled {given} by {annotator}" if given else "no label"
    click.echo(one_line(f"{text}: {done}"))


@labels.command("export")
@click.argument("run", required=False)
@click.option(
    "-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help="File to write.  [default: standard output]"
)
@click.option(
    "--questions", is_flag=True, help="Write labels of questions (answerability) instead of labels of answers."
)
@force_option
@store_option
def export_command(run: str | None, out: Path | None, questions: bool, force: bool, store: Store) -> None:
    """Write the human labels of a RUN, or of all runs, as JSON Lines.

    \b
    ragboard labels export -o labels.jsonl
    """
    if out:
        check_output(out, force=force)
    ref, exported = store.resolve(run) if run else None, export_question_labels if questions else export_labels
    lines = [f"{line}\n" for line in exported(store, ref)]
    if out is None:
        click.echo("".join(lines), nl=False)
    else:
        write_output(out, "".join(lines).encode(), force=force)


@labels.command("import")
@click.argument("file", type=click.Path(path_type=Path, readable=False))
@click.option(
    "--design",
    type=click.Choice(get_args(SamplingDesign)),
    help="Sampling design of the labelled answers.  [default: the `design` column]",
)
@annotator_option
@store_option
@as_json
def import_command(file: Path, design: SamplingDesign | None, annotator: str, store: Store, as_json: bool) -> None:
    """Import the labels in FILE: JSON Lines or an ARES TSV. Importing a file twice changes nothing.

    Pass --design random if the answers are a random sample of a run: only such labels can estimate its mean. Rows
    without an annotator get --annotator. A file with a column `answerability` and no answers has labels of questions.

    \b
    ragboard labels import labels.jsonl --design random
    """
    table = read_table(file)
    if has_question_labels(table):
        question_labels = import_question_labels(store, file, table, annotator=annotator)
        if as_json:
            print_json(question_labels)
            return
        click.echo(
            f"{question_labels.added:,} labels of questions imported from {question_labels.rows:,} rows;"
            f" {question_labels.unchanged:,} already imported"
        )
        if question_labels.without_a_run:
            click.echo(f"  {question_labels.without_a_run:,} for questions that are in no run in the store", err=True)
        return
    imported = import_labels(store, file, annotator=annotator, design=design)
    if as_json:
        print_json(imported)
        return
    click.echo(
        f"{imported.added:,} labels imported from {imported.rows:,} rows; {imported.unchanged:,} already imported"
    )
    if imported.undecided:
        click.echo(f"  {imported.undecided:,} undecided, skipped", err=True)
    if imported.without_a_run:
        click.echo(f"  {imported.without_a_run:,} imported without a matching answer in the store", err=True)
