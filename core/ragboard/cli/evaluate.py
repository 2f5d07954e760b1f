"""Commands to evaluate runs, retry failed tasks and estimate the cost beforehand."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm

from ragboard.analysis import FailureKind, RunSummary, failed_evaluations, failures, run_summary
from ragboard.cli.imports import add_file, print_report
from ragboard.cli.options import (
    as_json,
    batch_options,
    draws_option,
    judge_options,
    limit_options,
    metrics_option,
    no_cache_option,
    plugin_option,
    prices_option,
    reading_options,
    store_option,
)
from ragboard.cli.output import one_line, print_json, print_table, run_json
from ragboard.cli.runs import print_runs
from ragboard.errors import ExitCode, NotFoundError, SettingError
from ragboard.evaluation.background import UNSENT, destination
from ragboard.evaluation.batches import batched_models, record_path
from ragboard.evaluation.defaults import default_metrics, judged_in_file
from ragboard.evaluation.engine import FinishedEvaluation, evaluate_run, positions_to_evaluate
from ragboard.evaluation.identity import choose_evaluation
from ragboard.evaluation.options import EvaluationOptions
from ragboard.evaluation.plan import Assumptions, Plan, PlannedTasks, UsageEstimate, plan_notes, plan_run
from ragboard.evaluation.progress import Progress
from ragboard.judges import JudgeOptions, panel_named
from ragboard.judges.base import ModelJudge
from ragboard.judges.panel import Panel
from ragboard.metrics import Metric, find_metric, metrics_named, split_names
from ragboard.metrics.plugins import metrics_with
from ragboard.prices import Prices
from ragboard.readers.sources import is_address
from ragboard.store import RunRef, Store

__all__ = [
    "all_failed",
    "evaluate",
    "evaluate_with_bar",
    "plan",
    "print_failures",
    "print_judge_note",
    "print_outcome",
    "retry",
]


PLAN_SAMPLES = 100
"""Number of samples for the cost estimate before an evaluation, which is compared with the actual cost."""

MAX_FAILURES = 5
"""Maximum number of kinds of failure to print."""


@click.command()
@click.argument("places", nargs=-1, required=True, metavar="RUN")
@metrics_option
@judge_options
@batch_options
@limit_options
@click.option(
    "--workers",
    type=click.IntRange(1),
    help="Number of processes for the embedded judge.  [default: one per core for 1,000 samples or more]",
)
@click.option(
    "--ray", metavar="ADDRESS", help="Evaluate on a Ray cluster: auto, local, or the address of its head node."
)
@click.option(
    "--shards",
    type=click.IntRange(1),
    help="Number of shards on the cluster.  [default: at least four times the number that run in parallel]",
)
@click.option(
    "--shard-folder",
    metavar="ADDRESS",
    help="Folder that all machines of the cluster can write to, such as s3://bucket/folder.  [default: in the store]",
)
@no_cache_option
@prices_option
@plugin_option
@reading_options
@store_option
@as_json
def evaluate(
    places: tuple[str, ...],
    names: str | None,
    judge_options: JudgeOptions,
    limits: dict[str, Any],
    workers: int | None,
    ray: str | None,
    shards: int | None,
    shard_folder: str | None,
    no_cache: bool,
    prices: Prices,
    plugins: tuple[Path, ...],
    store: Store,
    as_json: bool,
    **reading: Any,
) -> None:
    """Evaluate a RUN in the store, or import a run file and evaluate it.

    Judge replies are saved: run the same command to resume a stopped evaluation. If a limit stops the evaluation, the
    exit code is 3.

    \b
    ragboard evaluate answers.jsonl --name rerank --config k=5
    ragboard evaluate rerank --metrics faithfulness
    ragboard evaluate results.jsonl --run-column model --json
    ragboard evaluate part-*.jsonl --as-one nightly
    ragboard evaluate rerank --judge openai:gpt-4o-mini --embed openai:text-embedding-3-small
    ragboard evaluate rerank --judge openai:o4-mini --judge-param reasoning_effort=low --embed embedded
    ragboard evaluate rerank --judge openai:gpt-4o-mini --embed embedded --sample 50 --max-cost 0.20
    ragboard evaluate rerank --judge openai:gpt-4o-mini --embed embedded --batch
    ragboard evaluate rerank --judge openai:gpt-4o-mini --embed embedded --draws 3
    ragboard evaluate rerank --judge openai:gpt-4o-mini --metrics ares --examples few_shot.tsv
    ragboard evaluate rerank --plugin my_metrics.py --metrics mine
    ragboard evaluate rerank --ray auto --shard-folder s3://bucket/ragboard
    """
    known = metrics_with(plugins)
    options = EvaluationOptions(
        workers=workers,
        ray=ray,
        shards=shards,
        shard_folder=shard_folder,
        cache=not no_cache,
        prices=prices,
        known=known,
        judge_options=judge_options,
        **limits,
    )
    panel = panel_named(judge_options)
    named = metrics_named(split_names(names), known) if names else ()
    print_judge_note(panel, judge_options, prices)
    refs, report = resolve_or_import(store, places, reading)
    if report is not None and not as_json:
        print_report(report)
    done = [evaluate_with_bar(store, ref, named or _default_metrics(store, ref, panel), panel, options) for ref in refs]
    _report_results(store, refs, done, as_json=as_json, report=report)


@click.command()
@click.argument("run")
@batch_options
@limit_options
@prices_option
@plugin_option
@store_option
@as_json
def retry(
    run: str,
    batch: bool,
    batch_interval: float,
    limits: dict[str, Any],
    prices: Prices,
    plugins: tuple[Path, ...],
    store: Store,
    as_json: bool,
) -> None:
    """Retry the failed tasks of a RUN's newest evaluation with failures, or of RUN@EVALUATION.

    Uses the same judges as before. Tasks with a valid reply are not sent again.

    \b
    ragboard retry rerank
    """
    ref = store.resolve(run)
    known = metrics_with(plugins)
    ref, *others = failed_evaluations(store, ref) or (ref,)
    judge_options = replace(_earlier_judges(store, ref), batch=batch, batch_interval=batch_interval)
    specs = store.evaluation_metrics(ref.evaluation_id or "")
    metrics = tuple(metric for spec in specs if (metric := find_metric(spec, known)))
    options = EvaluationOptions(retry=True, prices=prices, known=known, judge_options=judge_options, **limits)
    done = evaluate_with_bar(store, ref, metrics, panel_named(judge_options), options)
    if done.evaluation.id != ref.evaluation_id:
        click.echo("this is a new evaluation: the judge, prompts or model have changed", err=True)
    for other in others:
        click.echo(
            one_line(f"another evaluation also has failures: ragboard retry {run}@{other.evaluation_id}"), err=True
        )
    _report_results(store, [ref], [done], as_json=as_json)


def print_judge_note(panel: Panel, judge_options: JudgeOptions, prices: Prices | None = None) -> None:
    """Print which judge answers which tasks, which texts are sent to a server, and the price of batches."""
    if panel.fallback_note:
        click.echo(one_line(panel.fallback_note), err=True)
    if host := destination(judge_options):
        hidden = f"; matches of {len(judge_options.redact)} patterns are hidden" if judge_options.redact else ""
        sent = "the questions, passages, answers, references and earlier turns that the metrics need"
        click.echo(one_line(f"sent to {host}: {sent}{hidden}"), err=True)
    if judge_options.batch:
        click.echo(_batch_note(panel, prices or {}), err=True)


def _batch_note(panel: Panel, prices: Prices) -> str:
    """Return a note on the price and the duration of batches."""
    models = batched_models(panel)
    if not models:
        return "--batch has no effect: no judge is a model on a server"
    priced = [f"{prices[model].batch:.0%} of the price of {model}" for model in models if model in prices]
    cost = f" for {', '.join(priced)}" if priced else ""
    return one_line(f"sent in batches{cost}: replies can take up to 24 hours for each step of the evaluation")


def _default_metrics(store: Store, ref: RunRef, panel: Panel) -> tuple[Metric, ...]:
    """Return the default metrics, without those scored from the verdicts in the run file. Print a note on these."""
    judged = judged_in_file(store, ref.run_id)
    left_out = [metric.spec for metric in default_metrics(panel) if metric.spec in judged]
    for spec in left_out:
        note = (
            f"{ref.name}: {spec} is scored from the file's verdicts; to use this judge instead, pass --metrics {spec}"
        )
        click.echo(one_line(note), err=True)
    return default_metrics(panel, judged)


def _earlier_judges(store: Store, ref: RunRef) -> JudgeOptions:
    if ref.evaluation_id is None:
        raise NotFoundError(f"{ref.name} is not evaluated yet: ragboard evaluate {ref.name}")
    judge_options = store.judge_options(ref.evaluation_id)
    if judge_options is None:
        raise SettingError(f"the judges of {ref.name}@{ref.evaluation_id} were defined in Python; retry in Python")
    return judge_options


def _report_results(
    store: Store, refs: list[RunRef], done: list[FinishedEvaluation], *, as_json: bool, report: Any = None
) -> None:
    """Print scores, cost and failures. Exit with STOPPED if a limit stopped an evaluation, with ERROR if all failed."""
    evaluated = [
        RunRef(run_id=ref.run_id, name=ref.name, evaluation_id=finished.evaluation.id)
        for ref, finished in zip(refs, done, strict=True)
    ]
    summaries = tuple(run_summary(store, ref) for ref in evaluated)
    failed = {ref.name: failures(store, ref) for ref in evaluated}
    if as_json:
        shown = [run_json(run) for run in summaries]
        print_json({"runs": shown, "evaluations": done, "report": report, "failures": failed})
    else:
        print_runs(store, summaries)
        for finished, summary in zip(done, summaries, strict=True):
            print_outcome(finished)
            if summary.usage:
                click.echo(one_line(f"  cost: {summary.usage}"), err=True)
        for name, kinds in failed.items():
            print_failures(name, kinds)
            if kinds:
                click.echo(f"  to retry: ragboard retry {one_line(name)}", err=True)
    if any(finished.stopped for finished in done):
        click.get_current_context().exit(ExitCode.STOPPED)
    if any(all_failed(finished, summary) for finished, summary in zip(done, summaries, strict=True)):
        click.get_current_context().exit(ExitCode.ERROR)


def all_failed(finished: FinishedEvaluation, summary: RunSummary) -> bool:
    """Return whether tasks failed and no sample has a score."""
    return finished.failed > 0 and not any(metric.scored for metric in summary.metrics.values())


def print_failures(run: str, kinds: Sequence[FailureKind]) -> None:
    """Print the kinds of failure of a run, most frequent first."""
    for kind in kinds[:MAX_FAILURES]:
        click.echo(
            one_line(f"  failed {kind.count} times: {kind.message}; sample {kind.sample_id}: {kind.example}"), err=True
        )
    if len(kinds) > MAX_FAILURES:
        click.echo(f"  and {len(kinds) - MAX_FAILURES} more kinds of failure of {one_line(run)}", err=True)


def resolve_or_import(store: Store, places: Sequence[str], reading: dict[str, Any]) -> tuple[list[RunRef], Any]:
    """Return the run in the store that `places` names, else import `places` as files and return their runs.

    Several places are always files. Also returns the import report; None if nothing was imported.
    """
    file = Path(places[0])
    if len(places) == 1 and places[0] != "-" and not is_address(places[0]):
        try:
            return [store.resolve(places[0])], None
        except NotFoundError:
            if not file.exists() and not file.suffix:
                raise
    added, report = add_file(store, places, **reading)
    return [RunRef(run_id=run.id, name=run.name, evaluation_id=None) for run in added], report


def evaluate_with_bar(
    store: Store, ref: RunRef, metrics: tuple[Metric, ...], panel: Panel, options: EvaluationOptions | None = None
) -> FinishedEvaluation:
    """Evaluate one run, with a progress bar if standard error is a terminal."""
    options = options or EvaluationOptions()
    evaluation = choose_evaluation(store, ref.run_id, panel, metrics, options.known)
    samples = len(positions_to_evaluate(store, evaluation, options))
    if record_path(store.journal_path(evaluation.id)).exists() and not batched_models(panel):
        click.echo("the server may have batches of this evaluation; --batch collects their replies", err=True)
    options = _with_plan(store, ref, metrics, panel, replace(options, planned_samples=samples))
    last: Progress | None = None
    with tqdm(desc=one_line(ref.name), unit="sample", disable=None, leave=False) as bar:

        def watch(progress: Progress) -> None:
            nonlocal last
            if progress.at_server and not (last and last.at_server):
                waiting = _at_server(progress.at_server)
                tqdm.write(f"{waiting}; if you stop here (Ctrl-C), the same command collects them", file=sys.stderr)
            last = progress
            bar.total = progress.total
            bar.set_postfix_str(_progress_text(progress), refresh=False)
            bar.update(progress.done - bar.n)

        try:
            return evaluate_run(store, ref.run_id, metrics, panel, options, watch=watch)
        except KeyboardInterrupt:
            if last and last.at_server:
                click.echo(f"\n{_at_server(last.at_server)}; run the same command to collect them", err=True)
            raise


def _at_server(requests: int) -> str:
    return "1 request waits at the server" if requests == 1 else f"{requests:,} requests wait at the server"


def _progress_text(progress: Progress) -> str:
    if progress.at_server:
        return f"{progress.at_server:,} requests wait at the server"
    if not progress.calls:
        return ""
    cost = "" if progress.cost is None else f", ${progress.cost:.4f}"
    failed = f", {progress.failed} failed" if progress.failed else ""
    return f"{progress.calls} calls{cost}{failed}"


def _with_plan(
    store: Store, ref: RunRef, metrics: tuple[Metric, ...], panel: Panel, options: EvaluationOptions
) -> EvaluationOptions:
    """Return the options with the calls, tokens and cost that models would need if no reply were stored yet."""
    if not any(isinstance(judge, ModelJudge) for judge in panel.members):
        return options
    plan = plan_run(
        store,
        ref.run_id,
        metrics,
        panel,
        Assumptions(samples=PLAN_SAMPLES),
        known=options.known,
        prices=options.prices,
        ignore_stored=True,
        sample=options.planned_samples,
        draws=options.draws,
    )
    return replace(options, expected=plan.models, planned_cost=plan.total.expected.cost)


def print_outcome(finished: FinishedEvaluation) -> None:
    """Print the number of tasks, why the evaluation stopped, and whether the judge is rule-based."""
    counts = {
        f"{finished.asked} tasks run": True,
        f"{finished.replayed} answered earlier": True,
        f"{finished.cached} from the cache": finished.cached,
        f"{finished.failed} failed": finished.failed,
    }
    shown = ", ".join(text for text, count in counts.items() if count)
    samples = f"{finished.samples} sample{'' if finished.samples == 1 else 's'}"
    click.echo(f"evaluation {finished.evaluation.id}: {samples}, {shown}", err=True)
    if finished.stopped:
        click.echo(one_line(f"stopped: {finished.stopped}; replies so far are saved"), err=True)
    if finished.at_server:
        click.echo(f"{_at_server(finished.at_server)}; run the same command to collect them", err=True)
    for note in _billing_notes(finished):
        click.echo(one_line(note), err=True)
    if finished.evaluation.heuristic:
        what = "verdicts" if _embedded_verifies(finished) else "answers"
        click.echo(f"{what} by the embedded judge are rule-based: treat them as hints", err=True)


def _embedded_verifies(finished: FinishedEvaluation) -> bool:
    return str(finished.evaluation.identity.get("Verify", "embedded")).startswith("embedded")


def _billing_notes(finished: FinishedEvaluation) -> Iterator[str]:
    """Yield notes on requests that may still be billed, and on an exceeded cost limit."""
    if finished.unanswered:
        most = f", up to ${finished.unanswered_cost:.2g}" if finished.unanswered_cost else ""
        yield f"{finished.unanswered} requests got no reply but may still be billed{most}"
    if finished.over_limit:
        yield f"the cost limit was exceeded by ${finished.over_limit:.2g}: calls used more tokens than estimated"


PLAN_COLUMNS = (
    "metric",
    "tasks",
    "answered",
    "chat calls",
    "embeddings",
    "tokens in",
    "tokens out",
    "cost",
    "worst case",
)


@click.command()
@click.argument("places", nargs=-1, required=True, metavar="RUN")
@metrics_option
@judge_options
@batch_options
@no_cache_option
@prices_option
@plugin_option
@draws_option
@click.option(
    "--statements", type=click.IntRange(1), help="Statements per answer.  [default: estimated from the answer]"
)
@click.option(
    "--reference-statements",
    type=click.IntRange(1),
    help="Statements per reference.  [default: estimated from the reference]",
)
@click.option(
    "--characters-per-token", type=float, default=4.0, show_default=True, help="Characters per token of Latin text."
)
@click.option(
    "--planned-on",
    type=click.IntRange(1),
    default=200,
    show_default=True,
    help="Plan this many random samples and extrapolate.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed for --planned-on.")
@reading_options
@store_option
@as_json
def plan(
    places: tuple[str, ...],
    names: str | None,
    judge_options: JudgeOptions,
    no_cache: bool,
    prices: Prices,
    plugins: tuple[Path, ...],
    draws: int | None,
    statements: int | None,
    reference_statements: int | None,
    characters_per_token: float,
    planned_on: int,
    seed: int,
    store: Store,
    as_json: bool,
    **reading: Any,
) -> None:
    """Estimate the calls, tokens and cost of evaluating a RUN; nothing is sent. A run file is imported first.

    \b
    ragboard plan answers.jsonl --judge openai:gpt-4o-mini --embed embedded
    ragboard plan rerank --metrics ragas,ragchecker --judge openai:my-model --prices prices.toml
    """
    known = metrics_with(plugins)
    assumed = Assumptions(characters_per_token=characters_per_token, samples=planned_on, seed=seed)
    expected = replace(assumed.expected, statements=statements, reference_statements=reference_statements)
    panel = panel_named(judge_options, {"OPENAI_API_KEY": UNSENT})
    named = metrics_named(split_names(names), known) if names else ()
    print_judge_note(panel, judge_options, prices)
    refs, report = resolve_or_import(store, places, reading)
    if report is not None and not as_json:
        print_report(report)
    plans = {
        ref.name: plan_run(
            store,
            ref.run_id,
            named or _default_metrics(store, ref, panel),
            panel,
            replace(assumed, expected=expected),
            known=known,
            prices=prices,
            cache=not no_cache,
            draws=draws,
        )
        for ref in refs
    }
    if as_json:
        print_json({"plans": plans})
        return
    for name, estimated in plans.items():
        _print_plan(name, estimated)


def _print_plan(name: str, estimated: Plan) -> None:
    click.echo(one_line(f"{name}: {estimated.samples:,} samples; nothing was sent"))
    rows: Mapping[str, PlannedTasks] = {**estimated.metrics, "all metrics": estimated.total}
    print_table(PLAN_COLUMNS, [_plan_row(title, planned) for title, planned in rows.items()])
    for line in plan_notes(estimated):
        click.echo(one_line(line))


def _plan_row(title: str, planned: PlannedTasks) -> tuple[str, ...]:
    use, worst = planned.expected, planned.worst
    counts = (planned.tasks, planned.answered, use.chat_calls, use.embedding_calls)
    tokens = (use.prompt_tokens, use.completion_tokens)
    at_worst = f"{worst.chat_calls + worst.embedding_calls:,} calls, {_dollars(worst)}"
    return (title, *(f"{number:,}" for number in (*counts, *tokens)), _dollars(use), at_worst)


def _dollars(usage: UsageEstimate) -> str:
    return "unknown" if usage.cost is None else f"${usage.cost:,.4f}"
