"""`ragboard trend`: show a metric over time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import click

from ragboard.analysis import (
    STATE_LABELS,
    GroupTrend,
    NewStatements,
    Period,
    TrafficTrend,
    dataset_trend,
    new_statements,
    traffic_datasets,
    traffic_groups,
    traffic_trend,
)
from ragboard.cli.datasets import print_run_trend
from ragboard.cli.options import as_json, store_option
from ragboard.cli.output import one_line, print_json, print_table
from ragboard.datasets import find_dataset_name
from ragboard.store import Store

__all__ = ["trend"]

MAX_DAYS = 31
"""Maximum number of days that are printed by day. More are printed by week."""
MAX_STATEMENTS = 5


@click.command()
@click.argument("dataset")
@click.argument("metric", default="")
@click.option("--by", "column", metavar="COLUMN", help="Metadata column to group the last two weeks by, such as topic.")
@click.option(
    "--days", type=click.IntRange(min=1), default=28, show_default=True, help="Days to print; by week above 31."
)
@click.option(
    "--judge", default="", help="Judge, if several scored the metric.  [default: the judge of the newest sample]"
)
@store_option
@as_json
def trend(dataset: str, metric: str, column: str | None, days: int, judge: str, store: Store, as_json: bool) -> None:
    """Show a METRIC of a DATASET (its name, or that of a run) over time. The default is its first metric.

    For live traffic, prints the state of the metric, when it and the configuration changed, the last 7 days compared
    with the 7 days before, the mean by day, and new unsupported statements.

    If the runs of the dataset have the same questions, prints only the difference between each run and the run before.

    \b
    ragboard trend 'chat (production)'
    ragboard trend 'chat (production)' faithfulness --by topic --days 90
    """
    name = find_dataset_name(store, dataset)
    if name not in traffic_datasets(store):
        runs = dataset_trend(store, name, metric)
        print_json(runs) if as_json else print_run_trend(runs)
        return
    found = traffic_trend(store, name, metric, judge)
    state = found.state
    groups = traffic_groups(store, name, column, state.metric, state.judge) if column else ()
    new = new_statements(store, name, limit=MAX_STATEMENTS)
    if as_json:
        print_json({"trend": found, "groups": groups, "new_statements": new})
        return
    _print_trend(found, days)
    if column:
        click.echo()
        _print_groups(column, groups)
    _print_new(new)


def _print_trend(found: TrafficTrend, days: int) -> None:
    state = found.state
    click.echo(one_line(f"{STATE_LABELS[state.state]}: {state.summary}"))
    click.echo(one_line(f"  judge: {state.judge_in_words}"))
    if state.threshold:
        click.echo(f"  threshold: {state.threshold}")
    for change in found.changes:
        click.echo(f"  change: {change}")
    for config in found.configs:
        click.echo(one_line(f"  configuration: {config.time:%Y-%m-%d} {config}"))
    click.echo(f"  last 7 days compared with the 7 days before: {found.week.in_words}\n")
    length = 1 if days <= MAX_DAYS else 7
    periods = found.days if length == 1 else found.weeks
    since = found.days[-1].start - timedelta(days=days)
    shown = [period for period in periods if period.start > since]
    print_table(
        ["day" if length == 1 else "week from", "mean (95% CI)", "n", "unscored", ""],
        [
            [f"{one.start:%Y-%m-%d}", one.in_words, f"{one.n:,}", f"{one.unscored:,}", _marks(found, one, length)]
            for one in shown
        ],
    )


def _marks(found: TrafficTrend, period: Period, length: int) -> str:
    """Return what happened in a period: changes of the configuration and of the mean."""
    end = period.start + timedelta(days=length)
    configs = [f"new: {config.run}" for config in found.configs if period.start <= config.time < end]
    changes = [f"changed: {one.in_short}" for one in found.changes if period.start <= one.start < end]
    return one_line("; ".join((*configs, *changes)))


def _print_groups(column: str, groups: Sequence[GroupTrend]) -> None:
    print_table(
        [one_line(column), "last 7 days (95% CI)", "n", "compared with the 7 days before (p: Holm)"],
        [[one_line(one.group), one.in_words, f"{one.n:,}", one.week.in_words] for one in groups],
    )


def _print_new(new: NewStatements) -> None:
    if not new.total:
        return
    click.echo(f"\n{new.in_words}")
    for one in new.statements:
        times = f", in {one.times:,} answers" if one.times > 1 else ""
        click.echo(one_line(f"  {one.verdict}: {one.statement} ({one.run}, sample {one.sample_id}{times})"))
