"""Starts the dashboard's server on this machine."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import streamlit as st

from ragboard.errors import SettingError
from ragboard_dashboard.theme import OPTIONS

__all__ = ["free_port", "serve", "wait_until_healthy"]

ADDRESS = "127.0.0.1"
FIRST_PORT = 8501
APP = Path(__file__).with_name("app.py")

SERVER = {
    "server.address": ADDRESS,
    "server.allowedHosts": ["127.0.0.1", "localhost", "[::1]"],
    "server.headless": True,
    "server.showEmailPrompt": False,
    "server.fileWatcherType": "none",
    "browser.gatherUsageStats": False,
    "client.toolbarMode": "minimal",
    "client.showErrorLinks": False,
    "client.showErrorDetails": "type",
    "logger.hideWelcomeMessage": True,
    "logger.level": "warning",
}


def serve(store: Path, *, port: int | None, open_browser: bool, plugins: Sequence[Path] = ()) -> None:
    """Serve the dashboard over a store until interrupted; prints the address.

    `plugins` are files of own metrics that evaluations started from it may count.

    Without a port the first free one from 8501 on. Raises SettingError where the port is taken.
    """
    chosen = free_port(port)
    address = f"http://{ADDRESS}:{chosen}"
    os.environ["RAGBOARD_STORE"] = str(store.resolve())
    os.environ["RAGBOARD_PLUGIN"] = os.pathsep.join(str(plugin.resolve()) for plugin in plugins)
    print(f"ragboard: {address} (stop with Ctrl-C)", flush=True)
    if open_browser and _has_desktop():
        threading.Thread(target=_open_when_healthy, args=(address,), daemon=True).start()
    st.App(APP).run(config=SERVER | OPTIONS | {"server.port": chosen})


def free_port(wanted: int | None) -> int:
    """The wanted port if it is free, else an error; without a wish the first free one."""
    for port in (wanted,) if wanted is not None else range(FIRST_PORT, FIRST_PORT + 100):
        with socket.socket() as probe:
            if probe.connect_ex((ADDRESS, port)) != 0:
                return port
    what = f"port {wanted} is" if wanted is not None else f"ports {FIRST_PORT} to {FIRST_PORT + 99} are"
    raise SettingError(f"{what} in use; name a free one with --port")


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


def _open_when_healthy(address: str) -> None:
    if wait_until_healthy(address, 60):
        webbrowser.open(address)


def _has_desktop() -> bool:
    if "SSH_CONNECTION" in os.environ:
        return False
    return sys.platform in ("win32", "darwin") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
