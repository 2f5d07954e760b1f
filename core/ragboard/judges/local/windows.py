"""Split a text into windows that a model can read, between sentences if possible."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

__all__ = ["Offsets", "span", "tokens_at", "windows"]

Offsets = Sequence[tuple[int, int]]
"""The (start, end) of each token of a text, in reading order."""


def windows(length: int, sentence_starts: Sequence[int], max_tokens: int) -> tuple[range, ...]:
    """Split `range(length)` into overlapping windows of at most `max_tokens` tokens, in order.

    `sentence_starts` has the index of each sentence's first token, ascending. A window ends at the last sentence start
    in its second half, if there is one. The next window begins at the first sentence start in the previous window's
    last quarter, or at the start of that quarter.
    """
    parts: list[range] = []
    start = 0
    while start < length:
        end = _end_of_window(start, length, sentence_starts, max_tokens)
        parts.append(range(start, end))
        start = length if end == length else _next_start(end, sentence_starts, max_tokens // 4)
    return tuple(parts)


def _end_of_window(start: int, length: int, sentence_starts: Sequence[int], max_tokens: int) -> int:
    if length <= start + max_tokens:
        return length
    last = sentence_starts[bisect_right(sentence_starts, start + max_tokens) - 1] if sentence_starts else 0
    return last if last > start + max_tokens // 2 else start + max_tokens


def _next_start(end: int, sentence_starts: Sequence[int], overlap: int) -> int:
    """Return the first sentence start in the overlap or, if there is none, the start of the overlap."""
    index = bisect_left(sentence_starts, end - overlap)
    return sentence_starts[index] if index < len(sentence_starts) and sentence_starts[index] <= end else end - overlap


def tokens_at(offsets: Offsets, starts: Sequence[int]) -> tuple[int, ...]:
    """Return the indices of the tokens at these character positions, without repetition."""
    ends = [end for _, end in offsets]
    tokens = (bisect_right(ends, start) for start in starts)
    return tuple(dict.fromkeys(token for token in tokens if token < len(ends)))


def span(text: str, offsets: Offsets, window: range) -> tuple[int, int] | None:
    """Return (start, end) of a window of tokens, in characters, without surrounding space; None if it is all space."""
    start, end = offsets[window.start][0], offsets[window.stop - 1][1]
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    end -= len(piece) - len(piece.rstrip())
    return (start, end) if start < end else None
