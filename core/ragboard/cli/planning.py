"""The command that tells what an evaluation would cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ragboard.cli.data import print_report
from ragboard.cli.judging import runs_meant
from ragboard.cli.options import (
    as_json,
    judging_options,
    metrics_option,
    no_cache_option,
    plugin_option,
    prices_option,
    reading_options,
    store_option,
)
from ragboard.cli.output import one_line, print_json, print_table
from ragboard.evaluation.background import UNSENT
from ragboard.evaluation.plan import Assumptions, Plan, Planned, Usage, plan_notes, plan_run
from ragboard.judges import JudgeOptions, panel_named
from ragboard.metrics import DEFAULT_METRICS, metrics_named, split_names
from ragboard.metrics.plugins import metrics_with
from ragboard.prices import Prices
from ragboard.store import Store

__all__ = ["plan"]

HEAD = ("metric", "tasks", "answered", "chat calls", "embeddings", "tokens in", "tokens out", "cost", "at worst")


@click.command()
@click.argument("run")
@metrics_option
@judging_options
@no_cache_option
@prices_option
@plugin_option
@click.option("--statements", type=click.IntRange(1), help="Statements of an answer; else as its text suggests.")
@click.option("--reference-statements", type=click.IntRange(1), help="Statements of a reference; else the same.")
@click.option("--characters-per-token", type=float, default=4.0, show_default=True, help="Of Latin text.")
@click.option(
    "--planned-on",
    type=click.IntRange(1),
    default=200,
    show_default=True,
    help="Samples of a larger run that are gone through; the rest is reckoned from them.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="For drawing these samples.")
@reading_options
@store_option
@as_json
def plan(
    run: str,
    names: str | None,
    judging: JudgeOptions,
    no_cache: bool,
    prices: Prices,
    plugins: tuple[Path, ...],
    statements: int | None,
    reference_statements: int | None,
    characters_per_token: float,
    planned_on: int,
    seed: int,
    store: Store,
    as_json: bool,
    **reading: Any,
) -> None:
    """Tell what evaluating a RUN would ask and cost; nothing is sent. A run file is read and kept first.

    \b
    ragboard plan answers.jsonl --judge openai:gpt-4o-mini --embed embedded
    ragboard plan rerank --metrics ragas,ragchecker --judge openai:my-model --prices prices.toml
    """
    known = metrics_with(plugins)
    metrics = metrics_named(split_names(names), known) if names else DEFAULT_METRICS
    assumed = Assumptions(characters_per_token=characters_per_token, samples=planned_on, seed=seed)
    expected = replace(assumed.expected, statements=statements, reference_statements=reference_statements)
    panel = panel_named(judging, {"OPENAI_API_KEY": UNSENT})
    refs, report = runs_meant(store, run, reading)
    if report is not None and not as_json:
        print_report(report)
    plans = {
        ref.name: plan_run(
            store,
            ref.run_id,
            metrics,
            panel,
            replace(assumed, expected=expected),
            known=known,
            prices=prices,
            cache=not no_cache,
        )
        for ref in refs
    }
    if as_json:
        print_json({"plans": plans})
        return
    for name, found in plans.items():
        _print_plan(name, found)


def _print_plan(name: str, found: Plan) -> None:
    click.echo(one_line(f"{name}: {found.samples:,} samples; nothing was sent"))
    rows: Mapping[str, Planned] = {**found.metrics, "all together": found.total}
    print_table(HEAD, [_row(title, planned) for title, planned in rows.items()])
    for line in plan_notes(found):
        click.echo(one_line(line))


def _row(title: str, planned: Planned) -> tuple[str, ...]:
    use, worst = planned.expected, planned.worst
    counts = (planned.tasks, planned.answered, use.chat_calls, use.embedding_calls)
    tokens = (use.prompt_tokens, use.completion_tokens)
    at_worst = f"{worst.chat_calls + worst.embedding_calls:,} calls, {_dollars(worst)}"
    return (title, *(f"{number:,}" for number in (*counts, *tokens)), _dollars(use), at_worst)


def _dollars(use: Usage) -> str:
    return "unknown" if use.cost is None else f"${use.cost:,.4f}"
