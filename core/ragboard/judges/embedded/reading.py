"""A sentence as the judge reads it: content terms, figures, names, negations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ragboard.judges.embedded.figures import Figure, figures_at, numeric
from ragboard.judges.embedded.lexicon import (
    AUXILIARIES,
    BACKWARD,
    FUNCTION_WORDS,
    NEGATORS,
    PRONOUNS,
    UNNEGATED,
    word_set,
)
from ragboard.judges.embedded.phrases import hedge
from ragboard.judges.embedded.text import Language, Words, normal, term, words_in

__all__ = ["BEGINNING", "Name", "Reading", "read"]

_BEFORE_NAME = word_set("in aus nach von bei für durch gegen mit")
"""German prepositions: every noun is capitalised there, but one without article after these is a name."""

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


@dataclass(frozen=True)
class Reading:
    """A stretch of a text and what it says, by words."""

    text: str
    start: int
    end: int
    language: Language
    spelt: Sequence[str]
    """Its words as they stand."""
    places: Sequence[str]
    """For each word its term where it is a content word, else ``."""
    figures: tuple[Figure, ...]

    content: frozenset[str]
    """Terms of all content words; figures are apart."""
    everything: frozenset[str]
    """Content terms and figure keys, with and without their units."""
    lowered: Sequence[str]
    """Its words in small letters."""

    @cached_property
    def placed(self) -> Words:
        """Its words with their places in the text."""
        return Words.of(self.text, self.start, self.spelt)

    @cached_property
    def words(self) -> frozenset[str]:
        """All words as they stand, in small letters, function words among them."""
        return frozenset(self.lowered)

    @cached_property
    def hedged(self) -> float:
        """The share of its words by which it takes back what it says; a question mark counts as one of them."""
        said = self.text[self.start : self.end]
        return (len(hedge(said).split()) + said.count("?")) / len(self.spelt) if self.spelt else 0.0

    @property
    def keys(self) -> frozenset[str]:
        """Keys of all figures, with and without their units."""
        return self.everything - self.content

    @property
    def refers_back(self) -> bool:
        """Whether it begins with a pronoun, and so is about what was named before it."""
        return bool(self.lowered) and self.lowered[0] in BACKWARD

    @cached_property
    def has_pronoun(self) -> bool:
        """Whether a pronoun in it stands for something named elsewhere."""
        return not self.words.isdisjoint(PRONOUNS)

    @cached_property
    def names(self) -> tuple[Name, ...]:
        """Names, by their capitals."""
        return tuple(_names(self))

    @cached_property
    def denials(self) -> tuple[int, ...]:
        """Where a word such as not stands that denies something; `not only` and `not,` deny nothing."""
        if self.words.isdisjoint(NEGATORS) and "\u2019" not in self.text:
            return ()
        return tuple(at for at, word in enumerate(self.lowered) if normal(word) in NEGATORS and self._denies(at))

    @cached_property
    def negated(self) -> frozenset[str]:
        """Terms that a negation reaches; German ones also reach back to the verb."""
        found: set[str] = set()
        for at in self.denials:
            before = self.places[max(0, at - _BEFORE) : at] if self.language == "de" else ()
            found.update(place for place in (*before, *self.places[at + 1 : at + 1 + _AFTER]) if place)
        return frozenset(found)

    def _denies(self, at: int) -> bool:
        following = self.lowered[at + 1] if at + 1 < len(self.lowered) else ""
        end = self.placed.end(at)
        return self.text[end : end + 1] != "," and following not in UNNEGATED

    def span(self, first: int, stop: int) -> tuple[int, int]:
        """Where in the text the words from `first` up to `stop` stand."""
        return self.placed.starts[first], self.placed.end(stop - 1)

    def said(self, first: int, stop: int) -> str:
        """The words from `first` up to `stop`, as they stand."""
        start, end = self.span(first, stop)
        return self.text[start:end]


def read(text: str, start: int, end: int, language: Language) -> Reading:
    """Read `text[start:end]`."""
    spelt = words_in(text, start, end)
    known = list(map(_knowing(language), spelt))
    places, lowered, counting = zip(*known, strict=True) if known else ((), (), ())
    numbers = [at for at, counts in enumerate(counting) if counts]
    if not numbers:
        content = frozenset(filter(None, places))
        return Reading(text, start, end, language, spelt, places, (), content, content, lowered)
    found = figures_at(Words.of(text, start, spelt[: numbers[-1] + AFTER_NUMBER]), numbers, language)
    left: list[str] = list(places)
    for figure in found:
        left[figure.first : figure.stop] = [""] * (figure.stop - figure.first)
    content = frozenset(filter(None, left))
    everything = content.union(*((figure.key, figure.loose) for figure in found))
    return Reading(text, start, end, language, spelt, left, found, content, everything, lowered)


AFTER_NUMBER = 8
"""Words from a number on that may belong to its figure."""


@lru_cache(maxsize=8)
def _knowing(language: Language) -> Callable[[str], tuple[str, str, bool]]:
    """How words are read in a language; asked with nothing but the word, it is remembered at half the cost."""
    function_words = FUNCTION_WORDS[language] | NEGATORS

    @lru_cache(maxsize=65536)
    def known(word: str) -> tuple[str, str, bool]:
        """The term of a content word or ``, the word in small letters, and whether a figure may begin with it."""
        plain = word.lower()
        empty = plain in function_words or plain.endswith("n't") or word[0].isdigit()
        return "" if empty else term(word, language), plain, numeric(word)

    return known


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
