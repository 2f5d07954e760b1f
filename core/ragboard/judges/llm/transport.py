"""Send requests with less CPU time than the OpenAI SDK needs.

The SDK builds only the first request of each route, with its address and headers. Later requests reuse these, because
the SDK takes several times as long to build a request and parse its response as to send it.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import environ
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import orjson
import pydantic_core

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession, TCPConnector
    from openai import AsyncOpenAI
    from yarl import URL

__all__ = ["OpenClient", "RawResponse", "Transport", "tls_context", "to_json"]

OpenClient = Callable[..., "AsyncOpenAI"]
"""Returns an SDK client, given its `http_client`."""

KEEP_ALIVE_SECONDS = 4.0
"""Seconds after which an idle connection is closed. Many servers close it after five."""

_CLIENT_HEADERS = frozenset({"host", "connection", "content-length", "transfer-encoding", "accept-encoding"})
"""Headers that the HTTP client sets for each request, in lower case."""


@dataclass(frozen=True, slots=True)
class RawResponse:
    """The response of a server."""

    status: int
    headers: Mapping[str, str]
    text: str


@dataclass(frozen=True, slots=True)
class _Target:
    """The URL of a route, and a session with the headers of its requests."""

    url: URL
    http: ClientSession


class _StopBuildingError(Exception):
    """Stops a request after the SDK has built it, before it is sent."""


class _RequestRecorder:
    """A transport for an SDK client that keeps the request instead of sending it."""

    request: Any = None

    async def handle_async_request(self, request: Any) -> Any:
        """Keep the request, and raise _StopBuildingError."""
        self.request = request
        raise _StopBuildingError

    async def aclose(self) -> None:
        """Do nothing, because nothing is open."""


class Transport:
    """Posts JSON to paths below the base URL of an SDK client, with its headers, in one event loop."""

    def __init__(self, open_client: OpenClient) -> None:
        self._open_client = open_client
        self._connector: TCPConnector | None = None
        self._targets: dict[str, asyncio.Future[_Target]] = {}

    async def post(self, route: str, body: Mapping[str, Any]) -> RawResponse:
        """Send a request and return the response, with any status. Raises ClientError if there is no response."""
        if route not in self._targets:
            self._targets[route] = asyncio.ensure_future(self._open_target(route))
        pending = self._targets[route]
        target = pending.result() if pending.done() else await asyncio.shield(pending)
        async with target.http.post(target.url, data=to_json(body)) as response:
            return RawResponse(response.status, response.headers, await _text(response))

    async def close(self) -> None:
        """Close all connections."""
        for target in await asyncio.gather(*self._targets.values(), return_exceptions=True):
            if isinstance(target, _Target):
                await target.http.close()
        if self._connector:
            await self._connector.close()

    async def _open_target(self, route: str) -> _Target:
        from aiohttp import ClientSession, ClientTimeout, TCPConnector
        from yarl import URL

        url, headers = await self._build_request(route)
        self._connector = self._connector or TCPConnector(
            limit=0, ssl=_tls_for(url), keepalive_timeout=KEEP_ALIVE_SECONDS
        )
        http = ClientSession(
            headers=headers,
            connector=self._connector,
            connector_owner=False,
            timeout=ClientTimeout(total=None),
            proxy=_proxy_of(url),
        )
        return _Target(URL(url, encoded=True), http)

    async def _build_request(self, route: str) -> tuple[str, list[tuple[str, str]]]:
        """Let the SDK build a request, and return the request's address and headers."""
        from openai import APIConnectionError, DefaultAsyncHttpxClient

        transport: Any = _RequestRecorder()
        async with self._open_client(http_client=DefaultAsyncHttpxClient(transport=transport)) as client:
            try:
                await client.post(route, body={}, cast_to=str)
            except (_StopBuildingError, APIConnectionError):
                if not transport.request:
                    raise
        request = transport.request
        given = request.headers.multi_items()
        headers = [(name, value) for name, value in given if name.lower() not in _CLIENT_HEADERS]
        return str(request.url), headers


async def _text(response: ClientResponse) -> str:
    """Return the body as text. UTF-8 is decoded here, because aiohttp parses the content type of every response."""
    if "charset" in response.headers.get("Content-Type", "").lower():
        return await response.text(errors="replace")
    return (await response.read()).decode(errors="replace")


def to_json(value: object) -> bytes:
    """Return the value as JSON. Raises ValueError for a text with a lone surrogate."""
    try:
        return orjson.dumps(value)
    except TypeError:  # an integer above 64 bits
        return pydantic_core.to_json(value)


def _tls_for(url: str) -> ssl.SSLContext | bool:
    """Return the TLS context for requests to an address; True for aiohttp's own.

    HTTP without a proxy needs no TLS, except after a redirect. On Linux, aiohttp's context trusts the same certificates
    and exists already, while `tls_context` takes 30 ms.
    """
    if sys.platform == "linux" and url.startswith("http:") and not _proxy_of(url):
        return True
    return tls_context()


def tls_context() -> ssl.SSLContext:
    """Return a TLS context with the certificates of `SSL_CERT_FILE` and `SSL_CERT_DIR`, by default the system's."""
    given = environ.get("SSL_CERT_FILE"), environ.get("SSL_CERT_DIR")
    if any(given) or sys.platform == "linux":
        return ssl.create_default_context(cafile=given[0], capath=given[1])
    from truststore import SSLContext

    return SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _proxy_of(url: str) -> str | None:
    """Return the proxy for an address, from the variables `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`."""
    parts, proxies = urlsplit(url), getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"
