"""Parse a sentence: find its words, figures, names and negations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, compress, count
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar, overload

from ragboard.judges.embedded.figures import Figure, figures_at, may_begin_figure, parse_number
from ragboard.judges.embedded.lexicon import (
    AUXILIARIES,
    CANCELS_NOT,
    MONTHS,
    NEGATORS,
    NUMBER_WORDS,
    PRONOUNS,
    REFERS_BACK,
    SCALES,
    UNITS,
    word_set,
)
from ragboard.judges.embedded.statements import hedging_words
from ragboard.text.lexicon import FUNCTION_WORDS
from ragboard.text.sentences import Language, WordCache, Words, language_of, normal, sentence_spans, term, words_in

__all__ = [
    "BEGINNING_LETTERS",
    "Name",
    "ParsedSentence",
    "clues_of",
    "entities",
    "figure_terms",
    "lazy_property",
    "read",
]


Owner = TypeVar("Owner")
Value = TypeVar("Value")


class lazy_property(Generic[Owner, Value]):  # noqa: N801 - read as a decorator
    """`functools.cached_property` without a lock, which is slow before Python 3.12.

    Two threads may both compute the value.
    """

    def __init__(self, compute: Callable[[Owner], Value]) -> None:
        self._compute, self._name, self.__doc__ = compute, compute.__name__, compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> lazy_property[Owner, Value]: ...
    @overload
    def __get__(self, instance: Owner, owner: type[Any]) -> Value: ...
    def __get__(self, instance: Owner | None, owner: type[Any]) -> lazy_property[Owner, Value] | Value:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)
        return value


ANY_NUMBER_CLUE = "=?"
"""The clue of a word whose number depends on other words.

Clues are used to find sentences that may contain a number quickly. A clue is `=` and the number's significant digits:
`=5` for 5, 50 and 0.5.
"""
MAX_CLUE_LENGTH = 9
"""Maximum length of a clue. Further digits could change if a unit is converted."""
MAX_NUMBER = 1e100
"""Numbers of at least this size get `ANY_NUMBER_CLUE`, because a scale word could make them infinite."""
MIN_COMPOUND = 20
"""Number words of at least this value can have a second part: `twenty-one`."""

_SIZES = {"s": (1.0, 60.0, 3600.0), "day": (1.0, 7.0), "month": (1.0, 12.0)}
"""Sizes of units whose ratios are not powers of ten."""


def clue_in(word: str, language: Language) -> str:
    """Return the clue of a number in digits or words."""
    if word[0].isdigit():
        value, most = parse_number(word, language), MAX_NUMBER
    else:
        value, most = NUMBER_WORDS[word.lower()], MIN_COMPOUND
    if not value or value >= most or word.count(".") > 1:  # a word with two points may be a date
        return ANY_NUMBER_CLUE
    clue = _clue(value)
    return clue if len(clue) <= MAX_CLUE_LENGTH else ANY_NUMBER_CLUE


def month_clue(word: str) -> str:
    """Return the clue of a month's name that is also a function word, such as `May`; empty for other words."""
    return f"=month {MONTHS[word.lower()]}" if may_begin_figure(word) else ""


def clues_of(figures: Iterable[Figure], language: Language) -> frozenset[str]:
    """Return clues and terms of months. A sentence without any of these contains none of the figures."""
    return frozenset((ANY_NUMBER_CLUE, *(clue for figure in figures for clue in _clues_of(figure, language))))


def _clues_of(figure: Figure, language: Language) -> Iterator[str]:
    if figure.kind == "phone":
        yield _clue(figure.value // 10**7)
    elif figure.kind.startswith("date"):
        month = int(figure.value) // 100 if figure.kind == "date day" else int(figure.value)
        yield from (_clue(month), f"=month {month}")
        yield from (term(name, language) for name, number in MONTHS.items() if number == month)
    else:
        yield from (_clue(figure.value / size) for size in _SIZES.get(figure.kind, (1.0,)))
    if 1000 <= figure.value < 10000:
        yield _clue(figure.value % 100)  # 1998-99


def _clue(value: float) -> str:
    return f"={abs(value):.8e}".partition("e")[0].replace(".", "").rstrip("0")


@lru_cache(maxsize=8)
def figure_terms(language: Language) -> frozenset[str]:
    """Return the terms of words that may be part of a figure. They are then not content words."""
    words = {*MONTHS, *NUMBER_WORDS, *SCALES, *UNITS, "per", "cent", "de", "one"}
    return frozenset(term(word, language) for word in words)


_BEFORE_NAME = word_set("in aus nach von bei für durch gegen mit")
"""German prepositions. German capitalises all nouns, but a noun directly after these words, without article, is a
name."""

_NOT = word_set("not nicht")
"""Words that may begin an aside such as `Not really,`. `No` is left out because of `No dogs, cats or birds`."""

BEGINNING_LETTERS = 5
"""Number of first letters that candidates for the same root must share."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name: adjacent capitalised words `[first:stop]`."""

    terms: tuple[str, ...]
    first: int
    stop: int


class _SentenceFields(NamedTuple):
    """The fields of a parsed sentence. Creating a tuple takes half the time of creating a frozen dataclass."""

    text: str
    start: int
    end: int
    language: Language
    spelt: Sequence[str]
    """Its words as the text spells them."""
    terms: Sequence[str]
    """For each word: its term if it may be a content word, its clue if it is a number, else an empty string."""


class ParsedSentence(_SentenceFields):
    """A sentence split into words. Properties are computed when they are first used."""

    @lazy_property
    def figures(self) -> tuple[Figure, ...]:
        """Its numbers, quantities and dates."""
        numbers = list(compress(count(), map(_MAY_BEGIN_FIGURE.__getitem__, self.spelt)))
        return figures_at(self.word_offsets, numbers, self.language) if numbers else ()

    @lazy_property
    def content_terms(self) -> Sequence[str]:
        """For each word: its term if it is a content word, else an empty string."""
        terms = ["" if term[:1] == "=" else term for term in self.terms]
        for figure in self.figures:
            terms[figure.first : figure.stop] = [""] * (figure.stop - figure.first)
        return terms

    @lazy_property
    def content(self) -> frozenset[str]:
        """The terms of all content words, without figures."""
        return frozenset(filter(None, self.content_terms))

    @lazy_property
    def everything(self) -> frozenset[str]:
        """Content terms and figure keys, with and without their units."""
        return self.content | self.keys

    @lazy_property
    def keys(self) -> frozenset[str]:
        """Keys of all figures, with and without their units."""
        return frozenset(chain.from_iterable(map(_KEYS, self.figures)))

    @lazy_property
    def lowered(self) -> Sequence[str]:
        """Its words in lower case."""
        return list(map(str.lower, self.spelt))

    @lazy_property
    def word_offsets(self) -> Words:
        """Its words with their positions in the text."""
        return Words.locate(self.text, self.start, self.spelt)

    @lazy_property
    def words(self) -> frozenset[str]:
        """All words in lower case, including function words."""
        return frozenset(map(str.lower, self.spelt))

    @lazy_property
    def hedged(self) -> float:
        """The share of its words that hedge; a question mark counts as a hedging word."""
        text = self.text[self.start : self.end]
        return (len(hedging_words(text).split()) + text.count("?")) / len(self.spelt) if self.spelt else 0.0

    @lazy_property
    def refers_back(self) -> bool:
        """Whether it begins with a pronoun, which refers to something in an earlier sentence."""
        return bool(self.spelt) and self.spelt[0].lower() in REFERS_BACK

    @lazy_property
    def has_pronoun(self) -> bool:
        """Whether it has a personal or possessive pronoun."""
        return not self.words.isdisjoint(PRONOUNS)

    @lazy_property
    def names(self) -> tuple[Name, ...]:
        """Its names, recognised by their capital letters."""
        return tuple(_names(self))

    @lazy_property
    def denials(self) -> tuple[int, ...]:
        """Indices of words that negate something, such as `not`, except in `not only`, `not,` and `Not really,`."""
        negators = compress(count(), map(_NEGATES.__getitem__, self.spelt))
        return tuple(index for index in negators if self._denies(index))

    def _denies(self, index: int) -> bool:
        following = self.lowered[index + 1] if index + 1 < len(self.lowered) else ""
        aside = index == 0 and self.lowered[0] in _NOT
        ends = self.word_offsets.ends[index : index + 1 + aside]
        numbered = self.spelt[index] == "No" and following[:1].isdigit()
        return not numbered and following not in CANCELS_NOT and all(self.text[end : end + 1] != "," for end in ends)

    def span(self, first: int, stop: int) -> tuple[int, int]:
        """Return the start and end, in the text, of the words `[first:stop]`."""
        return self.word_offsets.start(first), self.word_offsets.ends[stop - 1]

    def text_of(self, first: int, stop: int) -> str:
        """Return the text of the words `[first:stop]`."""
        start, end = self.span(first, stop)
        return self.text[start:end]


def read(text: str, start: int, end: int, language: Language) -> ParsedSentence:
    """Parse the sentence `text[start:end]`."""
    spelt = words_in(text, start, end)
    terms = list(map(_terms(language).__getitem__, spelt))
    return ParsedSentence(text, start, end, language, spelt, terms)


def _negates(word: str) -> bool:
    """Return whether the word negates. French `ne` does not count, because another negating word follows it."""
    plain = normal(word)
    return (plain in NEGATORS and plain != "ne") or plain == "n't"


_PLURAL_OF_ACRONYM = re.compile("[A-Z]{2,}s")
"""Matches words such as `PDFs`, whose plural the stemmer does not remove."""
_MAY_BEGIN_FIGURE = WordCache(may_begin_figure)
_NEGATES = WordCache(_negates)
_KEYS = attrgetter("key", "unitless_key")


@lru_cache(maxsize=8)
def _terms(language: Language) -> WordCache[str]:
    """Return a mapping from each word to its term (content words), its clue (numbers) or an empty string."""
    function_words = FUNCTION_WORDS[language] | NEGATORS

    def term_or_clue(word: str) -> str:
        plain = word.lower()
        if word[0].isdigit() or plain in NUMBER_WORDS:
            return clue_in(word, language)
        if plain in function_words or plain.endswith("n't"):
            return month_clue(word)
        return term(word[:-1] if _PLURAL_OF_ACRONYM.fullmatch(word) else word, language)

    return WordCache(term_or_clue)


def _names(parsed: ParsedSentence) -> Iterator[Name]:
    stop = 0
    for index in _capitalised(parsed):
        if index < stop:
            continue
        stop = _end_of_capitals(parsed, index)
        if _is_name(parsed, index, stop):
            yield Name(
                tuple(content_term for content_term in parsed.content_terms[index:stop] if content_term), index, stop
            )


def _capitalised(parsed: ParsedSentence) -> list[int]:
    """Return the indices of the capitalised content words."""
    words = zip(parsed.spelt, parsed.content_terms, strict=True)
    return [index for index, (word, content_term) in enumerate(words) if content_term and word[0].isupper()]


def _end_of_capitals(parsed: ParsedSentence, index: int) -> int:
    """Return the position after the sequence of capitalised content words that starts at word `index`."""
    stop = index
    while stop < len(parsed.spelt) and parsed.content_terms[stop] and parsed.spelt[stop][0].isupper():
        if stop > index and parsed.word_offsets.after(stop - 1).strip("\u00a0 .-'\u2019"):
            break
        stop += 1
    return stop


def _is_name(parsed: ParsedSentence, index: int, stop: int) -> bool:
    """Return whether these capitalised words are a name, not a heading or the word after it: `Backup Plan: Keep`."""
    if index == 0 and parsed.text[parsed.word_offsets.ends[stop - 1] : parsed.end].startswith(":"):
        return False
    if stop - index > 1:
        return True
    if index and ":" in parsed.word_offsets.after(index - 1):
        return False
    if parsed.language == "de":
        return index > 0 and parsed.lowered[index - 1] in _BEFORE_NAME
    if index > 0:
        return True
    following = parsed.lowered[1] if len(parsed.spelt) > 1 else ""
    return following in AUXILIARIES["en"] and following not in {"are", "were", "have", "do"}


def entities(text: str) -> tuple[str, ...]:
    """Return the names, numbers and dates of a text, in order, without duplicates; no names in Hindi and Chinese."""
    language = language_of(text)
    sentences = (read(text, start, end, language) for start, end in sentence_spans(text, language))
    return tuple(dict.fromkeys(text[start:end] for parsed in sentences for start, end in sorted(set(_spans(parsed)))))


def _spans(parsed: ParsedSentence) -> Iterator[tuple[int, int]]:
    yield from (parsed.span(name.first, name.stop) for name in parsed.names)
    yield from ((figure.start, figure.end) for figure in parsed.figures)
