"""What kind of problem a message tells of: the same for messages that differ in numbers, names and texts."""

from __future__ import annotations

import re

__all__ = ["kind_of_problem"]

SHOWN = 160
"""Characters of a kind, at most."""

_VARYING = (
    (re.compile(r"; reply: .*", re.DOTALL), ""),
    (re.compile(r"https?://\S+"), "URL"),
    (re.compile(r"'[^']*'|\"[^\"]*\""), "'…'"),
    (re.compile(r"\b[0-9a-f]{8,}\b"), "ID"),
    (re.compile(r"\d+(\.\d+)?"), "N"),
    (re.compile(r"\s+"), " "),
)


def kind_of_problem(message: str) -> str:
    """The message with what varies replaced, cut to a line."""
    for varying, instead in _VARYING:
        message = varying.sub(instead, message)
    return message.strip()[:SHOWN]
