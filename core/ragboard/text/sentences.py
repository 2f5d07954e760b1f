"""Split texts into sentences and words, detect their language, and stem words.

Offsets are code points of the given text. All functions take linear time.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeVar, cast

import sentencex

from ragboard.text.lexicon import FUNCTION_WORDS, HINDI_ENDINGS, IRREGULAR
from ragboard.text.stemmer import snowball_stemmer

__all__ = [
    "Language",
    "Token",
    "WordCache",
    "Words",
    "first_words",
    "has_token",
    "language_of",
    "normal",
    "sentence_spans",
    "term",
    "tokens",
    "words_in",
]

T = TypeVar("T")

Language = Literal["en", "de", "fr", "es", "hi", "zh"]
"""The supported languages. Hindi and Chinese are detected by their script, the others by function words."""

MAX_STEMMED_LENGTH = 40
"""Maximum length of words that are stemmed and cached."""

MAX_CACHED_WORDS = 65536
"""Maximum number of words in a cache."""

MAX_ENDING_LENGTH = 5
"""Length of the longest Hindi ending."""
DETECTION_LENGTH = 1500
"""The language is detected from the first 1,500 characters."""

_boundaries = cast(
    "Callable[[str, str], list[dict[str, Any]]]",
    sentencex.get_sentence_boundaries,  # pyright: ignore[reportAttributeAccessIssue]
)
"""Splits a text into sentences. The cast is needed because the compiled module has no types."""

_CJK = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_MARKS = "\u0300-\u036f\u0900-\u0963\u0966-\u0dff\u0e00-\u0e7f"
_LETTER = rf"[^\W\d_{_CJK}]"
_NUMBER = (
    r"(?<![\d.,])\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?:,\d+)?(?![\d.,]\d|\d)"
    r"|\d+(?:[.,]\d+)*(?:(?:st|nd|rd|th|s)\b)?"
)
_TOKEN = re.compile(
    rf"[ ,.]?+([a-zA-Z]+(?![\w'\u2019{_MARKS}])"  # most words of many languages; this alternative halves the time
    rf"|{_LETTER}[^\W{_CJK}{_MARKS}]*(?:[{_MARKS}]+[^\W{_CJK}{_MARKS}]*)*"
    rf"(?:['\u2019](?!s\b){_LETTER}+)*"
    rf"|{_NUMBER}|[{_CJK}])"
)
"""Matches a word and the space before it; including the space saves a third of the time."""
_ASCII_TOKEN = re.compile(rf"[ ,.]?+([a-zA-Z][0-9a-zA-Z_]*+(?:'(?!s\b)[a-zA-Z]++)*+|{_NUMBER})", re.ASCII)
"""A faster version of the pattern for ASCII texts."""
_words: Callable[[str, int, int], list[str]] = _TOKEN.findall
_ascii_words: Callable[[str, int, int], list[str]] = _ASCII_TOKEN.findall

_WORD = re.compile(r"[^\W\d_]+")
_SPACE_FOR_NO_LETTER = {code: " " for code in range(128) if not chr(code).isalpha()}
_CJK_CHARACTER = re.compile(rf"[{_CJK}]")
_SCRIPT = re.compile(f"[\u0900-\u097f{_CJK}]")
_DEVANAGARI = re.compile("[\u0900-\u097f]+")
_LINE = re.compile(r"[^\r\n\v\f\x85\u2028\u2029]+")
_MARKER = re.compile(r"[ \t>]*(?:#{1,6}[ \t]+|[-*+\u2022\u2023\u25e6\u25aa\u2013][ \t]+|\(?\d{1,3}[.)][ \t]+)")
_SENTENCE_END = re.compile(r"[.!?\u2026:;\u3002\uff01\uff1f][\"'\u201d\u2019)\]*_]*\s*$")
_PERIOD = re.compile(r"\.\s+(?=[A-Z][a-z]|A )")
_UNIT = re.compile(r"(?<![a-zA-Z])(?:\d[ \u00a0]?(?:[ckm]?m|k?g|km/h|m/s|[lhst]|\u00b0[CF])|[Aa]rt)\Z")
"""Words before a period that sentencex takes for abbreviations; the sentence ends there nevertheless: units after a
number, and "art"."""
_INITIALS = re.compile(r"[A-Z]\.[A-Z]\.\Z")
_SURROGATE = re.compile("[\ud800-\udfff]")
WRAPPED_LINE = 60
"""A line of at least this length without final punctuation continues in the next line."""


class Token(NamedTuple):
    """A word, a number or one CJK character: `text == source[start:end]`."""

    text: str
    start: int
    end: int


class Words(NamedTuple):
    """The words of a part of a text, with their end offsets in the text."""

    text: str
    spelt: Sequence[str]
    """The words as the text spells them."""
    ends: Sequence[int]
    """The end offset of each word."""

    @classmethod
    def locate(cls, text: str, start: int, spelt: Sequence[str]) -> Words:
        """Find the offsets of words that `words_in` returned for a part of the text; the part starts at `start`."""
        find, end = text.index, start
        return cls(text, spelt, [end := find(word, end) + len(word) for word in spelt])

    def start(self, at: int) -> int:
        """Return the start offset of word number `at`, from 0."""
        return self.ends[at] - len(self.spelt[at])

    def after(self, at: int) -> str:
        """Return the text between word number `at` and the next word."""
        return self.text[self.ends[at] : self.start(at + 1)]


def tokens(text: str, start: int = 0, end: int | None = None, *, most: int | None = None) -> tuple[Token, ...]:
    """Return the first `most` tokens (None: all) of `text[start:end]`, with offsets in `text`."""
    matches = _TOKEN.finditer(text, start, len(text) if end is None else end)
    return tuple(Token(match[1], *match.span(1)) for match in islice(matches, most))


def has_token(text: str, start: int, end: int) -> bool:
    """Return whether `text[start:end]` contains a token."""
    return _TOKEN.search(text, start, end) is not None


def words_in(text: str, start: int, end: int) -> list[str]:
    """Return the tokens of `text[start:end]` as strings. This is five times as fast as `tokens`."""
    return _ascii_words(text, start, end) if _in_ascii(text, start, end) else _words(text, start, end)


def first_words(text: str, start: int, end: int, most: int) -> list[str]:
    """Return the first `most` tokens of `text[start:end]` as strings. The rest of the text is not read."""
    pattern = _ASCII_TOKEN if _in_ascii(text, start, end) else _TOKEN
    return [match[1] for match in islice(pattern.finditer(text, start, end), most)]


def _in_ascii(text: str, start: int, end: int) -> bool:
    """Return whether `text[start:end]` and the character before it are ASCII."""
    return text.isascii() or text[max(start - 1, 0) : end].isascii()


class WordCache(dict[str, T]):
    """A cache of a function's results for words, twice as fast as `lru_cache`.

    It is cleared when it is full. Results for words longer than `MAX_STEMMED_LENGTH` are not stored.
    """

    def __init__(self, make: Callable[[str], T]) -> None:
        self._make = make

    def __missing__(self, word: str) -> T:
        value = self._make(word)
        if len(word) <= MAX_STEMMED_LENGTH:
            if len(self) >= MAX_CACHED_WORDS:
                self.clear()
            self[word] = value
        return value


def normal(word: str) -> str:
    """Return the word normalised for comparison: NFKC, case folded, with straight apostrophes."""
    return unicodedata.normalize("NFKC", word).casefold().replace("\u2019", "'")


def term(word: str, language: Language) -> str:
    """Return the stem of a word, for comparisons. A very long word is normalised but not stemmed."""
    return _stem(word, language) if len(word) <= MAX_STEMMED_LENGTH else normal(word)


@lru_cache(maxsize=65536)
def _stem(word: str, language: Language) -> str:
    plain = normal(word)
    if language == "hi":
        return _hindi(plain)
    if language == "zh":
        return plain
    return cast(
        "str", snowball_stemmer(_SNOWBALL[language]).stem(IRREGULAR.get(plain, plain) if language == "en" else plain)
    )


_SNOWBALL: dict[Language, str] = {"en": "english", "de": "german", "fr": "french", "es": "spanish"}
_OTHERS = FUNCTION_WORDS["de"] | FUNCTION_WORDS["fr"] | FUNCTION_WORDS["es"]
_FUNCTION_WORDS, _ENGLISH_ONLY = FUNCTION_WORDS["en"] | _OTHERS, FUNCTION_WORDS["en"] - _OTHERS
"""The function words of all languages in Latin script, and the words that are function words only in English."""


def _hindi(word: str) -> str:
    """Remove the longest inflectional ending that leaves at least two characters (Ramanathan and Rao 2003)."""
    for length in range(min(MAX_ENDING_LENGTH, len(word) - 2), 0, -1):
        if word[-length:] in HINDI_ENDINGS:
            return word[:-length]
    return word


def language_of(text: str) -> Language:
    """Detect the language of a text by its script or function words. A text without function words is English."""
    head = text[:DETECTION_LENGTH].lower()
    plain = head.isascii()
    # In ASCII, splitting takes a quarter of the time of the pattern, and there are no other scripts.
    words = head.translate(_SPACE_FOR_NO_LETTER).split() if plain else _WORD.findall(head)
    if not plain and _SCRIPT.search(head):
        if 2 * len(_CJK_CHARACTER.findall(head)) > len(words):
            return "zh"
        if 2 * len(_DEVANAGARI.findall(head)) > len(words):
            return "hi"
    function_words = list(filter(_FUNCTION_WORDS.__contains__, words))
    if 2 * sum(map(_ENGLISH_ONLY.__contains__, function_words)) >= len(function_words):
        return "en"
    return max(_SNOWBALL, key=lambda language: sum(map(FUNCTION_WORDS[language].__contains__, function_words)))


def sentence_spans(text: str, language: Language | None = None) -> tuple[tuple[int, int], ...]:
    """Return (start, end) of each sentence in order, without overlap and without surrounding white space.

    The end of a paragraph, list item or line ends a sentence, unless the sentence continues in the next line. Markers
    of headings and list items are left out, and so are sentences without letters and digits. If `language` is None, it
    is detected.
    """
    whole = _without_surrogates(text)
    language = language or language_of(whole)
    return tuple(
        span
        for block in _blocks(whole)
        for start, end in _sentences(whole, *block, language)
        if (span := _trimmed(whole, start, end))
    )


def _sentences(text: str, start: int, end: int, language: Language) -> Iterator[tuple[int, int]]:
    """Yield the sentences that sentencex finds, but join `Non-U.` and `S. citizens`, and split `46 m. It was`."""
    first = start
    for boundary in _boundaries(language, text[start:end]):
        last = start + boundary["end_index"]
        stop = min(last + 2, end)
        if text[stop - 1] == "." and _INITIALS.search(text, max(first, last - 2), stop):
            continue
        if text.find(".", first, last - 3) >= 0:  # few sentences have a period before their end
            for period in _PERIOD.finditer(text, first, last):
                if _UNIT.search(text, max(first, period.start() - 8), period.start()):
                    yield first, period.end()
                    first = period.end()
        yield first, last
        first = last


def _without_surrogates(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    if text.splitlines() == [text]:  # a single line, as in most passages; this branch is ten times as fast
        marker = _MARKER.match(text)
        yield marker.end() if marker else 0, len(text)
        return
    start = end = 0
    before: re.Match[str] | None = None
    for line in _LINE.finditer(text):
        marker = _MARKER.match(text, line.start(), line.end())
        if before is None or marker or not _continues(text, before, line):
            if before:
                yield start, end
            start = marker.end() if marker else line.start()
        before, end = line, line.end()
    yield start, end


def _continues(text: str, line: re.Match[str], following: re.Match[str]) -> bool:
    """Return whether the line `following` continues the last sentence of `line`."""
    if text[line.end() : following.start()] not in {"\n", "\r\n"}:
        return False
    first = following.group().lstrip()[:1]
    if not first or _SENTENCE_END.search(text, max(line.start(), line.end() - 8), line.end()):
        return False
    return first.islower() or line.end() - line.start() >= WRAPPED_LINE


def _trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    piece = text[start:end].rstrip()
    end = start + len(piece)
    piece = piece.lstrip()
    start = end - len(piece)
    first = piece[:1]
    plain = first.isascii() and first.isalnum()
    return (start, end) if plain or has_token(text, start, end) else None
