"""The command that estimates runs from labels and a judge together."""

from __future__ import annotations

from typing import get_args

import click

from ragboard.cli.options import Finite, as_json, store_option
from ragboard.cli.output import one_line, plain, print_json, print_table
from ragboard.human.draws import Measured
from ragboard.human.estimates import Estimates, estimate_runs, needed_for
from ragboard.stats import Interval, NoInterval, PoweredMean
from ragboard.store import Store

__all__ = ["estimate"]

WAYS = {"judge_only": "judge alone", "classical": "labels alone", "ppi": "PPI", "tuned": "PPI++"}


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--metric", default="ragas.faithfulness", show_default=True, help="The judge's scores to lean on.")
@click.option(
    "--labels",
    "measured",
    type=click.Choice(get_args(Measured)),
    default="verdicts",
    show_default=True,
    help="What people said: verdicts on every statement, or grades in a quality.",
)
@click.option("--width", type=Finite(0, min_open=True), help="Say how many labels such an interval takes.")
@click.option("--raw", is_flag=True, help="Bounds as computed, even outside of what a mean can be.")
@store_option
@as_json
def estimate(
    runs: tuple[str, ...],
    metric: str,
    measured: Measured,
    width: float | None,
    raw: bool,
    store: Store,
    as_json: bool,
) -> None:
    """Estimate what people would say of each RUN, from a random part that they labelled and a judge of all of it.

    Prediction-powered inference (PPI, PPI++) beside the labels alone and the judge alone. Labels come from the
    random queue of the Annotate page, or from an import whose design was declared random.

    \b
    ragboard estimate bm25-k3 bm25-rerank-k5 --width 0.1
    """
    found = estimate_runs(store, [store.resolve(name) for name in runs], metric=metric, measured=measured)
    if as_json:
        print_json(found)
        return
    _print_systems(found, raw=raw)
    _print_needed(found, width)
    _print_order(found)


def _print_systems(found: Estimates, *, raw: bool) -> None:
    rows = [
        [
            plain(one.name),
            f"{one.labels:,} of {one.items:,}",
            *(_told(getattr(one.means, way) if one.means else None, raw=raw) for way in WAYS),
            _worth(one.best),
            _interval(one.accuracy) if isinstance(one.accuracy, Interval) else "",
        ]
        for one in found.report.systems
    ]
    click.echo(f"{found.label}, estimated from {found.measured}")
    print_table(["run", "labelled", *WAYS.values(), "worth", "judge's accuracy"], rows)
    for one in found.report.systems:
        warning = one.best.warning if isinstance(one.best, PoweredMean) else ""
        for said in filter(None, (one.refusal, warning, *one.notes)):
            click.echo(one_line(f"{one.name}: {said}"))


def _told(one: PoweredMean | NoInterval | None, *, raw: bool) -> str:
    if one is None:
        return "refused"
    if isinstance(one, NoInterval):
        return f"none: {one.reason}"
    return _interval(one.interval if raw else one.clipped)


def _interval(found: Interval) -> str:
    return f"{found.estimate:.3f} [{found.low:.3f}, {found.high:.3f}]"


def _worth(best: PoweredMean | NoInterval | None) -> str:
    if not isinstance(best, PoweredMean) or best.worth is None:
        return ""
    return f"{best.worth:,.0f} labels"


def _print_needed(found: Estimates, width: float | None) -> None:
    for source in found.sources if width else ():
        needed = needed_for(source, width or 0.0)
        if needed is None:
            said = "too few labels to say how many more it takes"
        elif needed.more is None:
            said = needed.reason
        else:
            said = f"{needed.more:,} more labels for an interval {width:g} wide"
            said += f" ({needed.without_judge:,} in all without the judge)" if needed.without_judge else ""
        click.echo(one_line(f"{source.run}: {said}"))


def _print_order(found: Estimates) -> None:
    for one in found.report.differences:
        interval = one.interval
        told = f"no interval ({interval.reason})" if isinstance(interval, NoInterval) else _interval(interval)
        how = "paired" if one.paired else "as if unrelated"
        click.echo(one_line(f"{one.b} less {one.a}: {told}, {how}, {one.labels:,} labels"))
    for placed in found.report.ranking if len(found.report.ranking) > 1 else ():
        click.echo(
            one_line(f"rank {placed.rank} [{placed.best} to {placed.worst}]: {placed.name}, {placed.estimate:.3f}")
        )
    if found.report.tau is not None:
        click.echo(f"Kendall's tau with the judge's own order: {found.report.tau:.2f}")
