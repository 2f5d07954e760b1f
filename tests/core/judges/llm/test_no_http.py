"""Tests of responses that are not HTTP: they are retried."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress

import pytest
from click.testing import CliRunner
from tests.core.conftest import make_run

from ragboard import Store
from ragboard.cli import main
from ragboard.judges.llm import Endpoint, LlmJudge
from ragboard.tasks import Extraction, ExtractStatements, Failure

TASK = ExtractStatements(question="What is tea?", text="Tea is hot.")
REPLY = {"statements": [{"statement": "Tea is hot.", "quote": "Tea is hot."}], "refuses": False}
MESSAGE = {"choices": [{"message": {"content": json.dumps(REPLY)}, "finish_reason": "stop"}]}
BODY = json.dumps(MESSAGE).encode()
GOOD = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"

SENT = {
    "a bad status line": b"FOO BAR BAZ\r\n\r\n",
    "a bad status": b"HTTP/1.1 abc OK\r\n\r\n",
    "a header over 8 KB": OK + b"X-A: " + b"a" * 20_000 + b"\r\nContent-Length: 2\r\n\r\n{}",
    "another protocol": b"SSH-2.0-OpenSSH_9.6\r\n",
    "binary": b"\x00\x00\x12\x04\x00\x00\x00\x00\x00",
    "a bad length": OK + b"Content-Length: abc\r\n\r\n{}",
    "a bad chunk": OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
    "a header without a colon": OK + b"foo\r\nContent-Length: 2\r\n\r\n{}",
    "bad gzip": OK + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
    "nothing": b"",
}


async def no_pause(_: float) -> None:
    return None


@contextmanager
def server(*sent: bytes) -> Generator[tuple[int, list[int]]]:
    """Sends one of these to each request in turn, the last for ever; its port, and a number for each request."""
    requests: list[int] = []
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with closing(connection):
                    read_request(connection)
                    requests.append(len(requests))
                    connection.sendall(sent[min(len(requests), len(sent)) - 1])

    threading.Thread(target=serve, daemon=True).start()
    with closing(listening):
        yield listening.getsockname()[1], requests


def read_request(connection: socket.socket) -> None:
    """All of it: a connection that is closed with bytes unread is reset."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65536)
    head, _, body = received.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split()[0])
    while len(body) < length:
        body += connection.recv(65536)


@pytest.mark.parametrize("sent", SENT.values(), ids=SENT)
def test_it_is_asked_again_and_answers(sent: bytes) -> None:
    with server(sent, GOOD) as (port, requests):
        judge = LlmJudge("m", Endpoint(f"http://127.0.0.1:{port}/v1", "key", sleep=no_pause))
        (reply,) = asyncio.run(judge.answer([TASK]))
    assert isinstance(reply, Extraction)
    assert len(requests) == 2


@pytest.mark.parametrize("sent", SENT.values(), ids=SENT)
def test_a_repeated_fault_is_a_failure_with_its_reason(sent: bytes) -> None:
    with server(sent) as (port, requests):
        judge = LlmJudge("m", Endpoint(f"http://127.0.0.1:{port}/v1", "key", sleep=no_pause))
        (reply,) = asyncio.run(judge.answer([TASK]))
    assert isinstance(reply, Failure)
    assert reply.detail.endswith("6 times")
    assert len(requests) == 6


def test_an_evaluation_ends_with_scores_that_are_missing_for_a_reason(store: Store) -> None:
    store.add_runs([make_run(samples=1)])
    with server(SENT["another protocol"]) as (port, requests):
        given = ["--judge", "openai:m", "--base-url", f"http://127.0.0.1:{port}/v1", "--metrics", "ragas.faithfulness"]
        done = CliRunner(env={"OPENAI_API_KEY": "key"}).invoke(
            main, ["evaluate", "run", "--store", str(store.folder), *given, "--max-calls", "3"]
        )
    assert done.exit_code == 3, done.output
    assert len(requests) == 3
    assert "stopped: the limit of 3 calls is reached" in done.stderr
