"""Starts the dashboard's server, for this machine alone unless it is told otherwise."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
import webbrowser
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import Route

from ragboard.errors import SettingError, StoreBusyError, StoreError
from ragboard.store import Store
from ragboard_dashboard.security import RequestGuard, names_of, security_headers
from ragboard_dashboard.settings import LOOPBACK, ServerSettings, keep_settings, settings
from ragboard_dashboard.theme import OPTIONS

__all__ = ["app_of", "free_port", "health_route", "serve", "server_options", "wait_until_healthy", "what_is_wrong"]

FIRST_PORT = 8501
APP = Path(__file__).with_name("app.py")

SERVER = {
    "server.headless": True,
    "server.showEmailPrompt": False,
    "server.fileWatcherType": "none",
    "server.enableCORS": True,
    "server.enableXsrfProtection": True,
    "server.enableStaticServing": False,
    "server.enableAgentApi": False,
    "browser.gatherUsageStats": False,
    "client.toolbarMode": "minimal",
    "client.showErrorLinks": False,
    "client.showErrorDetails": "type",
    "logger.hideWelcomeMessage": True,
    "logger.level": "warning",
}
"""What a file of Streamlit's settings on this machine may not loosen."""

WAIT_SECONDS = 5.0
"""For others that have the store; then it is busy."""


def serve(given: ServerSettings, *, port: int | None, open_browser: bool) -> None:
    """Serve the dashboard until interrupted; prints the address.

    Without a port the first free one from 8501 on. Raises SettingError where the port is taken, StoreError
    where the store cannot be read.
    """
    chosen = free_port(port, given.host)
    if given.read_only:
        Store(given.store).check()
    address = f"http://{_shown(given.host)}:{chosen}"
    print(f"ragboard: {address} (stop with Ctrl-C)", flush=True)
    if open_browser and _has_desktop():
        threading.Thread(target=_open_when_healthy, args=(address,), daemon=True).start()
    app_of(given).run(config=server_options(given) | {"server.port": chosen})


def app_of(given: ServerSettings, script: Path = APP) -> st.App:
    """The dashboard as an ASGI application, behind its guard, beside its health route."""
    keep_settings(given)
    guard = Middleware(RequestGuard, names=names_of(given), headers=security_headers())
    return st.App(script, routes=[health_route, Route("/runs", _first)], middleware=[guard])


def _health(_request: Request) -> JSONResponse:
    """`{"status": "ok"}`, or 503 with a reason that names no file."""
    try:
        Store(settings().store, wait=WAIT_SECONDS).check()
    except StoreBusyError:
        return _ill("the store is busy: another process has kept it open")
    except StoreError:
        return _ill("the store cannot be read: see the server's log, or run `ragboard doctor`")
    return JSONResponse({"status": "ok"})


def _ill(reason: str) -> JSONResponse:
    return JSONResponse({"status": "unavailable", "reason": reason}, status_code=503)


health_route = Route("/health", _health, methods=["GET"])


def _first(request: Request) -> RedirectResponse:
    """The first page stands at the root alone: its name leads there."""
    return RedirectResponse(f"/?{request.url.query}")


def server_options(given: ServerSettings) -> dict[str, Any]:
    """Everything that Streamlit is told, but for the port."""
    return (
        SERVER
        | OPTIONS
        | {
            "server.address": given.host,
            "server.allowedHosts": sorted(names_of(given)),
            "server.maxUploadSize": given.max_upload,
        }
    )


def free_port(wanted: int | None, host: str = LOOPBACK) -> int:
    """The wanted port if it is free, else an error; without a wish the first free one."""
    for port in (wanted,) if wanted is not None else range(FIRST_PORT, FIRST_PORT + 100):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            if probe.connect_ex((_near(host), port)) != 0:
                return port
    what = f"port {wanted} is" if wanted is not None else f"ports {FIRST_PORT} to {FIRST_PORT + 99} are"
    raise SettingError(f"{what} in use; name a free one with --port")


def _near(host: str) -> str:
    """The address by which this machine itself reaches a server that listens there."""
    return {"0.0.0.0": LOOPBACK, "::": "::1"}.get(host, host)  # noqa: S104 - looked up, not bound


def _shown(host: str) -> str:
    near = _near(host)
    return f"[{near}]" if ":" in near else near


def wait_until_healthy(address: str, seconds: float) -> bool:
    """Whether the server at this address answers its health route within the time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            with urlopen(f"{address}/_stcore/health", timeout=2) as reply:  # noqa: S310 - our own http address
                if reply.status == 200:
                    return True
        except (URLError, OSError):
            time.sleep(0.1)
    return False


def what_is_wrong(address: str) -> str:
    """Why the server at this address cannot show its store; empty where it can."""
    try:
        with urlopen(f"{address}/health", timeout=60):  # noqa: S310 - our own http address
            return ""
    except HTTPError as error:
        reason: str = json.load(error)["reason"]
        return reason


def _open_when_healthy(address: str) -> None:
    if wait_until_healthy(address, 60):
        webbrowser.open(address)


def _has_desktop() -> bool:
    if "SSH_CONNECTION" in os.environ:
        return False
    return sys.platform in ("win32", "darwin") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
