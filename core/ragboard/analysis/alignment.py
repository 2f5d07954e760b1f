"""Match statements of two answers by their words."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from ragboard.text.lexicon import FUNCTION_WORDS

__all__ = ["MIN_SIMILARITY", "Aligned", "Alignment", "align", "content_similarity"]

MIN_SIMILARITY = 0.6
"""Two texts match if the Dice similarity of their words, in [0, 1], is at least this."""

_FUNCTION_WORDS = frozenset().union(*FUNCTION_WORDS.values())

MatchKind = Literal["exact", "normalised", "fuzzy"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Aligned:
    """Two matched texts: their positions, from 0, and how they match."""

    a: int
    b: int
    how: MatchKind
    """exact: the same characters; normalised: the same words, ignoring case and punctuation; fuzzy: similar words."""
    similarity: float
    """Dice similarity of the words, in [0, 1]; 1 unless fuzzy."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Alignment:
    """The matched pairs of texts, and the positions of the texts without a match."""

    aligned: tuple[Aligned, ...]
    """Ordered by their position in `a`."""
    only_a: tuple[int, ...]
    only_b: tuple[int, ...]


def align(a: Sequence[str], b: Sequence[str], *, threshold: float = MIN_SIMILARITY) -> Alignment:
    """Match texts one to one: exact matches first, then normalised, then fuzzy ones.

    `threshold` is the minimum Dice similarity of the words of a fuzzy match, in [0, 1].
    """
    remaining_a, remaining_b = list(range(len(a))), list(range(len(b)))
    aligned = _align_equal(a, b, remaining_a, remaining_b, str, "exact")
    aligned += _align_equal(a, b, remaining_a, remaining_b, _normalised, "normalised")
    aligned += _align_similar(a, b, remaining_a, remaining_b, threshold)
    return Alignment(
        aligned=tuple(sorted(aligned, key=lambda pair: pair.a)), only_a=tuple(remaining_a), only_b=tuple(remaining_b)
    )


def content_similarity(a: str, b: str) -> float:
    """Return the Dice similarity, in [0, 1], of the words of two texts. Function words such as `the` are left out."""
    return _dice(set(_words(a)) - _FUNCTION_WORDS, set(_words(b)) - _FUNCTION_WORDS)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _normalised(text: str) -> Hashable:
    return tuple(_words(text)) or text.strip()


def _align_equal(
    a: Sequence[str],
    b: Sequence[str],
    remaining_a: list[int],
    remaining_b: list[int],
    key: Callable[[str], Hashable],
    how: MatchKind,
) -> list[Aligned]:
    """Match texts with equal keys, in order, and remove them from `remaining_a` and `remaining_b`."""
    by_key: dict[Hashable, list[int]] = {}
    for index in remaining_b:
        by_key.setdefault(key(b[index]), []).append(index)
    aligned = [
        Aligned(a=index, b=candidates.pop(0), how=how, similarity=1.0)
        for index in remaining_a
        if (candidates := by_key.get(key(a[index])))
    ]
    _remove(aligned, remaining_a, remaining_b)
    return aligned


def _align_similar(
    a: Sequence[str], b: Sequence[str], remaining_a: list[int], remaining_b: list[int], threshold: float
) -> list[Aligned]:
    """Match the most similar texts first, and remove them from `remaining_a` and `remaining_b`.

    Of equally similar texts, those at the nearest positions match. Swapping `a` and `b` gives the same matches.
    """
    words_a = {index: set(_words(a[index])) for index in remaining_a}
    words_b = {index: set(_words(b[index])) for index in remaining_b}
    candidates = [
        (-similarity, abs(index_a - index_b), index_a + index_b, index_a, index_b)
        for index_a, set_a in words_a.items()
        for index_b, set_b in words_b.items()
        if (similarity := _dice(set_a, set_b)) >= threshold
    ]
    aligned: list[Aligned] = []
    taken_a, taken_b = set[int](), set[int]()
    for negative_similarity, _, _, index_a, index_b in sorted(candidates):
        if index_a not in taken_a and index_b not in taken_b:
            taken_a.add(index_a)
            taken_b.add(index_b)
            aligned.append(Aligned(a=index_a, b=index_b, how="fuzzy", similarity=-negative_similarity))
    _remove(aligned, remaining_a, remaining_b)
    return aligned


def _remove(aligned: Sequence[Aligned], remaining_a: list[int], remaining_b: list[int]) -> None:
    taken_a, taken_b = {pair.a for pair in aligned}, {pair.b for pair in aligned}
    remaining_a[:] = [index for index in remaining_a if index not in taken_a]
    remaining_b[:] = [index for index in remaining_b if index not in taken_b]


def _dice(a: set[str], b: set[str]) -> float:
    return 2 * len(a & b) / (len(a) + len(b)) if a and b else 0.0
