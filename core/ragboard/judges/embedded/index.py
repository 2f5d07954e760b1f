"""An index of the sentences of a task's passages, in which statements are looked up.

A *term* is the stem of a word, by which its forms are compared.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from itertools import filterfalse, islice
from math import fsum
from typing import TypeAlias

from ragboard.judges.embedded.lexicon import NEAR_SYNONYMS
from ragboard.judges.embedded.reading import BEGINNING_LETTERS, ParsedSentence, clues_of, figure_terms, once, read
from ragboard.text.sentences import Language, language_of, sentence_spans, term

__all__ = ["Claim", "Index", "Library", "Lookup", "Scope", "lookups"]


_INITIALS = re.compile(r"\b[^\W\d_](?:\.[^\W\d_])+\b\.?")
_LATIN = "A-Za-z\u00c0-\u024f"
_BEFORE_WORD = re.compile(rf"[0-9{_LATIN}]*\Z")
_BEFORE_NUMBER = re.compile(rf"(?:[{_LATIN}]+-)?[0-9{_LATIN}]*\Z")
_AFTER = re.compile(rf"[0-9{_LATIN}]*")
"""The rest of a word in Latin script around a part of it; other scripts may have no spaces between words."""
LONGEST_REST = 40
"""Maximum number of characters of it that are looked at."""
HEAD = 120
"""Number of characters of each passage that are used to detect the language."""


@dataclass(frozen=True)
class Claim:
    """A statement to look up."""

    reading: ParsedSentence

    @once
    def items(self) -> frozenset[str]:
        """Return the items to find: its content terms and figures or, without any, all its words."""
        return self.reading.content | self.counted or self.reading.words

    @once
    def named(self) -> frozenset[str]:
        """Return the terms that belong to names."""
        return frozenset(term for name in self.reading.names for term in name.terms)

    @once
    def counted(self) -> frozenset[str]:
        """Return the items that are figures."""
        return frozenset(figure.key for figure in self.reading.figures)

    def words(self, items: Iterable[str]) -> list[str]:
        """Return these items as whole words of the statement, in its order; words that differ only in case once."""
        requested = set(items)
        if not requested:
            return []
        terms = enumerate(self.reading.content_terms)
        spans = {self._term_span(at) for at, place in terms if place in requested}
        spans |= {
            self._word_around(figure.start, figure.end) for figure in self.reading.figures if figure.key in requested
        }
        by_folded: dict[str, str] = {}
        for start, end in sorted(spans):
            if not any(first <= start and end <= last for first, last in spans - {(start, end)}):
                by_folded.setdefault(self.reading.text[start:end].casefold(), self.reading.text[start:end])
        return list(by_folded.values())

    def _term_span(self, at: int) -> tuple[int, int]:
        """Return the whole word; a letter of an abbreviation with the others: `U.S.`."""
        start, end = self.reading.word_offsets.start(at), self.reading.word_offsets.ends[at]
        around = _INITIALS.finditer(self.reading.text, self.reading.start, self.reading.end)
        initials = next((one.span() for one in around if one.start() <= start < one.end()), None)
        return initials or self._word_around(start, end)

    def _word_around(self, start: int, end: int) -> tuple[int, int]:
        """The place with the letters and digits beside it, which may be words or figures themselves: `2D`, `GPT-4`."""
        text = self.reading.text
        pattern = _BEFORE_NUMBER if text[start].isdigit() else _BEFORE_WORD
        before = pattern.search(text[max(0, start - LONGEST_REST) : start])
        after = _AFTER.match(text, end, end + LONGEST_REST)
        return start - len(before.group() if before else ""), end + len(after.group() if after else "")


@dataclass(frozen=True)
class Library:
    """The sentences of all passages, numbered consecutively."""

    language: Language
    sentences: tuple[ParsedSentence, ...]
    passage_of: tuple[int, ...]
    """The passage of each sentence, from 0."""
    passages: int

    @classmethod
    def of(cls, passages: Sequence[str], question: str = "") -> Library:
        """Read the passages, in the language of their beginnings and of the question."""
        language = language_of(" ".join(text[:HEAD] for text in (*passages, question)))
        sentences: list[ParsedSentence] = []
        numbers: list[int] = []
        for number, text in enumerate(passages):
            for start, end in sentence_spans(text, language):
                sentences.append(read(text, start, end, language))
                numbers.append(number)
        return cls(language, tuple(sentences), tuple(numbers), len(passages))

    @classmethod
    def of_sentences(cls, sentences: Sequence[str], language: Language) -> Library:
        """Make a library of one passage from these sentences, which are not split."""
        readings = tuple(read(sentence, 0, len(sentence), language) for sentence in sentences)
        return cls(language, readings, (0,) * len(readings), 1)

    def claim(self, statement: str) -> Claim:
        """Read a statement as the passages are read."""
        return Claim(read(statement, 0, len(statement), self.language))

    def words(self, passage: int | None) -> AbstractSet[str]:
        """Return all words of a passage, or of all passages (None), in lower case; some also as they are spelt."""
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


def rarity(sentences: int, occurrences: int) -> float:
    """Return the inverse sentence frequency of a term; highest for a term that occurs in none of the sentences."""
    return math.log(2.0 + sentences / (occurrences + 1)) if occurrences else math.log(2.0 + sentences)


@dataclass(frozen=True, slots=True)
class Weights:
    """The rarity of terms and figure keys among some readings."""

    seen: Mapping[str, int]
    sentences: int

    @classmethod
    def of(cls, readings: Iterable[ParsedSentence]) -> Weights:
        """Count the readings that contain each term."""
        seen: Counter[str] = Counter()
        sentences = 0
        for reading in readings:
            seen.update(reading.everything)
            sentences += 1
        return cls(seen, sentences)

    def __getitem__(self, item: str) -> float:
        return rarity(self.sentences, self.seen.get(item, 0))


SAME_MEANING, SAME_ROOT = 0.9, 0.8
"""The weight of a near-synonym, and of a word with the same root, relative to the word itself."""
MAX_SAME_BEGINNING = 50
"""Maximum number of words with the same beginning that are compared."""
MIN_ROOT_LETTERS, ROOT_SHARE = 6, 0.7
"""Words of at least 6 letters have the same root if they agree in the first letters, 70% of the longer word."""

Forms = tuple[tuple[str, float], ...]
"""The terms of the passages that match an item, each with its weight, best first."""


@dataclass(frozen=True)
class Index:
    """The items of some claims in a library."""

    library: Library
    forms: Mapping[str, Forms]
    """The forms of each item of the claims."""
    where: Mapping[str, Sequence[int]]
    """The sentences that contain each form, ascending."""

    @classmethod
    def of(cls, library: Library, claims: Sequence[Claim]) -> Index:
        """Look up all items of the claims."""
        items = frozenset[str]().union(*(claim.items for claim in claims))
        vocabulary = _Vocabulary(library)
        forms = {item: vocabulary.forms(item) for item in items}
        sought = frozenset(form for found in forms.values() for form, _ in found)
        told = clues_of((figure for claim in claims for figure in claim.reading.figures), library.language)
        where = _occurrences(library, sought, told)
        if missing := sought - where.keys():
            forms = {item: tuple(each for each in found if each[0] not in missing) for item, found in forms.items()}
        return cls(library, forms, where)

    @once
    def weights(self) -> Mapping[str, float]:
        """Return the weight of each item: its rarity."""
        sentences, where = len(self.library.sentences), self.where
        return {item: rarity(sentences, len(where.get(item, ()))) for item in self.forms}

    @once
    def contents(self) -> tuple[AbstractSet[str], ...]:
        """Return the forms that each passage contains."""
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
        """Return the terms that match an item. A figure matches only itself, whether or not it occurs."""
        if item[0] == "#":
            return ((item, 1.0),)
        found = [(item, 1.0)] if item in self._terms else []
        found += [(other, SAME_MEANING) for other in self._same.get(item, ()) if other in self._terms]
        if len(item) >= MIN_ROOT_LETTERS:
            found += [
                (other, SAME_ROOT)
                for other in self._of_one_beginning(item[:BEGINNING_LETTERS])
                if _same_root(item, other)
            ]
        return tuple(found)

    def _of_one_beginning(self, beginning: str) -> Sequence[str]:
        first = stop = bisect_left(self._ordered, beginning)
        last = min(first + MAX_SAME_BEGINNING, len(self._ordered))
        while stop < last and self._ordered[stop].startswith(beginning):
            stop += 1
        return self._ordered[first:stop]


def _occurrences(library: Library, sought: frozenset[str], told: frozenset[str]) -> dict[str, list[int]]:
    """Return the sentences that contain each form; `told`: clues of the figures among them."""
    where: defaultdict[str, list[int]] = defaultdict(list)
    doubtful = sought & figure_terms(library.language)
    for number, sentence in enumerate(library.sentences):
        found = sought.intersection(sentence.terms)
        if not (told.isdisjoint(sentence.terms) and doubtful.isdisjoint(found)):
            found = sought & sentence.everything
        for form in found:
            where[form].append(number)
    return dict(where)


def _same_root(word: str, other: str) -> bool:
    if word == other or len(other) < MIN_ROOT_LETTERS:
        return False
    shared = int(ROOT_SHARE * max(len(word), len(other)) + 0.5)
    return word[:shared] == other[:shared]


@lru_cache(maxsize=8)
def _same_meaning(language: Language) -> Mapping[str, tuple[str, ...]]:
    """Return the near-synonyms of each term."""
    found: dict[str, set[str]] = {}
    for group in NEAR_SYNONYMS.get(language, ()):
        terms = {term(word, language) for word in group.split()}
        for each in terms:
            found.setdefault(each, set()).update(terms - {each})
    return {each: tuple(sorted(others)) for each, others in found.items()}


POSTINGS = 4000
"""Maximum number of occurrences of words that are examined per claim; rare words come first, so little is lost."""
CONTEXT_WEIGHT = 0.8
"""The weight of words of the passage for ranking a sentence that begins with a pronoun."""
MAX_LEADS, MIN_LEAD_SHARE = 2, 0.6
"""Maximum number of sentences to compare closely, and the share of the best one's weight that they need."""
COMPANIONS = 4
"""Number of the best sentences in which a second sentence is searched that adds what the first lacks."""

Scope: TypeAlias = int | None
"""The number of a passage, from 0; None: all passages."""


@dataclass(frozen=True)
class Lookup:
    """A claim in an index."""

    index: Index
    claim: Claim

    @property
    def library(self) -> Library:
        """The sentences of the index."""
        return self.index.library

    @once
    def weights(self) -> dict[str, float]:
        """Return the weight of each item, in a fixed order."""
        weights = self.index.weights
        return {item: weights[item] for item in sorted(self.claim.items)}

    @once
    def total(self) -> float:
        """Return the weight of the whole claim."""
        return fsum(self.weights.values())

    @once
    def _held(self) -> dict[int, dict[str, float]]:
        """Return the items that each sentence contains, with their weights."""
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
        """Return the weight of each item that a sentence contains."""
        return self._held.get(number, {})

    @once
    def _ranked(self) -> list[tuple[float, int]]:
        """Sentences by total weight, highest first; one that begins with a pronoun also gets words of its passage."""
        weights, library = self.weights, self.library
        ranked: list[tuple[float, int]] = []
        for number, row in self._held.items():
            weight = fsum([weights[item] * worth for item, worth in row.items()])
            if library.sentences[number].refers_back:
                around = self.index.contents[library.passage_of[number]]
                context = [item for item in weights if item not in row and item[0] != "#" and item in around]
                weight += CONTEXT_WEIGHT * fsum([weights[item] for item in context])
            ranked.append((-weight, number))
        ranked.sort()
        return ranked

    def _first(self, scope: Scope) -> list[tuple[float, int]]:
        """Return the best few sentences of a passage or of all passages."""
        return self._ranked[: MAX_LEADS + COMPANIONS] if scope is None else self._by_passage.get(scope, [])

    @once
    def _by_passage(self) -> dict[int, list[tuple[float, int]]]:
        found: dict[int, list[tuple[float, int]]] = {}
        passage_of = self.library.passage_of
        for entry in self._ranked:
            chosen = found.setdefault(passage_of[entry[1]], [])
            if len(chosen) < MAX_LEADS + COMPANIONS:
                chosen.append(entry)
        return found

    def leads(self, scope: Scope) -> list[int]:
        """Return the sentences of a scope to compare closely, best first."""
        ranked = self._first(scope)
        return [number for weight, number in ranked[:MAX_LEADS] if weight <= MIN_LEAD_SHARE * ranked[0][0]]

    def companions(self, lead: int, scope: Scope) -> Iterable[int]:
        """Return sentences that may add what the lead lacks: the next best ones, and its neighbours."""
        passage_of, last = self.library.passage_of, len(self.library.sentences) - 1
        best = [number for _, number in self._first(scope) if number != lead][:COMPANIONS]
        near = [
            number
            for number in (lead - 1, lead + 1)
            if 0 <= number <= last and passage_of[number] == passage_of[lead] and number not in best
        ]
        return best + near

    def worth(self, said: AbstractSet[str]) -> dict[str, float]:
        """Return the weight of each item that these terms match."""
        found: dict[str, float] = {}
        for item in self.weights:
            for form, worth in self.index.forms[item]:
                if form in said:
                    found[item] = worth
                    break
        return found

    def share(self, worth: dict[str, float]) -> float:
        """Return the share of the claim's weight that these items cover, in [0, 1]."""
        return fsum([self.weights[item] * part for item, part in worth.items()]) / self.total if self.total else 0.0

    def said(self, scope: Scope) -> AbstractSet[str]:
        """Return the items that a scope contains."""
        return self._said if scope is None else self.worth(self.index.contents[scope]).keys()

    @once
    def _said(self) -> frozenset[str]:
        return frozenset(filter(self.index.forms.__getitem__, self.weights))


def lookups(library: Library, claims: Sequence[Claim]) -> Iterator[Lookup]:
    """Look up claims in a library; returns the lookups in order. Indexes all claims at once, which is faster."""
    index = Index.of(library, claims)
    return (Lookup(index, claim) for claim in claims)
