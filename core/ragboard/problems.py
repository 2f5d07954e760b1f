"""Grouping of error messages that differ only in numbers, names and quoted texts."""

from __future__ import annotations

import re

__all__ = ["kind_of_problem"]

MAX_LENGTH = 160
"""Maximum number of characters of a kind of problem."""

_PLACEHOLDERS = (
    (re.compile(r"; reply: .*", re.DOTALL), ""),
    (re.compile(r"https?://\S+"), "URL"),
    (re.compile(r"'[^']*'|\"[^\"]*\""), "'…'"),
    (re.compile(r"\b[0-9a-f]{8,}\b"), "ID"),
    (re.compile(r"\d+(\.\d+)?"), "N"),
    (re.compile(r"\s+"), " "),
)


def kind_of_problem(message: str) -> str:
    """Return the message on one line, with placeholders for numbers, URLs, ids and quoted texts."""
    for pattern, placeholder in _PLACEHOLDERS:
        message = pattern.sub(placeholder, message)
    return message.strip()[:MAX_LENGTH]
