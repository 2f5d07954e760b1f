"""`ragboard collect`: collect traces."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import click

from ragboard.cli.store_option import store_option
from ragboard.errors import SettingError
from ragboard.hosts import is_loopback
from ragboard.store import Store

__all__ = ["collect", "trace_options"]

PORT = 4318
"""The port of OTLP over HTTP."""


def trace_options(command: Any) -> Any:
    """Add the options --token-file and --drop to a command."""
    token = click.option(
        "--token-file",
        type=click.Path(path_type=Path, dir_okay=False),
        help="File with the token that senders of traces must use.  [default: the variable RAGBOARD_TOKEN]",
    )
    drop = click.option(
        "--drop",
        multiple=True,
        metavar="PATTERN",
        help="Do not store attributes with a matching name, such as 'session.*'; repeatable.",
    )
    return token(drop(command))


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), default=PORT, show_default=True, help="Port to listen on.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@trace_options
@click.option(
    "--quiet-seconds",
    type=click.FloatRange(0, 600),
    default=2.0,
    show_default=True,
    help="Store a trace when its root span has arrived and no new span came for this many seconds.",
)
@store_option
def collect(
    store: Store, port: int, host: str, token_file: Path | None, drop: tuple[str, ...], quiet_seconds: float
) -> None:
    """Collect OpenTelemetry traces (OTLP/HTTP) of a RAG system. Each trace becomes a sample of a run.

    `ragboard serve` starts the dashboard and also collects traces. Without a token, only programs on this machine can
    send traces.

    \b
    ragboard collect
    RAGBOARD_TOKEN=... ragboard collect --host 0.0.0.0
    """
    from ragboard.collector import (
        Collector,
        CollectorOptions,
        EndpointOptions,
        TraceLimits,
        read_token,
        serve_collector,
    )

    token = read_token(token_file)
    if not (token or is_loopback(host)):
        raise SettingError(
            f"--host {host} lets other machines send traces, so it requires a token: set RAGBOARD_TOKEN or"
            " --token-file, or leave out --host"
        )
    logging.basicConfig(format="ragboard: %(message)s", level=logging.WARNING)
    logging.getLogger("ragboard.collector").setLevel(logging.INFO)
    options = CollectorOptions(traces=TraceLimits(quiet_seconds=quiet_seconds))
    serve_collector(Collector(store, options), EndpointOptions(token=token, drop=drop), host=host, port=port)
