"""The passages of a task, read once: their sentences, and the statements that are held against them."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from itertools import filterfalse, islice
from math import fsum
from typing import TypeAlias

from ragboard.judges.embedded.lexicon import AKIN_IN_MEANING
from ragboard.judges.embedded.reading import BEGINNING, Reading, clues_of, figure_terms, once, read
from ragboard.text.sentences import Language, language_of, sentence_spans, term

__all__ = ["Claim", "Index", "Library", "Lookup", "Scope", "lookups"]


HEAD = 120
"""Characters of each passage from which the language is told."""


@dataclass(frozen=True)
class Claim:
    """A statement as it is looked for."""

    reading: Reading

    @once
    def items(self) -> frozenset[str]:
        """What must be found: its content terms and figures; all its words where it has neither."""
        return self.reading.content | self.counted or self.reading.words

    @once
    def named(self) -> frozenset[str]:
        """Those of its terms that belong to names."""
        return frozenset(term for name in self.reading.names for term in name.terms)

    @once
    def counted(self) -> frozenset[str]:
        """Those of its items that are figures."""
        return frozenset(figure.key for figure in self.reading.figures)

    def words(self, items: Iterable[str]) -> list[str]:
        """These items as the statement writes them, in its order, each once."""
        wanted = set(items)
        if not wanted:
            return []
        said = [(at, self._inner(at)) for at, place in enumerate(self.reading.places) if place in wanted]
        said += [
            (figure.first, self.reading.text[figure.start : figure.end])
            for figure in self.reading.figures
            if figure.key in wanted
        ]
        return list(dict.fromkeys(text for _, text in sorted(said)))

    def _inner(self, at: int) -> str:
        """The word as it reads within a sentence: the first one keeps its capital only as a name."""
        word = self.reading.spelt[at]
        first = at == 0 and self.reading.language == "en"
        named = first and any(name.first == 0 for name in self.reading.names)
        return word.lower() if first and not named and not word.isupper() else word


@dataclass(frozen=True)
class Library:
    """Sentences of all passages, numbered through."""

    language: Language
    sentences: tuple[Reading, ...]
    passage_of: tuple[int, ...]
    """For each sentence its passage, from 0."""
    passages: int

    @classmethod
    def of(cls, passages: Sequence[str], question: str = "") -> Library:
        """Read the passages, in the language of their beginnings and of the question."""
        language = language_of(" ".join(text[:HEAD] for text in (*passages, question)))
        sentences: list[Reading] = []
        numbers: list[int] = []
        for number, text in enumerate(passages):
            for start, end in sentence_spans(text, language):
                sentences.append(read(text, start, end, language))
                numbers.append(number)
        return cls(language, tuple(sentences), tuple(numbers), len(passages))

    @classmethod
    def of_sentences(cls, sentences: Sequence[str], language: Language) -> Library:
        """The sentences as they are given, each read as a whole, in one passage."""
        readings = tuple(read(sentence, 0, len(sentence), language) for sentence in sentences)
        return cls(language, readings, (0,) * len(readings), 1)

    def claim(self, statement: str) -> Claim:
        """Read a statement as the passages are read."""
        return Claim(read(statement, 0, len(statement), self.language))

    def words(self, passage: int | None) -> AbstractSet[str]:
        """All words of a passage, or of all, in small letters; some as they are spelt too."""
        return self._all_words if passage is None else self._words[passage]

    @once
    def _all_words(self) -> AbstractSet[str]:
        words = set[str]().union(*[sentence.spelt for sentence in self.sentences])
        words.update([word.lower() for word in filterfalse(str.islower, words)])
        return words

    @once
    def _words(self) -> tuple[AbstractSet[str], ...]:
        found: list[set[str]] = [set() for _ in range(self.passages)]
        for number, reading in zip(self.passage_of, self.sentences, strict=True):
            found[number].update(reading.words)
        return tuple(found)


def rarity(sentences: int, seen: int) -> float:
    """Inverse sentence frequency of a term that stands in `seen` of so many sentences; one never seen weighs most."""
    return math.log(2.0 + sentences / (seen + 1)) if seen else math.log(2.0 + sentences)


@dataclass(frozen=True, slots=True)
class Weights:
    """The rarity of terms and figure keys among some readings."""

    seen: Mapping[str, int]
    sentences: int

    @classmethod
    def of(cls, readings: Iterable[Reading]) -> Weights:
        """Count in how many of the readings each term occurs."""
        seen: Counter[str] = Counter()
        sentences = 0
        for reading in readings:
            seen.update(reading.everything)
            sentences += 1
        return cls(seen, sentences)

    def __getitem__(self, item: str) -> float:
        return rarity(self.sentences, self.seen.get(item, 0))


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
