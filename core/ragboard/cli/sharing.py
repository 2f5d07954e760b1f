"""Commands that write what is known into files for others."""

from __future__ import annotations

from pathlib import Path

import click

from ragboard import exporting
from ragboard.analysis import UnscoredPolicy, compare_runs, spec_named
from ragboard.cli.options import force_option, store_option, unscored_option
from ragboard.errors import SettingError
from ragboard.htmlreport import PAIRS, SAMPLES, comparison_report, run_report
from ragboard.outputs import check_output, write_output
from ragboard.store import RunRef, Store

__all__ = ["export", "report"]


@click.command()
@click.argument("run")
@click.argument("other", required=False, metavar="[RUN_B]")
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="File to write.")
@click.option(
    "--samples",
    type=click.IntRange(0),
    help=f"So many samples in full, the worst first.  [default: {SAMPLES}; of two runs {PAIRS}]",
)
@click.option("--metric", help="Of two runs: the metric whose greatest losses come first.")
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
    """Write a RUN, or RUN_B against it, as one HTML file that a colleague opens without installing anything.

    \b
    ragboard report bm25-k3 -o report.html
    ragboard report bm25-k3 bm25-rerank-k5 -o compared.html --metric faithfulness
    """
    check_output(out, force=force)
    if metric and other is None:
        raise SettingError("--metric is for two runs")
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
    "--what", type=click.Choice(tuple(exporting.TABLES)), default="samples", show_default=True, help="Which table."
)
@click.option("--format", "kind", type=click.Choice(exporting.FORMATS), help="Else by the ending of OUT, else csv.")
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
    """Write a table about RUNs to a file.

    Of one run its samples with scores or its statements with verdicts; of any, or of all, the means (runs); of
    two how they compare, metric by metric (comparison) or pair by pair (pairs); of none what the metrics are.
    The format ragchecker holds samples and statements of one run, as RAGChecker writes its output.

    \b
    ragboard export bm25-k3 --what statements -o statements.csv
    ragboard export bm25-k3 --format json
    ragboard export bm25-k3 --format ragchecker -o checked.json
    ragboard export --what runs -o leaderboard.parquet
    ragboard export bm25-k3 bm25-rerank-k5 --what pairs -o pairs.csv
    """
    refs = tuple(map(store.resolve, runs))
    exporting.export(store, refs, what=what, kind=kind, out=out, unscored=unscored, force=force)
