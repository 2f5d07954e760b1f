"""The token that senders of traces must use."""

from __future__ import annotations

import hmac
import os
from pathlib import Path

from ragboard.errors import SettingError

__all__ = ["VARIABLE", "is_authorized", "read_token"]

VARIABLE = "RAGBOARD_TOKEN"
"""The environment variable with the token."""
MIN_LENGTH = 16


def read_token(file: Path | None) -> str:
    """Return the token in a file, else that in the environment variable; empty if there is neither.

    Raises SettingError for a file that cannot be read, and for a token that is too short or not one line of ASCII.
    """
    where = f"--token-file {file}" if file else VARIABLE
    try:
        token = (file.read_text("utf-8") if file else os.environ.get(VARIABLE, "")).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f"{where}: cannot be read: {error}") from error
    if not token and not file:
        return ""
    if len(token) < MIN_LENGTH or not token.isascii() or not token.isprintable() or " " in token:
        raise SettingError(
            f"{where}: expected a token of at least {MIN_LENGTH} ASCII characters without spaces; create one with"
            " `openssl rand -hex 32`"
        )
    return token


def is_authorized(token: str, header: str) -> bool:
    """Return whether an `Authorization` header has the token. The comparison takes constant time."""
    scheme, _, given = header.partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), token.encode())
