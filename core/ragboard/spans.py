"""Stretches of a text, made fit for drawing: within the text, and never overlapping; and text made inert."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["DEPTH", "Piece", "Stretch", "apart", "inert", "layered"]

Stretch: TypeAlias = tuple[int, int]
"""Start and end, the end not included."""

DEPTH = 8
"""How many statements may share one place of the answer; the ones after that are not marked there."""

_ORDERING = re.compile("[\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch over which the same members lie."""

    start: int
    end: int
    members: tuple[int, ...]


def inert(text: str) -> str:
    """The text without the power to reorder what stands beside it; every position stays.

    Embeddings, overrides and isolates become word joiners, which nobody sees. Right-to-left letters and
    marks keep their direction.
    """
    return _ORDERING.sub("\u2060", text)


def inside(stretch: Stretch, length: int) -> bool:
    """Whether a stretch is not empty and lies within a text of that length."""
    return 0 <= stretch[0] < stretch[1] <= length


def apart(stretches: Iterable[Stretch], length: int) -> list[Stretch]:
    """The stretches in order, without those that leave the text or overlap an earlier one."""
    kept: list[Stretch] = []
    for stretch in sorted(stretches):
        if inside(stretch, length) and (not kept or kept[-1][1] <= stretch[0]):
            kept.append(stretch)
    return kept


def layered(stretches: Mapping[int, Stretch], length: int) -> list[Piece]:
    """The covered places of a text, cut wherever a stretch starts or ends.

    A stretch that leaves the text, or that would be more than `DEPTH` deep where it starts, is left out.
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
