"""Post JSON over HTTP/1.1 with less CPU time than general HTTP clients need.

It supports what the API of a chat model needs: POST requests, keep-alive connections, TLS, and responses of any length
that may be chunked or compressed with gzip. `ragboard.judges.llm.transport` leaves proxies and redirects to the SDK.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import time
import zlib
from asyncio import IncompleteReadError, LimitOverrunError, StreamReader, StreamWriter
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

__all__ = ["ConnectionFailedError", "Connections", "NotHttpError", "RawResponse"]

KEEP_ALIVE_SECONDS = 4.0
"""Seconds after which an idle connection is closed. Many servers close it after five."""

HAPPY_EYEBALLS_SECONDS = 0.25
"""Seconds after which a host's next address is tried in parallel."""

_GZIP = 16 + zlib.MAX_WBITS

_STATUS = re.compile(rb"HTTP/1\.(\d) (\d{3})(?: .*)?", re.DOTALL)
_NO_HEADER = re.compile(r"[\r\n\0]")
"""Matches characters that a header must not contain."""


class ConnectionFailedError(Exception):
    """The connection could not be opened, or it broke. `sent`: the server may have received the request."""

    def __init__(self, message: str, *, sent: bool) -> None:
        self.sent = sent
        super().__init__(message)


class NotHttpError(Exception):
    """What the server sent is not an HTTP response."""


@dataclass(frozen=True, slots=True)
class RawResponse:
    """The response of a server."""

    status: int
    headers: Mapping[str, str]
    """The headers by their names in lower case."""
    text: str


@dataclass(frozen=True, slots=True)
class _Connection:
    reader: StreamReader
    writer: StreamWriter
    used: float
    """The time of its last response."""

    def is_usable(self, now: float) -> bool:
        return not (self.reader.at_eof() or self.writer.is_closing() or now - self.used > KEEP_ALIVE_SECONDS)

    def close(self) -> None:
        self.writer.transport.abort()


class Connections:
    """The connections to one URL, with the headers of its requests, in one event loop."""

    def __init__(self, url: str, headers: Iterable[tuple[str, str]], tls: ssl.SSLContext | None) -> None:
        """`tls` is needed for `https`. Raises ValueError for an invalid header."""
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._tls = tls if parts.scheme == "https" else None
        path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        lines = [f"{name}: {value}" for name, value in (("Host", parts.netloc.rpartition("@")[2]), *headers)]
        if any(map(_NO_HEADER.search, lines)):
            raise ValueError("a header contains a line break")
        head = "\r\n".join((f"POST {path} HTTP/1.1", *lines, "Accept-Encoding: gzip", "Content-Length: "))
        self._head = head.encode("latin-1")
        self._idle: deque[_Connection] = deque()
        """The connections without a request, the one that was used last at the end."""

    async def post(self, body: bytes) -> RawResponse:
        """Send a request and return the response, with any status.

        Raises ConnectionFailedError or NotHttpError if there is no response.
        """
        reader, writer = self._take_idle() or await self._open()
        try:
            writer.write(b"%b%d\r\n\r\n%b" % (self._head, len(body), body))
            response, keep = await _read_response(reader)
        except BaseException:
            writer.transport.abort()
            raise
        if keep:
            self._idle.append(_Connection(reader, writer, time.monotonic()))
        else:
            writer.transport.abort()
        return response

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._idle.pop().close()

    def _take_idle(self) -> tuple[StreamReader, StreamWriter] | None:
        """Return the connection that was used last; None if no connection is idle. Unusable ones are closed."""
        now = time.monotonic()
        while self._idle and not self._idle[0].is_usable(now):
            self._idle.popleft().close()
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable(now):
                return connection.reader, connection.writer
            connection.close()
        return None

    async def _open(self) -> tuple[StreamReader, StreamWriter]:
        try:
            return await asyncio.open_connection(
                self._host, self._port, ssl=self._tls, happy_eyeballs_delay=HAPPY_EYEBALLS_SECONDS
            )
        except OSError as error:
            raise ConnectionFailedError(str(error), sent=False) from error


async def _read_response(reader: StreamReader) -> tuple[RawResponse, bool]:
    """Read a response. Return it, and whether the connection can be used again."""
    try:
        status, headers, keep = 100, dict[str, str](), True
        while status < 200:  # interim responses
            status, headers, keep = _parse_head(await reader.readuntil(b"\r\n\r\n"))
        length = headers.get("content-length")
        if status in (204, 304):
            body = b""
        elif headers.get("transfer-encoding", "").lower().endswith("chunked"):
            body = await _read_chunks(reader)
        elif length is not None:
            body = await reader.readexactly(int(length))
        else:
            body, keep = await reader.read(), False
        if headers.get("content-encoding", "").lower() == "gzip":
            body = zlib.decompress(body, _GZIP)
    except IncompleteReadError as error:
        raise ConnectionFailedError("the server closed it before the end of the response", sent=True) from error
    except OSError as error:
        raise ConnectionFailedError(str(error), sent=True) from error
    except (LimitOverrunError, ValueError, zlib.error) as error:
        raise NotHttpError(str(error)) from error
    return RawResponse(status, headers, body.decode(errors="replace")), keep


def _parse_head(head: bytes) -> tuple[int, dict[str, str], bool]:
    """Return the status, the headers, and whether the connection stays open. Raises ValueError for an invalid head."""
    first, _, rest = head.removesuffix(b"\r\n\r\n").partition(b"\r\n")
    matched = _STATUS.fullmatch(first)
    if not matched:
        raise ValueError(f"invalid status line {first[:80]!r}")
    headers: dict[str, str] = {}
    for line in rest.decode("latin-1").split("\r\n") if rest else ():
        name, colon, value = line.partition(":")
        if not colon:
            raise ValueError(f"invalid header {line[:80]!r}")
        headers[name.lower()] = value.strip()
    keep = matched[1] != b"0" and headers.get("connection", "").lower() != "close"
    return int(matched[2]), headers, keep


async def _read_chunks(reader: StreamReader) -> bytes:
    """Read a chunked body, and skip its trailers. Raises ValueError for an invalid chunk."""
    chunks: list[bytes] = []
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        chunks.append(await reader.readexactly(size))
        if await reader.readexactly(2) != b"\r\n":
            raise ValueError("a chunk has the wrong length")
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass
    return b"".join(chunks)
