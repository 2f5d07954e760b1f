"""Where the passages say the items of a claim: the sentences worth a close look, in time bounded by a claim."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from math import fsum
from typing import TypeAlias

from ragboard.judges.embedded.index import Index
from ragboard.judges.embedded.library import Claim, Library
from ragboard.judges.embedded.once import once

__all__ = ["Lookup", "Scope", "lookups"]

POSTINGS = 4000
"""Places looked at for one claim: rare words first, so that what is left out tells little."""
LEANT = 0.8
"""What a word of its passage is worth to a sentence that begins with a pronoun, in choosing where to look."""
TRIED, RIVAL = 2, 0.6
"""Sentences that are looked at closely, and what share of the best one's weight they need."""
COMPANIONS = 4
"""Sentences among which a second one is sought that says what the first leaves out."""

Scope: TypeAlias = int | None
"""A passage, from 0, or all of them."""


@dataclass(frozen=True)
class Lookup:
    """A claim held against a library, by an index that it is in."""

    index: Index
    claim: Claim

    @property
    def library(self) -> Library:
        """The sentences."""
        return self.index.library

    @once
    def weights(self) -> dict[str, float]:
        """How much each item tells, in a fixed order."""
        weights = self.index.weights
        return {item: weights[item] for item in sorted(self.claim.items)}

    @once
    def total(self) -> float:
        """The weight of the whole claim."""
        return fsum(self.weights.values())

    @once
    def _held(self) -> dict[int, dict[str, float]]:
        """For each sentence that holds any of them the items and their worth."""
        where, forms = self.index.where, self.index.forms
        postings = sorted(
            [(len(where[form]), item, form, worth) for item in self.weights for form, worth in forms[item]]
        )
        held: defaultdict[int, dict[str, float]] = defaultdict(dict)
        left = POSTINGS
        for length, item, form, worth in postings:
            for number in where[form] if length <= left else islice(where[form], left):
                row = held[number]
                if worth > row.get(item, 0.0):
                    row[item] = worth
            left = max(left - length, 1)
        return held

    def held(self, number: int) -> dict[str, float]:
        """What each item is worth in a sentence; items it does not say are left out."""
        return self._held.get(number, {})

    @once
    def _ranked(self) -> list[tuple[float, int]]:
        """Sentences by the weight they hold, the most first; one that begins with a pronoun leans on its passage."""
        weights, library = self.weights, self.library
        ranked: list[tuple[float, int]] = []
        for number, row in self._held.items():
            weight = fsum([weights[item] * worth for item, worth in row.items()])
            if library.sentences[number].refers_back:
                around = self.index.contents[library.passage_of[number]]
                leant = [item for item in weights if item not in row and item[0] != "#" and item in around]
                weight += LEANT * fsum([weights[item] for item in leant])
            ranked.append((-weight, number))
        ranked.sort()
        return ranked

    def _first(self, scope: Scope) -> list[tuple[float, int]]:
        """The first few sentences of a passage or of all, by rank."""
        return self._ranked[: TRIED + COMPANIONS] if scope is None else self._by_passage.get(scope, [])

    @once
    def _by_passage(self) -> dict[int, list[tuple[float, int]]]:
        found: dict[int, list[tuple[float, int]]] = {}
        passage_of = self.library.passage_of
        for entry in self._ranked:
            chosen = found.setdefault(passage_of[entry[1]], [])
            if len(chosen) < TRIED + COMPANIONS:
                chosen.append(entry)
        return found

    def leads(self, scope: Scope) -> list[int]:
        """The sentences of a scope that are worth a close look, the most promising first."""
        ranked = self._first(scope)
        return [number for weight, number in ranked[:TRIED] if weight <= RIVAL * ranked[0][0]]

    def companions(self, lead: int, scope: Scope) -> Iterable[int]:
        """Sentences that may say what the lead leaves out: the next best ones, and its neighbours."""
        passage_of, last = self.library.passage_of, len(self.library.sentences) - 1
        best = [number for _, number in self._first(scope) if number != lead][:COMPANIONS]
        near = [
            number
            for number in (lead - 1, lead + 1)
            if 0 <= number <= last and passage_of[number] == passage_of[lead] and number not in best
        ]
        return best + near

    def worth(self, said: AbstractSet[str]) -> dict[str, float]:
        """What each item is worth where these terms are said; items not said are left out."""
        found: dict[str, float] = {}
        for item in self.weights:
            for form, worth in self.index.forms[item]:
                if form in said:
                    found[item] = worth
                    break
        return found

    def share(self, worth: dict[str, float]) -> float:
        """The share of the claim's weight that is found, in [0, 1]."""
        return fsum([self.weights[item] * part for item, part in worth.items()]) / self.total if self.total else 0.0

    def said(self, scope: Scope) -> AbstractSet[str]:
        """The items that a scope says."""
        return self._said if scope is None else self.worth(self.index.contents[scope]).keys()

    @once
    def _said(self) -> frozenset[str]:
        return frozenset(filter(self.index.forms.__getitem__, self.weights))


def lookups(library: Library, claims: Sequence[Claim]) -> Iterator[Lookup]:
    """The claims held against a library, in their order: together, so that its sentences are gone through once."""
    index = Index.of(library, claims)
    return (Lookup(index, claim) for claim in claims)
