"""The settings of a dashboard server. Its pages read them from an environment variable."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["LOOPBACK", "MAX_UPLOAD", "ServerSettings", "publish_settings", "settings"]

VARIABLE = "RAGBOARD_SERVER"
LOOPBACK = "127.0.0.1"
MAX_UPLOAD = 200
"""Default maximum size of an uploaded file, in megabytes."""


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """The store of a dashboard, its network address, and what its pages can do."""

    store: Path
    plugins: tuple[Path, ...] = ()
    """Files of user-defined metrics."""
    prices: Path | None = None
    host: str = LOOPBACK
    """The address that the server listens on."""
    allowed_hosts: tuple[str, ...] = ()
    """Host names that the server accepts, besides the names of this machine."""
    read_only: bool = False
    evaluates: bool = True
    """Whether its pages can start evaluations."""
    max_upload: int = MAX_UPLOAD
    """Maximum size of an uploaded file, in megabytes."""


def publish_settings(given: ServerSettings) -> None:
    """Write the settings to the environment variable, for the pages of this process's server."""
    data = vars(given) | {
        "store": str(given.store.resolve()),
        "plugins": [str(plugin.resolve()) for plugin in given.plugins],
        "prices": given.prices and str(given.prices.resolve()),
    }
    os.environ[VARIABLE] = json.dumps(data)


def settings() -> ServerSettings:
    """Return the settings of this server; by default, the store in the current folder."""
    return _read(os.environ.get(VARIABLE, '{"store": ".ragboard"}'))


@cache
def _read(text: str) -> ServerSettings:
    data = json.loads(text)
    lists = {name: tuple(data.get(name, ())) for name in ("plugins", "allowed_hosts")}
    paths = {
        "store": Path(data["store"]),
        "plugins": tuple(map(Path, lists["plugins"])),
        "prices": Path(data["prices"]) if data.get("prices") else None,
    }
    return ServerSettings(**data | lists | paths)
