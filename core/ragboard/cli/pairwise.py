"""The command that asks which of two runs is better."""

from __future__ import annotations

from typing import get_args

import click

from ragboard.cli.options import as_json, judging_options, store_option
from ragboard.cli.output import one_line, print_json, print_table
from ragboard.human.pairwise import PairShare, Preferences, prefer_runs
from ragboard.judges import JudgeOptions, panel_named
from ragboard.stats import Interval
from ragboard.store import Store
from ragboard.tasks import Quality

__all__ = ["prefer"]


@click.command()
@click.argument("run_a")
@click.argument("run_b")
@click.option("--quality", type=click.Choice(get_args(Quality)), default="faithfulness", show_default=True)
@judging_options
@store_option
@as_json
def prefer(run_a: str, run_b: str, quality: Quality, judging: JudgeOptions, store: Store, as_json: bool) -> None:
    """Ask a judge which of two runs is better on each question they share (GPT Ranking).

    Every pair is asked in both orders: where the order decides, no side wins, and how often the one shown
    first was chosen is reported.

    \b
    ragboard prefer baseline rerank --quality answer_relevance --judge openai:gpt-4o-mini
    """
    found = prefer_runs(store, store.resolve(run_a), store.resolve(run_b), quality, panel_named(judging))
    if as_json:
        print_json(found)
        return
    _print(found)


def _print(found: Preferences) -> None:
    asked = len(found.choices)
    print_table(
        ["", "pairs"],
        [
            [f"{found.run_a} is better", str(found.a)],
            [f"{found.run_b} is better", str(found.b)],
            ["the order decided", str(found.by_order)],
            ["no usable answer", str(found.failed)],
        ],
    )
    click.echo(
        f"{found.quality}, {asked} pairs asked in both orders; {one_line(found.run_a)} won {_share(found.share_a)} of"
        f" those with a winner; the one shown first was chosen {_share(found.first_chosen)} of the time"
    )
    unpaired = found.only_a + found.only_b + found.ambiguous
    if unpaired or found.left_out or found.alike:
        click.echo(
            f"not asked: {found.only_a} only in {one_line(found.run_a)},"
            f" {found.only_b} only in {one_line(found.run_b)},"
            f" {found.ambiguous} with several possible partners, {found.left_out} without answer or passages,"
            f" {found.alike} the same in both"
        )


def _share(found: PairShare | None) -> str:
    if found is None:
        return "none"
    bounds = found.interval
    interval = f" [{bounds.low:.0%}, {bounds.high:.0%}]" if isinstance(bounds, Interval) else ""
    return f"{found.share:.0%}{interval}"
