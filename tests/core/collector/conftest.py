"""A collector in its own process, and requests to it."""

from __future__ import annotations

import gzip
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest

from ragboard import Sample, Store

START_SECONDS = 60.0
T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Server:
    """A running `ragboard collect`."""

    process: subprocess.Popen[str]
    address: str
    store: Path

    def post(self, body: Any, *, path: str = "/v1/traces", zipped: bool = False, **headers: str) -> Answer:
        """Send bytes, or anything else as JSON; in names of headers `_` stands for a hyphen."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Content-Type": "application/json"} | {name.replace("_", "-"): text for name, text in headers.items()}
        if zipped:
            data, sent = gzip.compress(data), sent | {"Content-Encoding": "gzip"}
        try:
            with urlopen(Request(self.address + path, data=data, headers=sent), timeout=60) as reply:
                return Answer(reply.status, reply.read(), dict(reply.headers))
        except HTTPError as error:
            return Answer(error.code, error.read(), dict(error.headers))

    def samples(self, run: str, count: int) -> list[Sample]:
        """The samples of a run, as soon as it has so many."""
        store = Store(self.store)

        def read() -> list[Sample]:
            found = [ref for ref in [run] if self.has_run(ref)]
            return [sample for _, sample in store.samples(store.resolve(run).run_id)] if found else []

        return wait_for(read, lambda found: len(found) >= count)

    def has_run(self, run: str) -> bool:
        with Store(self.store).database.read() as connection:
            return bool(connection.execute("SELECT 1 FROM runs WHERE name = ?", [run]).fetchall())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def wait_for(read: Callable[[], T], is_done: Callable[[T], bool]) -> T:
    """Read again until it is done."""
    until = time.monotonic() + START_SECONDS
    while not is_done(found := read()):
        assert time.monotonic() < until, found
        time.sleep(0.1)
    return found


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def collecting(store: Path, *options: str, command: str = "collect", token: str = "") -> Iterator[Server]:
    """Start a collector for a store, and stop it at the end."""
    port = free_port()
    words = [sys.executable, "-m", "ragboard", command, "--port", str(port), "--store", str(store), *options]
    environment = os.environ | ({"RAGBOARD_TOKEN": token} if token else {})
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        try:
            address = f"http://127.0.0.1:{port}"
            wait_for(lambda: is_healthy(address) or process.poll() is not None, bool)
            assert process.poll() is None, process.stdout and process.stdout.read()
            yield Server(process, address, store)
        finally:
            process.terminate()


def is_healthy(address: str) -> bool:
    try:
        with urlopen(f"{address}/health", timeout=5) as reply:
            return bool(reply.status == 200)
    except (URLError, OSError):
        return False


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with collecting(tmp_path / "store", "--quiet-seconds", "0.3") as server:
        yield server
