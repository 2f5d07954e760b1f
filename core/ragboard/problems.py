"""Kinds of problems: equal for messages that differ only in numbers, names and texts."""

from __future__ import annotations

import re

__all__ = ["kind_of_problem"]

SHOWN = 160
"""Most characters of a kind."""

_VARYING = (
    (re.compile(r"; reply: .*", re.DOTALL), ""),
    (re.compile(r"https?://\S+"), "URL"),
    (re.compile(r"'[^']*'|\"[^\"]*\""), "'…'"),
    (re.compile(r"\b[0-9a-f]{8,}\b"), "ID"),
    (re.compile(r"\d+(\.\d+)?"), "N"),
    (re.compile(r"\s+"), " "),
)


def kind_of_problem(message: str) -> str:
    """Return the message with variable parts replaced, cut to one line."""
    for varying, instead in _VARYING:
        message = varying.sub(instead, message)
    return message.strip()[:SHOWN]
