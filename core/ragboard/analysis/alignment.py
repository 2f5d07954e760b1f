"""Alignment of statements of two answers that say the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from ragboard.text.lexicon import FUNCTION_WORDS

__all__ = ["FUZZY", "Aligned", "Alignment", "align", "content_similarity"]

FUZZY = 0.6
"""Minimum Dice similarity of the words of two aligned statements, in [0, 1]."""

_FUNCTION_WORDS = frozenset().union(*FUNCTION_WORDS.values())

MatchKind = Literal["exact", "normalised", "fuzzy"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Aligned:
    """The positions, from 0, of two texts that say the same, and how they match.

    exact: the same characters; normalised: the same words, ignoring case and punctuation; fuzzy: enough common words.
    """

    a: int
    b: int
    how: MatchKind
    similarity: float
    """Dice similarity of the words, in [0, 1]; 1 unless fuzzy."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Alignment:
    """All positions of both sides: aligned ones, and those only on one side."""

    aligned: tuple[Aligned, ...]
    """In the order of the first side."""
    only_a: tuple[int, ...]
    only_b: tuple[int, ...]


def align(a: Sequence[str], b: Sequence[str], *, threshold: float = FUZZY) -> Alignment:
    """Align texts one to one: exact matches first, then normalised, then fuzzy from `threshold` on."""
    left_a, left_b = list(range(len(a))), list(range(len(b)))
    found = _align_equal(a, b, left_a, left_b, str, "exact")
    found += _align_equal(a, b, left_a, left_b, _normalised, "normalised")
    found += _align_similar(a, b, left_a, left_b, threshold)
    return Alignment(aligned=tuple(sorted(found, key=lambda pair: pair.a)), only_a=tuple(left_a), only_b=tuple(left_b))


def content_similarity(one: str, other: str) -> float:
    """Return the Dice similarity, in [0, 1], of the words of two texts, without function words such as `the`."""
    return _dice(*(set(_words(text)) - _FUNCTION_WORDS for text in (one, other)))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _normalised(text: str) -> Hashable:
    return tuple(_words(text)) or text.strip()


def _align_equal(
    a: Sequence[str],
    b: Sequence[str],
    left_a: list[int],
    left_b: list[int],
    key: Callable[[str], Hashable],
    how: MatchKind,
) -> list[Aligned]:
    """Align texts with equal keys in order, and remove them from `left_a` and `left_b`."""
    by_key: dict[Hashable, list[int]] = {}
    for index in left_b:
        by_key.setdefault(key(b[index]), []).append(index)
    found = [
        Aligned(a=index, b=candidates.pop(0), how=how, similarity=1.0)
        for index in left_a
        if (candidates := by_key.get(key(a[index])))
    ]
    _remove(found, left_a, left_b)
    return found


def _align_similar(
    a: Sequence[str], b: Sequence[str], left_a: list[int], left_b: list[int], threshold: float
) -> list[Aligned]:
    """Align the most similar texts first; ties go to the nearest positions, whichever side is first."""
    words_a = {index: set(_words(a[index])) for index in left_a}
    words_b = {index: set(_words(b[index])) for index in left_b}
    candidates = [
        (-similarity, abs(one - other), one + other, one, other)
        for one, in_a in words_a.items()
        for other, in_b in words_b.items()
        if (similarity := _dice(in_a, in_b)) >= threshold
    ]
    found: list[Aligned] = []
    taken_a, taken_b = set[int](), set[int]()
    for negative_similarity, _, _, one, other in sorted(candidates):
        if one not in taken_a and other not in taken_b:
            taken_a.add(one)
            taken_b.add(other)
            found.append(Aligned(a=one, b=other, how="fuzzy", similarity=-negative_similarity))
    _remove(found, left_a, left_b)
    return found


def _remove(found: Sequence[Aligned], left_a: list[int], left_b: list[int]) -> None:
    taken_a, taken_b = {pair.a for pair in found}, {pair.b for pair in found}
    left_a[:] = [index for index in left_a if index not in taken_a]
    left_b[:] = [index for index in left_b if index not in taken_b]


def _dice(a: set[str], b: set[str]) -> float:
    return 2 * len(a & b) / (len(a) + len(b)) if a and b else 0.0
