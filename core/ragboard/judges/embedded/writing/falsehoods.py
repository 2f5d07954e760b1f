"""Sentences with one thing made wrong: what a question asked for, or anything else."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence

from ragboard.judges.embedded.changes import CHANGES, names_in
from ragboard.judges.embedded.lexicon import NUMBER_WORDS
from ragboard.judges.embedded.writing.names import TYPES
from ragboard.judges.embedded.writing.nouns import Ask

__all__ = ["falsified"]

_YEAR = re.compile(r"(?<![\d.,])(?:1\d|20)\d\d(?![\d,]|\.\d)")
_DIGITS = re.compile(r"\d[\d,.]*\d|\d")
_WORDS = re.compile(rf"\b(?:{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})\b", re.IGNORECASE)
PERSONS = ("Edgar Holm", "Martha Lindqvist", "Paul Verhagen", "Agnes Carter", "Luis Ferrer", "Hugo Brandt")
TRADES = ("a lawyer from Ghent", "a painter", "a miller's son", "a sea captain", "a nurse", "a bookbinder from Turin")
PLACES = ("Lisbon", "Oslo", "Bristol", "Dresden", "Turin", "Chicago", "Kyoto", "Ghent")
"""Names that stand for a wrong one where the passage offers none."""
INVENTED = ("Alder", "Merrow", "Calder", "Torvik", "Selden", "Varga", "Linden", "Orsa")
"""Names of no lake, bridge or treaty that we know of."""
MOST_NAMED = 4
"""Words of a name in which another is put."""


def falsified(sentence: str, ask: Ask, passage: str, asks: Sequence[Ask], rng: random.Random) -> str:
    """The sentence with what was asked for changed, where it says it, else with anything; empty if it cannot.

    What is put in stands elsewhere in the passage where it can: that a word occurs does not make an answer true.
    """
    for was, instead in _swaps(ask, sentence, passage, asks, rng):
        for old, new in ((was, instead), (_capital(was), _capital(instead))):
            if old in sentence and new not in sentence:
                return sentence.replace(old, new, 1)
    names = names_in([passage])
    found = (change(sentence, names, rng) for change in CHANGES.values())
    return next((text for text in found if text and text != sentence and text.rstrip(".") not in passage), "")


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _swaps(ask: Ask, sentence: str, passage: str, asks: Sequence[Ask], rng: random.Random) -> Iterator[tuple[str, str]]:
    """What answers the question, and something of its kind that does not."""
    match ask.kind:
        case "when":
            yield from _other(_YEAR.search(ask.short), _YEAR.findall(passage), sentence, rng, _another_year)
        case "how many" | "how long":
            yield from _other(_DIGITS.search(ask.short), _DIGITS.findall(passage), sentence, rng, _another_number)
            yield from _other(_WORDS.search(ask.short), [], sentence, rng, _another_word)
        case "who":
            named = ask.short[0].isupper()
            alike = {each.short for each in asks if each.kind == "who" and each.short[0].isupper() == named}
            others = sorted(each for each in alike if each not in sentence and each != ask.short)
            yield ask.short, rng.choice(others or (PERSONS if named else TRADES))
        case "where":
            yield ask.short, f"in {rng.choice(PLACES)}"
        case "which" | "what":
            named = [word for word in ask.short.split() if word[0].isupper() and word.lower() not in TYPES]
            if named and len(ask.short.split()) <= MOST_NAMED:
                yield ask.short, ask.short.replace(" ".join(named), rng.choice(INVENTED))


def _other(
    was: re.Match[str] | None,
    alike: list[str],
    sentence: str,
    rng: random.Random,
    invented: Callable[[str, random.Random], str],
) -> Iterator[tuple[str, str]]:
    """What was found, and another that the passage has, else an invented one."""
    if was is not None:
        beside = sorted({each for each in alike if len(each) == len(was.group()) and each not in sentence})
        yield was.group(), rng.choice(beside) if beside else invented(was.group(), rng)


def _another_year(was: str, rng: random.Random) -> str:
    return str(int(was) + rng.choice((-31, -12, -4, -1, 1, 3, 9, 26)))


def _another_number(was: str, rng: random.Random) -> str:
    first = rng.choice([digit for digit in "123456789" if digit != was[0]])
    return f"{first}{was[1:]}"


def _another_word(was: str, rng: random.Random) -> str:
    return rng.choice(
        [word for word in ("three", "five", "six", "seven", "eight", "nine", "twelve") if word != was.lower()]
    )
