"""Tests of the connections that carry requests: what is kept open, and which responses can be read."""

from __future__ import annotations

import asyncio
import gzip
import shutil
import ssl
import subprocess
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.chat_server import ChatServer, status
from tests.core.judges.llm.test_no_http import GOOD, server

from ragboard.judges.llm import Endpoint, LlmJudge
from ragboard.judges.llm.connections import ConnectionFailedError, Connections, NotHttpError, RawResponse
from ragboard.tasks import Extraction, ExtractStatements, Failure

TASK = ExtractStatements(question="What is tea?", text="Tea is hot.")
OK = b"HTTP/1.1 200 OK\r\n"
ZIPPED = gzip.compress(b'{"a": 1}')
BODIES = {
    "with a length": OK + b'Content-Length: 8\r\n\r\n{"a": 1}',
    "in chunks": OK + b'Transfer-Encoding: chunked\r\n\r\n5;note=x\r\n{"a":\r\n3\r\n 1}\r\n0\r\nX-Sum: 1\r\n\r\n',
    "until the end": OK + b'\r\n{"a": 1}',
    "compressed": OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(ZIPPED), ZIPPED),
    "after an interim response": b'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{"a": 1}',
    "without a reason": b'HTTP/1.1 200\r\ncontent-length:8\r\n\r\n{"a": 1}',
    "of an older version": b'HTTP/1.0 200 OK\r\nContent-Length: 8\r\n\r\n{"a": 1}',
}
KEPT = {"with a length", "in chunks", "compressed", "after an interim response", "without a reason"}

Handle = Callable[[StreamReader, StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(handle: Handle, tls: ssl.SSLContext | None = None) -> AsyncGenerator[tuple[str, list[bytes]]]:
    """A server that calls `handle` for each request of a connection; its URL, and the connections' requests."""
    requests: list[bytes] = []

    async def serve(reader: StreamReader, writer: StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(head.lower().partition(b"content-length:")[2].split()[0])
                requests.append(head + await reader.readexactly(length))
                await handle(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        yield f"{'https' if tls else 'http'}://127.0.0.1:{port}/v1/chat?x=1", requests


def sends(response: bytes, *, closes: bool) -> Handle:
    async def handle(_reader: StreamReader, writer: StreamWriter) -> None:
        writer.write(response)
        await writer.drain()
        if closes:
            writer.close()
            await writer.wait_closed()

    return handle


async def post_twice(url: str, tls: ssl.SSLContext | None = None) -> tuple[list[RawResponse], Connections]:
    connections = Connections(url, [("Authorization", "Bearer k")], tls)
    replies = [await connections.post(b"{}"), await connections.post(b"[]")]
    return replies, connections


@pytest.mark.parametrize("kind", BODIES)
def test_each_form_of_body_is_read(kind: str) -> None:
    async def run() -> None:
        connections_made: set[object] = set()

        async def handle(reader: StreamReader, writer: StreamWriter) -> None:
            connections_made.add(writer.get_extra_info("peername"))
            await sends(BODIES[kind], closes=kind not in KEPT)(reader, writer)

        async with listening(handle) as (url, requests):
            replies, connections = await post_twice(url)
            connections.close()
        assert [(reply.status, reply.text) for reply in replies] == [(200, '{"a": 1}')] * 2
        assert len(connections_made) == (1 if kind in KEPT else 2)
        assert requests[0].startswith(b"POST /v1/chat?x=1 HTTP/1.1\r\nHost: 127.0.0.1:")
        assert b"\r\nAuthorization: Bearer k\r\n" in requests[0]
        assert [request[-2:] for request in requests] == [b"{}", b"[]"]

    asyncio.run(run())


def test_a_connection_that_the_server_closed_is_not_used_again() -> None:
    async def run() -> None:
        closed = asyncio.Event()

        async def handle(reader: StreamReader, writer: StreamWriter) -> None:
            await sends(BODIES["with a length"], closes=True)(reader, writer)
            closed.set()

        async with listening(handle) as (url, requests):
            connections = Connections(url, [], None)
            for _ in range(2):
                closed.clear()
                await connections.post(b"{}")
                await closed.wait()
                while not connections._idle[0].reader.at_eof():
                    await asyncio.sleep(0)
            connections.close()
        assert len(requests) == 2

    asyncio.run(run())


def test_an_old_connection_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragboard.judges.llm.connections.KEEP_ALIVE_SECONDS", -1.0)

    async def run() -> None:
        peers: set[object] = set()

        async def handle(reader: StreamReader, writer: StreamWriter) -> None:
            peers.add(writer.get_extra_info("peername"))
            await sends(BODIES["with a length"], closes=False)(reader, writer)

        async with listening(handle) as (url, _):
            _, connections = await post_twice(url)
            connections.close()
        assert len(peers) == 2

    asyncio.run(run())


@pytest.mark.parametrize(
    "sent",
    [b"", b"HTTP/1.1 200", OK + b"Content-Length: 9\r\n\r\n{}", OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{"],
)
def test_a_response_that_ends_early_may_be_billed(sent: bytes) -> None:
    async def run() -> None:
        async with listening(sends(sent, closes=True)) as (url, _):
            with pytest.raises(ConnectionFailedError) as caught:
                await Connections(url, [], None).post(b"{}")
        assert caught.value.sent

    asyncio.run(run())


def test_a_request_to_a_closed_port_is_not_billed() -> None:
    async def run() -> None:
        async with listening(sends(b"", closes=True)) as (url, _):
            pass
        with pytest.raises(ConnectionFailedError) as caught:
            await Connections(url, [], None).post(b"{}")
        assert not caught.value.sent

    asyncio.run(run())


@pytest.mark.parametrize(
    "sent",
    [
        OK + b"Content-Length: -1\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}more\r\n0\r\n\r\n",
        OK + b"X-A: " + b"a" * 100_000 + b"\r\n\r\n",
    ],
    ids=["a negative length", "a long chunk", "a huge header"],
)
def test_a_malformed_response_is_an_error(sent: bytes) -> None:
    async def run() -> None:
        async with listening(sends(sent, closes=False)) as (url, _):
            with pytest.raises(NotHttpError):
                await Connections(url, [], None).post(b"{}")

    asyncio.run(run())


def test_a_header_with_a_line_break_is_refused() -> None:
    with pytest.raises(ValueError, match="line break"):
        Connections("http://127.0.0.1/v1", [("X-A", "1\r\nX-B: 2")], None)


@pytest.mark.skipif(not shutil.which("openssl"), reason="needs openssl to make a certificate")
def test_the_certificate_of_a_server_is_checked(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    of_server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    of_server.load_cert_chain(certificate, key)

    async def run() -> None:
        async with listening(sends(BODIES["with a length"], closes=False), of_server) as (url, requests):
            replies, connections = await post_twice(url, ssl.create_default_context(cafile=certificate))
            connections.close()
            assert [reply.status for reply in replies] == [200, 200]
            assert len(requests) == 2
            with pytest.raises(ConnectionFailedError, match="certificate") as caught:
                await Connections(url, [], ssl.create_default_context()).post(b"{}")
            assert not caught.value.sent

    asyncio.run(run())


def test_a_redirect_is_followed(judge: LlmJudge, server: ChatServer) -> None:
    server.faults = [status(307, Location=f"{server.url}/chat/completions")] * 2
    (reply,) = asyncio.run(judge.answer([TASK]))
    assert isinstance(reply, Extraction)
    assert len(server.asked) == 3
    assert server.keys == ["Bearer sk-secret-key-123"] * 3


def test_an_error_after_a_redirect_is_that_of_the_second_server(judge: LlmJudge, server: ChatServer) -> None:
    server.faults = [status(307, Location=f"{server.url}/chat/completions"), status(400, "too many words")]
    (reply,) = asyncio.run(judge.answer([TASK]))
    assert isinstance(reply, Failure)
    assert "too many words" in reply.detail


@pytest.fixture
def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.usefixtures("without_proxies")
@pytest.mark.parametrize("name", ["http_proxy", "ALL_PROXY"])
def test_requests_go_through_the_proxy_of_the_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with server(GOOD) as (port, requests):
        monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
        (reply,) = asyncio.run(LlmJudge("m", Endpoint("http://chat.invalid/v1", "key")).answer([TASK]))
    assert isinstance(reply, Extraction)
    assert len(requests) == 1


@pytest.mark.usefixtures("without_proxies")
def test_a_server_that_needs_no_proxy_is_called_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    with server(GOOD) as (port, requests):
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        (reply,) = asyncio.run(LlmJudge("m", Endpoint(f"http://127.0.0.1:{port}/v1", "key")).answer([TASK]))
    assert isinstance(reply, Extraction)
    assert len(requests) == 1
