"""The command that says what the numbers of a run suggest."""

from __future__ import annotations

import click

from ragboard.analysis import (
    Diagnosis,
    caution_of,
    command_for,
    condition_of,
    diagnose,
    metric_descriptions,
    topic_in_words,
    why_silent,
)
from ragboard.cli.options import as_json, store_option
from ragboard.cli.output import one_line, print_json, print_table
from ragboard.store import Store

__all__ = ["diagnose_run"]


@click.command("diagnose")
@click.argument("run")
@store_option
@as_json
def diagnose_run(run: str, store: Store, as_json: bool) -> None:
    """Say what the numbers of a RUN suggest: retriever or generator at fault, where the loss sits, what to try.

    A sentence is said only where the 95% interval of its figure lies wholly beyond the limit of its rule.

    \b
    ragboard diagnose my-run
    """
    found = diagnose(store, store.resolve(run))
    if as_json:
        print_json(found)
        return
    _print_findings(found)
    _print_losses(store, found)
    _print_silent(found)


def _print_findings(found: Diagnosis) -> None:
    for note in filter(None, (caution_of(found), found.split)):
        click.echo(one_line(note))
    for one in found.findings:
        click.echo("\n" + one_line(f"{one.rule.part}: {one.sentence}"))
        click.echo(one_line(f"  {one.figure}"))
        click.echo(one_line(f"  {one.rule.advice}"))
    if not found.findings:
        click.echo("No rule speaks: no interval lies wholly beyond its limit.")


def _print_losses(store: Store, found: Diagnosis) -> None:
    if found.carried is not None:
        count = len(found.questions)
        click.echo(f"\n{count} questions carry {found.carried:.0%} of the {found.loose:,} unsupported statements")
        for question in found.questions:
            click.echo(one_line(f"  {question.statements}  {question.question}"))
    for passage in found.passages:
        said = f"supplies {passage.wrong} wrong" if passage.wrong else f"contradicts {passage.contradicted}"
        click.echo(one_line(f"passage {passage.passage_id} {said} statements"))
    labels = {spec: metric.label for spec, metric in metric_descriptions(store).items()}
    for topic in found.topics:
        click.echo(one_line(topic_in_words(topic, labels.get(topic.metric, topic.metric))))
    if found.looked_at.groups and not found.topics:
        click.echo(f"no topic is worse than the rest beyond chance; {found.looked_at.groups} groups looked at")


def _print_silent(found: Diagnosis) -> None:
    click.echo()
    measured = [one for one in found.silent if one.figure]
    rows = [[condition_of(one.rule), str(one.figure), why_silent(one)] for one in measured]
    if rows:
        print_table(["silent rule", "figure", "why"], rows)
    ignore_call = len(found.silent) - len(measured)
    if ignore_call:
        click.echo(f"\n{ignore_call} rules wait for metrics that were not evaluated")
    if found.missing:
        click.echo(one_line(f"to hear them: {command_for(found)}"))
