"""Find the position of a model's quote in a text."""

from __future__ import annotations

from typing import Literal

from ragboard.records import Span

__all__ = ["find_quote", "locate"]

_MARKS = "\"'\u201c\u201d\u2018\u2019 \t\n"


def locate(quote: str, text: str, start: int = 0) -> Span | None:
    """Return the span of a quote in the text; None if it is not found.

    The exact quote is searched from `start`, then in the whole text. If it is not found, case and the amount of white
    space are ignored.
    """
    found = find_quote(quote, text, start)
    return Span(start=found[0], end=found[1], how=found[2]) if found else None


def find_quote(quote: str, text: str, start: int = 0) -> tuple[int, int, Literal["verbatim", "aligned"]] | None:
    """Return the fields of the span that `locate` returns."""
    for exact in (quote.strip(), quote.strip(_MARKS)):
        if not exact:
            return None
        position = text.find(exact, start)
        if position < 0 < start:
            position = text.find(exact)
        if position >= 0:
            return position, position + len(exact), "verbatim"
    return _find_folded(quote.strip(_MARKS), text)


def _find_folded(quote: str, text: str) -> tuple[int, int, Literal["aligned"]] | None:
    folded_text, offsets = _fold(text)
    folded_quote, _ = _fold(quote)
    position = folded_text.find(folded_quote)
    if position < 0 or not folded_quote:
        return None
    return offsets[position], offsets[position + len(folded_quote) - 1] + 1, "aligned"


def _fold(text: str) -> tuple[str, list[int]]:
    """Return the text in lower case with single spaces, and the original offset of each of its characters."""
    folded: list[str] = []
    offsets: list[int] = []
    for offset, character in enumerate(text):
        if character.isspace():
            if folded and folded[-1] != " ":
                folded.append(" ")
                offsets.append(offset)
        else:
            for part in character.casefold():
                folded.append(part)
                offsets.append(offset)
    return "".join(folded), offsets
