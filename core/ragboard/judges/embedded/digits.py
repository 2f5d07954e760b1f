"""Numbers in digits: how one reads by itself."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from ragboard.text.sentences import Language, Remembered

__all__ = ["DOTTED_DATE", "SUFFIX", "Number", "in_digits", "is_plain", "numbers_of"]

DOTTED_DATE = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")
SUFFIX = re.compile(r"(st|nd|rd|th|s)$")


class Number(NamedTuple):
    """A number in digits, as it reads by itself."""

    key: str
    value: float
    may_be_year: bool


@lru_cache(maxsize=8)
def numbers_of(language: Language) -> Remembered[Number | None]:
    """Numbers in plain digits by how they are written; None for any other word."""

    def known(word: str) -> Number | None:
        value = in_digits(word, language) if word[-1].isdigit() and not DOTTED_DATE.fullmatch(word) else None
        if value is None:
            return None
        return Number(f"#{value:.10g}", value, is_plain(word, 4) and 1000 <= int(word) < 2100)

    return Remembered(known)


def is_plain(word: str, length: int) -> bool:
    """Whether it is so many digits and nothing else."""
    return len(word) == length and word.isdecimal()


@lru_cache(maxsize=4096)
def in_digits(written: str, language: Language) -> float | None:
    """`1,000.5`, `1.000,5` (the last mark, where both occur, is the decimal one), `53 000`, `3rd`."""
    plain = re.sub(r"\s", "", SUFFIX.sub("", written))
    marks = [mark for mark in plain if mark in ".,"]
    if len(set(marks)) == 2:
        plain = plain.replace(marks[0], "").replace(marks[-1], ".")
    elif marks and (len(marks) > 1 or _groups(plain, marks[0], language)):
        plain = plain.replace(marks[0], "")
    plain = plain.replace(",", ".")
    try:
        return float(plain)
    except ValueError:
        return None


def _groups(plain: str, mark: str, language: Language) -> bool:
    """Whether the only mark parts thousands, not decimals."""
    whole, _, rest = plain.partition(mark)
    return len(rest) == 3 and whole != "0" and (mark == "," or language in ("de", "es"))
