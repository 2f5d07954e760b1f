"""Spans of a text that are marked on a page, without overlap; and removal of bidirectional controls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["DEPTH", "Piece", "Stretch", "apart", "layered", "strip_bidi_controls"]

Stretch: TypeAlias = tuple[int, int]
"""(start, end), end exclusive."""

DEPTH = 8
"""Maximum number of spans that may cover the same character; further ones are not marked."""

_ORDERING = re.compile("[\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text that is covered by the same spans."""

    start: int
    end: int
    members: tuple[int, ...]
    """The keys of the spans that cover it."""


def strip_bidi_controls(text: str) -> str:
    """Replace bidirectional controls, so that the text cannot reorder the text next to it. Positions do not change.

    Embeddings, overrides and isolates become word joiners, which are invisible. Right-to-left letters and
    marks keep their direction.
    """
    return _ORDERING.sub("\u2060", text)


def inside(stretch: Stretch, length: int) -> bool:
    """Return whether a span is not empty and within a text of that length."""
    return 0 <= stretch[0] < stretch[1] <= length


def apart(stretches: Iterable[Stretch], length: int) -> list[Stretch]:
    """Return spans in order, without those outside the text or overlapping an earlier one."""
    kept: list[Stretch] = []
    for stretch in sorted(stretches):
        if inside(stretch, length) and (not kept or kept[-1][1] <= stretch[0]):
            kept.append(stretch)
    return kept


def layered(stretches: Mapping[int, Stretch], length: int) -> list[Piece]:
    """Return the covered parts of a text, split wherever a span starts or ends.

    A span outside the text is left out, and so is a span that starts where `DEPTH` others overlap already.
    """
    edges = [
        (at, opens, member)
        for member, stretch in stretches.items()
        if inside(stretch, length)
        for at, opens in zip(stretch, (True, False), strict=True)
    ]
    pieces: list[Piece] = []
    active: list[int] = []
    last = 0
    for at, opens, member in sorted(edges):
        if active and at > last:
            pieces.append(Piece(last, at, tuple(active)))
        last = at
        if not opens and member in active:
            active.remove(member)
        elif opens and len(active) < DEPTH:
            active.append(member)
    return pieces
