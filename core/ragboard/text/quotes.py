"""Locate in a text the words that a model quotes."""

from __future__ import annotations

from ragboard.records import Span

__all__ = ["locate"]

_MARKS = "\"'\u201c\u201d\u2018\u2019 \t\n"


def locate(quote: str, text: str, start: int = 0) -> Span | None:
    """Return the span of a quote in the text, first searching from `start`, then everywhere; None if not found.

    Searches the exact text first, then ignores case and the amount of white space.
    """
    quote = quote.strip() if quote.strip() in text else quote.strip(_MARKS)
    if not quote:
        return None
    place = text.find(quote, start)
    place = place if place >= 0 else text.find(quote)
    if place >= 0:
        return Span(start=place, end=place + len(quote), how="verbatim")
    return _alike(quote, text)


def _alike(quote: str, text: str) -> Span | None:
    folded, places = _folded(text)
    wanted = _folded(quote)[0]
    found = folded.find(wanted)
    if found < 0 or not wanted:
        return None
    return Span(start=places[found], end=places[found + len(wanted) - 1] + 1, how="aligned")


def _folded(text: str) -> tuple[str, list[int]]:
    """Return the text in lower case with single spaces, and the original position of each character."""
    folded: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        if character.isspace():
            if folded and folded[-1] != " ":
                folded.append(" ")
                places.append(place)
        else:
            for part in character.casefold():
                folded.append(part)
                places.append(place)
    return "".join(folded), places
