"""Find the sentences of the passages that share words with a statement.

The terms here: a *claim* is a parsed statement. A *term* is the stem of a word. A *figure* is a number or date. An
*item* of a claim is a term or the key of a figure. The *scope* of a verdict is one passage or all passages.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from itertools import filterfalse, islice
from math import fsum
from typing import TypeAlias

from ragboard.judges.embedded.lexicon import NEAR_SYNONYMS
from ragboard.judges.embedded.reading import (
    BEGINNING_LETTERS,
    ParsedSentence,
    clues_of,
    figure_terms,
    lazy_property,
    read,
)
from ragboard.text.sentences import Language, language_of, sentence_spans, term

__all__ = ["Claim", "Corpus", "Index", "Lookup", "Scope", "lookups"]


_INITIALS = re.compile(r"\b[^\W\d_](?:\.[^\W\d_])+\b\.?")
_LATIN = "A-Za-z\u00c0-\u024f"
_BEFORE_WORD = re.compile(rf"[0-9{_LATIN}]*\Z")
_BEFORE_NUMBER = re.compile(rf"(?:[{_LATIN}]+-)?[0-9{_LATIN}]*\Z")
_AFTER = re.compile(rf"[0-9{_LATIN}]*")
"""Patterns for the letters and digits beside a part of a word. Only Latin script: others may not separate words."""
_NEIGHBOURS = re.compile(r"[ /&-]| & ")
_IN_A_NAME = re.compile(r" (?:and|of|of the|the|und|de|von) ")
"""Patterns for the text between two words of one phrase, and between two parts of a name."""
MAX_PHRASE_CHARS = 40
"""Maximum length of neighbouring words that are returned as one phrase."""
MAX_REST_CHARS = 40
"""Maximum number of characters before or after a word that the patterns search."""
LANGUAGE_SAMPLE_CHARS = 120
"""Number of characters of each passage from which the language is detected."""


@dataclass(frozen=True)
class Claim:
    """A parsed statement."""

    parsed: ParsedSentence

    @lazy_property
    def items(self) -> frozenset[str]:
        """Its content terms and figures; if it has none, all its words."""
        return self.parsed.content | self.figure_keys or self.parsed.words

    @lazy_property
    def name_terms(self) -> frozenset[str]:
        """The terms that belong to names."""
        return frozenset(term for name in self.parsed.names for term in name.terms)

    @lazy_property
    def figure_keys(self) -> frozenset[str]:
        """The items that are figures."""
        return frozenset(figure.key for figure in self.parsed.figures)

    def words(self, items: Iterable[str]) -> list[str]:
        """Return the words and phrases of the statement for these items, in order, without repetition.

        Neighbouring words are one phrase: `node status`, `Parks and Recreation`.
        """
        requested = set(items)
        if not requested:
            return []
        spans = {span for item, span in self._item_spans if item in requested}
        text, phrases, named = self.parsed.text, list[tuple[int, int]](), set[str]()
        for start, end in sorted(spans):
            folded = text[start:end].casefold()
            if folded in named or any(first <= start and end <= last for first, last in spans - {(start, end)}):
                continue
            named.add(folded)
            if phrases and end - phrases[-1][0] <= MAX_PHRASE_CHARS and self._continues(phrases[-1], start):
                phrases[-1] = (phrases[-1][0], end)
            else:
                phrases.append((start, end))
        return [text[start:end] for start, end in phrases]

    @lazy_property
    def _item_spans(self) -> list[tuple[str, tuple[int, int]]]:
        """Each term and figure key, with the span of its word or of the abbreviation around it, such as `U.S.`."""
        text, words = self.parsed.text, self.parsed.word_offsets
        abbreviations = [match.span() for match in _INITIALS.finditer(text, self.parsed.start, self.parsed.end)]
        spans = [(figure.key, self._word_around(figure.start, figure.end)) for figure in self.parsed.figures]
        for index, content_term in enumerate(self.parsed.content_terms):
            if content_term:
                start = words.start(index)
                begun = bisect_right(abbreviations, (start, len(text)))
                inside = begun > 0 and start < abbreviations[begun - 1][1]
                span = abbreviations[begun - 1] if inside else self._word_around(start, words.ends[index])
                spans.append((content_term, span))
        return spans

    def _continues(self, phrase: tuple[int, int], start: int) -> bool:
        """Return whether the word at `start` follows the phrase directly, or is part of the same name."""
        text, (first, end) = self.parsed.text, phrase
        named = text[first].isupper() and text[start].isupper()
        return bool(_NEIGHBOURS.fullmatch(text, end, start) or (named and _IN_A_NAME.fullmatch(text, end, start)))

    def _word_around(self, start: int, end: int) -> tuple[int, int]:
        """Return the span extended by the letters and digits beside it: `2D`, `GPT-4`."""
        text = self.parsed.text
        pattern = _BEFORE_NUMBER if text[start].isdigit() else _BEFORE_WORD
        before = pattern.search(text[max(0, start - MAX_REST_CHARS) : start])
        after = _AFTER.match(text, end, end + MAX_REST_CHARS)
        return start - len(before.group() if before else ""), end + len(after.group() if after else "")


@dataclass(frozen=True)
class Corpus:
    """The sentences of all passages, numbered from 0."""

    language: Language
    sentences: tuple[ParsedSentence, ...]
    passage_of: tuple[int, ...]
    """The number of each sentence's passage, from 0."""
    passages: int
    """The number of passages."""

    @classmethod
    def from_passages(cls, passages: Sequence[str], question: str = "") -> Corpus:
        """Read the passages. The language is detected from their beginnings and the question."""
        language = language_of(" ".join(text[:LANGUAGE_SAMPLE_CHARS] for text in (*passages, question)))
        sentences: list[ParsedSentence] = []
        numbers: list[int] = []
        for number, text in enumerate(passages):
            for start, end in sentence_spans(text, language):
                sentences.append(read(text, start, end, language))
                numbers.append(number)
        return cls(language, tuple(sentences), tuple(numbers), len(passages))

    @classmethod
    def from_sentences(cls, sentences: Sequence[str], language: Language) -> Corpus:
        """Return a corpus of one passage from these sentences, which are not split."""
        parsed_sentences = tuple(read(sentence, 0, len(sentence), language) for sentence in sentences)
        return cls(language, parsed_sentences, (0,) * len(parsed_sentences), 1)

    def claim(self, statement: str) -> Claim:
        """Parse a statement in the language of the corpus."""
        return Claim(read(statement, 0, len(statement), self.language))

    def words(self, passage: int | None) -> AbstractSet[str]:
        """Return the words of a passage in lower case. None: those of all passages, also as the passages spell them."""
        return self._all_words if passage is None else self._words[passage]

    @lazy_property
    def _all_words(self) -> AbstractSet[str]:
        words = set[str]().union(*[sentence.spelt for sentence in self.sentences])
        words.update([word.lower() for word in filterfalse(str.islower, words)])
        return words

    @lazy_property
    def _words(self) -> tuple[AbstractSet[str], ...]:
        words: list[set[str]] = [set() for _ in range(self.passages)]
        for number, parsed in zip(self.passage_of, self.sentences, strict=True):
            words[number].update(parsed.words)
        return tuple(words)


def rarity(sentences: int, occurrences: int) -> float:
    """Return the inverse sentence frequency of a term. It is higher if fewer sentences contain the term."""
    return math.log(2.0 + sentences / (occurrences + 1)) if occurrences else math.log(2.0 + sentences)


SAME_MEANING, SAME_ROOT = 0.9, 0.8
"""The weights of a near-synonym and of a word with the same root. The word itself has weight 1."""
MAX_SAME_BEGINNING = 50
"""Maximum number of words with the same beginning that are compared with a word."""
MIN_ROOT_LETTERS, ROOT_SHARE = 6, 0.7
"""Words of at least 6 letters have the same root if their first letters are the same, up to 70% of the longer word."""

Forms = tuple[tuple[str, float], ...]
"""The terms of the passages that match an item, with their weights, best first."""


@dataclass(frozen=True)
class Index:
    """Where a corpus contains the items of claims."""

    corpus: Corpus
    forms: Mapping[str, Forms]
    """The forms of each item of the claims."""
    sentences_with: Mapping[str, Sequence[int]]
    """The numbers of the sentences that contain each form, ascending."""

    @classmethod
    def build(cls, corpus: Corpus, claims: Sequence[Claim]) -> Index:
        """Build the index of all items of the claims."""
        items = frozenset[str]().union(*(claim.items for claim in claims))
        vocabulary = _Vocabulary(corpus)
        forms = {item: vocabulary.forms(item) for item in items}
        all_forms = frozenset(form for item_forms in forms.values() for form, _ in item_forms)
        clues = clues_of((figure for claim in claims for figure in claim.parsed.figures), corpus.language)
        sentences_with = _occurrences(corpus, all_forms, clues)
        if missing := all_forms - sentences_with.keys():
            forms = {
                item: tuple((form, weight) for form, weight in item_forms if form not in missing)
                for item, item_forms in forms.items()
            }
        return cls(corpus, forms, sentences_with)

    @lazy_property
    def weights(self) -> Mapping[str, float]:
        """The weight of each item: its rarity."""
        sentences, sentences_with = len(self.corpus.sentences), self.sentences_with
        return {item: rarity(sentences, len(sentences_with.get(item, ()))) for item in self.forms}

    @lazy_property
    def forms_by_passage(self) -> tuple[AbstractSet[str], ...]:
        """The forms that each passage contains."""
        forms: list[set[str]] = [set() for _ in range(self.corpus.passages)]
        passage_of = self.corpus.passage_of
        for form, numbers in self.sentences_with.items():
            for number in numbers:
                forms[passage_of[number]].add(form)
        return tuple(forms)


class _Vocabulary:
    """The content terms of a corpus."""

    def __init__(self, corpus: Corpus) -> None:
        self._terms = set[str]().union(*[sentence.terms for sentence in corpus.sentences])
        self._ordered = sorted(self._terms)
        self._same = _same_meaning(corpus.language)

    def forms(self, item: str) -> Forms:
        """Return the terms of the corpus that match an item. A figure's key matches only itself."""
        if item[0] == "#":
            return ((item, 1.0),)
        matching = [(item, 1.0)] if item in self._terms else []
        matching += [(other, SAME_MEANING) for other in self._same.get(item, ()) if other in self._terms]
        if len(item) >= MIN_ROOT_LETTERS:
            matching += [
                (other, SAME_ROOT)
                for other in self._with_same_beginning(item[:BEGINNING_LETTERS])
                if _same_root(item, other)
            ]
        return tuple(matching)

    def _with_same_beginning(self, beginning: str) -> Sequence[str]:
        first = stop = bisect_left(self._ordered, beginning)
        last = min(first + MAX_SAME_BEGINNING, len(self._ordered))
        while stop < last and self._ordered[stop].startswith(beginning):
            stop += 1
        return self._ordered[first:stop]


def _occurrences(corpus: Corpus, forms: frozenset[str], clues: frozenset[str]) -> dict[str, list[int]]:
    """Return the numbers of the sentences that contain each form. `clues`: see `clues_of` in `reading.py`."""
    sentences_with: defaultdict[str, list[int]] = defaultdict(list)
    maybe_in_figure = forms & figure_terms(corpus.language)
    for number, sentence in enumerate(corpus.sentences):
        contained = forms.intersection(sentence.terms)
        if not (clues.isdisjoint(sentence.terms) and maybe_in_figure.isdisjoint(contained)):
            contained = forms & sentence.everything
        for form in contained:
            sentences_with[form].append(number)
    return dict(sentences_with)


def _same_root(word: str, other: str) -> bool:
    if word == other or len(other) < MIN_ROOT_LETTERS:
        return False
    shared = int(ROOT_SHARE * max(len(word), len(other)) + 0.5)
    return word[:shared] == other[:shared]


@lru_cache(maxsize=8)
def _same_meaning(language: Language) -> Mapping[str, tuple[str, ...]]:
    """Return the near-synonyms of each term."""
    synonyms: dict[str, set[str]] = {}
    for group in NEAR_SYNONYMS.get(language, ()):
        terms = {term(word, language) for word in group.split()}
        for stem in terms:
            synonyms.setdefault(stem, set()).update(terms - {stem})
    return {stem: tuple(sorted(others)) for stem, others in synonyms.items()}


MAX_OCCURRENCES = 4000
"""Maximum number of word occurrences that are examined per claim, beginning with rare words."""
CONTEXT_WEIGHT = 0.8
"""The weight of words elsewhere in the passage for a sentence that begins with a pronoun."""
MAX_CANDIDATES, MIN_CANDIDATE_SHARE = 2, 0.6
"""Maximum number of candidates: sentences that are compared closely with the claim. Each has at least this share of the
best sentence's weight."""
MAX_COMPANIONS = 4
"""Maximum number of companions that are tried. A companion is a second sentence with items that the candidate lacks."""

Scope: TypeAlias = int | None
"""The number of a passage, from 0; None: all passages."""


@dataclass(frozen=True)
class Lookup:
    """Finds the sentences of an index that share items with a claim."""

    index: Index
    claim: Claim

    @property
    def corpus(self) -> Corpus:
        """The sentences of the index."""
        return self.index.corpus

    @lazy_property
    def weights(self) -> dict[str, float]:
        """The weight of each item of the claim, sorted by item."""
        weights = self.index.weights
        return {item: weights[item] for item in sorted(self.claim.items)}

    @lazy_property
    def total(self) -> float:
        """The total weight of the claim's items."""
        return fsum(self.weights.values())

    @lazy_property
    def _items_by_sentence(self) -> dict[int, dict[str, float]]:
        """For each sentence, the items that it contains with the weight of the matching form, in [0, 1]."""
        sentences_with, forms = self.index.sentences_with, self.index.forms
        postings = sorted(
            [(len(sentences_with[form]), item, form, weight) for item in self.weights for form, weight in forms[item]]
        )
        items: defaultdict[int, dict[str, float]] = defaultdict(dict)
        remaining = MAX_OCCURRENCES
        for length, item, form, weight in postings:
            numbers = sentences_with[form]
            for number in numbers if length <= remaining else islice(numbers, remaining):
                row = items[number]
                if weight > row.get(item, 0.0):
                    row[item] = weight
            remaining = max(remaining - length, 1)
        return items

    def items_of_sentence(self, number: int) -> dict[str, float]:
        """Return the items that a sentence contains, with the weight of the matching form, in [0, 1]."""
        return self._items_by_sentence.get(number, {})

    @lazy_property
    def _ranked(self) -> list[tuple[float, int]]:
        """(-weight, sentence number) pairs, highest weight first."""
        weights, corpus = self.weights, self.corpus
        ranked: list[tuple[float, int]] = []
        for number, row in self._items_by_sentence.items():
            weight = fsum([weights[item] * form_weight for item, form_weight in row.items()])
            if corpus.sentences[number].refers_back:
                in_passage = self.index.forms_by_passage[corpus.passage_of[number]]
                context = [item for item in weights if item not in row and item[0] != "#" and item in in_passage]
                weight += CONTEXT_WEIGHT * fsum([weights[item] for item in context])
            ranked.append((-weight, number))
        ranked.sort()
        return ranked

    def _best_sentences(self, scope: Scope) -> list[tuple[float, int]]:
        """Return the best entries of `_ranked` in a scope: enough for candidates and companions."""
        return self._ranked[: MAX_CANDIDATES + MAX_COMPANIONS] if scope is None else self._by_passage.get(scope, [])

    @lazy_property
    def _by_passage(self) -> dict[int, list[tuple[float, int]]]:
        by_passage: dict[int, list[tuple[float, int]]] = {}
        passage_of = self.corpus.passage_of
        for entry in self._ranked:
            chosen = by_passage.setdefault(passage_of[entry[1]], [])
            if len(chosen) < MAX_CANDIDATES + MAX_COMPANIONS:
                chosen.append(entry)
        return by_passage

    def candidates(self, scope: Scope) -> list[int]:
        """Return the numbers of the sentences of a scope to compare closely, best first."""
        ranked = self._best_sentences(scope)
        return [number for weight, number in ranked[:MAX_CANDIDATES] if weight <= MIN_CANDIDATE_SHARE * ranked[0][0]]

    def companions(self, candidate: int, scope: Scope) -> Iterable[int]:
        """Return the possible companions of a candidate: the next best sentences, and its neighbours."""
        passage_of, last = self.corpus.passage_of, len(self.corpus.sentences) - 1
        best = [number for _, number in self._best_sentences(scope) if number != candidate][:MAX_COMPANIONS]
        near = [
            number
            for number in (candidate - 1, candidate + 1)
            if 0 <= number <= last and passage_of[number] == passage_of[candidate] and number not in best
        ]
        return best + near

    def match_weights(self, terms: AbstractSet[str]) -> dict[str, float]:
        """Return the items that these terms match, with the weight of the best matching form, in [0, 1]."""
        weights: dict[str, float] = {}
        for item in self.weights:
            for form, weight in self.index.forms[item]:
                if form in terms:
                    weights[item] = weight
                    break
        return weights

    def share(self, items: dict[str, float]) -> float:
        """Return the share of the claim's weight that these items cover, in [0, 1]."""
        return fsum([self.weights[item] * weight for item, weight in items.items()]) / self.total if self.total else 0.0

    def items_in(self, scope: Scope) -> AbstractSet[str]:
        """Return the items that the scope contains."""
        return self._items_anywhere if scope is None else self.match_weights(self.index.forms_by_passage[scope]).keys()

    @lazy_property
    def _items_anywhere(self) -> frozenset[str]:
        return frozenset(filter(self.index.forms.__getitem__, self.weights))


def lookups(corpus: Corpus, claims: Sequence[Claim]) -> Iterator[Lookup]:
    """Return a lookup for each claim, in order. All share one index."""
    index = Index.build(corpus, claims)
    return (Lookup(index, claim) for claim in claims)
