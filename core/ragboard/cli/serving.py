"""Commands that open the dashboard."""

from __future__ import annotations

import os
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from ragboard.cli.evaluate import evaluate_with_bar
from ragboard.cli.options import plugin_option, store_option
from ragboard.errors import RagboardError, SettingError
from ragboard.evaluation.background import RAGBOARD
from ragboard.judges import JudgeOptions, panel_named
from ragboard.metrics import DEFAULT_METRICS
from ragboard.metrics.plugins import metrics_with
from ragboard.sample_files import SAMPLE_TAG, sample_runs
from ragboard.store import RunRef, Store

__all__ = ["demo", "serve"]

HEALTHY_SECONDS = 90.0

port_option = click.option("--port", type=click.IntRange(1, 65535), help="Else the first free one from 8501.")
browser_option = click.option("--no-browser", is_flag=True, help="Do not open a browser.")
check_option = click.option("--check", is_flag=True, help="Start, exit with 0 once the dashboard answers.")


@click.command()
@port_option
@browser_option
@check_option
@click.option("--read-only", is_flag=True, help="Change nothing: no upload, no evaluation, no renaming, no label.")
@click.option(
    "--max-upload", type=click.IntRange(1), default=200, show_default=True, help="Megabytes an uploaded file may have."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--unsafe-bind", is_flag=True, help="Let other machines in; there is no password.")
@click.option("--allow-evaluate", is_flag=True, help="With --unsafe-bind: whoever comes in may start evaluations.")
@click.option(
    "--allowed-host", "allowed_hosts", multiple=True, help="A name it answers to, as that of a proxy; repeatable."
)
@click.option(
    "--prices",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="RAGBOARD_PRICES",
    help="TOML file with what models cost.",
)
@plugin_option
@store_option
def serve(
    store: Store, port: int | None, no_browser: bool, check: bool, unsafe_bind: bool, allow_evaluate: bool, **given: Any
) -> None:
    """Open the dashboard over what is kept, on this machine only.

    \b
    ragboard serve
    ragboard serve --port 9000 --no-browser
    ragboard serve --read-only --host 0.0.0.0 --unsafe-bind
    """
    alone = import_module("ragboard_dashboard.settings").is_loopback(given["host"])
    if not (alone or unsafe_bind):
        raise SettingError(
            f"--host {given['host']} lets other machines in, and there is no password:"
            " leave it out, or add --unsafe-bind if that is meant"
        )
    metrics_with(given["plugins"])
    if check:
        _check(store.folder, port, *(["--read-only"] if given["read_only"] else []))
    else:
        _serve(store, port, no_browser, evaluates=alone or allow_evaluate, **given)


@click.command()
@port_option
@browser_option
@check_option
@click.option("--remove", is_flag=True, help="Take the sample runs out of the store again, and stop.")
@store_option
def demo(store: Store, port: int | None, no_browser: bool, check: bool, remove: bool) -> None:
    """Keep and evaluate the sample runs, then open the dashboard.

    The runs carry the tag `sample`; `ragboard demo --remove` takes them out.
    """
    if remove:
        ours = {found for run in sample_runs() if (found := store.same_run(run))}
        ids = ours.intersection(store.runs_tagged(SAMPLE_TAG))
        store.remove_runs(ids)
        click.echo(f"{len(ids)} sample runs removed")
        return
    _evaluate_sample(store)
    if check:
        _check(store.folder, port)
    else:
        _serve(store, port, no_browser)


def _evaluate_sample(store: Store) -> None:
    panel = panel_named(JudgeOptions())
    for added in store.add_runs(sample_runs()):
        ref = RunRef(run_id=added.id, name=added.name, evaluation_id=None)
        evaluate_with_bar(store, ref, DEFAULT_METRICS, panel)
        click.echo(f"sample run {added.name}: {added.samples} samples, evaluated on the embedded judge (a heuristic)")


def _serve(store: Store, port: int | None, no_browser: bool, **given: Any) -> None:
    settings = import_module("ragboard_dashboard.settings").ServerSettings(store=store.folder, **given)
    import_module("ragboard_dashboard.server").serve(settings, port=port, open_browser=not no_browser)


def _check(folder: Path, port: int | None, *options: str) -> None:
    """Start the server in a process of its own, wait until it answers and reads the store, and stop it."""
    server = import_module("ragboard_dashboard.server")
    chosen = server.free_port(port)
    command = [*RAGBOARD, "serve", "--port", str(chosen), "--no-browser", "--store", str(folder), *options]
    with subprocess.Popen(command, env=os.environ | {"PYTHONUNBUFFERED": "1"}) as process:  # noqa: S603 - ourselves
        try:
            address = f"http://127.0.0.1:{chosen}"
            healthy = server.wait_until_healthy(address, HEALTHY_SECONDS)
            wrong = server.what_is_wrong(address) if healthy else ""
        finally:
            process.terminate()
    if not healthy:
        raise RagboardError(f"the dashboard did not answer on port {chosen} within {HEALTHY_SECONDS:.0f} s")
    if wrong:
        raise RagboardError(f"the dashboard answers, but {wrong}")
    click.echo("the dashboard answers")
