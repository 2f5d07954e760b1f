"""Commands for datasets and the nuggets of their questions."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Any, get_args

import click

from ragboard.analysis import Trend, dataset_trend
from ragboard.analysis.verdict_style import NUGGET_STYLES
from ragboard.cli.labels import annotator_option
from ragboard.cli.options import as_json, budget_options, force_option, judge_options, prices_option, store_option
from ragboard.cli.output import one_line, print_json, print_table
from ragboard.datasets import (
    NuggetSource,
    approve_nuggets,
    export_nuggets,
    import_nuggets,
    load_dataset,
    nugget_table,
    rewrite_questions,
    write_nuggets,
)
from ragboard.datasets import datasets as all_datasets
from ragboard.errors import ExitCode
from ragboard.evaluation.options import EvaluationOptions
from ragboard.judges import JudgeOptions, panel_named
from ragboard.outputs import check_output, write_output
from ragboard.prices import Prices
from ragboard.store import Store

__all__ = ["datasets", "nuggets", "print_run_trend", "rewrite"]


@click.command()
@click.argument("dataset", required=False)
@click.option("--metric", default="", help="Metric to show.  [default: the first that all runs have]")
@store_option
@as_json
def datasets(dataset: str | None, metric: str, store: Store, as_json: bool) -> None:
    """List the datasets: the questions that runs share, with their references, nuggets and labels.

    With a DATASET (its name, or the name of a run), show the mean of a metric in each run, oldest first, with the
    difference from the previous run.

    \b
    ragboard datasets
    ragboard datasets bm25-k3 --metric faithfulness
    """
    if dataset:
        trend = dataset_trend(store, load_dataset(store, dataset).name, metric)
        print_json(trend) if as_json else print_run_trend(trend)
        return
    found = all_datasets(store)
    if as_json:
        print_json([one._asdict() for one in found])
        return
    print_table(
        ["dataset", "questions", "runs", "versions", "references", "nuggets", "approved", "labels"],
        [
            [
                one_line(one.name),
                *(
                    f"{number:,}"
                    for number in (
                        one.questions,
                        one.runs,
                        one.versions,
                        one.references,
                        one.nuggets,
                        one.approved,
                        one.labels,
                    )
                ),
            ]
            for one in found
        ],
    )


def print_run_trend(trend: Trend) -> None:
    """Print a metric in each run of a dataset, with the difference from the previous run."""
    if not trend.metric:
        click.echo(f"no run of {one_line(trend.dataset)} is evaluated yet")
        return
    older = f", without {_runs(trend.older)} before these" if trend.older else ""
    click.echo(one_line(f"{trend.dataset}: {trend.label} of {_runs(len(trend.points))}, oldest first{older}"))
    for point in trend.points:
        judge = point.summary.judged if point.summary else None
        by = f", judged by {judge.in_words}" if judge else ""
        click.echo(one_line(f"{point.run.imported:%Y-%m-%d}  {point.run.name}: {point.mean_in_words}{by}"))
        if point.previous:
            click.echo(one_line(f"  from {point.previous}: {point.difference_in_words}"))


def _runs(count: int) -> str:
    return f"{count:,} run{'' if count == 1 else 's'}"


@click.command()
@click.argument("dataset")
@click.option("--again", is_flag=True, help="Also rewrite questions that are already rewritten.")
@judge_options
@budget_options
@prices_option
@store_option
@as_json
def rewrite(
    dataset: str,
    again: bool,
    judge_options: JudgeOptions,
    limits: dict[str, Any],
    prices: Prices,
    store: Store,
    as_json: bool,
) -> None:
    """Rewrite the follow-up questions of a DATASET with a chat model, so that they are clear without the earlier turns.

    DATASET is the name of a dataset or of one of its runs. The Sample page and `ragboard show RUN SAMPLE` show the
    rewritten question below the original. Judges and metrics do not use it: they read the conversation. If the command
    is stopped, run it again to resume.

    \b
    ragboard rewrite support-chats --judge openai:gpt-4o-mini
    """
    chosen, options = load_dataset(store, dataset), EvaluationOptions(prices=prices, **limits)
    done = rewrite_questions(store, chosen, panel_named(judge_options), options, again=again)
    if as_json:
        print_json(done)
    else:
        earlier = f"; {done.kept:,} already rewritten" if done.kept else ""
        without_history = f"; {done.without_history:,} without earlier turns" if done.without_history else ""
        click.echo(f"{_questions(done.questions)} rewritten, {done.calls:,} calls{earlier}{without_history}")
        for reason, count in done.failed.items():
            click.echo(f"  {_questions(count)} without a usable reply: {one_line(reason)}", err=True)
        if done.stopped:
            click.echo(f"stopped: {done.stopped}; run the same command to resume", err=True)
    if done.stopped:
        click.get_current_context().exit(ExitCode.STOPPED)


@click.group()
@click.pass_context
def nuggets(context: click.Context) -> None:
    """Write, approve, show, import and export nuggets: the short facts that a good answer states.

    DATASET is the name of a dataset or of one of its runs.

    \b
    ragboard nuggets write bm25-k3 --judge openai:gpt-4o-mini
    ragboard nuggets approve bm25-k3
    ragboard evaluate bm25-k3 --metrics nuggets --judge openai:gpt-4o-mini
    ragboard nuggets show bm25-k3
    """
    context.default_map = dict.fromkeys(nuggets.commands, context.default_map)  # the settings file, for each command


@nuggets.command()
@click.argument("dataset")
@click.option(
    "--from",
    "source",
    type=click.Choice(get_args(NuggetSource)),
    default="passages",
    show_default=True,
    help="Write nuggets from the passages that the runs retrieved, or from the reference.",
)
@click.option("--again", is_flag=True, help="Also replace nuggets that nobody has approved.")
@click.option(
    "--compat",
    is_flag=True,
    help="Make AutoNuggetizer's calls: ten passages per call, then the importance of ten nuggets per call.",
)
@judge_options
@budget_options
@prices_option
@store_option
@as_json
def write(
    dataset: str,
    source: NuggetSource,
    again: bool,
    compat: bool,
    judge_options: JudgeOptions,
    limits: dict[str, Any],
    prices: Prices,
    store: Store,
    as_json: bool,
) -> None:
    """Write nuggets with a chat model for each question of a DATASET that has none.

    If the command is stopped, run it again to resume.

    \b
    ragboard nuggets write bm25-k3 --judge openai:gpt-4o-mini --max-cost 1
    """
    written = write_nuggets(
        store,
        load_dataset(store, dataset),
        panel_named(judge_options),
        EvaluationOptions(prices=prices, **limits),
        source=source,
        again=again,
        compat=compat,
    )
    if as_json:
        print_json(written)
    else:
        earlier = f"; {written.kept:,} already had nuggets" if written.kept else ""
        click.echo(f"{written.nuggets:,} nuggets for {_questions(written.questions)}, {written.calls:,} calls{earlier}")
        if written.without_texts:
            what = "passages" if source == "passages" else "a reference"
            click.echo(f"  {_questions(written.without_texts)} without {what} to write from", err=True)
        if written.empty:
            click.echo(f"  {_questions(written.empty)} for which the judge found no nugget", err=True)
        for reason, count in written.failed.items():
            click.echo(f"  {_questions(count)} without a usable reply: {one_line(reason)}", err=True)
        if written.stopped:
            click.echo(f"stopped: {written.stopped}; run the same command to resume", err=True)
    if written.stopped:
        click.get_current_context().exit(ExitCode.STOPPED)


@nuggets.command()
@click.argument("dataset")
@annotator_option
@store_option
def approve(dataset: str, annotator: str, store: Store) -> None:
    """Approve all nuggets of a DATASET unchanged. To edit nuggets before you approve them, use the Dataset page.

    \b
    ragboard nuggets approve bm25-k3
    """
    chosen = load_dataset(store, dataset)
    unapproved = [one for one in chosen.questions if one.nuggets and not one.nuggets.approved]
    for question in unapproved:
        approve_nuggets(store, question, author=annotator)
    click.echo(f"nuggets of {_questions(len(unapproved))} approved by {one_line(annotator)}")


@nuggets.command()
@click.argument("dataset")
@click.option(
    "--missing", is_flag=True, help="Show only nuggets that at least one run's answer does not state completely."
)
@store_option
@as_json
def show(dataset: str, missing: bool, store: Store, as_json: bool) -> None:
    """Show which nuggets each run's answers state.

    ● stated, ◐ stated in part, ○ missing, ? no usable reply, - not judged.

    \b
    ragboard nuggets show bm25-k3 --missing
    """
    chosen = load_dataset(store, dataset)
    tables = [(question, nugget_table(store, chosen, question)) for question in chosen.questions if question.nuggets]
    if as_json:
        print_json(
            [
                {
                    "question": one.question,
                    "approved": one.nuggets is not None and one.nuggets.approved,
                    "nuggets": [
                        {
                            "text": nugget.text,
                            "importance": nugget.importance,
                            "runs": {
                                labelled.run: labelled.labels[nugget.text].label
                                for labelled in table.runs
                                if nugget.text in labelled.labels
                            },
                        }
                        for nugget in table.nuggets
                    ],
                }
                for one, table in tables
            ]
        )
        return
    if not tables:
        click.echo(f"no nuggets in {one_line(chosen.name)}: write them with `ragboard nuggets write`")
        return
    names = [run.name for run in chosen.runs]
    click.echo(f"runs: {', '.join(map(one_line, names))}")
    for one, table in tables:
        lines = []
        for nugget in table.nuggets:
            marks = [
                NUGGET_STYLES[labelled.labels[nugget.text].label][0] if nugget.text in labelled.labels else "-"
                for labelled in table.runs
            ]
            if not missing or any(mark in "◐○" for mark in marks):
                lines.append(f"  {' '.join(marks)}  {one_line(nugget.text)} ({nugget.importance or 'no importance'})")
        if lines:
            state = "" if one.nuggets and one.nuggets.approved else " (not approved)"
            click.echo("\n".join([f"\n{one_line(one.question)}{state}", *lines]))


@nuggets.command("export")
@click.argument("dataset")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help="File to write.  [default: standard output]"
)
@force_option
@store_option
def export_command(dataset: str, out: Path | None, force: bool, store: Store) -> None:
    """Write the nuggets of a DATASET as JSON Lines, in AutoNuggetizer's format.

    \b
    ragboard nuggets export bm25-k3 -o nuggets.jsonl
    """
    if out:
        check_output(out, force=force)
    text = "".join(f"{line}\n" for line in export_nuggets(load_dataset(store, dataset)))
    if out is None:
        click.echo(text, nl=False)
    else:
        write_output(out, text.encode(), force=force)


@nuggets.command("import")
@click.argument("file", type=click.Path(path_type=Path, readable=False))
@click.option("--author", default=getpass.getuser, help="Author of lines without one.  [default: your user name]")
@store_option
@as_json
def import_command(file: Path, author: str, store: Store, as_json: bool) -> None:
    """Import the nuggets in FILE as the newest version of each question's nuggets.

    Each line is a JSON object with `query`, `nuggets` (each with `text` and `importance`) and, for a question in a
    conversation, `history`.

    \b
    ragboard nuggets import nuggets.jsonl
    """
    imported = import_nuggets(store, file, author=author)
    if as_json:
        print_json(imported)
        return
    click.echo(f"nuggets of {_questions(imported.questions)} imported")
    if imported.unknown:
        verb = "is" if imported.unknown == 1 else "are"
        click.echo(f"  of these, {_questions(imported.unknown)} {verb} in no run of the store", err=True)


def _questions(count: int) -> str:
    return f"{count:,} question{'' if count == 1 else 's'}"
