"""The command that evaluates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm

from ragboard.cli.data import add_file, print_report, print_runs
from ragboard.cli.options import as_json, judging_options, plugin_option, reading_options, store_option
from ragboard.cli.output import plain, print_json, run_json
from ragboard.errors import NotFoundError
from ragboard.evaluation.engine import Finished, evaluate_run
from ragboard.evaluation.progress import Progress
from ragboard.judges import JudgeOptions, panel_named
from ragboard.judges.panel import Panel
from ragboard.metrics import DEFAULT_METRICS, METRICS, Metric, metrics_named, split_names
from ragboard.metrics.plugins import metrics_with
from ragboard.report import run_summary
from ragboard.store import RunRef, Store

__all__ = ["evaluate", "evaluate_with_bar"]


@click.command()
@click.argument("run")
@click.option(
    "--metrics",
    "names",
    help="Names separated by commas, metrics or sources; else ragas's three.  [ragchecker, ragas.faithfulness, ...]",
)
@judging_options
@plugin_option
@reading_options
@store_option
@as_json
def evaluate(
    run: str,
    names: str | None,
    judging: JudgeOptions,
    plugins: tuple[Path, ...],
    store: Store,
    as_json: bool,
    **reading: Any,
) -> None:
    """Evaluate a RUN of the store, or a run file that is read and kept first.

    What was answered before is not asked again: the same command goes on where it was stopped.

    \b
    ragboard evaluate answers.jsonl --name rerank --config k=5
    ragboard evaluate rerank --metrics faithfulness
    ragboard evaluate results.jsonl --run-column model --json
    ragboard evaluate rerank --judge openai:gpt-4o-mini --embed openai:text-embedding-3-small
    ragboard evaluate rerank --judge openai:o4-mini --judge-param reasoning_effort=low --embed embedded
    ragboard evaluate rerank --plugin my_metrics.py --metrics mine
    """
    known = metrics_with(plugins)
    metrics = metrics_named(split_names(names), known) if names else DEFAULT_METRICS
    panel = panel_named(judging)
    refs, report = _runs(store, run, reading)
    if report is not None and not as_json:
        print_report(report)
    done = [evaluate_with_bar(store, ref, metrics, panel, known) for ref in refs]
    evaluated = [
        RunRef(run_id=ref.run_id, name=ref.name, evaluation_id=end.evaluation.id)
        for ref, end in zip(refs, done, strict=True)
    ]
    summaries = tuple(run_summary(store, ref) for ref in evaluated)
    if as_json:
        print_json({"runs": [run_json(run) for run in summaries], "evaluations": done, "report": report})
        return
    print_runs(store, summaries)
    for end in done:
        _print_end(end)


def _runs(store: Store, run: str, reading: dict[str, Any]) -> tuple[list[RunRef], Any]:
    """The runs meant: one in the store by that name, else those of the file."""
    file = Path(run)
    try:
        return [store.resolve(run)], None
    except NotFoundError:
        if not file.exists() and not file.suffix:
            raise
    added, report = add_file(store, file, **reading)
    return [RunRef(run_id=kept.id, name=kept.name, evaluation_id=None) for kept in added], report


def evaluate_with_bar(
    store: Store, ref: RunRef, metrics: tuple[Metric, ...], panel: Panel, known: Mapping[str, Metric] = METRICS
) -> Finished:
    """Evaluate one run, with a progress bar where somebody watches."""
    with tqdm(desc=plain(ref.name), unit="sample", disable=None, leave=False) as bar:

        def watch(progress: Progress) -> None:
            bar.total = progress.total
            bar.update(progress.done - bar.n)

        return evaluate_run(store, ref.run_id, metrics, panel, known=known, watch=watch)


def _print_end(end: Finished) -> None:
    asked = f"{end.asked} tasks asked, {end.replayed} answered before"
    failed = f", {end.failed} failed" if end.failed else ""
    click.echo(f"evaluation {end.evaluation.id}: {end.samples} samples, {asked}{failed}", err=True)
    if end.evaluation.heuristic:
        click.echo("verdicts by the embedded judge are a heuristic: rules of thumb on shared words", err=True)
