"""The command that explains the metrics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ragboard.analysis import BETTER, metric_range, metric_settings
from ragboard.cli.options import as_json, plugin_option
from ragboard.cli.output import plain, print_json, print_table
from ragboard.metrics import describe, metrics_named
from ragboard.metrics.plugins import metrics_with
from ragboard.records import MetricDescription

__all__ = ["metrics"]


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@plugin_option
@as_json
def metrics(names: tuple[str, ...], plugins: tuple[Path, ...], as_json: bool) -> None:
    """List the metrics, or explain those of a NAME or source.

    \b
    ragboard metrics
    ragboard metrics faithfulness
    ragboard metrics ragchecker --json
    """
    known = metrics_with(plugins)
    found = [describe(metric) for metric in (metrics_named(names, known) if names else known.values())]
    if as_json:
        print_json({"metrics": found})
    elif names:
        click.echo("\n\n".join(map(_explained, found)))
    else:
        _print_list(found)


def _print_list(found: Sequence[MetricDescription]) -> None:
    print_table(
        ["metric", "title", "range", "better", "needs"],
        [
            [
                metric.spec,
                metric.label,
                metric_range(metric),
                metric.direction,
                ", ".join(metric.requires) or "-",
            ]
            for metric in found
        ],
    )


def _explained(metric: MetricDescription) -> str:
    lines = {
        "formula": metric.formula,
        "range": f"{metric_range(metric)}, {BETTER[metric.direction]}",
        "needs": ", ".join(metric.requires) or "nothing but the question",
        "asks a judge": metric.calls,
        "settings": metric_settings(metric) or "none",
        "source": metric.paper,
    }
    said = "\n".join(f"  {what:<13} {text}" for what, text in lines.items())
    return plain(f"{metric.spec}: {metric.label}\n\n{metric.text}\n\n{said}")
