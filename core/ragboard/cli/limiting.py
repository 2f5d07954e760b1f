"""The command that sets, lists and removes thresholds of metrics."""

from __future__ import annotations

import click

from ragboard.analysis import metric_descriptions, set_threshold, spec_named, thresholds
from ragboard.cli.options import as_json, store_option
from ragboard.cli.output import print_json, print_table
from ragboard.errors import SettingError
from ragboard.store import Store

__all__ = ["threshold"]


@click.command()
@click.argument("metric", required=False)
@click.argument("value", required=False, type=float)
@click.option("--remove", is_flag=True, help="Take the metric's threshold away.")
@store_option
@as_json
def threshold(metric: str | None, value: float | None, remove: bool, store: Store, as_json: bool) -> None:
    """Set what a METRIC is to reach, or not to exceed where lower is better; without a METRIC list what is set.

    The dashboard marks means by it, and `ragboard check RUN` checks a run by all of them.

    \b
    ragboard threshold
    ragboard threshold ragas.faithfulness 0.8
    ragboard threshold ragas.faithfulness --remove
    """
    if metric is not None:
        if remove == (value is not None):
            raise SettingError("give either a VALUE or --remove")
        known = metric_descriptions(store)
        set_threshold(store, spec_named(metric, tuple(known)), value, known)
    elif remove:
        raise SettingError("name the METRIC whose threshold is to be removed")
    found = thresholds(store)
    if as_json:
        print_json({"thresholds": list(found.values())})
    elif found:
        print_table(["metric", "threshold"], [[spec, str(limit)] for spec, limit in found.items()])
    else:
        click.echo("no threshold is set now" if remove else "no threshold is set: ragboard threshold METRIC VALUE")
