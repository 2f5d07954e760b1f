"""A long text in overlapping windows that end between sentences where they can."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

__all__ = ["Offsets", "span", "token_borders", "windows"]

Offsets = Sequence[tuple[int, int]]
"""Where each token of a text stands, in reading order."""


def windows(length: int, borders: Sequence[int], room: int) -> tuple[range, ...]:
    """Ranges of at most `room` tokens that together cover `range(length)`, in order.

    `borders` are the tokens with which a sentence begins, ascending. A window ends at the last border
    in its second half, where there is one; the next begins at the first border in its last quarter.
    So a sentence of at most half a window stands whole in one of them.
    """
    found: list[range] = []
    start = 0
    while start < length:
        end = _end(start, length, borders, room)
        found.append(range(start, end))
        start = length if end == length else _next(end, borders, room // 4)
    return tuple(found)


def _end(start: int, length: int, borders: Sequence[int], room: int) -> int:
    if length <= start + room:
        return length
    last = borders[bisect_right(borders, start + room) - 1] if borders else 0
    return last if last > start + room // 2 else start + room


def _next(end: int, borders: Sequence[int], overlap: int) -> int:
    """The first border of the overlap; without one there is nothing to repeat, save in mid-sentence."""
    place = bisect_left(borders, end - overlap)
    return borders[place] if place < len(borders) and borders[place] <= end else end - overlap


def token_borders(offsets: Offsets, starts: Sequence[int]) -> tuple[int, ...]:
    """The token in which each of these places of the text is; a token's offsets may begin with the space before it."""
    ends = [end for _, end in offsets]
    found = (bisect_right(ends, start) for start in starts)
    return tuple(dict.fromkeys(token for token in found if token < len(ends)))


def span(text: str, offsets: Offsets, window: range) -> tuple[int, int] | None:
    """Where a window stands in the text, without space around it; None where it is nothing but space."""
    start, end = offsets[window.start][0], offsets[window.stop - 1][1]
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    end -= len(piece) - len(piece.rstrip())
    return (start, end) if start < end else None
