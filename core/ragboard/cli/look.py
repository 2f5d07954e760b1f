"""Commands that look into runs: unsupported statements, diagnosis, reports, exports, SQL."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import get_args

import click

from ragboard import export as exporting
from ragboard.analysis import (
    NOT_SUPPORTED,
    Diagnosis,
    Grouping,
    Hallucination,
    HallucinationGroups,
    HallucinationPage,
    HallucinationQuery,
    Human,
    UnscoredPolicy,
    caution_of,
    command_for,
    compare_runs,
    condition_of,
    diagnose,
    hallucination_groups,
    hallucination_table,
    hallucinations,
    metric_descriptions,
    spec_named,
    topic_in_words,
    why_silent,
)
from ragboard.cli.options import as_json, force_option, store_option, unscored_option
from ragboard.cli.output import MARKS, one_line, print_json, print_table
from ragboard.errors import SettingError
from ragboard.export import TABLE_FORMATS, write_table
from ragboard.export.comparison_report import PAIRS, comparison_report
from ragboard.export.run_report import SAMPLES, run_report
from ragboard.outputs import check_output, write_output
from ragboard.query import QueryLimits, QueryResult, run_query
from ragboard.store import RunRef, Store

__all__ = ["diagnose_run", "export", "list_hallucinations", "query", "report"]


@click.command("hallucinations")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--verdict", type=click.Choice(NOT_SUPPORTED), help="Only this verdict; else both.")
@click.option("--judge", "judged_by", default="", metavar="NAME", help="Use the newest evaluation by this judge.")
@click.option("--text", default="", help="Words to find in the statement, its question or its reason.")
@click.option("--passage", default="", metavar="ID", help="Only answers that retrieved this passage.")
@click.option("--human", type=click.Choice(get_args(Human)), help="Only statements with such human labels.")
@click.option("--by", type=click.Choice(get_args(Grouping)), help="Group by question, passage or judge.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Number of lines to print.")
@click.option("--format", "kind", type=click.Choice(exporting.TABLE_FORMATS), help="Write all statements as a table.")
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help="File for the table.")
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
    by: Grouping | None,
    limit: int,
    kind: str | None,
    out: Path | None,
    force: bool,
    store: Store,
    as_json: bool,
) -> None:
    """List the statements that the passages do not support, worst first, in each RUN or in all.

    \b
    ragboard hallucinations
    ragboard hallucinations bm25-k3 --verdict contradicted --text tunnel
    ragboard hallucinations --by passage
    ragboard hallucinations -o made-up.csv
    """
    query = HallucinationQuery(
        runs=tuple(map(store.resolve, runs)),
        verdict=next((label for label in NOT_SUPPORTED if label == verdict), None),
        judge=judged_by,
        text=text,
        passage=passage,
        human=human,
        limit=limit,
    )
    if kind or out:
        exporting.write_table(hallucination_table(store, query), kind=kind, out=out, force=force)
    elif by:
        groups = hallucination_groups(store, query, by)
        print_json(groups) if as_json else _print_groups(groups, by)
    else:
        page = hallucinations(store, query)
        print_json(page) if as_json else _print_page(page)


def _print_page(page: HallucinationPage) -> None:
    click.echo(f"{page.total:,} of {sum(page.labels.values()):,} judged statements")
    for row in page.rows:
        _print_row(row)
    _more(len(page.rows), page.total)


def _print_row(row: Hallucination) -> None:
    label = row.said.verdict.label if row.said.verdict else row.said.alone
    reason = row.said.verdict.reason if row.said.verdict else row.said.alone_in_words
    click.echo(f"{MARKS[label or 'unsupported']} {label:<12} {one_line(row.said.statement.text)}")
    people = [f"{one.label}, label by {one.annotator}{f': {one.note}' if one.note else ''}" for one in row.said.people]
    for note in filter(None, (reason, *people, f"{row.run} {row.sample_id}: {row.question}")):
        click.echo(f"  {'':<12} {one_line(note)}")


def _print_groups(found: HallucinationGroups, by: Grouping) -> None:
    head = ["statements", "contradicted", by]
    print_table(
        head,
        [
            [str(group.statements), str(group.contradicted), " ".join(filter(None, (group.passage_id, group.title)))]
            for group in found.groups
        ],
    )
    _more(len(found.groups), found.total)


def _more(shown: int, total: int) -> None:
    if shown < total:
        click.echo(f"... {shown:,} of {total:,}; show more with --limit N", err=True)


@click.command("diagnose")
@click.argument("run")
@store_option
@as_json
def diagnose_run(run: str, store: Store, as_json: bool) -> None:
    """Diagnose a RUN: retriever or generator at fault, where the loss is, what to try.

    A rule flags the run only if the whole 95% CI of its figure is beyond its limit.

    \b
    ragboard diagnose my-run
    """
    found = diagnose(store, store.resolve(run))
    if as_json:
        print_json(found)
        return
    _print_findings(found)
    _print_losses(store, found)
    _print_silent(found)


def _print_findings(found: Diagnosis) -> None:
    for note in filter(None, (caution_of(found), found.split)):
        click.echo(one_line(note))
    for one in found.findings:
        click.echo("\n" + one_line(f"{one.rule.part}: {one.sentence}"))
        click.echo(one_line(f"  {one.figure}"))
        click.echo(one_line(f"  {one.rule.advice}"))
    if not found.findings:
        click.echo("No rule flags this run: no 95% CI is entirely beyond its limit.")


def _print_losses(store: Store, found: Diagnosis) -> None:
    if found.carried is not None:
        count = len(found.questions)
        click.echo(f"\n{count} questions account for {found.carried:.0%} of the {found.loose:,} unsupported statements")
        for question in found.questions:
            click.echo(one_line(f"  {question.statements}  {question.question}"))
    for passage in found.passages:
        what = f"supports {passage.wrong} wrong" if passage.wrong else f"contradicts {passage.contradicted}"
        click.echo(one_line(f"passage {passage.passage_id} {what} statements"))
    labels = {spec: metric.label for spec, metric in metric_descriptions(store).items()}
    for topic in found.topics:
        click.echo(one_line(topic_in_words(topic, labels.get(topic.metric, topic.metric))))
    if found.looked_at.groups and not found.topics:
        click.echo(f"no topic is significantly worse than the rest; {found.looked_at.groups} groups tested")


def _print_silent(found: Diagnosis) -> None:
    click.echo()
    measured = [one for one in found.silent if one.figure]
    rows = [[condition_of(one.rule), str(one.figure), why_silent(one)] for one in measured]
    if rows:
        print_table(["rule not flagged", "figure", "why"], rows)
    unmeasured = len(found.silent) - len(measured)
    if unmeasured:
        click.echo(f"\n{unmeasured} rules need metrics that were not evaluated")
    if found.missing:
        click.echo(one_line(f"to evaluate them: {command_for(found)}"))


@click.command()
@click.argument("run")
@click.argument("other", required=False, metavar="[RUN_B]")
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="File to write.")
@click.option(
    "--samples",
    type=click.IntRange(0),
    help=f"Samples shown in full, worst first.  [default: {SAMPLES}; for two runs {PAIRS}]",
)
@click.option("--metric", help="For two runs: show the largest losses in this metric first.")
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
    """Write a report of a RUN, or of RUN_B compared with it, as one HTML file that opens anywhere.

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
    spec = spec_named(metric, tuple(one.metric for one in compare_runs(store, a, b).metrics)) if metric else ""
    pairs = PAIRS if samples is None else samples
    return comparison_report(store, a, b, samples=pairs, metric=spec, unscored=unscored)


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option(
    "--what", type=click.Choice(tuple(exporting.TABLES)), default="samples", show_default=True, help="Table to write."
)
@click.option(
    "--format", "kind", type=click.Choice(exporting.FORMATS), help="File format; else by the ending of OUT, else csv."
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write; else standard output.",
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
    """Export a table about RUNs to a file.

    One run: its samples with scores, or its statements with verdicts. Any runs: their means (runs). Two runs: the
    comparison by metric (comparison) or by question (pairs). No run: the metrics. The format ragchecker writes the
    samples and statements of one run as RAGChecker does.

    \b
    ragboard export bm25-k3 --what statements -o statements.csv
    ragboard export bm25-k3 --format json
    ragboard export bm25-k3 --format ragchecker -o checked.json
    ragboard export --what runs -o leaderboard.parquet
    ragboard export bm25-k3 bm25-rerank-k5 --what pairs -o pairs.csv
    """
    refs = tuple(map(store.resolve, runs))
    exporting.export(store, refs, what=what, kind=kind, out=out, unscored=unscored, force=force)


CELL = 80
"""Characters of a text that a table for people shows."""


@click.command()
@click.argument("sql")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["table", *TABLE_FORMATS]),
    help="Output format; else by the ending of OUT, else a table.",
)
@click.option(
    "-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help="File to write; else standard output."
)
@force_option
@click.option("--rows", type=click.IntRange(1), default=1000, show_default=True, help="Maximum number of rows.")
@click.option("--seconds", type=click.FloatRange(0.1), default=5.0, show_default=True, help="Time limit in seconds.")
@store_option
def query(sql: str, kind: str | None, out: Path | None, force: bool, rows: int, seconds: float, store: Store) -> None:
    """Query the store with one SELECT in DuckDB's SQL; `-` reads it from standard input.

    A query changes nothing and reads no file. `SHOW TABLES` and `DESCRIBE runs` list what there is.

    \b
    ragboard query "SELECT run, verdict, count(*) FROM statement_verdicts WHERE shown GROUP BY ALL"
    ragboard query "FROM sample_scores" --rows 100000 -o scores.parquet
    """
    if out:
        check_output(out, force=force)
    text = sys.stdin.read() if sql == "-" else sql
    result = run_query(store, text, QueryLimits(rows=rows, seconds=seconds))
    if out is None and kind in (None, "table"):
        _print(result)
    else:
        write_table(result.frame(), kind=None if kind == "table" else kind, out=out, force=force)
    if result.truncated:
        click.echo(f"first {len(result.rows):,} rows; show more with --rows N", err=True)


def _print(result: QueryResult) -> None:
    cells = [["" if value is None else str(value)[:CELL] for value in row] for row in result.rows]
    print_table([column.name for column in result.columns], cells)
