"""A collector for libraries that send traces, and the OpenTelemetry SDK that sends to it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.error import URLError
from urllib.request import urlopen

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from ragboard import Sample, Store
from ragboard.errors import NotFoundError

__all__ = ["collected", "sending"]

SECONDS = 60.0
ENDPOINT = "TRACES_ENDPOINT"
"""The environment variable with the URL of a server whose store is in this folder."""


@contextmanager
def sending(service: str) -> Iterator[TracerProvider]:
    """Yield a provider that sends traces to be stored in this folder, and wait at the end until they are.

    It sends to the endpoint that the environment names, else to a collector that is started here.
    """
    with _endpoint() as endpoint:
        provider = TracerProvider(resource=Resource({"service.name": service, "service.version": "2"}))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint)))
        yield provider
        provider.shutdown()
        collected(f"{service} 2", 1)


@contextmanager
def _endpoint() -> Iterator[str]:
    if ENDPOINT in os.environ:
        yield os.environ[ENDPOINT]
        return
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with subprocess.Popen([sys.executable, "-m", "ragboard", "collect", "--port", str(port)]) as process:
        try:
            wait_until_healthy(port)
            yield f"http://127.0.0.1:{port}/v1/traces"
        finally:
            process.terminate()


def wait_until_healthy(port: int) -> None:
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        try:
            with urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.1)
    raise TimeoutError


def collected(run: str, count: int) -> list[Sample]:
    """The samples of a run, as soon as it has so many."""
    store, until = Store(".ragboard"), time.monotonic() + SECONDS
    while time.monotonic() < until:
        try:
            found = [sample for _, sample in store.samples(store.resolve(run).run_id)]
        except NotFoundError:
            found = []
        if len(found) >= count:
            return found
        time.sleep(0.2)
    raise TimeoutError(f"{run} has no {count} samples")
