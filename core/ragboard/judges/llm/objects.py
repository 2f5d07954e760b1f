"""Finding, in whatever a model wrote, the JSON value that it was asked for.

Markdown fences, prose and a closed block of thoughts (`<think>`, `<reasoning>`, `[THINK]`) around it do
not matter, and a comma before a closing bracket is read over. Nothing else is mended: a value that is
cut off, that names a key twice, or that holds NaN is no value, and nothing inside a broken value is
looked at.

Models go on: with code, with questions of their own and answers to these. So the first value that
was meant counts, and where that one does not fit, none that comes later is taken in its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

__all__ = ["MisfitError", "first_fitting"]

T = TypeVar("T")

ECHO = 30
"""Characters from which on a value that stands in the prompt is a copy from there and no reply."""

_THINKING = re.compile(r"\s*(?:<(?:think|thinking|thought|reasoning)>|\[THINK\])", re.IGNORECASE)
_THOUGHT = re.compile(r"</(?:think|thinking|thought|reasoning)>|\[/THINK\]", re.IGNORECASE)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}"]|,(?=\s*[\]}])', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}
_UNREADABLE = object()


class MisfitError(ValueError):
    """A value is not what was asked for; the message says how, to the one who wrote it."""


def first_fitting(text: str, read: Callable[[Any], T], key: str | None, *, prompt: str = "") -> T:
    """What `read` makes of the first JSON object in the text that has the key; without one, of the first list.

    `prompt` is what was asked: an example copied from it is no reply. Raises MisfitError: what
    `read` says, or that nothing of the kind is there.
    """
    meant = _meant(_said(text), key)
    for raw, value in meant:
        if value is _UNREADABLE:
            raise MisfitError("it holds JSON that cannot be read")
        if raw in prompt and (len(raw) >= ECHO or any(other != raw for other, _ in meant)):
            raise MisfitError("it repeats the example")
        return read(value)
    what = "list" if key is None else f"JSON object with the key `{key}`"
    raise MisfitError(f"it holds no whole {what}" if text.strip() else "it is empty")


def _said(text: str) -> str:
    """The text without thoughts before it; nothing where it never came to its end."""
    end = max((found.end() for found in _THOUGHT.finditer(text)), default=0)
    return "" if _THINKING.match(text) and not end else text[end:]


def _meant(text: str, key: str | None) -> Iterator[tuple[str, Any]]:
    """The text and value of everything outermost that can be the reply."""
    opening = "[" if key is None else "{"
    for raw, plain in _outermost(text, opening):
        value = _loaded(plain)
        if key is None or (f'"{key}"' in raw if value is _UNREADABLE else key in value):
            yield raw, value


def _outermost(text: str, opening: str) -> Iterator[tuple[str, str]]:
    """Every outermost stretch in brackets, as it is and without trailing commas, in order."""
    start = text.find(opening)
    while start >= 0:
        whole = _balanced(text, start)
        if whole is None:
            return
        end, plain = whole
        yield text[start:end], plain
        start = text.find(opening, end)


def _loaded(plain: str) -> Any:
    """The value, unreadable where this is no JSON or holds what cannot be kept as UTF-8."""
    try:
        value = json.loads(plain, object_pairs_hook=_unique, parse_constant=_no_constant, strict=False)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return _UNREADABLE
    return value


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


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key twice")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
