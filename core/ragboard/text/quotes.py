"""Find the position of a model's quote in a text."""

from __future__ import annotations

from ragboard.records import Span

__all__ = ["locate"]

_MARKS = "\"'\u201c\u201d\u2018\u2019 \t\n"


def locate(quote: str, text: str, start: int = 0) -> Span | None:
    """Return the span of a quote in the text; None if it is not found.

    The exact quote is searched from `start`, then in the whole text. If it is not found, case and the amount of white
    space are ignored.
    """
    for exact in (quote.strip(), quote.strip(_MARKS)):
        if not exact:
            return None
        position = text.find(exact, start)
        if position < 0 < start:
            position = text.find(exact)
        if position >= 0:
            return Span(start=position, end=position + len(exact), how="verbatim")
    return _locate_folded(quote.strip(_MARKS), text)


def _locate_folded(quote: str, text: str) -> Span | None:
    folded_text, offsets = _fold(text)
    folded_quote, _ = _fold(quote)
    position = folded_text.find(folded_quote)
    if position < 0 or not folded_quote:
        return None
    return Span(start=offsets[position], end=offsets[position + len(folded_quote) - 1] + 1, how="aligned")


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
