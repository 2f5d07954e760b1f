"""The dashboard's server. By default, only this machine can reach it."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ragboard.analysis import series_states
from ragboard.collector import CollectorOnDemand, EndpointOptions, TraceEndpoint
from ragboard.errors import SettingError, StoreBusyError, StoreError
from ragboard.export.prometheus import CONTENT_TYPE, prometheus_text
from ragboard.store import Store
from ragboard_dashboard.page_keeper import PageKeeper
from ragboard_dashboard.pages import PAGES
from ragboard_dashboard.security import SERVER_ADDRESS, RequestGuard, accepted_host_names, security_headers
from ragboard_dashboard.settings import LOOPBACK, ServerSettings, publish_settings, settings
from ragboard_dashboard.theme import DARK, LIGHT, OPTIONS

__all__ = [
    "build_app",
    "find_problem",
    "free_port",
    "health_route",
    "metrics_route",
    "serve",
    "server_options",
    "wait_until_healthy",
]

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
    # By default, a browser drops messages after 2 script runs. Quick key presses start more runs than that.
    "global.maxCachedMessageAge": 30,
    "client.toolbarMode": "minimal",
    "client.showErrorLinks": False,
    "client.showErrorDetails": "type",
    "logger.hideWelcomeMessage": True,
    "logger.level": "warning",
}
"""Options that a Streamlit configuration file on this machine cannot override."""

NO_SCRIPT = "ragboard needs JavaScript."
LOADING = f"""<style>
.loading {{ position: fixed; inset: 0; padding: 0.7rem 1.6rem; color-scheme: light dark; font: 1rem Georgia, serif;
  background: light-dark({LIGHT["backgroundColor"]}, {DARK["backgroundColor"]});
  color: light-dark({LIGHT["textColor"]}, {DARK["textColor"]}); }}
</style><div class="loading"><b>ragboard</b><p>Loading…</p></div>"""
"""What a browser shows until Streamlit's scripts are loaded."""

START_SECONDS = 60.0
"""Maximum number of seconds to wait until the server answers."""
WAIT_SECONDS = 5.0
"""A store counts as busy if another process keeps it open for this many seconds."""


def serve(
    given: ServerSettings, *, port: int | None, open_browser: bool, traces: EndpointOptions | None = None
) -> None:
    """Serve the dashboard until interrupted; prints the URL.

    Without `port`, the first free one from 8501 is used. `traces` says who may send traces; by default, nobody may.
    Raises SettingError if the port is in use, StoreError if a read-only dashboard cannot read its store.
    """
    chosen = free_port(port, given.host)
    if given.read_only:
        Store(given.store).check()
    address = f"http://{_url_host(given.host)}:{chosen}"
    print(f"ragboard: {address} (stop with Ctrl-C)", flush=True)
    threading.Thread(target=_import_start_page, args=(address,), daemon=True).start()
    if open_browser and _has_desktop():
        threading.Thread(target=_open_when_healthy, args=(address,), daemon=True).start()
    build_app(given, traces=traces).run(config=server_options(given) | {"server.port": chosen})


def _import_start_page(address: str) -> None:
    """Import the modules of the start page, which takes seconds, while the browser loads its scripts.

    Wait for the server first, because Streamlit warns about cached functions that are imported before it runs.
    """
    if wait_until_healthy(address, START_SECONDS):
        import_module(f"ragboard_dashboard.views.{PAGES[0].slug}.page")


def build_app(given: ServerSettings, script: Path = APP, *, traces: EndpointOptions | None = None) -> st.App:
    """Build the dashboard as an ASGI application, with its middleware and routes."""
    publish_settings(given)
    guard = Middleware(RequestGuard, names=accepted_host_names(given), headers=security_headers())
    start, *others = (page.slug for page in PAGES)
    pages = [Route(f"/{slug}", _loading_response) for slug in ("", *others)]
    routes = [health_route, metrics_route, Route(f"/{start}", _redirect_to_start), *pages]
    middleware = [guard, Middleware(PageKeeper)]
    if traces is None:
        return st.App(script, routes=routes, middleware=middleware)
    collector = CollectorOnDemand(Store(given.store))

    @asynccontextmanager
    async def collecting(_app: st.App) -> AsyncGenerator[None]:
        await run_in_threadpool(collector.resume)
        try:
            yield
        finally:
            await run_in_threadpool(collector.stop)

    routes.append(TraceEndpoint(collector.get, traces).route)
    return st.App(script, routes=routes, middleware=middleware, lifespan=collecting)


def _loading_response(_request: Request) -> HTMLResponse:
    """Return Streamlit's HTML page, with the server's address, a title, and a first line while scripts are loaded."""
    return HTMLResponse(_loading_page(), headers={"Cache-Control": "no-cache"})


@cache
def _loading_page() -> str:
    page = (Path(st.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    page = re.sub(r"<title>.*?</title>", f"<title>ragboard</title><script>{SERVER_ADDRESS}</script>", page)
    page = re.sub(r"<noscript>.*?</noscript>", f"<noscript>{NO_SCRIPT}</noscript>", page, flags=re.DOTALL)
    return page.replace('<div id="root"></div>', f'<div id="root">{LOADING}</div>')


def _health(_request: Request) -> JSONResponse:
    """Return `{"status": "ok"}`, or status 503 with a reason that reveals no paths."""
    try:
        Store(settings().store, wait=WAIT_SECONDS).check()
    except StoreBusyError:
        return _unavailable("the store is busy: another process has it open")
    except StoreError:
        return _unavailable("the store cannot be read: see the server's log, or run `ragboard doctor`")
    return JSONResponse({"status": "ok"})


def _unavailable(reason: str) -> JSONResponse:
    return JSONResponse({"status": "unavailable", "reason": reason}, status_code=503)


def _metrics(request: Request) -> Response:
    """Return the state of live traffic for Prometheus, or status 503. To a browser, return the Metrics page."""
    if "text/html" in request.headers.get("accept", ""):
        return _loading_response(request)
    try:
        store = Store(settings().store, wait=WAIT_SECONDS)
        return Response(_metrics_of(settings().store, store.version), media_type=CONTENT_TYPE)
    except StoreBusyError:
        return _unavailable("the store is busy: another process has kept it open")
    except StoreError:
        return _unavailable("the store cannot be read: see the server's log, or run `ragboard doctor`")


@lru_cache(maxsize=1)
def _metrics_of(folder: Path, _version: str) -> str:
    return prometheus_text(series_states(Store(folder, wait=WAIT_SECONDS)))


metrics_route = Route("/metrics", _metrics, methods=["GET"])
health_route = Route("/health", _health, methods=["GET"])


def _redirect_to_start(request: Request) -> RedirectResponse:
    """Redirect the slug of the start page to the root."""
    return RedirectResponse(f"/?{request.url.query}")


def server_options(given: ServerSettings) -> dict[str, Any]:
    """Return Streamlit's options, without the port."""
    return (
        SERVER
        | OPTIONS
        | {
            "server.address": given.host,
            "server.allowedHosts": sorted(accepted_host_names(given)),
            "server.maxUploadSize": given.max_upload,
        }
    )


def free_port(wanted: int | None, host: str = LOOPBACK) -> int:
    """Return the port `wanted` or, if it is None, the first free port. Raises SettingError if the port is in use."""
    for port in (wanted,) if wanted is not None else range(FIRST_PORT, FIRST_PORT + 100):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            if probe.connect_ex((_local_address(host), port)) != 0:
                return port
    what = f"port {wanted} is" if wanted is not None else f"ports {FIRST_PORT} to {FIRST_PORT + 99} are"
    raise SettingError(f"{what} in use; choose a free port with --port")


def _local_address(host: str) -> str:
    """Return the address at which this machine reaches a server that listens on `host`."""
    return {"0.0.0.0": LOOPBACK, "::": "::1"}.get(host, host)  # noqa: S104 - looked up, not bound


def _url_host(host: str) -> str:
    address = _local_address(host)
    return f"[{address}]" if ":" in address else address


def wait_until_healthy(address: str, seconds: float) -> bool:
    """Wait until the server at this address is healthy. Return False if it is not after this many seconds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            with urlopen(f"{address}/_stcore/health", timeout=2) as reply:  # noqa: S310 - our own http address
                if reply.status == 200:
                    return True
        except (URLError, OSError):
            time.sleep(0.1)
    return False


def find_problem(address: str) -> str:
    """Return why the server at this address cannot read its store; empty if it can."""
    try:
        with urlopen(f"{address}/health", timeout=60):  # noqa: S310 - our own http address
            return ""
    except HTTPError as error:
        reason: str = json.load(error)["reason"]
        return reason


def _open_when_healthy(address: str) -> None:
    if wait_until_healthy(address, START_SECONDS):
        webbrowser.open(address)


def _has_desktop() -> bool:
    if "SSH_CONNECTION" in os.environ:
        return False
    return sys.platform in ("win32", "darwin") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
