"""Find numbers, dates and amounts in a text by rules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from ragboard.judges.embedded.lexicon import (
    BEFORE_A_LEVEL,
    FALLING,
    LOWERCASE_MONTHS,
    MONTHS,
    NUMBER_WORDS,
    SCALES,
    UNITS,
    word_set,
)
from ragboard.text.sentences import Language, WordCache, Words

__all__ = ["Figure", "figures", "figures_at", "may_begin_figure", "parse_number"]


MONTHS_A_YEAR = 12
TWO_DIGITS, FOUR_DIGITS = 2, 4
"""Number of digits of a short year (99) and of a full year (1999)."""
DOTTED_DATE = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")
SUFFIX = re.compile(r"(st|nd|rd|th|s)$")


class Number(NamedTuple):
    """A number in digits, parsed without the words around it."""

    key: str
    value: float
    may_be_year: bool


@lru_cache(maxsize=8)
def number_parser(language: Language) -> WordCache[Number | None]:
    """Return a mapping from each word to its number if it is written in digits, else to None."""

    def parse(word: str) -> Number | None:
        value = parse_number(word, language) if word[-1].isdigit() and not DOTTED_DATE.fullmatch(word) else None
        if value is None:
            return None
        return Number(f"#{value:.10g}", value, has_only_digits(word, 4) and 1000 <= int(word) < 2100)

    return WordCache(parse)


def has_only_digits(word: str, length: int) -> bool:
    """Return whether the word consists of exactly this many digits."""
    return len(word) == length and word.isdecimal()


@lru_cache(maxsize=4096)
def parse_number(written: str, language: Language) -> float | None:
    """Parse a number in digits, such as `1,000.5`, `53 000` or `3rd`; None for any other word.

    If both a comma and a point occur, the last of them is the decimal mark: `1.000,5`.
    """
    plain = re.sub(r"\s", "", SUFFIX.sub("", written))
    marks = [mark for mark in plain if mark in ".,"]
    if len(set(marks)) == 2:
        plain = plain.replace(marks[0], "").replace(marks[-1], ".")
    elif marks and (len(marks) > 1 or _separates_thousands(plain, marks[0], language)):
        plain = plain.replace(marks[0], "")
    plain = plain.replace(",", ".")
    try:
        return float(plain)
    except ValueError:
        return None


def _separates_thousands(plain: str, mark: str, language: Language) -> bool:
    """Return whether the only comma or point separates thousands, not decimals."""
    whole, _, rest = plain.partition(mark)
    return len(rest) == 3 and whole != "0" and (mark == "," or language in ("de", "es"))


_SHORT_SCALES = {"m": 10**6, "b": 10**9}
"""Factors of the letters directly after an amount of money: `$1.5m`."""
_CURRENCY = {"$": "dollar", "€": "euro", "£": "pound", "¥": "yen"}
_ORDINAL_SUFFIXES = {"st": "th", "nd": "th", "rd": "th", "th": "th", "s": "s"}
_PERCENT = re.compile(r"\s?(?:%|per cent\b)")
_PERCENT_STARTS = ("%", "p")
_BEFORE_BARE_MONTH = word_set("in of since until by early late mid im seit bis ende anfang mitte")


class Figure(NamedTuple):
    """A value in the text: words `[first:stop]`, characters `[start:end]`."""

    key: str
    """A text that is the same for equal values: `#5000m`, `#1990`, `#day7-1`."""
    unitless_key: str
    """The key without its unit."""
    kind: str
    """A unit, `%`, a currency (`dollar`), `year`, `date month`, `date day`, `phone`, `th` (an ordinal number), `s` (a
    decade), or empty for a bare number."""
    value: float
    """The value in this unit; for `date day`, month * 100 + day."""
    first: int
    stop: int
    start: int
    end: int


_FigureSpan: TypeAlias = tuple[tuple[tuple[str, str, str, float], ...], int, int, int]
"""(key, unitless key, kind, value) of each figure; the index of the next word; start and end in the text."""


def figures(words: Words, language: Language) -> tuple[Figure, ...]:
    """Return all figures among these words, in reading order."""
    return figures_at(words, [at for at, word in enumerate(words.spelt) if may_begin_figure(word)], language)


def figures_at(words: Words, indices: Sequence[int], language: Language) -> tuple[Figure, ...]:
    """Return all figures that begin at one of the words at `indices`."""
    next_index = 0
    result: list[Figure] = []
    numbers = number_parser(language)
    for at in indices:
        if at < next_index:
            continue
        number = numbers[words.spelt[at]]
        if number and not _may_be_phone(words, at) and (bare := _bare_number(words, at, number)):
            result.append(bare)
            continue
        span = _phone(words, at) or _date(words, at) or _quantity(words, at, language)
        if span is None:
            continue
        values, next_index, start, end = span
        result += [Figure(*value, at, next_index, start, end) for value in values]
    return tuple(result)


def may_begin_figure(word: str) -> bool:
    """Return whether a figure may begin with the word."""
    plain = word.lower()
    month = plain in MONTHS and (word[0].isupper() or plain in LOWERCASE_MONTHS)
    return month or word[0].isdigit() or plain in NUMBER_WORDS


# Phone numbers


_PHONE = re.compile(r"(?:1[ -.])?\(?(\d{3})\)?[ .-]{1,2}(\d{3})[.-](\d{4})\b")


def _may_be_phone(words: Words, at: int) -> bool:
    return len(words.spelt[at]) == 3 and words.text[words.ends[at] : words.ends[at] + 1] in ("-", ".", ")", " ")


def _phone(words: Words, at: int) -> _FigureSpan | None:
    """Return the phone number at this word as one figure: `(510) 208-4832`, `1-800-829-1040`."""
    if len(words.spelt[at]) not in (1, 3) or not words.spelt[at].isdecimal():
        return None
    match = _PHONE.match(words.text, words.start(at))
    if match is None:
        return None
    stop = next((after for after in range(at, len(words.spelt)) if words.start(after) >= match.end()), len(words.spelt))
    key = f"#tel{''.join(match.groups())}"
    return ((key, key, "phone", float("".join(match.groups()))),), stop, match.start(), match.end()


# Bare numbers


_MINUS = frozenset("-\u2212\u2013")
"""Characters for a minus, including dashes, which word processors insert."""
_MARKS_BEFORE, _MARKS_AFTER = _MINUS.union("$€£¥/"), frozenset("-%p")
"""Characters beside a number that may belong to it, as in a currency, a range, a date or `per cent`."""
_JOINS = WordCache(lambda word: word == "de" or any(word.lower() in words for words in (MONTHS, SCALES, UNITS)))
"""For each word, whether it may belong to the number before it."""


def _bare_number(words: Words, at: int, number: Number) -> Figure | None:
    """Return the number if nothing beside it can belong to it, else None. Most numbers need only this quick check."""
    text, spelt, end = words.text, words.spelt, words.ends[at]
    start = end - len(spelt[at])
    after = spelt[at + 1] if at + 1 < len(spelt) else ""
    if at and words.spelt[at - 1].lower() == "minus":
        return None
    if _JOINS[after] or text[start - 1 : start] in _MARKS_BEFORE or not _MARKS_AFTER.isdisjoint(text[end : end + 2]):
        return None
    key, value, year = number
    year = year and (not after or not after[0].islower() or (at > 0 and spelt[at - 1].lower() in _BEFORE_YEAR))
    return Figure(key, key, "year" if year else "", value, at, at + 1, start, end)


# Dates


def _date(words: Words, at: int) -> _FigureSpan | None:
    if _cannot_be_date(words, at):
        return None
    year, month, day, stop = _iso(words, at) or _dotted(words, at) or _with_month_name(words, at) or (0, 0, 0, at)
    if not month:
        return None
    parts = [(f"#month{month}", "date month", month)]
    if day:
        parts.append((f"#day{month}-{day}", "date day", month * 100 + day))
    if year:
        parts.append((f"#{year}", "year", year))
    values = tuple((key, key, kind, float(value)) for key, kind, value in parts)
    return values, stop, words.start(at), words.ends[stop - 1]


def _cannot_be_date(words: Words, at: int) -> bool:
    """Return whether the number cannot begin a date, because no date character and no month's name follows."""
    word = words.spelt[at]
    after = words.spelt[at + 1] if at + 1 < len(words.spelt) else ""
    return (
        word[0].isdigit()
        and "." not in word
        and after.lower() not in MONTHS
        and after != "de"
        and not words.text.startswith("-", words.ends[at])
    )


def _iso(words: Words, at: int) -> tuple[int, int, int, int] | None:
    """Return year, month, day and the index of the next word if the date `2000-07-01` begins at this word."""
    if (
        at + 3 > len(words.spelt)
        or not has_only_digits(words.spelt[at], 4)
        or not words.text.startswith("-", words.ends[at])
    ):
        return None
    start, end = words.start(at), words.ends[at + 2]
    match = re.fullmatch(r"(\d{4})-(\d{2})-(\d{2})", words.text[start:end])
    return (int(match[1]), int(match[2]), int(match[3]), at + 3) if match and int(match[2]) <= MONTHS_A_YEAR else None


def _dotted(words: Words, at: int) -> tuple[int, int, int, int] | None:
    """Return the same as `_iso` for a date such as `1.7.2000`."""
    match = DOTTED_DATE.fullmatch(words.spelt[at]) if "." in words.spelt[at] else None
    return (int(match[3]), int(match[2]), int(match[1]), at + 1) if match else None


def _with_month_name(words: Words, at: int) -> tuple[int, int, int, int] | None:
    """Return the same as `_iso` for `1 July 2000`, `July 1, 2000`, `July 2000` or `in July`; 0 for a missing part."""
    if words.spelt[at][0].isdigit():
        day, place = _day(words.spelt[at]), _skip_de(words, at + 1)
        month, after = _month(words, place), _skip_de(words, place + 1)
        year = _year(words, after)
        return (year, month, day, after + 1 if year else place + 1) if day and month else None
    month = _month(words, at)
    if not month:
        return None
    day = _day(words.spelt[at + 1]) if at + 1 < len(words.spelt) and not words.after(at).strip() else 0
    stop = at + 2 if day else at + 1
    year = _year(words, stop)
    if not day and not year and not (at and words.spelt[at - 1].lower() in _BEFORE_BARE_MONTH):
        return None
    return year, month, day, stop + 1 if year else stop


def _day(word: str) -> int:
    """Return the day of a month that the word names, as in `3rd`; 0 if there is none."""
    digits = SUFFIX.sub("", word)
    return int(digits) if digits.isdecimal() and len(digits) <= 2 and 1 <= int(digits) <= 31 else 0


def _year(words: Words, at: int) -> int:
    """Return the year at this word; 0 if there is none."""
    return int(words.spelt[at]) if at < len(words.spelt) and has_only_digits(words.spelt[at], 4) else 0


def _month(words: Words, at: int) -> int:
    """Return the number of the month at this word; 0 if there is none."""
    if at >= len(words.spelt) or not (words.spelt[at][0].isupper() or words.spelt[at] in LOWERCASE_MONTHS):
        return 0
    return MONTHS.get(words.spelt[at].lower(), 0)


def _skip_de(words: Words, at: int) -> int:
    """Return the position after a Spanish `de`, as in `4 de marzo de 1890`."""
    return at + 1 if at < len(words.spelt) and words.spelt[at] == "de" else at


# Quantities


def _quantity(words: Words, at: int, language: Language) -> _FigureSpan | None:
    """Return the number at this word with its sign and unit as one figure."""
    value, stop = _value(words, at, language)
    if value is None:
        return None
    word = words.spelt[at]
    if len(word) == TWO_DIGITS and (century := _century(words, at)):
        return _figure_span(century + value, ("year", 1.0), stop, words.start(at), words.ends[at])
    start, end = words.start(at), words.ends[stop - 1]
    sign = words.text[start - 1 : start]
    currency = _CURRENCY.get(sign) if start else None
    start -= currency is not None
    counted = value
    if _is_negative(words, at, start):
        counted = value if _means_fall(words, at) else -value
        value, start = -value, words.start(at - 1) if words.text[start - 1] not in _MINUS else start - 1
    if currency:
        scale = _SHORT_SCALES.get(words.text[end : end + 1].lower(), 1)
        shortened = scale > 1 and stop < len(words.spelt) and len(words.spelt[stop]) == 1
        return _figure_span(
            counted * (scale if shortened else 1), (currency, 1.0), stop + shortened, start, end + shortened
        )
    after = _PERCENT.match(words.text, end) if words.text[end : end + 2].lstrip()[:1] in _PERCENT_STARTS else None
    if after:
        spelt = "cent" in after.group()
        return _figure_span(counted, ("%", 1.0), stop + 2 if spelt else stop, start, after.end())
    unit = UNITS.get(words.spelt[stop].lower()) if stop < len(words.spelt) else None
    if unit and not words.after(stop - 1).strip("\u00a0 .-)"):
        return _figure_span(counted, unit, stop + 1, start, words.ends[stop])
    if not word[-1].isdigit() and (suffix := _ORDINAL_SUFFIXES.get(word.lstrip("0123456789"))):
        return _figure_span(value, (suffix, 1.0), stop, start, end)
    return _figure_span(value, _year_or_number(words, at, stop), stop, start, end)


def _is_negative(words: Words, at: int, start: int) -> bool:
    """Return whether a minus is directly before the figure; a hyphen after another number is not a minus."""
    if at and words.spelt[at - 1].lower() == "minus":
        return at == 1 or not words.spelt[at - 2][0].isdigit()
    if not start or words.text[start - 1] not in _MINUS or (start > 1 and words.text[start - 2] not in " \u00a0("):
        return False
    return not at or not words.spelt[at - 1][-1].isdigit() or words.after(at - 1).strip() not in _MINUS


def _means_fall(words: Words, at: int) -> bool:
    """Return whether a word already says the minus, as in `a loss of -5 million`, but not in `fell to -5%`."""
    lowered = [word.lower() for word in words.spelt]
    return not FALLING.isdisjoint(lowered) and BEFORE_A_LEVEL.isdisjoint(lowered[max(0, at - 2) : at])


def _century(words: Words, at: int) -> int:
    """Return the century of a shortened year: 1900 for the second number of `1998-99`. 0 for any other number."""
    if not at or not has_only_digits(words.spelt[at], 2) or not has_only_digits(words.spelt[at - 1], 4):
        return 0
    between = words.after(at - 1)
    return int(words.spelt[at - 1]) // 100 * 100 if between in {"-", "\u2013", "/"} else 0


def _figure_span(value: float, unit: tuple[str, float], stop: int, start: int, end: int) -> _FigureSpan:
    return _keyed(value, *unit), stop, start, end


@lru_cache(maxsize=4096)
def _keyed(value: float, name: str, size: float) -> tuple[tuple[str, str, str, float]]:
    unitless_key = f"#{value:.10g}"
    key = unitless_key if name in {"", "year"} else f"#{value * size:.10g}{name}"
    return ((key, unitless_key, name, value * size),)


_BEFORE_YEAR = word_set("in since by until till from to of year around and between before after im jahr seit bis von")


def _year_or_number(words: Words, at: int, stop: int) -> tuple[str, float]:
    return ("year" if len(words.spelt[at]) == FOUR_DIGITS and _is_year(words, at, stop) else "", 1.0)


def _is_year(words: Words, at: int, stop: int) -> bool:
    if stop != at + 1 or not has_only_digits(words.spelt[at], 4) or not 1000 <= int(words.spelt[at]) < 2100:
        return False
    after = words.spelt[stop] if stop < len(words.spelt) else ""
    return not after or (bool(at) and words.spelt[at - 1].lower() in _BEFORE_YEAR) or not after[0].islower()


def _value(words: Words, at: int, language: Language) -> tuple[float | None, int]:
    """Return the number at this word, in digits or words, or None if there is none, and the index of the next word."""
    if words.spelt[at][0].isdigit():
        value, stop = parse_number(words.spelt[at], language), at + 1
    else:
        value, stop = _number_in_words(words, at)
        stop += _repeated_in_digits(words, stop, value, language)
    while value is not None and stop < len(words.spelt) and (scale := SCALES.get(words.spelt[stop].lower())):
        value, stop = value * scale, stop + 1
    return value, stop


def _repeated_in_digits(words: Words, at: int, value: float | None, language: Language) -> bool:
    """Return whether the word at `at` repeats the number in words before it: `five (5) days`."""
    return (
        value is not None
        and at < len(words.spelt)
        and words.after(at - 1).strip() == "("
        and words.text[words.ends[at] : words.ends[at] + 1] == ")"
        and parse_number(words.spelt[at], language) == value
    )


def _number_in_words(words: Words, at: int) -> tuple[float | None, int]:
    value = NUMBER_WORDS.get(words.spelt[at].lower())
    if value is None:
        return None, at
    if value >= 20 and at + 1 < len(words.spelt) and words.after(at).strip() == "-":
        rest = NUMBER_WORDS.get(words.spelt[at + 1].lower(), 1 if words.spelt[at + 1].lower() == "one" else 0)
        if 1 <= rest <= 9:
            return value + rest, at + 2
    return value, at + 1
