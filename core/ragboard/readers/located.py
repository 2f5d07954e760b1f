"""JSON text read so that every sample in it keeps the line it begins on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

__all__ = ["RepeatedKey", "parse", "parse_located", "what_is_wrong"]


class RepeatedKey(dict[str, Any]):
    """An object in which a key stands twice, with the last value of each: whoever reads it decides what to do."""

    key: str


def parse(text: str) -> Any:
    """The value. Raises ValueError for what is no JSON, RecursionError where it is nested too deeply."""
    return json.loads(text, object_pairs_hook=_object)


def parse_located(text: str) -> tuple[Any, dict[str, list[int]]]:
    """The value, and the line of each of its elements: under "" for a list, by key for the lists in an object.

    Under the key of any other value stands the one line it begins on. Raises as `parse` does.
    """
    scanner = _Scanner(text)
    value, starts = scanner.document()
    return value, {key: _lines(text, offsets) for key, offsets in starts.items()}


def what_is_wrong(error: ValueError | RecursionError) -> str:
    """Why a text is no JSON, in a few words."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}"
    return "a number has too many digits"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    repeated = RepeatedKey(found)
    names = [name for name, _ in pairs]
    repeated.key = next(name for place, name in enumerate(names) if name in names[:place])
    return repeated


def _lines(text: str, offsets: list[int]) -> list[int]:
    lines, line = [], 1
    for before, offset in pairwise((0, *offsets)):
        line += text.count("\n", before, offset)
        lines.append(line)
    return lines


class _Scanner:
    """Walks the outermost list or object itself and leaves what is inside to the decoder."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.decoder = json.JSONDecoder(object_pairs_hook=_object)

    def document(self) -> tuple[Any, dict[str, list[int]]]:
        """The whole text as one value, with the offsets of its elements."""
        starts: dict[str, list[int]] = {}
        value: Any
        match self.peek():
            case "[":
                value, starts[""] = self.elements()
            case "{":
                pairs: list[tuple[str, Any]] = []
                for _ in self.members("{", "}"):
                    key = self.key()
                    element, starts[key] = self.elements() if self.peek() == "[" else self.one()
                    pairs.append((key, element))
                value = _object(pairs)
            case _:
                value, _ = self.one()
        if self.peek():
            raise self.error("Extra data")
        return value, starts

    def elements(self) -> tuple[list[Any], list[int]]:
        """The list that begins here, and where each element does."""
        found = [self.one() for _ in self.members("[", "]")]
        return [value for value, _ in found], [start for _, (start,) in found]

    def one(self) -> tuple[Any, list[int]]:
        """The value that begins here, and where."""
        self.peek()
        start = self.at
        value, self.at = self.decoder.raw_decode(self.text, start)
        return value, [start]

    def key(self) -> str:
        """The key of an object's next member, up to its value."""
        if self.peek() != '"':
            raise self.error("Expecting property name enclosed in double quotes")
        (key, _) = self.one()
        self.expect(":")
        return str(key)

    def members(self, begin: str, end: str) -> Iterator[None]:
        """Stops before every member; it is for the caller to take it."""
        self.expect(begin)
        if self.peek() == end:
            self.at += 1
            return
        while True:
            yield
            if self.peek() == end:
                self.at += 1
                return
            self.expect(",")

    def expect(self, sign: str) -> None:
        """Steps over a sign that must come next."""
        if self.peek() != sign:
            raise self.error(f"Expecting '{sign}'")
        self.at += 1

    def peek(self) -> str:
        """The next sign after any space; empty at the end."""
        while (sign := self.text[self.at : self.at + 1]) and sign in " \t\r\n":
            self.at += 1
        return sign

    def error(self, message: str) -> json.JSONDecodeError:
        """What is wrong here."""
        return json.JSONDecodeError(message, self.text, self.at)
