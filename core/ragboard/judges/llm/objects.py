"""Finding, in whatever a model wrote, the first JSON value that fits what was asked.

Markdown fences, prose and a closed `<think>` block around it do not matter, and a comma before a
closing bracket is read over. Nothing else is mended: a value that is cut off, that names a key
twice, or that holds NaN is no value, and nothing inside a broken value is looked at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

__all__ = ["MisfitError", "first_fitting"]

T = TypeVar("T")

_THOUGHT = "</think>"
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}"]|,(?=\s*[\]}])', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}


class MisfitError(ValueError):
    """A value is not what was asked for; the message says how, to the one who wrote it."""


def first_fitting(text: str, read: Callable[[Any], T], opening: str = "{") -> T:
    """What `read` makes of the first JSON object (or with `[`, list) that it takes.

    Raises MisfitError: that of the first object where there is one, since it is the one that was
    meant; otherwise one that says that there is none.
    """
    first: MisfitError | None = None
    for value in _values(text.rpartition(_THOUGHT)[2], opening):
        try:
            return read(value)
        except MisfitError as error:
            first = first or error
    if first is None:
        what = "object" if opening == "{" else "list"
        raise MisfitError(f"it holds no whole JSON {what}" if text.strip() else "it is empty")
    raise first


def _values(text: str, opening: str) -> Iterator[Any]:
    """Every outermost value that can be read, in order."""
    start = text.find(opening)
    while start >= 0:
        whole = _balanced(text, start)
        if whole is None:
            return
        end, plain = whole
        value = _loaded(plain)
        if value is not None:
            yield value
        start = text.find(opening, end)


def _balanced(text: str, start: int) -> tuple[int, str] | None:
    """Where the value that opens at `start` ends, and its text without trailing commas."""
    open_brackets: list[str] = []
    kept, copied = [], start
    for token in _TOKEN.finditer(text, start):
        mark = token.group()
        if mark == ",":
            kept.append(text[copied : token.start()])
            copied = token.end()
        elif mark in _CLOSING:
            open_brackets.append(_CLOSING[mark])
        elif mark in "]}":
            if open_brackets.pop() != mark:
                return None
            if not open_brackets:
                return token.end(), "".join((*kept, text[copied : token.end()]))
        elif mark == '"':
            return None
    return None


def _loaded(plain: str) -> Any:
    """The value, or None where this is no JSON or holds what cannot be kept as UTF-8."""
    try:
        value = json.loads(plain, object_pairs_hook=_unique, parse_constant=_no_constant, strict=False)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key twice")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
