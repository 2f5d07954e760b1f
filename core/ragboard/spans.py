"""Split texts into marked parts for a page, and neutralize bidirectional control characters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["MAX_DEPTH", "Offsets", "Piece", "covered_pieces", "non_overlapping", "strip_bidi_controls"]

Offsets: TypeAlias = tuple[int, int]
"""(start, end), end exclusive."""

MAX_DEPTH = 8
"""Maximum number of spans that cover the same character; further spans are not marked."""

_ORDERING = re.compile("[\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part `text[start:end]` in which every character is covered by the same spans."""

    start: int
    end: int
    members: tuple[int, ...]
    """The keys of the spans that cover the part, in the order in which the spans start."""


def strip_bidi_controls(text: str) -> str:
    """Neutralize bidirectional control characters, which could reorder other text on a page.

    Bidi embedding, override and isolate characters become word joiners, which are invisible, so positions do not
    change. Right-to-left letters and marks keep their direction.
    """
    return _ORDERING.sub("\u2060", text)


def inside(span: Offsets, length: int) -> bool:
    """Return whether a span is not empty and within a text of that length."""
    return 0 <= span[0] < span[1] <= length


def non_overlapping(spans: Iterable[Offsets], length: int) -> list[Offsets]:
    """Return spans in order, without those outside the text or overlapping an earlier one."""
    kept: list[Offsets] = []
    for span in sorted(spans):
        if inside(span, length) and (not kept or kept[-1][1] <= span[0]):
            kept.append(span)
    return kept


def covered_pieces(spans: Mapping[int, Offsets], length: int) -> list[Piece]:
    """Return the covered parts of a text, split wherever a span starts or ends.

    Spans outside the text are left out, and so are spans that start where `MAX_DEPTH` other spans overlap.
    """
    edges = [
        (offset, opens, member)
        for member, span in spans.items()
        if inside(span, length)
        for offset, opens in zip(span, (True, False), strict=True)
    ]
    pieces: list[Piece] = []
    active: list[int] = []
    last = 0
    for offset, opens, member in sorted(edges):
        if active and offset > last:
            pieces.append(Piece(last, offset, tuple(active)))
        last = offset
        if not opens and member in active:
            active.remove(member)
        elif opens and len(active) < MAX_DEPTH:
            active.append(member)
    return pieces
