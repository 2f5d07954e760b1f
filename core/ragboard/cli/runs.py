"""Commands to list, show, rename, tag and delete runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from ragboard.analysis import (
    Group,
    JudgedStatement,
    OverruledVerdicts,
    RunSummary,
    SampleReport,
    UnscoredPolicy,
    breakdown,
    columns,
    compare_bundling,
    leaderboard,
    metric_descriptions,
    overruled_verdicts,
    ragas_score,
    run_evaluations,
    run_summary,
    sample_report,
    self_agreement,
    truthfulness_shares,
)
from ragboard.analysis.verdict_style import NUGGET_STYLES, verdict_words
from ragboard.cli.options import (
    as_json,
    plugin_option,
    store_option,
    unscored_option,
)
from ragboard.cli.output import (
    MARKS,
    one_line,
    outcome_text,
    plain,
    print_json,
    print_table,
    print_transposed,
    run_json,
    summary_text,
)
from ragboard.errors import SettingError
from ragboard.evaluation.calls import TaskCalls, sample_calls
from ragboard.metrics import Metric
from ragboard.metrics.claim_classes import CLAIM_CLASSES
from ragboard.metrics.plugins import metrics_with
from ragboard.records import Score
from ragboard.stats import estimate_text
from ragboard.store import RunRef, Store

__all__ = ["rename", "rm", "runs", "show", "tag"]


MAX_METRIC_COLUMNS = 6
"""Maximum number of metrics that are columns of the leaderboard. If there are more, runs are columns."""


@click.command()
@unscored_option
@store_option
@as_json
def runs(unscored: UnscoredPolicy, store: Store, as_json: bool) -> None:
    """List the runs with their means, 95% CIs and number of scored samples.

    \b
    ragboard runs
    ragboard runs --unscored bounds
    ragboard runs --json
    """
    found = leaderboard(store, unscored=unscored)
    if as_json:
        print_json({"runs": [run_json(run) for run in found]})
    elif not found:
        click.echo("no runs yet: load sample runs with `ragboard demo`, or your own with `ragboard import FILE`")
    else:
        print_runs(store, found)


def print_runs(store: Store, found: tuple[RunSummary, ...]) -> None:
    """Print the leaderboard as a table."""
    known = metric_descriptions(store)
    ours = dict.fromkeys(spec for run in found for spec in run.metrics)
    specs = list(ours | dict.fromkeys(spec for run in found for spec in run.file_scores))
    titles = [known[spec].label if spec in known else spec for spec in specs]
    head = ["run", "dataset", "samples", "judge", *titles, "refusals"]
    rows = [_run_cells(run, specs) for run in found]
    if len(specs) <= MAX_METRIC_COLUMNS:
        print_table(head, rows)
    else:
        print_transposed(head, rows)
    for run in found:
        if run.clustered:
            click.echo(one_line(f"{run.name}: intervals are clustered by {run.clustered}"))


def _run_cells(run: RunSummary, specs: Sequence[str]) -> list[str]:
    return [
        run.name,
        run.dataset,
        str(run.samples),
        _judge(run),
        *(
            summary_text(run.metrics.get(spec) or run.file_scores.get(spec), run.other_judge_note(spec))
            for spec in specs
        ),
        "-" if run.refusals is None else str(run.refusals),
    ]


def _judge(run: RunSummary) -> str:
    if run.judged is None:
        return "-"
    return ", ".join(filter(None, [run.judged.in_words, run.judged.part]))


@click.command()
@click.argument("run")
@click.argument("sample", required=False)
@click.option(
    "--by",
    metavar="COLUMN",
    help="Show the means for each value of a column of the run file, or for each `turn` of conversations.",
)
@click.option("--calls", is_flag=True, help="With a SAMPLE: show prompts, raw replies, tokens and cost.")
@plugin_option
@unscored_option
@store_option
@as_json
def show(
    run: str,
    sample: str | None,
    by: str | None,
    calls: bool,
    plugins: tuple[Path, ...],
    unscored: UnscoredPolicy,
    store: Store,
    as_json: bool,
) -> None:
    """Show a RUN (or RUN@EVALUATION), or one SAMPLE with the verdict and reason of every statement.

    \b
    ragboard show bm25-k3
    ragboard show bm25-k3 --by turn
    ragboard show bm25-k3 q07
    ragboard show bm25-k3 q07 --calls
    """
    ref = store.resolve(run)
    if calls:
        show_calls(store, ref, sample, metrics_with(plugins), as_json=as_json)
        return
    if sample is not None:
        report = sample_report(store, ref, sample)
        print_json(report) if as_json else _print_sample(report)
        return
    summary = run_summary(store, ref, unscored=unscored)
    groups = _groups(store, ref, summary, by, unscored) if by else {}
    overruled, draws = overruled_verdicts(store, summary), self_agreement(store, ref)
    shares, bundled = truthfulness_shares(store, ref), compare_bundling(store, ref)
    if as_json:
        data = {"people": overruled, "self_agreement": draws, "bundling": bundled, "truthfulness": shares}
        print_json({**run_json(summary), **data, "groups": groups})
        return
    _print_run(summary, overruled)
    for share in shares:
        click.echo(one_line(str(share)))
    for spec, found in groups.items():
        for group in found:
            shown = "unscored" if group.mean is None else estimate_text(group.mean, group.interval, ".2f")
            click.echo(one_line(f"{spec}, {by} {group.value}: {shown} {group.scored}/{group.total}"))
    for line in (*draws.replies, *draws.metrics) if draws else ():
        click.echo(one_line(f"self-agreement: {line}"))
    for line in (*bundled.replies, *bundled.scores) if bundled else ():
        click.echo(one_line(f"compat: {line}"))
    evaluations = run_evaluations(store, ref.run_id)
    for one in evaluations if len(evaluations) > 1 else ():
        click.echo(one_line(f"evaluation {ref.name}@{one.judged.evaluation_id}: {one}"))


def _groups(
    store: Store, ref: RunRef, summary: RunSummary, by: str, unscored: UnscoredPolicy
) -> dict[str, tuple[Group, ...]]:
    """Return the means of each metric by value of a column. Raises SettingError if the column cannot be grouped by."""
    categories = {category.removeprefix("metadata."): category for category in columns(store, ref).categories}
    if by not in categories:
        known = f"use {' or '.join(categories)}" if categories else "its file has no categorical column"
        raise SettingError(f"{ref.name} cannot be grouped by {by}: {known}")
    return {spec: breakdown(store, ref, spec, categories[by], unscored=unscored) for spec in summary.metrics}


def _print_run(summary: RunSummary, overruled: OverruledVerdicts) -> None:
    click.echo(f"{one_line(summary.name)}: {summary.samples} samples of {one_line(summary.dataset)}")
    click.echo(f"judge: {_judge(summary)}")
    for what, text in (("tags", ", ".join(summary.tags)), ("notes", summary.notes)):
        click.echo(one_line(f"{what}: {text}")) if text else None
    for key, value in summary.config.items():
        click.echo(one_line(f"  {key} = {value}"))
    if summary.clustered:
        click.echo(f"intervals are clustered by {summary.clustered}")
    _print_metrics(summary, overruled)
    score = ragas_score(summary.metrics)
    if isinstance(score, Score):
        click.echo(f"ragas score: {score.value:.3f} ({score.counted})")
    counts = ", ".join(f"{summary.labels.get(label, 0)} {label}" for label in MARKS)  # type: ignore[call-overload]
    if summary.labels:
        click.echo(f"statements: {counts}")
    for origin, count in summary.origins.items():
        click.echo(f"  {count:>5} {CLAIM_CLASSES[origin]}")
    if summary.usage:
        click.echo(one_line(f"cost: {summary.usage}"))


def _print_metrics(summary: RunSummary, overruled: OverruledVerdicts) -> None:
    for spec, metric in summary.metrics.items():
        reasons = ", ".join(f"{count} {reason}" for reason, count in metric.unscored.items())
        shown = summary_text(metric, summary.other_judge_note(spec))
        click.echo(one_line(f"{spec}: {shown}{f' (unscored: {reasons})' if reasons else ''}"))
        if spec in overruled.metrics:
            click.echo(f"  with {overruled.in_words}: {summary_text(overruled.metrics[spec])}")
    for spec, metric in summary.file_scores.items():
        click.echo(one_line(f"{spec}: {summary_text(metric)} (from the run file)"))


def _print_sample(report: SampleReport) -> None:
    click.echo(one_line(report.sample.question))
    if report.rewritten:
        click.echo(one_line(f"  rewritten ({report.rewritten.author}): {report.rewritten.text}"))
    for spec, outcome in report.scores.items():
        click.echo(one_line(f"  {spec}: {outcome_text(outcome)}"))
        if spec in report.recomputed:
            click.echo(one_line(f"    with annotators' labels: {outcome_text(report.recomputed[spec])}"))
    for spec, outcome in report.file_scores.items():
        click.echo(one_line(f"  {spec}: {outcome_text(outcome)}"))
    if report.judged and report.judged.heuristic:
        click.echo(f"  judge: {report.judged.judge} (rule-based)")
    for number, judged in enumerate(report.statements, 1):
        _print_statement(number, judged, rule_based=report.judged is not None and report.judged.heuristic)
    for nugget in report.nuggets:
        importance = f" ({nugget.importance})" if nugget.importance else ""
        icon, words = NUGGET_STYLES[nugget.label]
        click.echo(one_line(f"  nugget {icon} {words}: {nugget.nugget}{importance}"))
    for one in report.judgements:
        click.echo(one_line(f"  {one}{f': {one.reason}' if one.reason else ''}"))


def _print_statement(number: int, judged: JudgedStatement, *, rule_based: bool) -> None:
    label = judged.verdict.label if judged.verdict else judged.separate_verdict
    words = verdict_words(judged, rule_based=rule_based)
    click.echo(f"{number:>3} {MARKS[label] if label else ' '} {words}: {one_line(judged.statement.text)}")
    notes = [
        judged.verdict.reason if judged.verdict else judged.separate_verdicts_text,
        judged.draws_in_words,
        CLAIM_CLASSES[judged.origin] if judged.origin else "",
    ]
    notes += [f"{one.label}, label by {one.annotator}{f': {one.note}' if one.note else ''}" for one in judged.people]
    for note in filter(None, notes):
        click.echo(f"      {one_line(note)}")


def whole_run(store: Store, name: str) -> RunRef:
    """Return the run with this name. Raises SettingError for `RUN@EVALUATION`."""
    ref = store.resolve(name)
    if name not in (ref.name, ref.run_id):
        raise SettingError(f"{name!r} is an evaluation; give the name of its run: {ref.name!r}")
    return ref


@click.command()
@click.argument("run")
@click.argument("name")
@store_option
def rename(run: str, name: str, store: Store) -> None:
    """Rename a RUN to NAME; its evaluations and labels are kept.

    \b
    ragboard rename answers rerank-k5
    """
    store.rename_run(whole_run(store, run).run_id, name)
    click.echo(one_line(f"{run} is now {name}"))


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@store_option
def rm(runs: tuple[str, ...], yes: bool, store: Store) -> None:
    """Delete each RUN with its samples and evaluations, after asking for confirmation.

    \b
    ragboard rm rerank-k5
    ragboard rm first second --yes
    """
    found = {ref.run_id: ref for ref in (whole_run(store, name) for name in runs)}
    for ref in found.values():
        count = store.sample_count(ref.run_id)
        click.echo(one_line(f"{ref.name}: {count:,} sample{'' if count == 1 else 's'} and all evaluations"))
    if not yes:
        click.confirm("Delete permanently?", abort=True)
    store.remove_runs(found)
    click.echo(f"{len(found)} run{'' if len(found) == 1 else 's'} deleted")


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("run")
@click.argument("changes", nargs=-1, required=True, metavar="+TAG|-TAG...", type=click.UNPROCESSED)
@store_option
def tag(run: str, changes: tuple[str, ...], store: Store) -> None:
    """Add tags (+TAG) to a RUN and remove tags (-TAG).

    \b
    ragboard tag rerank-k5 +baseline -draft
    """
    for change in changes:
        if change[:1] not in ("+", "-") or not change[1:].strip():
            raise SettingError(f"{change!r}: expected +TAG or -TAG")
    run_id = whole_run(store, run).run_id
    tags = store.change_tags(
        run_id,
        add=[change[1:] for change in changes if change[0] == "+"],
        drop=[change[1:] for change in changes if change[0] == "-"],
    )
    click.echo(one_line(f"{run}: {', '.join(tags) or 'no tag'}"))


def show_calls(store: Store, run: RunRef, sample_id: str | None, known: Mapping[str, Metric], *, as_json: bool) -> None:
    """Print every task of a sample with its messages. Raises SettingError if `sample_id` is None."""
    if sample_id is None:
        raise SettingError("--calls needs a sample: ragboard show RUN SAMPLE --calls")
    found = sample_calls(store, run, sample_id, known=known)
    if as_json:
        print_json(asdict(found) | {"cost": found.cost})
        return
    click.echo(plain(found.missing or str(found)))
    for number, one in enumerate(found.tasks, 1):
        _print_call(number, one)


def _print_call(number: int, one: TaskCalls) -> None:
    click.echo(plain(f"\n{number}. {one.task}"))
    click.echo(plain(f"   {one.facts}"))
    if one.no_prompt:
        click.echo(plain(f"   {one.no_prompt}"))
    for message in one.messages:
        click.echo(f"   --- {message.role}")
        click.echo(plain(message.text))
    click.echo(plain(f"   --- {'failed' if one.failed else 'parsed as'}: {one.outcome}"))
