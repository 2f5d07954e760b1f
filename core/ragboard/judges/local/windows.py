"""Split a text into windows that a model can read, between sentences where that is possible."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

__all__ = ["Offsets", "span", "tokens_at", "windows"]

Offsets = Sequence[tuple[int, int]]
"""The (start, end) of each token of a text, in reading order."""


def windows(length: int, sentence_starts: Sequence[int], max_tokens: int) -> tuple[range, ...]:
    """Split `range(length)` into windows of at most `max_tokens` tokens that cover it, in order.

    `sentence_starts` are the first tokens of sentences, ascending. A window ends at the last of them in its second
    half, if there is one; the next begins at the first of them in its last quarter. A sentence of at most half a window
    is complete in one of them.
    """
    found: list[range] = []
    start = 0
    while start < length:
        end = _end(start, length, sentence_starts, max_tokens)
        found.append(range(start, end))
        start = length if end == length else _next(end, sentence_starts, max_tokens // 4)
    return tuple(found)


def _end(start: int, length: int, sentence_starts: Sequence[int], max_tokens: int) -> int:
    if length <= start + max_tokens:
        return length
    last = sentence_starts[bisect_right(sentence_starts, start + max_tokens) - 1] if sentence_starts else 0
    return last if last > start + max_tokens // 2 else start + max_tokens


def _next(end: int, sentence_starts: Sequence[int], overlap: int) -> int:
    """Return the first sentence start of the overlap; without one, the start of the overlap."""
    place = bisect_left(sentence_starts, end - overlap)
    return sentence_starts[place] if place < len(sentence_starts) and sentence_starts[place] <= end else end - overlap


def tokens_at(offsets: Offsets, starts: Sequence[int]) -> tuple[int, ...]:
    """Return the tokens at these positions of the text; a token can include the space before it."""
    ends = [end for _, end in offsets]
    found = (bisect_right(ends, start) for start in starts)
    return tuple(dict.fromkeys(token for token in found if token < len(ends)))


def span(text: str, offsets: Offsets, window: range) -> tuple[int, int] | None:
    """Return (start, end) of a window in the text, without surrounding space; None if it is only space."""
    start, end = offsets[window.start][0], offsets[window.stop - 1][1]
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    end -= len(piece) - len(piece.rstrip())
    return (start, end) if start < end else None
