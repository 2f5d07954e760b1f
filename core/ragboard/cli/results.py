"""Commands that show or write results: unsupported statements, refusals, diagnosis, reports, exports, SQL."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, get_args

import click

from ragboard.analysis import (
    BEHAVIOURS,
    NOT_SUPPORTED,
    Diagnosis,
    Finding,
    Grouping,
    Hallucination,
    HallucinationGroups,
    HallucinationPage,
    HallucinationQuery,
    Human,
    UnscoredPolicy,
    compare_runs,
    condition_in_words,
    diagnose,
    diagnosis_warning,
    evaluate_command,
    group_in_words,
    groups_compared_in_words,
    hallucination_groups,
    hallucination_table,
    hallucinations,
    list_runs,
    metric_descriptions,
    missing_in_words,
    refusal_report,
    resolve_spec,
    small_groups_in_words,
    top_questions_in_words,
    truthfulness_shares,
    where_to_start,
    why_not_triggered,
)
from ragboard.analysis.verdict_style import verdict_words
from ragboard.cli.options import as_json, force_option, store_option, unscored_option
from ragboard.cli.output import MARKS, one_line, print_json, print_table
from ragboard.errors import SettingError
from ragboard.export import FORMATS, TABLE_FORMATS, TABLES, write_table
from ragboard.export import export as write_export
from ragboard.export.comparison_report import PAIRS, comparison_report
from ragboard.export.run_report import SAMPLES, run_report
from ragboard.outputs import check_output, write_output
from ragboard.query import QueryLimits, QueryResult, run_query
from ragboard.store import RunRef, Store

__all__ = ["diagnose_run", "diagnosis_json", "export", "list_hallucinations", "push", "query", "refusals", "report"]

MAX_WRONG = 10
"""Maximum number of wrong refusals and answers to print."""

REFUSAL_SOURCES = {
    "labels": "human labels",
    "file": "run file",
    "judge": "the judge, by whether a sentence of the passages helps to answer",
}
"""Descriptions of where the answerability of questions comes from."""


@click.command()
@click.argument("run")
@click.option(
    "--from",
    "source",
    type=click.Choice(list(REFUSAL_SOURCES)),
    help="Where to read which questions can be answered.  [default: human labels, then the run file, else the judge]",
)
@click.option("--compat", is_flag=True, help="Score 0 instead of undefined if a denominator is 0, as Trust-Score does.")
@store_option
@as_json
def refusals(
    run: str, source: Literal["labels", "file", "judge"] | None, compat: bool, store: Store, as_json: bool
) -> None:
    """Count right and wrong refusals in a RUN: which questions can be answered, and which answers refuse.

    \b
    ragboard refusals bm25-k3
    ragboard refusals bm25-k3 --from judge --json
    """
    ref = store.resolve(run)
    report, truthfulness = refusal_report(store, ref, source=source, compat=compat), truthfulness_shares(store, ref)
    if as_json:
        print_json({**asdict(report), "truthfulness": truthfulness})
        return
    click.echo(one_line(f"{report.run}: refusals according to {report.judge}"))
    sources = ", ".join(f"{REFUSAL_SOURCES[name]} ({count:,})" for name, count in report.sources.items())
    click.echo(f"answerability from: {sources}")
    rows = [[name, *(f"{count:,}" for count in row.values())] for name, row in report.counts.items()]
    print_table(["question", *BEHAVIOURS], rows)
    if report.unknown:
        click.echo(f"{report.unknown:,} not counted: it is unknown whether the question can be answered")
    for rate in report.rates:
        click.echo(str(rate))
    for name, value in report.scores.items():
        click.echo(f"trust_score.{name}: {'undefined' if value is None else f'{value:.3f}'}")
    for shares in truthfulness:
        click.echo(one_line(str(shares)))
    for one in report.wrong[:MAX_WRONG]:
        click.echo(one_line(f"  {one.answerability}, {one.behaviour}: {one.sample_id}: {one.question}"))
    if len(report.wrong) > MAX_WRONG:
        click.echo(f"  and {len(report.wrong) - MAX_WRONG:,} more (--json lists them)")


@click.command("hallucinations")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--verdict", type=click.Choice(NOT_SUPPORTED), help="Only this verdict.  [default: both]")
@click.option("--judge", "judged_by", default="", metavar="NAME", help="Use the newest evaluation by this judge.")
@click.option("--text", default="", help="Search text in the statement, its question or its reason.")
@click.option("--passage", default="", metavar="ID", help="Only answers that retrieved this passage.")
@click.option("--human", type=click.Choice(get_args(Human)), help="Only statements with these human labels.")
@click.option("--miscited", is_flag=True, help="Only statements that their cited passages do not support.")
@click.option("--by", type=click.Choice(get_args(Grouping)), help="Group by question, passage or judge.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Number of lines to print.")
@click.option("--format", "kind", type=click.Choice(TABLE_FORMATS), help="Write all statements in this format.")
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help="File to write all statements to.")
@force_option
@store_option
@as_json
def list_hallucinations(
    runs: tuple[str, ...],
    verdict: str | None,
    judged_by: str,
    text: str,
    passage: str,
    human: Human | None,
    miscited: bool,
    by: Grouping | None,
    limit: int,
    kind: str | None,
    out: Path | None,
    force: bool,
    store: Store,
    as_json: bool,
) -> None:
    """List the statements that the passages do not support, worst first, in the RUNs or in all runs.

    \b
    ragboard hallucinations
    ragboard hallucinations bm25-k3 --verdict contradicted --text tunnel
    ragboard hallucinations --by passage
    ragboard hallucinations -o unsupported.csv
    """
    query = HallucinationQuery(
        runs=tuple(map(store.resolve, runs)),
        verdict=next((label for label in NOT_SUPPORTED if label == verdict), None),
        judge=judged_by,
        text=text,
        passage=passage,
        human=human,
        miscited=miscited,
        limit=limit,
    )
    if kind or out:
        write_table(hallucination_table(store, query), kind=kind, out=out, force=force)
    elif by:
        groups = hallucination_groups(store, query, by)
        print_json(groups) if as_json else _print_groups(groups, by)
    else:
        page = hallucinations(store, query)
        print_json(page) if as_json else _print_page(page)


def _print_page(page: HallucinationPage) -> None:
    click.echo(page.sentence)
    for row in page.rows:
        _print_row(row)
    _print_more_hint(len(page.rows), page.total)


def _print_row(row: Hallucination) -> None:
    judged = row.judged_statement
    label = judged.verdict.label if judged.verdict else judged.separate_verdict
    reason = judged.verdict.reason if judged.verdict else judged.separate_verdicts_text
    words = verdict_words(judged, rule_based=row.judged.heuristic)
    click.echo(f"{MARKS[label or 'unsupported']} {words}: {one_line(judged.statement.text)}")
    labels = [f"{one.label}, label by {one.annotator}{f': {one.note}' if one.note else ''}" for one in judged.people]
    where = f"{row.run} {row.sample_id}: {row.question}"
    for note in filter(None, (row.cites_in_words, reason, judged.draws_in_words, *labels, where)):
        click.echo(f"    {one_line(note)}")


def _print_groups(found: HallucinationGroups, by: Grouping) -> None:
    head = ["statements", "contradicted", by]
    print_table(
        head,
        [
            [str(group.statements), str(group.contradicted), " ".join(filter(None, (group.passage_id, group.title)))]
            for group in found.groups
        ],
    )
    _print_more_hint(len(found.groups), found.total)


def _print_more_hint(shown: int, total: int) -> None:
    if shown < total:
        click.echo(f"... {shown:,} of {total:,}; show more with --limit N", err=True)


@click.command("diagnose")
@click.argument("run")
@store_option
@as_json
def diagnose_run(run: str, store: Store, as_json: bool) -> None:
    """Find out whether the retriever or the generator of a RUN is at fault, where answers fail, and what to try.

    A rule applies only if the whole 95% CI of its figure is beyond its threshold.

    \b
    ragboard diagnose my-run
    """
    found = diagnose(store, store.resolve(run))
    if as_json:
        print_json(diagnosis_json(found))
        return
    _print_findings(found)
    _print_questions_and_groups(store, found)
    _print_not_triggered(found)


JSON_KEYS = {
    "attribution_note": "split",
    "comparison": "found",
    "comparisons": "looked_at",
    "component": "part",
    "harms_answers": "loses",
    "min_impact": "cost",
    "not_triggered": "silent",
    "query": "look",
    "rationale": "why",
    "template": "says",
    "threshold": "limit",
    "unsupported": "loose",
    "weak_groups": "topics",
}
"""Keys of `diagnose --json` where they differ from the names in Python. Scripts read them, so they stay the same."""


def diagnosis_json(found: Diagnosis) -> Any:
    """Return the diagnosis as data for `print_json`, with the keys of `JSON_KEYS`."""
    return _with_json_keys(asdict(found))


def _with_json_keys(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {JSON_KEYS.get(key, key): _with_json_keys(item) for key, item in value.items()}
    return [_with_json_keys(item) for item in value] if isinstance(value, list | tuple) else value


def _print_findings(found: Diagnosis) -> None:
    for note in filter(None, (diagnosis_warning(found), found.attribution_note)):
        click.echo(one_line(note))
    title, text = where_to_start(found)
    click.echo(f"\n{title}. {text}".rstrip())
    for one in found.leading:
        _print_finding(one)
    if found.hints:
        click.echo("\n" + one_line(found.hints[0].hint_reason))
        for one in found.hints:
            click.echo(one_line(f"  {one.component}: {one.sentence}"))
    for one in found.ranked[len(found.leading) + len(found.hints) :]:
        _print_finding(one)


def _print_finding(one: Finding) -> None:
    text = " ".join(filter(None, (one.sentence, one.evidence, one.hint_reason)))
    click.echo("\n" + one_line(f"{one.component}: {text}"))
    click.echo(one_line(f"  {one.figure}"))
    click.echo(one_line(f"  {one.advice}"))
    for sample in one.samples:
        click.echo(one_line(f"  {sample.sample_id}: {sample.question}"))


def _print_questions_and_groups(store: Store, found: Diagnosis) -> None:
    if found.top_questions_share is not None:
        click.echo(f"\n{top_questions_in_words(found)}")
        for question in found.questions:
            click.echo(one_line(f"  {question.statements}  {question.question}"))
    for passage in found.passages:
        what = f"supports {passage.wrong}" if passage.wrong else f"contradicts {passage.contradicted}"
        more = " that are not in the reference" if passage.wrong else ""
        click.echo(one_line(f"passage {passage.passage_id} {what} statements{more}"))
    labels = {spec: metric.label for spec, metric in metric_descriptions(store).items()}
    for group in found.weak_groups:
        click.echo(one_line(f"significantly lower: {group_in_words(group, labels.get(group.metric, group.metric))}"))
    if found.comparisons.groups and not found.weak_groups:
        click.echo("no group is significantly lower than the rest")
    for group in found.comparisons.lowest:
        click.echo(one_line(f"may be chance: {group_in_words(group, labels.get(group.metric, group.metric))}"))
    if small := small_groups_in_words(found.comparisons, labels):
        click.echo(one_line(small))
    if found.comparisons.groups:
        click.echo(one_line(groups_compared_in_words(found.comparisons, labels)))


def _print_not_triggered(found: Diagnosis) -> None:
    click.echo()
    measured = [one for one in found.not_triggered if one.figure]
    rows = [[condition_in_words(one.rule), str(one.figure), why_not_triggered(one)] for one in measured]
    if rows:
        print_table(["rule not triggered", "figure", "why"], rows)
    if waiting := missing_in_words(found):
        click.echo("\n" + one_line(waiting))
        click.echo(one_line(f"to evaluate them: {evaluate_command(found)}"))


@click.command()
@click.argument("run")
@click.argument("other", required=False, metavar="[RUN_B]")
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="File to write.")
@click.option(
    "--samples",
    type=click.IntRange(0),
    help=f"Number of samples to show in full, worst first.  [default: {SAMPLES}; with two runs {PAIRS}]",
)
@click.option("--metric", help="With two runs: show the largest losses in this metric first.")
@force_option
@unscored_option
@store_option
def report(
    run: str,
    other: str | None,
    out: Path,
    samples: int | None,
    metric: str | None,
    force: bool,
    unscored: UnscoredPolicy,
    store: Store,
) -> None:
    """Write a report of a RUN, or of RUN_B compared with RUN, as one self-contained HTML file.

    \b
    ragboard report bm25-k3 -o report.html
    ragboard report bm25-k3 bm25-rerank-k5 -o compared.html --metric faithfulness
    """
    check_output(out, force=force)
    if metric and other is None:
        raise SettingError("--metric needs two runs")
    refs = [store.resolve(name) for name in (run, other) if name is not None]
    write_output(out, _report(store, refs, samples, metric, unscored).encode(), force=force)


def _report(store: Store, runs: list[RunRef], samples: int | None, metric: str | None, unscored: UnscoredPolicy) -> str:
    if len(runs) == 1:
        return run_report(store, runs[0], samples=SAMPLES if samples is None else samples, unscored=unscored)
    a, b = runs
    spec = resolve_spec(metric, tuple(one.metric for one in compare_runs(store, a, b).metrics)) if metric else ""
    pairs = PAIRS if samples is None else samples
    return comparison_report(store, a, b, pairs=pairs, metric=spec, unscored=unscored)


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--what", type=click.Choice(tuple(TABLES)), default="samples", show_default=True, help="Table to write.")
@click.option(
    "--format", "kind", type=click.Choice(FORMATS), help="File format.  [default: by the file extension, or csv]"
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write.  [default: standard output]",
)
@force_option
@unscored_option
@store_option
def export(
    runs: tuple[str, ...],
    what: str,
    kind: str | None,
    out: Path | None,
    force: bool,
    unscored: UnscoredPolicy,
    store: Store,
) -> None:
    """Export a table of RUNs to a file.

    The tables samples and statements need one RUN, comparison and pairs need two, runs takes any number, and metrics
    takes none.

    The formats ragchecker, ragas and deepeval write one run for these tools. langfuse, langsmith, mlflow and phoenix
    write one line per score, for the traces that the run was imported from.

    \b
    ragboard export bm25-k3 --what statements -o statements.csv
    ragboard export bm25-k3 --format json
    ragboard export bm25-k3 --format ragchecker -o checked.json
    ragboard export traces --format langfuse -o scores.jsonl
    ragboard export --what runs -o leaderboard.parquet
    ragboard export bm25-k3 bm25-rerank-k5 --what pairs -o pairs.csv
    """
    refs = tuple(map(store.resolve, runs))
    write_export(store, refs, table_name=what, kind=kind, out=out, unscored=unscored, force=force)


@click.command()
@click.argument("target", metavar="hf:OWNER/NAME")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--public", is_flag=True, help="Make a new dataset public.  [default: private]")
@store_option
def push(target: str, runs: tuple[str, ...], public: bool, store: Store) -> None:
    """Upload the RUNs, or all runs, to a dataset on the Hugging Face Hub.

    The dataset contains the samples with scores and the statements with verdicts. Questions, passages and answers are
    uploaded unchanged. The token comes from `hf auth login` or HF_TOKEN.

    \b
    ragboard push hf:my-team/rag-evaluations bm25-k3 bm25-rerank-k5
    """
    from ragboard.export.hub import push_runs

    refs = [store.resolve(name) for name in runs or [run.name for run in list_runs(store)]]
    click.echo(push_runs(store, refs, target, public=public))


MAX_CELL_CHARACTERS = 80
"""Maximum characters of a table cell on the terminal."""


@click.command()
@click.argument("sql")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["table", *TABLE_FORMATS]),
    help="Output format.  [default: by the file extension, or a table]",
)
@click.option(
    "-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help="File to write.  [default: standard output]"
)
@force_option
@click.option("--rows", type=click.IntRange(1), default=1000, show_default=True, help="Maximum number of rows.")
@click.option("--seconds", type=click.FloatRange(0.1), default=5.0, show_default=True, help="Time limit in seconds.")
@store_option
def query(sql: str, kind: str | None, out: Path | None, force: bool, rows: int, seconds: float, store: Store) -> None:
    """Query the store with one SELECT in DuckDB SQL; `-` reads it from standard input.

    A query cannot change the store or read files. `SHOW TABLES` lists the tables, `DESCRIBE runs` the columns of
    `runs`.

    \b
    ragboard query "SELECT run, verdict, count(*) FROM statement_verdicts WHERE shown GROUP BY ALL"
    ragboard query "FROM sample_scores" --rows 100000 -o scores.parquet
    """
    if out:
        check_output(out, force=force)
    text = sys.stdin.read() if sql == "-" else sql
    result = run_query(store, text, QueryLimits(rows=rows, seconds=seconds))
    if out is None and kind in (None, "table"):
        _print_result(result)
    else:
        write_table(result.frame(), kind=None if kind == "table" else kind, out=out, force=force)
    if result.truncated:
        click.echo(f"first {len(result.rows):,} rows; show more with --rows N", err=True)


def _print_result(result: QueryResult) -> None:
    cells = [["" if value is None else str(value)[:MAX_CELL_CHARACTERS] for value in row] for row in result.rows]
    print_table([column.name for column in result.columns], cells)
