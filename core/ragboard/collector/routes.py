"""The HTTP route for traces, and a server with only this route."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ragboard.collector.collector import Collector, QueueFullError
from ragboard.collector.requests import (
    JSON,
    PROTOBUF,
    BadRequestError,
    Decoded,
    attribute_filter,
    decode_request,
    encode_error,
    encode_success,
    unzip,
)
from ragboard.collector.token import is_authorized
from ragboard.errors import RagboardError, SettingError
from ragboard.hosts import is_loopback

__all__ = ["PATH", "EndpointOptions", "TraceEndpoint", "serve_collector"]

PATH = "/v1/traces"
MAX_BODY = 20 * 2**20
"""Maximum bytes of a request, before and after decompression."""
MAX_REQUESTS = 32
"""Maximum number of concurrent requests."""
MAX_DECODED = 2
"""Maximum number of requests that are decoded concurrently."""
MAX_DISCARDED = 200 * 2**20
"""Maximum bytes to read of a body that is refused."""
BODY_SECONDS = 30.0
"""Maximum seconds until a body has arrived."""
RETRY_AFTER = "2"
"""Seconds after which a refused request may be sent again."""

log = logging.getLogger("ragboard.collector")


class RefusedError(Exception):
    """A request is refused with this HTTP status. The message is one line."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


@dataclass(frozen=True, kw_only=True)
class EndpointOptions:
    """Who may send traces, and which attributes are stored."""

    token: str = ""
    """The token that senders must use. If empty, only programs on this machine can send."""
    drop: Sequence[str] = ()
    """Patterns for the names of attributes that are not stored."""
    max_body: int = MAX_BODY
    """Maximum bytes of a request."""


class TraceEndpoint:
    """Handles `POST /v1/traces` of OTLP/HTTP: protobuf or JSON, maybe with gzip."""

    def __init__(self, collector: Callable[[], Collector], options: EndpointOptions) -> None:
        """`collector` returns a running collector, or raises RagboardError if it cannot start."""
        self._collector = collector
        self._options = options
        self._kept = attribute_filter(options.drop)
        self._decoding = asyncio.Semaphore(MAX_DECODED)
        self._requests = 0

    @property
    def route(self) -> Route:
        """The route of this endpoint."""
        return Route(PATH, self.answer, methods=["POST"])

    async def answer(self, request: Request) -> Response:
        """Handle a request."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        self._requests += 1
        try:
            decoded = await self._receive(request, kind)
        except RefusedError as error:
            body = encode_error(kind, str(error))
            return Response(body, error.status, error.headers, media_type=PROTOBUF if kind == PROTOBUF else JSON)
        except ClientDisconnect:
            return Response(status_code=400)
        finally:
            self._requests -= 1
        message = f"{decoded.rejected} spans rejected, the first: {decoded.problem}" if decoded.rejected else ""
        return Response(encode_success(kind, decoded.rejected, message), media_type=kind)

    async def _receive(self, request: Request, kind: str) -> Decoded:
        """Decode the spans of a request, and wait until they are on disk. Raises RefusedError."""
        try:
            self._check_headers(request, kind)
            collector = await run_in_threadpool(self._collector)
        except RefusedError:
            await self._read(request, 0)  # many clients read the response only after they have sent the body
            raise
        except RagboardError as error:
            log.warning("%s", error)
            raise RefusedError(503, "traces cannot be collected now; see the server's log", Retry_After="30") from error
        body = await self._body(request)
        async with self._decoding:
            decoded = await run_in_threadpool(self._decode, body, kind)
        if decoded.spans:
            try:
                await asyncio.wrap_future(await run_in_threadpool(collector.submit, decoded.spans))
            except QueueFullError:
                message = "the queue is full; send this request again later"
                raise RefusedError(503, message, Retry_After=RETRY_AFTER) from None
            except OSError as error:
                log.warning("spans cannot be written: %s", error)
                raise RefusedError(503, "the spans cannot be written to disk now", Retry_After="30") from error
        return decoded

    def _check_headers(self, request: Request, kind: str) -> None:
        """Raise RefusedError for a request that can be refused without its body."""
        self._check_sender(request)
        if kind not in (JSON, PROTOBUF):
            raise RefusedError(415, f"Content-Type is {kind[:50]!a}, expected {PROTOBUF} or {JSON}")
        if self._requests > MAX_REQUESTS:
            raise RefusedError(503, "too many requests at a time; send this one again later", Retry_After=RETRY_AFTER)

    def _check_sender(self, request: Request) -> None:
        """Raise RefusedError if the token is wrong or, if no token is set, if the sender is not on this machine.

        Requests of web pages (with an `Origin`) are also refused if no token is set.
        """
        if self._options.token:
            if not is_authorized(self._options.token, request.headers.get("authorization", "")):
                message = "the token is missing or wrong: send Authorization: Bearer TOKEN"
                raise RefusedError(401, message, WWW_Authenticate="Bearer")
            return
        client = request.client.host if request.client else ""
        if (
            not (is_loopback(client) and is_loopback(_name(request.headers.get("host", ""))))
            or "origin" in request.headers
        ):
            message = "without a token, only programs on this machine can send traces: set RAGBOARD_TOKEN at the server"
            raise RefusedError(401, message, WWW_Authenticate="Bearer")

    async def _body(self, request: Request) -> bytes:
        """Return the decompressed body. Raises RefusedError if it is too large or malformed, or arrives too slowly."""
        limit = self._options.max_body
        body = await self._read(request, limit)
        if body is None:
            raise self._too_large()
        encoding = request.headers.get("content-encoding", "identity").strip().lower()
        if encoding == "gzip":
            try:
                return await run_in_threadpool(unzip, body, limit)
            except OverflowError:
                raise self._too_large() from None
            except BadRequestError as error:
                raise RefusedError(400, str(error)) from error
        if encoding != "identity":
            raise RefusedError(415, f"Content-Encoding is {encoding[:50]!a}, expected gzip or none")
        return body

    async def _read(self, request: Request, limit: int) -> bytes | None:
        """Return the body as it was sent; None if it has more than `limit` bytes.

        Reads and discards up to `MAX_DISCARDED` bytes of a larger body, so that the client can read the response.
        """
        body, size = bytearray(), 0
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for chunk in request.stream():
                    size += len(chunk)
                    if size <= limit:
                        body += chunk
                    elif size > MAX_DISCARDED:
                        break
        except TimeoutError:
            raise RefusedError(408, f"the body did not arrive within {BODY_SECONDS:.0f} s") from None
        return bytes(body) if size <= limit else None

    def _too_large(self) -> RefusedError:
        return RefusedError(413, f"the body is larger than {self._options.max_body:,} bytes; send smaller batches")

    def _decode(self, body: bytes, kind: str) -> Decoded:
        try:
            return decode_request(body, kind, self._kept)
        except BadRequestError as error:
            raise RefusedError(400, f"malformed request: {error}") from error


def _name(host: str) -> str:
    """Return the host name in a `Host` header, without the port; empty if the header is invalid."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def collector_app(collector: Collector, options: EndpointOptions) -> Starlette:
    """Return an application that only collects traces. It stops the collector when it shuts down."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            await run_in_threadpool(collector.stop)

    health = Route("/health", lambda _request: JSONResponse({"status": "ok"}), methods=["GET"])
    return Starlette(routes=[TraceEndpoint(lambda: collector, options).route, health], lifespan=lifespan)


def serve_collector(collector: Collector, options: EndpointOptions, *, host: str, port: int) -> None:
    """Print the URL and collect traces until interrupted.

    Raises SettingError if the port cannot be used, and the errors of `Collector.start`.
    """
    import uvicorn

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise SettingError(f"cannot listen on {host} port {port} ({error.strerror}); choose another --port") from error
    with listening:
        collector.start()
        shown = f"[{host}]" if ":" in host else host
        print(f"ragboard: send traces to http://{shown}:{port}{PATH} (stop with Ctrl-C)", flush=True)
        config = uvicorn.Config(collector_app(collector, options), log_level="warning", server_header=False)
        uvicorn.Server(config).run(sockets=[listening])
