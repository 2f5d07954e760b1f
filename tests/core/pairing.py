"""Pairing of two runs in plain Python, to test the SQL against."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

__all__ = ["Asked", "Pairing", "pair_samples"]


class Asked(Protocol):
    """What a partner is found by: a `Sample` has it."""

    @property
    def id(self) -> str:
        """Which sample it is in its run."""
        ...

    @property
    def question(self) -> str:
        """What is asked."""
        ...

    @property
    def history(self) -> Hashable:
        """What was said before."""
        ...


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """Pairs of positions, in the order of the first run, and what has no partner. Nothing is lost."""

    pairs: tuple[tuple[int, int], ...]
    only_a: tuple[int, ...]
    """Positions in the first run without a partner in the second."""
    only_b: tuple[int, ...]
    ambiguous_a: tuple[int, ...]
    """Positions in the first run whose question is there several times, so that no partner is certain."""
    ambiguous_b: tuple[int, ...]
    by_question: int
    """How many of the pairs have different ids, and were found by question and history."""


def pair_samples(a: Iterable[Asked], b: Iterable[Asked]) -> Pairing:
    """Pair by id where both ask the same question, else by question and history where each is there once."""
    ours, theirs = tuple(a), tuple(b)
    by_id = _matches([(sample.id, *_asked(sample)) for sample in ours], [(s.id, *_asked(s)) for s in theirs])
    left_a = [place for place in range(len(ours)) if place not in by_id]
    taken = set(by_id.values())
    left_b = [place for place in range(len(theirs)) if place not in taken]
    found = _matches([_asked(ours[place]) for place in left_a], [_asked(theirs[place]) for place in left_b])
    pairs = by_id | {left_a[one]: left_b[other] for one, other in found.items()}
    rest_a = [place for place in left_a if place not in pairs]
    taken = set(pairs.values())
    rest_b = [place for place in left_b if place not in taken]
    asked_a, asked_b = {_asked(ours[place]) for place in rest_a}, {_asked(theirs[place]) for place in rest_b}
    return Pairing(
        pairs=tuple(sorted(pairs.items())),
        only_a=tuple(place for place in rest_a if _asked(ours[place]) not in asked_b),
        only_b=tuple(place for place in rest_b if _asked(theirs[place]) not in asked_a),
        ambiguous_a=tuple(place for place in rest_a if _asked(ours[place]) in asked_b),
        ambiguous_b=tuple(place for place in rest_b if _asked(theirs[place]) in asked_a),
        by_question=len(found),
    )


def _asked(sample: Asked) -> tuple[Hashable, ...]:
    return sample.question, sample.history


def _matches(ours: Sequence[Hashable], theirs: Sequence[Hashable]) -> dict[int, int]:
    """Places that have the same key, where the key is there once on either side."""
    places: tuple[dict[Hashable, list[int]], ...] = (defaultdict(list), defaultdict(list))
    for keys, found in zip((ours, theirs), places, strict=True):
        for place, key in enumerate(keys):
            found[key].append(place)
    mine, other = places
    return {at[0]: other[key][0] for key, at in mine.items() if len(at) == 1 and len(other.get(key, ())) == 1}
