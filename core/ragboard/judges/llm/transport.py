"""Send requests with less CPU time than the OpenAI SDK needs.

The SDK builds only the first request of each route, with its address and headers. Later requests reuse these, because
the SDK takes several times as long to build a request and parse its response as to send it. The SDK sends all requests
if there is a proxy, and those that the server redirects.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import Callable, Mapping
from os import environ
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from pydantic_core import to_json

from ragboard.judges.llm.connections import ConnectionFailedError, Connections, RawResponse

if TYPE_CHECKING:
    from openai import APIConnectionError, AsyncOpenAI

__all__ = ["OpenClient", "Transport", "connection_failed"]

OpenClient = Callable[..., "AsyncOpenAI"]
"""Returns an SDK client, given its `http_client`."""

_CLIENT_HEADERS = frozenset({"host", "connection", "content-length", "transfer-encoding", "accept-encoding"})
"""Headers that the HTTP client sets for each request, in lower case."""

_NOT_CONNECTED = ("ConnectError", "ConnectTimeout", "ProxyError")
"""The names of the SDK's errors before a request is sent. Its versions use different HTTP clients."""


class _StopBuildingError(Exception):
    """Stops a request after the SDK has built it, before it is sent."""


class Transport:
    """Posts JSON to paths below the base URL of an SDK client, with its headers, in one event loop."""

    def __init__(self, open_client: OpenClient) -> None:
        self._open_client = open_client
        self._opened: AsyncOpenAI | None = None
        self._routes: dict[str, asyncio.Future[Connections | None]] = {}

    @property
    def client(self) -> AsyncOpenAI:
        """The SDK client. It is opened when it is first needed."""
        from openai import DefaultAsyncHttpxClient

        if self._opened is None:
            self._opened = self._open_client(http_client=DefaultAsyncHttpxClient(verify=_tls_context()))
        return self._opened

    async def post(self, route: str, body: Mapping[str, Any]) -> RawResponse:
        """Send a request and return the response, with any status.

        Raises ConnectionFailedError or NotHttpError if there is no response.
        """
        if route not in self._routes:
            self._routes[route] = asyncio.ensure_future(self._open_route(route))
        pending = self._routes[route]
        connections = pending.result() if pending.done() else await asyncio.shield(pending)
        if connections is None:
            return await self._post_with_sdk(route, body)
        response = await connections.post(to_json(body))
        redirected = 300 <= response.status < 400 and "location" in response.headers
        return await self._post_with_sdk(route, body) if redirected else response

    async def close(self) -> None:
        """Close all connections."""
        for connections in await asyncio.gather(*self._routes.values(), return_exceptions=True):
            if isinstance(connections, Connections):
                connections.close()
        if self._opened:
            await self._opened.close()

    async def _open_route(self, route: str) -> Connections | None:
        """Return the connections for a route; None if the SDK must send its requests, because there is a proxy."""
        url, headers = await self._build_request(route)
        if _has_proxy(url):
            return None
        return Connections(url, headers, _tls_context() if url.startswith("https:") else None)

    async def _build_request(self, route: str) -> tuple[str, list[tuple[str, str]]]:
        """Let the SDK build a request, and return the request's address and headers."""
        from openai import APIConnectionError, DefaultAsyncHttpxClient

        built: list[Any] = []

        async def stop(request: Any) -> None:
            built.append(request)
            raise _StopBuildingError

        # This client sends nothing, so it needs no certificates, which take long to load.
        http = DefaultAsyncHttpxClient(event_hooks={"request": [stop]}, verify=False, trust_env=False)
        async with self._open_client(http_client=http) as client:
            try:
                await client.post(route, body={}, cast_to=str)
            except (_StopBuildingError, APIConnectionError):
                if not built:
                    raise
        (request,) = built
        given = request.headers.multi_items()
        headers = [(name, value) for name, value in given if name.lower() not in _CLIENT_HEADERS]
        return str(request.url), headers

    async def _post_with_sdk(self, route: str, body: Mapping[str, Any]) -> RawResponse:
        from openai import APIConnectionError, APIStatusError

        try:
            return RawResponse(200, {}, await self.client.post(route, body=body, cast_to=str))
        except APIStatusError as error:
            return RawResponse(error.status_code, error.response.headers, error.response.text)
        except APIConnectionError as error:
            raise connection_failed(error) from error


def connection_failed(error: APIConnectionError) -> ConnectionFailedError:
    """Return the SDK's error as a ConnectionFailedError."""
    cause = error.__cause__ or error
    return ConnectionFailedError(str(cause), sent=type(cause).__name__ not in _NOT_CONNECTED)


def _tls_context() -> ssl.SSLContext:
    """Return a TLS context with the certificates of `SSL_CERT_FILE` and `SSL_CERT_DIR`, by default the system's."""
    given = environ.get("SSL_CERT_FILE"), environ.get("SSL_CERT_DIR")
    if any(given) or sys.platform == "linux":
        return ssl.create_default_context(cafile=given[0], capath=given[1])
    from truststore import SSLContext

    return SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _has_proxy(url: str) -> bool:
    """Return whether `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` demand a proxy for an address."""
    parts, proxies = urlsplit(url), getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    return bool(proxy) and not proxy_bypass(parts.netloc.rpartition("@")[2])
