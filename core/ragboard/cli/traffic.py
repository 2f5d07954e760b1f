"""Commands for live traffic: evaluate new samples, and delete old ones."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType

import click

from ragboard.cli.evaluate import print_judge_note
from ragboard.cli.options import (
    as_json,
    judge_options,
    metrics_option,
    no_cache_option,
    plugin_option,
    prices_option,
    store_option,
)
from ragboard.cli.output import one_line, print_json
from ragboard.errors import ExitCode, NotFoundError, StoreBusyError
from ragboard.evaluation.budget import Budget
from ragboard.evaluation.defaults import default_metrics
from ragboard.evaluation.engine import check_roles
from ragboard.evaluation.options import EvaluationOptions
from ragboard.evaluation.watch import MAX_BATCH, WatchedBatch, Watcher, WatchOptions, watch_lock
from ragboard.judges import JudgeOptions, panel_named
from ragboard.metrics import metrics_named, split_names
from ragboard.metrics.plugins import metrics_with
from ragboard.prices import Prices
from ragboard.store import Store

__all__ = ["prune", "watch"]

MAX_PAUSE = 300.0
"""Maximum seconds to wait after a round in which every task failed."""


@click.command()
@click.argument("name", metavar="RUN|DATASET")
@metrics_option
@judge_options
@click.option(
    "--sample-rate",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    show_default=True,
    help="Share of the samples to evaluate; which ones depends on their ids and --seed.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed for --sample-rate.")
@click.option("--max-cost-per-day", type=click.FloatRange(0), help="Maximum cost per UTC day in US dollars.")
@click.option(
    "--every",
    type=click.FloatRange(0, min_open=True),
    default=0.5,
    show_default=True,
    help="Seconds between two checks for new samples.",
)
@click.option(
    "--batch-size",
    type=click.IntRange(1),
    default=MAX_BATCH,
    show_default=True,
    help="Maximum number of samples of a run to evaluate at a time.",
)
@click.option("--once", is_flag=True, help="Evaluate the samples that are already stored and exit.")
@no_cache_option
@prices_option
@plugin_option
@store_option
def watch(
    name: str,
    names: str | None,
    judge_options: JudgeOptions,
    sample_rate: float,
    seed: int,
    max_cost_per_day: float | None,
    every: float,
    batch_size: int,
    once: bool,
    no_cache: bool,
    prices: Prices,
    plugins: tuple[Path, ...],
    store: Store,
) -> None:
    """Evaluate new samples of a growing RUN, or of all growing runs of a DATASET, as they come.

    Runs until Ctrl-C. Judge replies are saved and not requested again after a restart. If samples come faster than they
    are evaluated, the newest are evaluated first. With --once, the exit code is 3 if a limit stops the evaluation.

    \b
    ragboard watch "chat (production)"
    ragboard watch "chat (production)" --judge openai:gpt-4o-mini --sample-rate 0.1 --max-cost-per-day 5
    ragboard watch chat --metrics faithfulness --once
    """
    known = metrics_with(plugins)
    options = EvaluationOptions(cache=not no_cache, prices=prices, known=known, judge_options=judge_options)
    panel = panel_named(judge_options)
    metrics = metrics_named(split_names(names), known) if names else default_metrics(panel)
    check_roles(panel, metrics)
    Budget.for_panel(EvaluationOptions(prices=prices, max_cost=max_cost_per_day), panel)
    if once and not store.growing_runs(name):
        raise NotFoundError(f"no growing run and no dataset of growing runs is called {name!r}; see `ragboard runs`")
    print_judge_note(panel, judge_options, prices)
    watcher = Watcher(
        store,
        WatchOptions(
            name=name,
            metrics=metrics,
            panel=panel,
            evaluation=options,
            sample_rate=sample_rate,
            seed=seed,
            max_cost_per_day=max_cost_per_day,
            batch=batch_size,
        ),
    )
    with watch_lock(store), _stopping(watcher) as stopped:
        _log(f"watching {name}: {', '.join(metric.spec for metric in metrics)}; {sample_rate:.0%} of the samples")
        if not store.growing_runs(name):
            _log(f"no growing run and no dataset of growing runs is called {name} yet; waiting for its first sample")
        _watch(watcher, every, stopped, once=once, priced=max_cost_per_day is not None)
        if stopped.is_set():
            _log("stopped; run the same command to resume")
    if once and watcher.budget_used_up:
        click.get_current_context().exit(ExitCode.STOPPED)


def _age(_context: click.Context, _option: click.Parameter, value: str) -> timedelta:
    """Return a duration such as `90d`, `12h` or `2w`. Raises click.BadParameter."""
    matched = re.fullmatch(r"(\d{1,5})\s*([hdw])", value.strip())
    if not matched or not int(matched[1]):
        raise click.BadParameter(f"{value!r} is not an age such as 90d, 12h or 2w")
    return int(matched[1]) * {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}[matched[2]]


@click.command()
@click.argument("name", metavar="[RUN|DATASET]", required=False)
@click.option(
    "--older-than", callback=_age, required=True, metavar="AGE", help="Delete samples older than this: 90d, 12h or 2w."
)
@click.option("--keep-labelled", is_flag=True, help="Keep samples whose answer or question has a human label.")
@click.option("--dry-run", is_flag=True, help="Print what would be deleted; delete nothing.")
@store_option
@as_json
def prune(
    name: str | None, older_than: timedelta, keep_labelled: bool, dry_run: bool, store: Store, as_json: bool
) -> None:
    """Delete old samples and their results: of all growing runs, of one RUN, or of the runs of a DATASET.

    The age of a sample is the time since its question was asked. Samples without a time, samples of imported runs, and
    human labels are kept.

    \b
    ragboard prune --older-than 90d --dry-run
    ragboard prune "chat (production)" --older-than 12w --keep-labelled
    """
    before = datetime.now(UTC).replace(tzinfo=None) - older_than
    size = _size(store)
    pruned = store.prune(before, name=name, keep_labelled=keep_labelled, dry_run=dry_run)
    freed = max(0, size - _size(store))
    if as_json:
        print_json({"before": before, "dry_run": dry_run, "runs": pruned, "freed_bytes": freed})
        return
    deleted = "would be deleted" if dry_run else "deleted"
    for run in pruned:
        kept = f", {run.kept_labelled:,} with labels kept" if run.kept_labelled else ""
        click.echo(one_line(f"{run.name}: {_samples(run.deleted)} {deleted}{kept}, {run.left:,} left"))
    total = sum(run.deleted for run in pruned)
    end = " (--dry-run: nothing was deleted)" if dry_run else f"; {freed / 1e6:,.1f} MB freed"
    click.echo(f"{_samples(total)} from before {before:%Y-%m-%d %H:%M} UTC {deleted}{end}")
    if dry_run:
        return
    if total:
        click.echo("new samples reuse space in the database; journals keep model replies until the run is deleted")
    for run in pruned:
        if not run.left:
            click.echo(one_line(f"{run.name} has no samples left; to delete it: ragboard rm {run.name!r}"))


def _samples(number: int) -> str:
    return "1 sample" if number == 1 else f"{number:,} samples"


def _size(store: Store) -> int:
    """Return the bytes of the database; 0 if there is none."""
    path = store.database.path
    return path.stat().st_size if path.exists() else 0


def _watch(watcher: Watcher, every: float, stopped: threading.Event, *, once: bool, priced: bool) -> None:
    """Evaluate in rounds until stopped; with `once`, until no samples wait. `priced`: log the cost of the day."""
    pause, logged_limit = every, False
    watched: tuple[str, ...] = ()
    while not stopped.is_set():
        busy = failing = False
        try:
            for batch in watcher.evaluate_new():
                failing = failing or bool(batch.stopped and not batch.evaluated and batch.failed)
                busy = busy or bool(batch.waiting and batch.evaluated)
                _log(_in_words(batch, priced=priced))
        except StoreBusyError as error:
            if once:
                raise
            _log(str(error))
        if watcher.run_names != watched:
            watched = watcher.run_names
            _log(f"runs: {', '.join(watched) or 'none'}")
        if watcher.budget_used_up and not logged_limit:
            _log(f"{watcher.waiting:,} samples wait; evaluation resumes after midnight UTC, with the newest")
        logged_limit = watcher.budget_used_up
        if once and not busy:
            return
        pause = min(2 * pause, MAX_PAUSE) if failing else every
        if not busy:
            stopped.wait(pause)


def _in_words(batch: WatchedBatch, *, priced: bool) -> str:
    failed = f", {batch.failed} tasks failed (to retry: ragboard retry {batch.run})" if batch.failed else ""
    waiting = f", {batch.waiting:,} waiting, newest first" if batch.waiting else ""
    cost = f", ${batch.spent_today:.4f} today" if priced else ""
    stopped = f"; stopped: {batch.stopped}" if batch.stopped else ""
    return f"{batch.run}: {_samples(batch.evaluated)} evaluated{waiting}{failed}{cost}{stopped}"


def _log(text: str) -> None:
    click.echo(one_line(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {text}"), err=True)


@contextmanager
def _stopping(watcher: Watcher) -> Generator[threading.Event]:
    """Yield an event that is set by Ctrl-C or SIGTERM. A second Ctrl-C ends the process at once."""
    stopped = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        stopped.set()
        watcher.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
