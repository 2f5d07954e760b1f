"""Commands that start the dashboard and the MCP server."""

from __future__ import annotations

import os
import subprocess
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragboard.cli.collect import trace_options
from ragboard.cli.evaluate import evaluate_with_bar
from ragboard.cli.options import plugin_option, store_option
from ragboard.demo import load_demo, remove_demo
from ragboard.errors import RagboardError, SettingError
from ragboard.evaluation.background import RAGBOARD
from ragboard.hosts import is_loopback
from ragboard.metrics.plugins import metrics_with
from ragboard.store import Store

if TYPE_CHECKING:
    from ragboard.collector import EndpointOptions

__all__ = ["demo", "mcp", "serve"]

STARTUP_TIMEOUT = 90.0
"""Maximum seconds that `--check` waits for the dashboard."""

port_option = click.option(
    "--port", type=click.IntRange(1, 65535), help="Port to listen on.  [default: the first free port from 8501]"
)
browser_option = click.option("--no-browser", is_flag=True, help="Do not open a browser.")
check_option = click.option("--check", is_flag=True, help="Start, check that the dashboard answers, and exit.")


@click.command()
@port_option
@browser_option
@check_option
@click.option(
    "--read-only",
    is_flag=True,
    help="Disable everything that changes the store: uploads, evaluations, renaming, labelling.",
)
@click.option(
    "--max-upload",
    type=click.IntRange(1),
    default=200,
    show_default=True,
    help="Maximum size of an upload in megabytes.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--unsafe-bind", is_flag=True, help="Allow access from other machines, without a password.")
@click.option("--allow-evaluate", is_flag=True, help="With --unsafe-bind: allow every visitor to start evaluations.")
@click.option(
    "--allowed-host", "allowed_hosts", multiple=True, help="Host name to accept, such as a proxy's; repeatable."
)
@click.option(
    "--prices",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="RAGBOARD_PRICES",
    help="TOML file with model prices.",
)
@trace_options
@plugin_option
@store_option
def serve(
    store: Store,
    port: int | None,
    no_browser: bool,
    check: bool,
    unsafe_bind: bool,
    allow_evaluate: bool,
    token_file: Path | None,
    drop: tuple[str, ...],
    **options: Any,
) -> None:
    """Start the dashboard. By default, only this machine can reach it.

    The server also collects traces, as `ragboard collect` does: send them to /v1/traces. Other machines need a token.

    \b
    ragboard serve
    ragboard serve --port 9000 --no-browser
    ragboard serve --read-only --host 0.0.0.0 --unsafe-bind
    """
    local_only = is_loopback(options["host"])
    if not (local_only or unsafe_bind):
        raise SettingError(
            f"--host {options['host']} opens the dashboard to other machines, without a password."
            " Remove --host, or add --unsafe-bind to allow this"
        )
    metrics_with(options["plugins"])  # raises if a plugin is invalid
    from ragboard.collector import EndpointOptions, read_token

    traces = None if options["read_only"] else EndpointOptions(token=read_token(token_file), drop=drop)
    if check:
        _check(store.folder, port, *(["--read-only"] if options["read_only"] else []))
    else:
        _serve(store, port, no_browser, traces, evaluates=local_only or allow_evaluate, **options)


@click.command()
@port_option
@browser_option
@check_option
@click.option("--remove", is_flag=True, help="Delete the sample runs from the store and exit.")
@store_option
def demo(store: Store, port: int | None, no_browser: bool, check: bool, remove: bool) -> None:
    """Load the sample runs with their verdicts, then open the dashboard.

    The runs have the tag `sample`; `ragboard demo --remove` deletes them.
    """
    if remove:
        click.echo(f"{remove_demo(store)} sample runs removed")
        return
    for done in load_demo(store, evaluate_with_bar):
        click.echo(done)
    if check:
        _check(store.folder, port)
    else:
        _serve(store, port, no_browser)


@click.command()
@click.option("--http", is_flag=True, help="Serve streamable HTTP at /mcp, instead of standard input and output.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8600, show_default=True, help="Port; 0 means any free port."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--unsafe-bind", is_flag=True, help="Allow access from other machines, without a password.")
@click.option(
    "--allowed-host", "allowed_hosts", multiple=True, help="Host name to accept, such as a proxy's; repeatable."
)
@click.option(
    "--dashboard",
    default="http://127.0.0.1:8501",
    show_default=True,
    metavar="URL",
    help="URL of the dashboard (`ragboard serve`); results link to its pages.",
)
@store_option
def mcp(
    store: Store, http: bool, port: int, host: str, unsafe_bind: bool, allowed_hosts: tuple[str, ...], dashboard: str
) -> None:
    """Let an assistant read the store over the Model Context Protocol (MCP).

    The assistant can list and read runs, samples and unsupported statements, compare and diagnose runs, and query the
    store. It cannot change anything. Configure the assistant to start this command, or to connect to the URL that
    --http prints.

    \b
    claude mcp add evals -- ragboard mcp --store /path/to/.ragboard
    ragboard mcp --http --port 8600
    """
    try:
        from ragboard.mcp_server import build_server, serve_http
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mcp":
            raise
        raise SettingError("this command needs the MCP SDK: pip install 'ragboard[mcp]'") from error
    if not http:
        build_server(store, dashboard).run("stdio")
        return
    if not (unsafe_bind or is_loopback(host)):
        raise SettingError(
            f"--host {host} lets other machines read the store, without a password."
            " Remove --host, or add --unsafe-bind to allow this"
        )
    serve_http(build_server(store, dashboard), host=host, port=port, allowed_hosts=allowed_hosts)


def _serve(
    store: Store, port: int | None, no_browser: bool, traces: EndpointOptions | None = None, **options: Any
) -> None:
    settings = import_module("ragboard_dashboard.settings").ServerSettings(store=store.folder, **options)
    import_module("ragboard_dashboard.server").serve(settings, port=port, open_browser=not no_browser, traces=traces)


def _check(folder: Path, port: int | None, *options: str) -> None:
    """Start the dashboard in a separate process, check that it answers and can read the store, and stop it."""
    server = import_module("ragboard_dashboard.server")
    chosen = server.free_port(port)
    command = [*RAGBOARD, "serve", "--port", str(chosen), "--no-browser", "--store", str(folder), *options]
    with subprocess.Popen(command, env=os.environ | {"PYTHONUNBUFFERED": "1"}) as process:  # noqa: S603 - this is ragboard
        try:
            address = f"http://127.0.0.1:{chosen}"
            healthy = server.wait_until_healthy(address, STARTUP_TIMEOUT)
            problem = server.find_problem(address) if healthy else ""
        finally:
            process.terminate()
    if not healthy:
        raise RagboardError(f"the dashboard did not answer on port {chosen} within {STARTUP_TIMEOUT:.0f} s")
    if problem:
        raise RagboardError(f"the dashboard answers, but {problem}")
    click.echo("the dashboard answers")
