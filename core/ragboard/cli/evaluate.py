"""The commands that evaluate runs, ask again what failed, and say beforehand what it would cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm

from ragboard.analysis import RunSummary, failed_evaluations, failures, run_summary
from ragboard.cli.options import (
    as_json,
    judging_options,
    limit_options,
    metrics_option,
    no_cache_option,
    plugin_option,
    prices_option,
    reading_options,
    store_option,
)
from ragboard.cli.output import one_line, print_json, print_table, run_json
from ragboard.cli.runs import add_file, print_report, print_runs
from ragboard.errors import NotFoundError, SettingError
from ragboard.evaluation.background import UNSENT
from ragboard.evaluation.engine import Finished, evaluate_run, positions_meant
from ragboard.evaluation.identity import evaluation_of
from ragboard.evaluation.options import EvaluationOptions, Expected
from ragboard.evaluation.plan import Assumptions, Plan, Planned, Usage, plan_notes, plan_run
from ragboard.evaluation.progress import Progress
from ragboard.judges import JudgeOptions, panel_named
from ragboard.judges.base import ModelJudge
from ragboard.judges.panel import Panel
from ragboard.metrics import DEFAULT_METRICS, Metric, metric_of, metrics_named, split_names
from ragboard.metrics.plugins import metrics_with
from ragboard.prices import Prices
from ragboard.store import RunRef, Store

__all__ = ["STOPPED", "evaluate", "evaluate_with_bar", "plan", "retry"]


LOOKED_AT = 100
"""Samples that the estimate is made from, which what was spent is held against."""

STOPPED, IN_VAIN = 3, 1
"""Exit code of an evaluation that stopped before all was asked."""

LISTED = 5
"""Kinds of failure that are printed."""


@click.command()
@click.argument("run")
@metrics_option
@judging_options
@limit_options
@no_cache_option
@prices_option
@plugin_option
@reading_options
@store_option
@as_json
def evaluate(
    run: str,
    names: str | None,
    judging: JudgeOptions,
    limits: dict[str, Any],
    no_cache: bool,
    prices: Prices,
    plugins: tuple[Path, ...],
    store: Store,
    as_json: bool,
    **reading: Any,
) -> None:
    """Evaluate a RUN of the store, or import a run file and evaluate it.

    Answers are saved, so the same command resumes an evaluation that was stopped. If a limit stops it, the exit
    code is 3.

    \b
    ragboard evaluate answers.jsonl --name rerank --config k=5
    ragboard evaluate rerank --metrics faithfulness
    ragboard evaluate results.jsonl --run-column model --json
    ragboard evaluate rerank --judge openai:gpt-4o-mini --embed openai:text-embedding-3-small
    ragboard evaluate rerank --judge openai:o4-mini --judge-param reasoning_effort=low --embed embedded
    ragboard evaluate rerank --judge openai:gpt-4o-mini --embed embedded --sample 50 --max-cost 0.20
    ragboard evaluate rerank --judge openai:gpt-4o-mini --metrics ares --examples few_shot.tsv
    ragboard evaluate rerank --plugin my_metrics.py --metrics mine
    """
    known = metrics_with(plugins)
    metrics = metrics_named(split_names(names), known) if names else DEFAULT_METRICS
    options = EvaluationOptions(
        cache=not no_cache, prices=prices, known=known, judging=judging, concurrency=judging.concurrency, **limits
    )
    panel = panel_named(judging)
    refs, report = runs_meant(store, run, reading)
    if report is not None and not as_json:
        print_report(report)
    done = [evaluate_with_bar(store, ref, metrics, panel, options) for ref in refs]
    _end(store, refs, done, as_json=as_json, report=report)


@click.command()
@click.argument("run")
@limit_options
@prices_option
@plugin_option
@store_option
@as_json
def retry(
    run: str, limits: dict[str, Any], prices: Prices, plugins: tuple[Path, ...], store: Store, as_json: bool
) -> None:
    """Retry the failed tasks of a RUN's evaluation, or of RUN@EVALUATION.

    The judges are the same as before. Answered tasks are not asked again.

    \b
    ragboard retry rerank
    """
    ref = store.resolve(run)
    known = metrics_with(plugins)
    ref, *others = failed_evaluations(store, ref) or (ref,)
    judging = _judged_as(store, ref)
    specs = store.evaluation_metrics(ref.evaluation_id or "")
    metrics = tuple(metric for spec in specs if (metric := metric_of(spec, known)))
    options = EvaluationOptions(
        retry=True, prices=prices, known=known, judging=judging, concurrency=judging.concurrency, **limits
    )
    done = evaluate_with_bar(store, ref, metrics, panel_named(judging), options)
    if done.evaluation.id != ref.evaluation_id:
        click.echo("the judge, prompts or model have changed, so this is a new evaluation", err=True)
    for other in others:
        click.echo(one_line(f"another evaluation has failures: ragboard retry {run}@{other.evaluation_id}"), err=True)
    _end(store, [ref], [done], as_json=as_json)


def _judged_as(store: Store, ref: RunRef) -> JudgeOptions:
    if ref.evaluation_id is None:
        raise NotFoundError(f"{ref.name} is not evaluated yet: ragboard evaluate {ref.name}")
    judging = store.judging(ref.evaluation_id)
    if judging is None:
        raise SettingError(f"the judges of {ref.name}@{ref.evaluation_id} were given in Python; retry there")
    return judging


def _end(store: Store, refs: list[RunRef], done: list[Finished], *, as_json: bool, report: Any = None) -> None:
    """Print what was found; exit with 3 where something was not reached, with 1 where all that was asked failed."""
    evaluated = [
        RunRef(run_id=ref.run_id, name=ref.name, evaluation_id=end.evaluation.id)
        for ref, end in zip(refs, done, strict=True)
    ]
    summaries = tuple(run_summary(store, ref) for ref in evaluated)
    failed = {ref.name: failures(store, ref) for ref in evaluated}
    if as_json:
        shown = [run_json(run) for run in summaries]
        print_json({"runs": shown, "evaluations": done, "report": report, "failures": failed})
    else:
        print_runs(store, summaries)
        for end, summary in zip(done, summaries, strict=True):
            _print_end(end)
            if summary.spending:
                click.echo(one_line(f"  cost: {summary.spending}"), err=True)
        for ref in evaluated:
            _print_failures(ref, failed[ref.name])
    if any(end.stopped for end in done):
        click.get_current_context().exit(STOPPED)
    if any(_is_in_vain(end, summary) for end, summary in zip(done, summaries, strict=True)):
        click.get_current_context().exit(IN_VAIN)


def _is_in_vain(end: Finished, summary: RunSummary) -> bool:
    return end.failed > 0 and not any(metric.scored for metric in summary.metrics.values())


def _print_failures(ref: RunRef, found: Any) -> None:
    for kind in found[:LISTED]:
        click.echo(
            one_line(f"  failed {kind.count} times: {kind.message}; sample {kind.sample_id}: {kind.example}"), err=True
        )
    if len(found) > LISTED:
        click.echo(f"  and {len(found) - LISTED} more kinds of failure: ragboard show {one_line(ref.name)}", err=True)
    if found:
        click.echo(f"  to retry: ragboard retry {one_line(ref.name)}", err=True)


def runs_meant(store: Store, run: str, reading: dict[str, Any]) -> tuple[list[RunRef], Any]:
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
    store: Store, ref: RunRef, metrics: tuple[Metric, ...], panel: Panel, options: EvaluationOptions | None = None
) -> Finished:
    """Evaluate one run, with a progress bar where somebody watches."""
    given = options or EvaluationOptions()
    evaluation = evaluation_of(store, ref.run_id, panel, metrics, given.known)
    samples = len(positions_meant(store, evaluation, given))
    options = replace(given, expected=_expected(store, ref, metrics, panel, given, samples), planned_samples=samples)
    with tqdm(desc=one_line(ref.name), unit="sample", disable=None, leave=False) as bar:

        def watch(progress: Progress) -> None:
            bar.total = progress.total
            bar.set_postfix_str(_postfix(progress), refresh=False)
            bar.update(progress.done - bar.n)

        return evaluate_run(store, ref.run_id, metrics, panel, options, watch=watch)


def _postfix(progress: Progress) -> str:
    if not progress.calls:
        return ""
    cost = "" if progress.cost is None else f", ${progress.cost:.4f}"
    failed = f", {progress.failed} failed" if progress.failed else ""
    return f"{progress.calls} calls{cost}{failed}"


def _expected(
    store: Store, ref: RunRef, metrics: tuple[Metric, ...], panel: Panel, options: EvaluationOptions, samples: int
) -> tuple[Expected, ...]:
    """What is to be asked outside for so many samples, from the first call on; nothing where all answer themselves."""
    if not any(isinstance(judge, ModelJudge) for judge in panel.members):
        return ()
    assumed = Assumptions(samples=LOOKED_AT)
    known = options.known
    plan = plan_run(store, ref.run_id, metrics, panel, assumed, known=known, prices={}, afresh=True, sample=samples)
    return plan.models


def _print_end(end: Finished) -> None:
    found = {
        f"{end.asked} tasks asked": True,
        f"{end.replayed} answered before": True,
        f"{end.cached} from the cache": end.cached,
        f"{end.failed} failed": end.failed,
    }
    said = ", ".join(text for text, wanted in found.items() if wanted)
    click.echo(f"evaluation {end.evaluation.id}: {end.samples} samples, {said}", err=True)
    if end.stopped:
        click.echo(one_line(f"stopped: {end.stopped}; answers so far are saved"), err=True)
    for said in _beyond(end):
        click.echo(one_line(said), err=True)
    if end.evaluation.heuristic:
        click.echo("verdicts by the embedded judge are rule-based: treat them as hints", err=True)


def _beyond(end: Finished) -> Iterator[str]:
    """What the bill may hold beside the cost that is known, and by how much a limit of cost was exceeded."""
    if end.unanswered:
        most = f", up to ${end.unanswered_cost:.2g}" if end.unanswered_cost else ""
        yield f"{end.unanswered} requests got no reply but may still be billed{most}"
    if end.over_limit:
        yield f"the cost limit was exceeded by ${end.over_limit:.2g}: calls used more tokens than estimated"


HEAD = ("metric", "tasks", "answered", "chat calls", "embeddings", "tokens in", "tokens out", "cost", "worst case")


@click.command()
@click.argument("run")
@metrics_option
@judging_options
@no_cache_option
@prices_option
@plugin_option
@click.option("--statements", type=click.IntRange(1), help="Statements per answer; else estimated from its text.")
@click.option("--reference-statements", type=click.IntRange(1), help="Statements per reference; else estimated too.")
@click.option("--characters-per-token", type=float, default=4.0, show_default=True, help="In Latin text.")
@click.option(
    "--planned-on",
    type=click.IntRange(1),
    default=200,
    show_default=True,
    help="Plan on this many random samples and extrapolate.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of this random choice.")
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
    """Estimate the calls and cost of evaluating a RUN; nothing is sent. A run file is imported first.

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
    rows: Mapping[str, Planned] = {**found.metrics, "all metrics": found.total}
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
