"""Where the server is and by which key, from the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from ragboard.errors import JudgeError, SettingError
from ragboard.judges.llm.endpoint import NO_KEY, OFFICIAL, Endpoint

__all__ = ["openai_endpoint", "require_address"]


def openai_endpoint(base_url: str | None = None, environment: Mapping[str, str] | None = None) -> Endpoint:
    """The endpoint of `OPENAI_BASE_URL` (or the one given) and `OPENAI_API_KEY`.

    A server of one's own may need no key; OpenAI does. Raises JudgeError where it is missing,
    SettingError for an address that is no http(s) URL.
    """
    known = os.environ if environment is None else environment
    address = (base_url or known.get("OPENAI_BASE_URL") or OFFICIAL).strip()
    key = known.get("OPENAI_API_KEY", "").strip()
    require_address(address)
    if not re.fullmatch(r"[!-~]*", key):
        raise SettingError("OPENAI_API_KEY holds a space or a sign that no key has; was it copied whole?")
    if not key and address == OFFICIAL:
        raise JudgeError("OPENAI_API_KEY is not set; set it, or OPENAI_BASE_URL for a server that needs no key")
    return Endpoint(address, key or NO_KEY)


def require_address(address: str) -> None:
    """Raise SettingError for what cannot be asked; the message does not repeat it, for it may hold a password."""
    try:
        parts = urlsplit(address)
        possible = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        possible = False
    if not possible:
        raise SettingError(
            "the base URL (OPENAI_BASE_URL) is no http(s) address; expected one such as http://localhost:8000/v1"
        )
    if "@" in urlsplit(address).netloc:
        raise SettingError(
            "the base URL (OPENAI_BASE_URL) holds a user or password, which cannot be sent beside a key; "
            "expected the address alone, and the key in OPENAI_API_KEY"
        )
    names = [name for name, _ in parse_qsl(urlsplit(address).query, keep_blank_values=True)]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise SettingError(f"the base URL (OPENAI_BASE_URL) has the parameter {twice!r} twice; give it once")
