"""Commands to estimate the mean of runs from labels and judge scores, and to simulate how accurate that is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import click

from ragboard.cli.markdown import escaped, markdown_table
from ragboard.cli.options import SEED_TYPE, Finite, as_json, markdown_option, store_option
from ragboard.cli.output import one_line, plain, print_json, print_table
from ragboard.errors import SettingError
from ragboard.human.annotation import LabelledQuantity
from ragboard.human.estimates import Estimates, estimate_runs, predict_labels_needed
from ragboard.human.label_files import labelled_outcomes
from ragboard.human.ranking import RankedRuns, Ranking, rank_runs
from ragboard.human.systems import KnownOrder, SystemEstimate
from ragboard.readers.labels import SamplingDesign
from ragboard.stats import (
    Interval,
    MeanEstimate,
    NoInterval,
    Ranked,
    RankingSimulation,
    ci_text,
    estimate_text,
    range_text,
    simulate_ranking,
)
from ragboard.store import Store

__all__ = ["estimate", "rank", "simulate"]

METHODS = {"judge_only": "judge alone", "classical": "labels alone", "ppi": "PPI", "tuned": "PPI++"}
HEAD = ("rank", "run", "estimate, 95% CI", "method", "possible ranks", "labelled", "judge alone", "judge accuracy")

design_option = click.option(
    "--design",
    type=click.Choice(get_args(SamplingDesign)),
    help="Sampling design of the labelled samples.  [default: the `design` column]",
)
pool_option = click.option(
    "--pool", is_flag=True, help="Correct every run with the labels of all runs in the file, as ARES does."
)
order_option = click.option("--order", metavar="RUN,RUN,...", help="Known ranking to compare with, best first.")


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="METRIC[=QUALITY]",
    help="Metric whose judge scores to use. With --from it is repeatable, and QUALITY names the labels for it."
    "  [default: ragas.faithfulness; with --from, one metric for each labelled quality]",
)
@click.option(
    "--labels",
    "measured",
    type=click.Choice(get_args(LabelledQuantity)),
    help="Labels in the store to use: verdicts on statements, or grades of a quality.  [default: verdicts]",
)
@click.option(
    "--from",
    "file",
    type=click.Path(path_type=Path, readable=False),
    help="Label file to use instead of the labels in the store: JSON Lines, or TSV or CSV with ARES's columns.",
)
@design_option
@pool_option
@order_option
@click.option("--width", type=Finite(0, min_open=True), help="Print how many labels a 95% CI of this width needs.")
@click.option("--raw", is_flag=True, help="Do not clip intervals to the possible range.")
@store_option
@as_json
@markdown_option
def estimate(
    runs: tuple[str, ...],
    metrics: tuple[str, ...],
    measured: LabelledQuantity | None,
    file: Path | None,
    design: SamplingDesign | None,
    pool: bool,
    order: str | None,
    width: float | None,
    raw: bool,
    store: Store,
    as_json: bool,
    markdown: bool,
) -> None:
    """Estimate the mean of each RUN: human labels of a random sample correct the judge's bias.

    Prints estimates by prediction-powered inference (PPI, PPI++), by labels alone and by the judge alone. Labels come
    from the random queue of the Annotate page, from an import with a random design, or from a file (--from). With a
    file, the runs are also ranked in every quality that has labels.

    \b
    ragboard estimate bm25-k3 bm25-rerank-k5 --width 0.1
    ragboard estimate bm25-k3 bm25-rerank-k5 --from labels.jsonl --design random
    """
    if file:
        if measured or width or raw:
            raise click.UsageError("--labels, --width and --raw work with labels in the store, not with --from")
        ranking = rank_runs(
            store,
            [store.resolve(name) for name in runs],
            labelled_outcomes(file, design=design),
            metrics=metrics,
            pool=pool,
            order=[name.strip() for name in order.split(",")] if order else (),
        )
        if as_json:
            print_json(ranking)
        elif markdown:
            click.echo(plain(_markdown(ranking)))
        else:
            _print_ranking(ranking)
        return
    if design or pool or order or markdown or len(metrics) > 1:
        raise click.UsageError("--design, --pool, --order, --markdown and several --metric need --from FILE")
    refs = [store.resolve(name) for name in runs]
    metric = metrics[0] if metrics else "ragas.faithfulness"
    found = estimate_runs(store, refs, metric=metric, measured=measured or "verdicts")
    if as_json:
        print_json(found)
        return
    _print_systems(found, raw=raw)
    _print_needed(found, width)
    _print_differences_and_ranks(found)


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--labels", "file", type=click.Path(path_type=Path, readable=False), required=True, help="Label file.")
@design_option
@click.option("--metric", "metrics", multiple=True, metavar="METRIC[=QUALITY]", help="As for `ragboard estimate`.")
@pool_option
@order_option
@store_option
@as_json
@markdown_option
@click.pass_context
def rank(context: click.Context, /, **given: Any) -> None:
    """Estimate and rank RUNs with a label file; use `ragboard estimate --from FILE` instead.

    \b
    ragboard rank bm25-k3 bm25-rerank-k5 --labels labels.jsonl --design random
    ragboard estimate bm25-k3 bm25-rerank-k5 --from labels.jsonl --design random
    """
    click.echo("note: use ragboard estimate --from FILE instead of ragboard rank --labels FILE", err=True)
    context.invoke(estimate, **given)


def _print_systems(estimates: Estimates, *, raw: bool) -> None:
    rows = [
        [
            plain(system.name),
            f"{system.labels:,} of {system.items:,}",
            *(_mean_text(getattr(system.means, method) if system.means else None, raw=raw) for method in METHODS),
            _effective_labels(system.best),
            _interval(system.accuracy) if isinstance(system.accuracy, Interval) else "",
        ]
        for system in estimates.report.systems
    ]
    click.echo(f"{estimates.metric_label}, estimated from {estimates.measured}")
    print_table(["run", "labelled", *METHODS.values(), "effective labels", "judge accuracy"], rows)
    for one in estimates.report.systems:
        warning = one.best.warning if isinstance(one.best, MeanEstimate) else ""
        for note in filter(None, (one.unusable_reason, warning, *one.notes)):
            click.echo(one_line(f"{one.name}: {note}"))


def _mean_text(found: MeanEstimate | NoInterval | None, *, raw: bool = False) -> str:
    if found is None:
        return "none"
    if isinstance(found, NoInterval):
        return f"none: {found.reason}"
    return _interval(found.interval if raw else found.clipped)


def _interval(found: Interval) -> str:
    return estimate_text(found.estimate, found)


def _effective_labels(best: MeanEstimate | NoInterval | None) -> str:
    if not isinstance(best, MeanEstimate) or best.effective_labels is None:
        return ""
    return f"{best.effective_labels:,.0f}"


def _print_needed(estimates: Estimates, width: float | None) -> None:
    for run_inputs in estimates.inputs if width else ():
        needed = predict_labels_needed(run_inputs, width or 0.0)
        if needed is None:
            text = "too few labels to estimate how many more you need"
        elif needed.more is None:
            text = needed.reason
        else:
            text = f"{needed.more:,} more labels for a 95% CI {width:g} wide"
            text += f" ({needed.without_judge:,} in total without the judge)" if needed.without_judge else ""
        click.echo(one_line(f"{run_inputs.run}: {text}"))


def _print_differences_and_ranks(estimates: Estimates) -> None:
    for difference in estimates.report.differences:
        interval = difference.interval
        estimated = ci_text(interval) if isinstance(interval, NoInterval) else _interval(interval)
        how = "paired" if difference.paired else "unpaired"
        click.echo(one_line(f"{difference.b} minus {difference.a}: {estimated}, {how}, {difference.labels:,} labels"))
    for placed in estimates.report.ranking if len(estimates.report.ranking) > 1 else ():
        click.echo(
            one_line(f"rank {placed.rank} [{placed.best} to {placed.worst}]: {placed.name}, {placed.estimate:.3f}")
        )
    if estimates.report.tau is not None:
        click.echo(f"Kendall's tau with the judge's order: {estimates.report.tau:.2f}")


def _print_ranking(found: Ranking) -> None:
    for table in found.tables:
        click.echo(one_line(_title(table)))
        print_table(HEAD, _rows(table))
        for line in _notes(table):
            click.echo(one_line(line))
        click.echo("")
    for note in found.notes:
        click.echo(one_line(f"note: {note}"))


def _markdown(found: Ranking) -> str:
    parts = [f"- ⚠️ {escaped(note)}" for note in found.notes]
    for table in found.tables:
        rows = [[escaped(cell) for cell in row] for row in _rows(table)]
        parts += [f"### {escaped(_title(table))}", markdown_table(HEAD, rows)]
        parts.append("\n".join(f"- {escaped(line)}" for line in _notes(table)))
    return "\n\n".join(filter(None, parts))


def _title(table: RankedRuns) -> str:
    return f"{table.metric_label} ({table.metric}), bias-corrected with labels of {table.measured}"


def _rows(table: RankedRuns) -> list[list[str]]:
    """Return a row for each run: the ranked runs, best first, then the runs without an estimate."""
    placed = {one.name: one for one in table.report.ranking}
    systems = {system.name: system for system in table.report.systems}
    return [_row(systems[name], placed.get(name)) for name in dict.fromkeys((*placed, *systems))]


def _row(one: SystemEstimate, placed: Ranked | None) -> list[str]:
    best, judge = one.best, one.means.judge_only if one.means else None
    return [
        f"{placed.rank}" if placed else "-",
        one.name,
        _mean_text(best),
        _method(one),
        _ranks(placed) if placed else "-",
        f"{one.labels:,} of {one.items:,}",
        _mean_text(judge),
        _interval(one.accuracy) if isinstance(one.accuracy, Interval) else "-",
    ]


def _method(one: SystemEstimate) -> str:
    """Return the name of the method that gave the best estimate; `-` without an estimate."""
    best, means = one.best, one.means
    if means is None or isinstance(best, NoInterval):
        return "-"
    return "PPI++" if best is means.tuned else "PPI" if best is means.ppi else "labels alone"


def _ranks(placed: Ranked) -> str:
    return f"{placed.best}" if placed.best == placed.worst else f"{placed.best} to {placed.worst}"


def _notes(table: RankedRuns) -> Iterator[str]:
    """Yield the cautions, warnings and notes on the figures, one line each."""
    if table.report.caution:
        yield f"caution: {table.report.caution}"
    for one in table.report.systems:
        warning = one.best.warning if isinstance(one.best, MeanEstimate) else ""
        notes = (one.unusable_reason, _why_no_ppi(one), warning, *one.notes)
        yield from (f"{one.name}: {note}" for note in notes if note)
    if table.report.tau is not None:
        yield f"Kendall's tau with the judge's order: {table.report.tau:.2f}"
    if table.order:
        yield _known_order_line(table.order)


def _why_no_ppi(one: SystemEstimate) -> str:
    """Return why there is no PPI estimate; empty if there is one."""
    return f"no PPI: {one.means.ppi.reason}" if one.means and isinstance(one.means.ppi, NoInterval) else ""


def _known_order_line(order: KnownOrder) -> str:
    ours, judge = ("none" if tau is None else f"{tau:.2f}" for tau in (order.tau, order.judge))
    return f"Kendall's tau with the known order ({', '.join(order.names)}): {ours}; of the judge alone: {judge}"


@click.group()
def simulate() -> None:
    """Check a statistical method on simulated data with known truth.

    \b
    ragboard simulate ranking --sensitivity 0.85 --specificity 0.85
    """


@simulate.command()
@click.option(
    "--sensitivity",
    type=Finite(0, 1),
    default=0.9,
    show_default=True,
    help="Share of successes that the judge accepts.",
)
@click.option(
    "--specificity", type=Finite(0, 1), default=0.9, show_default=True, help="Share of failures that the judge rejects."
)
@click.option("--labels", type=click.IntRange(3), default=150, show_default=True, help="Labelled items per system.")
@click.option("--items", type=click.IntRange(5), default=2000, show_default=True, help="Judged items per system.")
@click.option("--repeats", type=click.IntRange(2), default=2000, show_default=True, help="Number of simulations.")
@click.option("--seed", type=SEED_TYPE, default=0, show_default=True, help="Random seed.")
@as_json
def ranking(
    sensitivity: float, specificity: float, labels: int, items: int, repeats: int, seed: int, as_json: bool
) -> None:
    """Simulate how well nine systems with known success rates (70% to 90%) are ranked, as in the ARES paper.

    Compares estimates from the judge alone, from labels alone, and from both (PPI, PPI++).

    \b
    ragboard simulate ranking --labels 300 --sensitivity 0.85
    """
    if labels > items - 2:
        raise SettingError(
            f"--labels {labels} leaves fewer than 2 of {items} items unlabelled; lower it or raise --items"
        )
    found = simulate_ranking(
        sensitivity=sensitivity, specificity=specificity, labels=labels, items=items, repeats=repeats, seed=seed
    )
    if as_json:
        print_json(found)
    else:
        _print_simulation(found)


def _print_simulation(found: RankingSimulation) -> None:
    click.echo(
        f"{len(found.rates)} systems from {found.rates[0]:.1%} to {found.rates[-1]:.1%}; {found.items:,} judged"
        f" items each, {found.labels:,} of them labelled; {found.repeats:,} repetitions, seed {found.seed}"
    )
    print_table(
        ["", "Kendall's tau", "middle 95% of simulations", "CIs that contain the true rate"],
        [
            [
                method.name,
                f"{method.tau:.3f} ± {1.96 * method.tau_error:.3f}",
                range_text(method.tau_low, method.tau_high, ".2f"),
                f"{method.coverage:.1%}",
            ]
            for method in found.methods
        ],
    )
