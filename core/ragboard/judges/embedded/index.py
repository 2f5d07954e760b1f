"""Where passages say what some claims hold, and how much each thing tells there.

The claims are known before the passages are gone through, so that no word that none of them holds costs more than a
look-up: what is kept is as large as the claims, not as the passages.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache

from ragboard.judges.embedded.clues import clues_of, figure_terms
from ragboard.judges.embedded.lexicon import AKIN_IN_MEANING
from ragboard.judges.embedded.library import Claim, Library
from ragboard.judges.embedded.once import once
from ragboard.judges.embedded.reading import BEGINNING
from ragboard.judges.embedded.weights import rarity
from ragboard.text.sentences import Language, term

__all__ = ["Forms", "Index"]

SAME_MEANING, AKIN = 0.9, 0.8
"""What a word is worth that means nearly the same, and one of the same root."""
MOST_ALIKE = 50
"""Words of one beginning that are looked at."""
SHORTEST_AKIN, ROOT = 6, 0.7
"""Words of so many letters are akin where this part from their beginning is the same."""

Forms = tuple[tuple[str, float], ...]
"""Under which terms of the passages an item is said, and what each is worth, the best first."""


@dataclass(frozen=True)
class Index:
    """The items of some claims in a library."""

    library: Library
    forms: Mapping[str, Forms]
    """For each item of a claim."""
    where: Mapping[str, Sequence[int]]
    """For each form that is said the sentences it stands in, ascending."""

    @classmethod
    def of(cls, library: Library, claims: Sequence[Claim]) -> Index:
        """Look for all items of the claims."""
        items = frozenset[str]().union(*(claim.items for claim in claims))
        vocabulary = _Vocabulary(library)
        forms = {item: vocabulary.forms(item) for item in items}
        sought = frozenset(form for found in forms.values() for form, _ in found)
        told = clues_of((figure for claim in claims for figure in claim.reading.figures), library.language)
        where = _places(library, sought, told)
        if missing := sought - where.keys():
            forms = {item: tuple(each for each in found if each[0] not in missing) for item, found in forms.items()}
        return cls(library, forms, where)

    @once
    def weights(self) -> Mapping[str, float]:
        """How much each item tells here."""
        sentences, where = len(self.library.sentences), self.where
        return {item: rarity(sentences, len(where.get(item, ()))) for item in self.forms}

    @once
    def contents(self) -> tuple[AbstractSet[str], ...]:
        """The forms that each passage says."""
        found: list[set[str]] = [set() for _ in range(self.library.passages)]
        passage_of = self.library.passage_of
        for form, numbers in self.where.items():
            for number in numbers:
                found[passage_of[number]].add(form)
        return tuple(found)


class _Vocabulary:
    """The content terms of a library."""

    def __init__(self, library: Library) -> None:
        self._terms = set[str]().union(*[sentence.terms for sentence in library.sentences])
        self._ordered = sorted(self._terms)
        self._same = _same_meaning(library.language)

    def forms(self, item: str) -> Forms:
        """Under which terms an item may be found; a figure only as it stands, which is not known yet."""
        if item[0] == "#":
            return ((item, 1.0),)
        found = [(item, 1.0)] if item in self._terms else []
        found += [(other, SAME_MEANING) for other in self._same.get(item, ()) if other in self._terms]
        if len(item) >= SHORTEST_AKIN:
            found += [(other, AKIN) for other in self._of_one_beginning(item[:BEGINNING]) if _akin(item, other)]
        return tuple(found)

    def _of_one_beginning(self, beginning: str) -> Sequence[str]:
        first = stop = bisect_left(self._ordered, beginning)
        last = min(first + MOST_ALIKE, len(self._ordered))
        while stop < last and self._ordered[stop].startswith(beginning):
            stop += 1
        return self._ordered[first:stop]


def _places(library: Library, sought: frozenset[str], told: frozenset[str]) -> dict[str, list[int]]:
    """Where the forms are said; `told` are the clues of their figures."""
    where: defaultdict[str, list[int]] = defaultdict(list)
    doubtful = sought & figure_terms(library.language)
    for number, sentence in enumerate(library.sentences):
        found = sought.intersection(sentence.terms)
        if not (told.isdisjoint(sentence.terms) and doubtful.isdisjoint(found)):
            found = sought & sentence.everything
        for form in found:
            where[form].append(number)
    return dict(where)


def _akin(word: str, other: str) -> bool:
    if word == other or len(other) < SHORTEST_AKIN:
        return False
    shared = int(ROOT * max(len(word), len(other)) + 0.5)
    return word[:shared] == other[:shared]


@lru_cache(maxsize=8)
def _same_meaning(language: Language) -> Mapping[str, tuple[str, ...]]:
    """For each term those that mean nearly the same."""
    found: dict[str, set[str]] = {}
    for group in AKIN_IN_MEANING.get(language, ()):
        terms = {term(word, language) for word in group.split()}
        for each in terms:
            found.setdefault(each, set()).update(terms - {each})
    return {each: tuple(sorted(others)) for each, others in found.items()}
