"""Which statement of one answer says what a statement of another answer says."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["FUZZY", "Aligned", "Alignment", "align"]

FUZZY = 0.6
"""The least share of words in common, as Dice counts it, for two statements to be about the same."""

How = Literal["exact", "normalised", "fuzzy"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Aligned:
    """Places of two texts that say the same, and how that was found.

    exact: the same characters; normalised: the same words, whatever their case and the signs between
    them; fuzzy: enough words in common.
    """

    a: int
    b: int
    how: How
    similarity: float
    """Dice's share of words in common, from 0 to 1; 1 where it is not fuzzy."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Alignment:
    """Every place of either side once: aligned with one of the other side, or alone."""

    aligned: tuple[Aligned, ...]
    """By place in the first."""
    only_a: tuple[int, ...]
    only_b: tuple[int, ...]


def align(a: Sequence[str], b: Sequence[str], *, threshold: float = FUZZY) -> Alignment:
    """Align texts one to one: the same first, then the same but for case and signs, then the most alike."""
    left_a, left_b = list(range(len(a))), list(range(len(b)))
    found = _same(a, b, left_a, left_b, str, "exact")
    found += _same(a, b, left_a, left_b, _normalised, "normalised")
    found += _alike(a, b, left_a, left_b, threshold)
    return Alignment(aligned=tuple(sorted(found, key=lambda pair: pair.a)), only_a=tuple(left_a), only_b=tuple(left_b))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _normalised(text: str) -> Hashable:
    return tuple(_words(text)) or text.strip()


def _same(
    a: Sequence[str],
    b: Sequence[str],
    left_a: list[int],
    left_b: list[int],
    key: Callable[[str], Hashable],
    how: How,
) -> list[Aligned]:
    """Pairs with equal keys, the first of one side with the first of the other; taken out of what is left."""
    waiting: dict[Hashable, list[int]] = {}
    for place in left_b:
        waiting.setdefault(key(b[place]), []).append(place)
    found = [
        Aligned(a=place, b=there.pop(0), how=how, similarity=1.0)
        for place in left_a
        if (there := waiting.get(key(a[place])))
    ]
    _take(found, left_a, left_b)
    return found


def _alike(a: Sequence[str], b: Sequence[str], left_a: list[int], left_b: list[int], threshold: float) -> list[Aligned]:
    """The most alike first; of equals the nearest in place, so that neither side decides."""
    ours, theirs = (
        {place: set(_words(a[place])) for place in left_a},
        {place: set(_words(b[place])) for place in left_b},
    )
    near = [
        (-share, abs(one - other), one + other, one, other)
        for one, mine in ours.items()
        for other, others in theirs.items()
        if (share := _dice(mine, others)) >= threshold
    ]
    found: list[Aligned] = []
    taken_a, taken_b = set[int](), set[int]()
    for share, _, _, one, other in sorted(near):
        if one not in taken_a and other not in taken_b:
            taken_a.add(one)
            taken_b.add(other)
            found.append(Aligned(a=one, b=other, how="fuzzy", similarity=-share))
    _take(found, left_a, left_b)
    return found


def _take(found: Sequence[Aligned], left_a: list[int], left_b: list[int]) -> None:
    taken_a, taken_b = {pair.a for pair in found}, {pair.b for pair in found}
    left_a[:] = [place for place in left_a if place not in taken_a]
    left_b[:] = [place for place in left_b if place not in taken_b]


def _dice(a: set[str], b: set[str]) -> float:
    return 2 * len(a & b) / (len(a) + len(b)) if a and b else 0.0
