"""Check host name and origin of every request, and add security headers to every response."""

from __future__ import annotations

import re
import socket
from base64 import b64encode
from collections.abc import Iterable, MutableMapping
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import streamlit
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ragboard_dashboard.settings import LOOPBACK, ServerSettings

__all__ = ["SERVER_ADDRESS", "RequestGuard", "accepted_host_names", "content_policy", "security_headers"]

SERVER_ADDRESS = 'window.__streamlit = { BACKEND_BASE_URL: new URL(".", location.href).href }'
"""A script that tells Streamlit's scripts the address of the server. Without it, they first ask at the address of the
page, such as `/run`, and wait 0.1 s after the error."""

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
LOCAL_NAMES = (LOOPBACK, "localhost", "::1")
POLICY_VIOLATION = 1008


class RequestGuard:
    """ASGI middleware that rejects requests with a foreign host name or origin, and adds headers to every response.

    It protects against DNS rebinding, where a site's name resolves to this machine but is still sent as Host, and
    against pages of other sites that send forms or open sockets here, with their site as Origin. Another port of this
    machine is another site.
    """

    def __init__(self, app: ASGIApp, *, names: frozenset[str], headers: MutableMapping[str, str]) -> None:
        self._app = app
        self._names = names
        self._headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or open one socket."""
        problem = self._problem(scope) if scope["type"] in ("http", "websocket") else ""
        if scope["type"] == "http":
            answer = PlainTextResponse(problem, status_code=403) if problem else self._app
            await answer(scope, receive, self._with_headers(send))
        elif problem:
            await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": problem})
        else:
            await self._app(scope, receive, send)

    def _problem(self, scope: Scope) -> str:
        """Return why a request is rejected; empty if it is accepted."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if _name(host) not in self._names:
            return "This dashboard does not accept this host name: start it with --allowed-host NAME."
        origin = headers.get("origin")
        writes = scope["type"] == "websocket" or scope["method"] not in SAFE_METHODS
        if writes and origin is not None and not self._is_ours(urlsplit(origin).netloc, host):
            return "This request came from a page of another site."
        return ""

    def _is_ours(self, origin: str, host: str) -> bool:
        """Return whether an origin is this dashboard: the Host of the request, or the accepted name of a proxy."""
        name = _name(origin)
        proxied = name not in LOCAL_NAMES and ":" not in origin
        return name in self._names and (proxied or origin.lower() == host.lower())

    def _with_headers(self, send: Send) -> Send:
        async def sending(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        return sending


def accepted_host_names(given: ServerSettings) -> frozenset[str]:
    """Return the host names that a dashboard accepts, in lower case."""
    names = {*LOCAL_NAMES, *given.allowed_hosts}
    if given.host not in LOCAL_NAMES:
        names |= _own_names() if _is_unspecified(given.host) else {given.host}
    return frozenset(name.lower().strip("[].") for name in names)


def security_headers() -> dict[str, str]:
    """Return the security headers of every response."""
    return {
        "Content-Security-Policy": content_policy(),
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    }


def content_policy() -> str:
    """Return the Content-Security-Policy.

    Scripts must come from this server. Inline scripts must be Streamlit's or `SERVER_ADDRESS`, whose hashes are listed.
    Blobs (components), WebAssembly (the data grid) and inline styles are allowed.
    """
    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    scripts = [SERVER_ADDRESS, *re.findall(r"<script>(.*?)</script>", page, re.DOTALL)]
    digests = " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)
    rules = {
        "default-src": "'none'",
        "script-src": f"'self' blob: 'wasm-unsafe-eval' {digests}",
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "worker-src": "'self' blob:",
        "connect-src": "'self'",
        "manifest-src": "'self'",
        "frame-ancestors": "'none'",
        "base-uri": "'self'",
        "form-action": "'self'",
    }
    return "; ".join(f"{rule} {sources}" for rule, sources in rules.items())


def _name(host: str) -> str:
    """Return the name in a Host header, without port; empty if it is invalid."""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _is_unspecified(host: str) -> bool:
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def _own_names() -> set[str]:
    """Return the name and the addresses of this machine."""
    name = socket.gethostname()
    try:
        found: Iterable[Any] = socket.getaddrinfo(name, None)
    except OSError:
        found = ()
    return {name, *(str(entry[4][0]) for entry in found)}
