"""The command that makes synthetic data from a corpus."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import click

from ragboard.cli.options import as_json, ceiling_options, force_option, judging_options, prices_option
from ragboard.cli.output import one_line, print_json
from ragboard.evaluation.terms import Terms
from ragboard.judges import JudgeOptions, panel_named
from ragboard.prices import Prices
from ragboard.readers.ares import read_ares
from ragboard.readers.corpus import read_corpus
from ragboard.tasks import Example
from ragboard.training import KINDS, Kind, SynthConfig, SynthResult, choose, synthesise
from ragboard.training.questions import planned_calls

__all__ = ["synth"]

STOPPED = 3


@click.command()
@click.argument("corpus", type=click.Path(path_type=Path))
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder to write.")
@click.option("--kind", type=click.Choice(get_args(Kind)), default="ares", show_default=True)
@click.option("--passages", type=click.IntRange(1), help="Write questions to so many, drawn at random; else to all.")
@click.option("--questions", type=click.IntRange(1), default=3, show_default=True, help="To a passage, at most.")
@click.option(
    "--words", type=click.IntRange(10), default=120, show_default=True, help="Cut documents into passages of."
)
@click.option("--least-words", type=click.IntRange(1), default=30, show_default=True, help="Of a passage to ask about.")
@click.option("--plan", "only_plan", is_flag=True, help="Say how many calls it would take, and stop.")
@force_option
@judging_options
@click.option("--seed", type=int, default=0, show_default=True, help="For drawing passages and splitting documents.")
@ceiling_options
@prices_option
@as_json
def synth(
    corpus: Path,
    out: Path,
    kind: Kind,
    passages: int | None,
    questions: int,
    words: int,
    least_words: int,
    only_plan: bool,
    force: bool,
    judging: JudgeOptions,
    seed: int,
    limits: dict[str, Any],
    prices: Prices,
    as_json: bool,
) -> None:
    """Make questions, answers and wrong answers from a folder of texts or a table of passages.

    The embedded judge writes by rules; any chat model can write instead. The same command goes on where it
    was stopped.

    \b
    ragboard synth documents/ --out synthetic
    ragboard synth passages.parquet --out synthetic --judge openai:gpt-4o-mini --examples few_shot.tsv
    """
    config = SynthConfig(
        kind=kind,
        passages=passages,
        questions=questions,
        least_words=least_words,
        seed=seed,
        examples=_examples(judging.examples),
    )
    read = read_corpus(corpus, words=words)
    if only_plan:
        chosen = len(choose(read, config))
        tasks = planned_calls(chosen, questions, len(KINDS[kind]), by_meaning=bool(judging.embed))
        click.echo(f"at most {tasks:,} tasks for {chosen:,} passages")
        return
    panel = panel_named(replace(judging, examples=None))
    result = synthesise(read, config, panel, out, Terms(prices=prices, **limits), force=force)
    if as_json:
        print_json(result)
    else:
        _print(result)
    if result.stopped:
        click.get_current_context().exit(STOPPED)


def _examples(path: Path | None) -> tuple[Example, ...]:
    return tuple(
        Example(passage=row.document, question=row.question, answer=row.answer, contradictory=row.contradictory)
        for row in (read_ares(path) if path else ())
        if row.context_relevance is not False and row.answer_faithfulness is not False
    )


def _print(result: SynthResult) -> None:
    click.echo(
        f"{result.written:,} questions to {result.passages:,} passages; {result.kept:,} kept, {result.elsewhere:,}"
        f" lead to another passage, {result.repeated:,} repeated; {result.calls:,} calls of at most {result.planned:,}"
    )
    for quality, counts in result.labels.items():
        click.echo(f"  {quality}: {counts['Yes']:,} Yes, {counts['No']:,} No")
    for reason, count in result.failed.items():
        click.echo(f"  {count:,} without a usable reply: {one_line(reason)}")
    if result.stopped:
        click.echo(f"stopped: {result.stopped}; the same command goes on", err=True)
    card = result.file.with_name("card.md")
    click.echo(f"{result.rows:,} rows in {one_line(str(result.file))}; how they were made: {one_line(str(card))}")
