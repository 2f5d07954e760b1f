"""A sentence as the judge reads it: content terms, figures, names, negations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, compress, count
from operator import attrgetter
from typing import NamedTuple

from ragboard.judges.embedded.clues import clue_in, month_clue
from ragboard.judges.embedded.figures import Figure, figures_at, numeric
from ragboard.judges.embedded.lexicon import (
    AUXILIARIES,
    BACKWARD,
    NEGATORS,
    NUMBER_WORDS,
    PRONOUNS,
    UNNEGATED,
    word_set,
)
from ragboard.judges.embedded.once import once
from ragboard.judges.embedded.phrases import hedge
from ragboard.text.lexicon import FUNCTION_WORDS
from ragboard.text.sentences import Language, Remembered, Words, normal, term, words_in

__all__ = ["BEGINNING", "Name", "Reading", "read"]

_BEFORE_NAME = word_set("in aus nach von bei für durch gegen mit")
"""German prepositions: every noun is capitalised there, but one without article after these is a name."""

_NOT = word_set("not nicht")
"""What may begin an aside, `Not really,`; `No dogs, cats or birds` is none."""

BEGINNING = 5
_AFTER = 4
_BEFORE = 2
"""How many words a negation reaches over, onwards and back."""


@dataclass(frozen=True, slots=True)
class Name:
    """Neighbouring capitalised words, tokens `first` up to, not including, `stop`."""

    terms: tuple[str, ...]
    first: int
    stop: int


class _Read(NamedTuple):
    """What is found out of every sentence; as a tuple it is made in half the time of a frozen dataclass."""

    text: str
    start: int
    end: int
    language: Language
    spelt: Sequence[str]
    """Its words as they stand."""
    terms: Sequence[str]
    """For each word its term where it may be a content word, its clue where it is a number, else ``."""


class Reading(_Read):
    """A stretch of a text and what it says, by words: what few sentences are asked is found when it is asked."""

    @once
    def figures(self) -> tuple[Figure, ...]:
        """Its numbers, quantities and dates."""
        numbers = list(compress(count(), map(_NUMERIC.__getitem__, self.spelt)))
        return figures_at(self.placed, numbers, self.language) if numbers else ()

    @once
    def places(self) -> Sequence[str]:
        """For each word its term where it is a content word, else ``."""
        places = ["" if place[:1] == "=" else place for place in self.terms]
        for figure in self.figures:
            places[figure.first : figure.stop] = [""] * (figure.stop - figure.first)
        return places

    @once
    def content(self) -> frozenset[str]:
        """Terms of all content words; figures are apart."""
        return frozenset(filter(None, self.places))

    @once
    def everything(self) -> frozenset[str]:
        """Content terms and figure keys, with and without their units."""
        return self.content | self.keys

    @once
    def keys(self) -> frozenset[str]:
        """Keys of all figures, with and without their units."""
        return frozenset(chain.from_iterable(map(_KEYS, self.figures)))

    @once
    def lowered(self) -> Sequence[str]:
        """Its words in small letters."""
        return list(map(str.lower, self.spelt))

    @once
    def placed(self) -> Words:
        """Its words with their places in the text."""
        return Words.of(self.text, self.start, self.spelt)

    @once
    def words(self) -> frozenset[str]:
        """All words as they stand, in small letters, function words among them."""
        return frozenset(map(str.lower, self.spelt))

    @once
    def hedged(self) -> float:
        """The share of its words by which it takes back what it says; a question mark counts as one of them."""
        said = self.text[self.start : self.end]
        return (len(hedge(said).split()) + said.count("?")) / len(self.spelt) if self.spelt else 0.0

    @once
    def refers_back(self) -> bool:
        """Whether it begins with a pronoun, and so is about what was named before it."""
        return bool(self.spelt) and self.spelt[0].lower() in BACKWARD

    @once
    def has_pronoun(self) -> bool:
        """Whether a pronoun in it stands for something named elsewhere."""
        return not self.words.isdisjoint(PRONOUNS)

    @once
    def names(self) -> tuple[Name, ...]:
        """Names, by their capitals."""
        return tuple(_names(self))

    @once
    def denials(self) -> tuple[int, ...]:
        """Where a word such as not stands that denies something; `not only`, `not,` and `Not really,` deny nothing."""
        if self.words.isdisjoint(NEGATORS) and "\u2019" not in self.text:
            return ()
        return tuple(at for at, word in enumerate(self.lowered) if normal(word) in NEGATORS and self._denies(at))

    @once
    def negated(self) -> frozenset[str]:
        """Terms that a negation reaches; German ones also reach back to the verb."""
        found: set[str] = set()
        for at in self.denials:
            before = self.places[max(0, at - _BEFORE) : at] if self.language == "de" else ()
            found.update(place for place in (*before, *self.places[at + 1 : at + 1 + _AFTER]) if place)
        return frozenset(found)

    def _denies(self, at: int) -> bool:
        following = self.lowered[at + 1] if at + 1 < len(self.lowered) else ""
        aside = at == 0 and self.lowered[0] in _NOT
        ends = self.placed.ends[at : at + 1 + aside]
        return following not in UNNEGATED and all(self.text[end : end + 1] != "," for end in ends)

    def span(self, first: int, stop: int) -> tuple[int, int]:
        """Where in the text the words from `first` up to `stop` stand."""
        return self.placed.start(first), self.placed.ends[stop - 1]

    def said(self, first: int, stop: int) -> str:
        """The words from `first` up to `stop`, as they stand."""
        start, end = self.span(first, stop)
        return self.text[start:end]


def read(text: str, start: int, end: int, language: Language) -> Reading:
    """Read `text[start:end]`."""
    spelt = words_in(text, start, end)
    terms = list(map(_terms(language).__getitem__, spelt))
    return Reading(text, start, end, language, spelt, terms)


_NUMERIC = Remembered(numeric)


_KEYS = attrgetter("key", "loose")


@lru_cache(maxsize=8)
def _terms(language: Language) -> Remembered[str]:
    """The term of every content word of a language, the clue of every number, `` for any other word."""
    function_words = FUNCTION_WORDS[language] | NEGATORS

    def known(word: str) -> str:
        plain = word.lower()
        if word[0].isdigit() or plain in NUMBER_WORDS:
            return clue_in(word, language)
        if plain in function_words or plain.endswith("n't"):
            return month_clue(word)
        return term(word, language)

    return Remembered(known)


def _names(reading: Reading) -> Iterator[Name]:
    stop = 0
    for at in _capitalised(reading):
        if at < stop:
            continue
        stop = _capitals(reading, at)
        if _is_name(reading, at, stop):
            yield Name(tuple(place for place in reading.places[at:stop] if place), at, stop)


def _capitalised(reading: Reading) -> list[int]:
    words = zip(reading.spelt, reading.places, strict=True)
    return [at for at, (word, place) in enumerate(words) if place and word[0].isupper()]


def _capitals(reading: Reading, at: int) -> int:
    """Where the run of capitalised content words that starts at token `at` stops."""
    stop = at
    while stop < len(reading.spelt) and reading.places[stop] and reading.spelt[stop][0].isupper():
        if stop > at and reading.placed.after(stop - 1).strip("\u00a0 .-'\u2019"):
            break
        stop += 1
    return stop


def _is_name(reading: Reading, at: int, stop: int) -> bool:
    if stop - at > 1:
        return True
    if reading.language == "de":
        return at > 0 and reading.lowered[at - 1] in _BEFORE_NAME
    if at > 0:
        return True
    following = reading.lowered[1] if len(reading.spelt) > 1 else ""
    return following in AUXILIARIES["en"] and following not in {"are", "were", "have", "do"}
