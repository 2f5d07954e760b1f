"""A collector for libraries that send traces, and the OpenTelemetry SDK that sends to it."""

from __future__ import annotations

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


@contextmanager
def sending(service: str) -> Iterator[TracerProvider]:
    """Start `ragboard collect` for the store in this folder, and yield a provider that sends to it at the end."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with subprocess.Popen([sys.executable, "-m", "ragboard", "collect", "--port", str(port)]) as process:
        try:
            wait_until_healthy(port)
            provider = TracerProvider(resource=Resource({"service.name": service, "service.version": "2"}))
            exporter = OTLPSpanExporter(f"http://127.0.0.1:{port}/v1/traces")
            provider.add_span_processor(BatchSpanProcessor(exporter))
            yield provider
            provider.shutdown()
            collected(f"{service} 2", 1)
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
