"""The command that orders runs by a judge's scores and a file of labels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import click

from ragboard.cli.markdown import escaped, markdown_table
from ragboard.cli.options import as_json, markdown_option, store_option
from ragboard.cli.output import one_line, plain, print_json, print_table
from ragboard.human.label_files import labelled_outcomes
from ragboard.human.ranking import RankedRuns, Ranking, rank_runs
from ragboard.human.systems import KnownOrder, SystemEstimate
from ragboard.readers.labels import Design
from ragboard.stats import Interval, NoInterval, PoweredMean, Ranked
from ragboard.store import Store

__all__ = ["rank"]

HEAD = ("rank", "run", "people would say", "by", "ranks left open", "labelled", "judge alone", "judge's accuracy")


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--labels",
    "file",
    type=click.Path(path_type=Path, readable=False),
    required=True,
    help="What people said: JSON Lines (docs/labels.md), or ARES's columns as TSV or CSV.",
)
@click.option(
    "--design",
    type=click.Choice(get_args(Design)),
    help="How the labelled samples of each run were chosen; else as the rows say.",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="METRIC[=QUALITY]",
    help="The judge's scores to lean on, and the labels they are held against; repeatable.  [default: by quality]",
)
@click.option("--pool", is_flag=True, help="Have the labels of all runs put the judge right on each of them.")
@click.option("--order", metavar="RUN,RUN,...", help="The order that is known from elsewhere, best first.")
@store_option
@as_json
@markdown_option
def rank(
    runs: tuple[str, ...],
    file: Path,
    design: Design | None,
    metrics: tuple[str, ...],
    pool: bool,
    order: str | None,
    store: Store,
    as_json: bool,
    markdown: bool,
) -> None:
    """Order RUNs, quality by quality, by what people would say of all of each, had they read it.

    Estimated from a judge's scores of all and people's labels of a random part of each run (prediction-powered
    inference), with intervals and the ranks that they leave open. Labels of one run do not put the judge right on
    another, unless you --pool them.

    \b
    ragboard rank bm25-k3 bm25-rerank-k5 --labels labels.jsonl --design random
    """
    found = rank_runs(
        store,
        [store.resolve(name) for name in runs],
        labelled_outcomes(file, design=design),
        metrics=metrics,
        pool=pool,
        order=[name.strip() for name in order.split(",")] if order else (),
    )
    if as_json:
        print_json(found)
    elif markdown:
        click.echo(plain(_markdown(found)))
    else:
        _print(found)


def _print(found: Ranking) -> None:
    for table in found.tables:
        click.echo(one_line(_title(table)))
        print_table(HEAD, _rows(table))
        for line in _said(table):
            click.echo(one_line(line))
        click.echo("")
    for note in found.notes:
        click.echo(one_line(f"note: {note}"))


def _markdown(found: Ranking) -> str:
    parts = [f"- ⚠️ {escaped(note)}" for note in found.notes]
    for table in found.tables:
        rows = [[escaped(cell) for cell in row] for row in _rows(table)]
        parts += [f"### {escaped(_title(table))}", markdown_table(HEAD, rows)]
        parts.append("\n".join(f"- {escaped(line)}" for line in _said(table)))
    return "\n\n".join(filter(None, parts))


def _title(table: RankedRuns) -> str:
    return f"{table.label} ({table.metric}), put right by labels of {table.measured}"


def _rows(table: RankedRuns) -> list[list[str]]:
    """The runs in their order, then those without an estimate."""
    placed = {one.name: one for one in table.report.ranking}
    systems = {one.name: one for one in table.report.systems}
    return [_row(systems[name], placed.get(name)) for name in dict.fromkeys((*placed, *systems))]


def _row(one: SystemEstimate, placed: Ranked | None) -> list[str]:
    best, judge = one.best, one.means.judge_only if one.means else None
    return [
        f"{placed.rank}" if placed else "-",
        one.name,
        _powered(best),
        _way(one),
        _ranks(placed) if placed else "-",
        f"{one.labels:,} of {one.items:,}",
        _powered(judge),
        _interval(one.accuracy) if isinstance(one.accuracy, Interval) else "-",
    ]


def _way(one: SystemEstimate) -> str:
    """How the estimate was made."""
    best, means = one.best, one.means
    if means is None or isinstance(best, NoInterval):
        return "-"
    return "PPI++" if best is means.tuned else "PPI" if best is means.ppi else "labels alone"


def _powered(found: PoweredMean | NoInterval | None) -> str:
    if isinstance(found, PoweredMean):
        return _interval(found.clipped)
    return "refused" if found is None else f"none: {found.reason}"


def _interval(found: Interval) -> str:
    return f"{found.estimate:.3f} [{found.low:.3f}, {found.high:.3f}]"


def _ranks(placed: Ranked) -> str:
    return f"{placed.best}" if placed.best == placed.worst else f"{placed.best} to {placed.worst}"


def _said(table: RankedRuns) -> Iterator[str]:
    """What to know of the numbers, a line each."""
    if table.report.caution:
        yield f"caution: {table.report.caution}"
    for one in table.report.systems:
        warning = one.best.warning if isinstance(one.best, PoweredMean) else ""
        yield from (f"{one.name}: {said}" for said in (one.refusal, _why(one), warning, *one.notes) if said)
    if table.report.tau is not None:
        yield f"Kendall's tau with the judge's own order: {table.report.tau:.2f}"
    if table.order:
        yield _known(table.order)


def _why(one: SystemEstimate) -> str:
    """Why the judge is left out of the estimate, where it is."""
    return f"no PPI: {one.means.ppi.reason}" if one.means and isinstance(one.means.ppi, NoInterval) else ""


def _known(order: KnownOrder) -> str:
    ours, judge = ("none" if tau is None else f"{tau:.2f}" for tau in (order.tau, order.judge))
    return f"Kendall's tau with the known order ({', '.join(order.names)}): {ours}; of the judge alone: {judge}"
