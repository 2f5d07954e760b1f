"""Which sentences may say a figure that is sought, told word by word: most need not be read for figures at all.

The clue of a number is its digits without the noughts at their end, for scales and most units multiply by powers of
ten. Units that do not, and parts of dates, are undone on the side of what is sought.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from ragboard.judges.embedded.digits import in_digits
from ragboard.judges.embedded.figures import Figure, numeric
from ragboard.judges.embedded.lexicon import MONTHS, NUMBER_WORDS, SCALES, UNITS
from ragboard.text.sentences import Language, term

__all__ = ["clue_in", "clues_of", "figure_terms", "month_clue"]

ANY = "=?"
"""The clue of a word that does not tell by itself what its figure is."""
LONGEST = 9
"""A sign, and digits that stay exact in any unit."""
HUGE = 1e100
"""A number that scales could make infinite."""
COMPOUND = 20
"""From this number word on another may follow: `twenty-one`."""

_SIZES = {"s": (1.0, 60.0, 3600.0), "day": (1.0, 7.0), "month": (1.0, 12.0)}
"""For what is counted in units that differ by no powers of ten, their sizes."""


def clue_in(word: str, language: Language) -> str:
    """The clue of a number in digits or in letters: no term is like it. A word with two stops may be a date."""
    if word[0].isdigit():
        value, most = in_digits(word, language), HUGE
    else:
        value, most = NUMBER_WORDS[word.lower()], COMPOUND
    if not value or value >= most or word.count(".") > 1:
        return ANY
    clue = _clue(value)
    return clue if len(clue) <= LONGEST else ANY


def month_clue(word: str) -> str:
    """The clue of a month's name that is a function word too, such as May; `` for any other word."""
    return f"=month {MONTHS[word.lower()]}" if numeric(word) else ""


def clues_of(figures: Iterable[Figure], language: Language) -> frozenset[str]:
    """The clues, and terms of months, of which a sentence has one if it says one of these figures."""
    return frozenset((ANY, *(clue for figure in figures for clue in _clues_of(figure, language))))


def _clues_of(figure: Figure, language: Language) -> Iterator[str]:
    if figure.kind.startswith("date"):
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
    """Terms of the words that may belong to a figure, and are no words of content there."""
    words = {*MONTHS, *NUMBER_WORDS, *SCALES, *UNITS, "per", "cent", "de", "one"}
    return frozenset(term(word, language) for word in words)
