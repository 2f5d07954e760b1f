"""What a dashboard was started with. It reaches the pages by one variable of the environment, written and read here."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address
from pathlib import Path

__all__ = ["LOOPBACK", "MAX_UPLOAD", "ServerSettings", "is_loopback", "keep_settings", "settings"]

VARIABLE = "RAGBOARD_SERVER"
LOOPBACK = "127.0.0.1"
MAX_UPLOAD = 200
"""Megabytes."""


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """What a dashboard shows, who reaches it, and what may be done from its pages."""

    store: Path
    plugins: tuple[Path, ...] = ()
    """Files of own metrics that evaluations started from it may count."""
    prices: Path | None = None
    host: str = LOOPBACK
    """The address it listens on."""
    allowed_hosts: tuple[str, ...] = ()
    """Names it answers to, beside those of this machine."""
    read_only: bool = False
    evaluates: bool = True
    """Whether evaluations may be started from its pages."""
    max_upload: int = MAX_UPLOAD
    """Megabytes that an uploaded file may have."""


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address. A name other than `localhost` may lead anywhere."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def keep_settings(given: ServerSettings) -> None:
    """Have the pages of this process's server read these settings."""
    data = vars(given) | {
        "store": str(given.store.resolve()),
        "plugins": [str(plugin.resolve()) for plugin in given.plugins],
        "prices": given.prices and str(given.prices.resolve()),
    }
    os.environ[VARIABLE] = json.dumps(data)


def settings() -> ServerSettings:
    """What this server was started with; the store in the current folder where nobody said."""
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
