"""Answers in the shapes that models give them, true ones and the same with one thing made wrong."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ragboard.judges.embedded.changes import CHANGES, names_in
from ragboard.judges.embedded.lexicon import NUMBER_WORDS
from ragboard.judges.embedded.writing.names import TYPES
from ragboard.judges.embedded.writing.nouns import Ask

__all__ = ["Around", "answer_to", "false_answer_to"]

_YEAR = re.compile(r"(?<![\d.,])(?:1\d|20)\d\d(?![\d,]|\.\d)")
_DIGITS = re.compile(r"\d[\d,.]*\d|\d")
_WORDS = re.compile(rf"\b(?:{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})\b", re.IGNORECASE)
PERSONS = ("Edgar Holm", "Martha Lindqvist", "Paul Verhoeven", "Agnes Carter", "Luis Ferrer", "Hugo Brandt")
TRADES = ("a lawyer from Ghent", "a painter", "a miller's son", "a sea captain", "a nurse", "a bookbinder from Turin")
PLACES = ("Lisbon", "Oslo", "Bristol", "Dresden", "Turin", "Chicago", "Kyoto", "Ghent")
"""Names that stand for a wrong one where the passage offers none."""
INVENTED = ("Alder", "Merrow", "Calder", "Torvik", "Selden", "Varga", "Linden", "Orsa")
"""Names of no lake, bridge or treaty that we know of."""
MOST_NAMED = 4
"""Words of a name in which another is put."""

REWORDED = 0.5
"""The share of answers in which other words are put where some are known."""
_OTHER_WORDS = tuple(
    (re.compile(pattern), instead)
    for pattern, instead in (
        (r"\bbegan to\b", "started to"),
        (r"\b(?<=was )built\b|\b(?<=were )built\b", "constructed"),
        (r"\bfinished\b", "completed"),
        (r"\b(?<=was )founded\b", "established"),
        (r"\b(?:about|some) (?=\d)", "roughly "),
        (r"\bnearly (?=\d|all)", "almost "),
        (r"\b(?P<in>[Ii]n) (?=(?:1\d|20)\d\d(?![\d,]|\.\d))", r"\g<in> the year "),
        (r"\bmore than (?=\d)", "over "),
        (r"\bper cent\b", "percent"),
        (r"(?<=\d) km\b(?![\u00b2\u00b3])", " kilometres"),
        (r"(?<=\d) m\b(?![\u00b2\u00b3])", " metres"),
        (r"\bset up\b", "established"),
        (r"\bnobody\b", "no one"),
        (r"\bNobody\b", "No one"),
        (r"\bis due to\b", "is expected to"),
        (r"\bin order to\b", "to"),
        (r"\balthough\b", "though"),
        (r"\bseldom\b", "rarely"),
        (r"\blargest\b", "biggest"),
    )
)
OVERLAP = 0.5
"""The share of its words from which on a sentence says the same as the answer."""


@dataclass(frozen=True, slots=True)
class Around:
    """What else the passage says."""

    passage: str
    asks: tuple[Ask, ...]
    sentences: tuple[str, ...]
    """Those that can be read without the ones before them."""


def answer_to(ask: Ask, around: Around, rng: random.Random) -> str:
    """A true answer of one or two sentences, or of a few words."""
    return " ".join(_shaped(ask, around, rng))


def false_answer_to(ask: Ask, around: Around, rng: random.Random) -> str:
    """The answer of the same shape with one thing in it changed; empty where nothing can be.

    In two sentences either may be the false one. What is put in stands elsewhere in the passage where it can:
    that a word occurs does not make an answer true.
    """
    sentences = _shaped(ask, around, rng)
    place = rng.randrange(len(sentences))
    for at in dict.fromkeys((place, 0)):
        changed = _falsified(sentences[at], ask, around, rng)
        if changed:
            return " ".join([*sentences[:at], changed, *sentences[at + 1 :]])
    return ""


# Shapes

Shape = Callable[[Ask, Around, random.Random], list[str]]


def _short(ask: Ask, _around: Around, _rng: random.Random) -> list[str]:
    return [f"{ask.short[:1].upper()}{ask.short[1:]}."]


def _statement(ask: Ask, _around: Around, _rng: random.Random) -> list[str]:
    return [ask.statement]


def _turned(ask: Ask, _around: Around, _rng: random.Random) -> list[str]:
    return [ask.turned]


def _led_in(ask: Ask, _around: Around, rng: random.Random) -> list[str]:
    lead = rng.choice(("According to the passage,", "The text says that", "As the passage puts it,"))
    return [f"{lead} {_within(ask)}"]


def _two(ask: Ask, around: Around, rng: random.Random) -> list[str]:
    said = set(ask.statement.split())
    beside = [each for each in around.sentences if len(said & set(each.split())) < OVERLAP * len(said)]
    return [rng.choice((ask.statement, ask.turned)), *(rng.sample(beside, 1) if beside else ())]


_SHAPES: tuple[tuple[Shape, int], ...] = (
    (_short, 5),
    (_statement, 3),
    (_turned, 3),
    (_led_in, 2),
    (_two, 9),
)


def _shaped(ask: Ask, around: Around, rng: random.Random) -> list[str]:
    """The sentences of an answer, half of the time in other words where we know some."""
    shapes, weights = zip(*_SHAPES, strict=True)
    sentences = rng.choices(shapes, weights)[0](ask, around, rng)
    return [_reworded(each) for each in sentences] if rng.random() < REWORDED else sentences


def _reworded(sentence: str) -> str:
    """The same in other words: none of them changes what is said."""
    for pattern, instead in _OTHER_WORDS:
        sentence = pattern.sub(instead, sentence)
    return sentence


def _within(ask: Ask) -> str:
    """The statement as it reads after a lead-in."""
    if ask.subject:
        return f"{ask.subject}{ask.statement[len(ask.subject) :]}"
    return f"{ask.statement[:1].lower()}{ask.statement[1:]}"


# One thing made wrong


def _falsified(sentence: str, ask: Ask, around: Around, rng: random.Random) -> str:
    """The sentence with what was asked for changed, where it says it, else with anything; empty if it cannot."""
    for was, instead in _swaps(ask, sentence, around, rng):
        for old, new in ((was, instead), (_capital(was), _capital(instead))):
            if old in sentence and new not in sentence:
                return sentence.replace(old, new, 1)
    names = names_in([around.passage])
    found = (change(sentence, names, rng) for change in CHANGES.values())
    return next((text for text in found if text and text != sentence and text.rstrip(".") not in around.passage), "")


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _swaps(ask: Ask, sentence: str, around: Around, rng: random.Random) -> Iterator[tuple[str, str]]:
    """What answers the question, and something of its kind that does not."""
    match ask.kind:
        case "when":
            yield from _other(_YEAR, ask.short, around.passage, sentence, rng, _another_year)
        case "how many" | "how long":
            yield from _other(_DIGITS, ask.short, around.passage, sentence, rng, _another_number)
            yield from _other(_WORDS, ask.short, "", sentence, rng, _another_word)
        case "who":
            named = ask.short[0].isupper()
            alike = {each.short for each in around.asks if each.kind == "who" and each.short[0].isupper() == named}
            others = sorted(each for each in alike if each not in sentence and each != ask.short)
            yield ask.short, rng.choice(others or (PERSONS if named else TRADES))
        case "where":
            yield ask.short, f"in {rng.choice(PLACES)}"
        case "which" | "what":
            named = [word for word in ask.short.split() if word[0].isupper() and word.lower() not in TYPES]
            if named and len(ask.short.split()) <= MOST_NAMED:
                yield ask.short, ask.short.replace(" ".join(named), rng.choice(INVENTED))


def _other(
    pattern: re.Pattern[str],
    short: str,
    passage: str,
    sentence: str,
    rng: random.Random,
    invented: Callable[[str, random.Random], str],
) -> Iterator[tuple[str, str]]:
    found = pattern.search(short)
    if found is None:
        return
    was = found.group()
    alike = {each for each in pattern.findall(passage) if len(each.split()) == len(was.split()) and _near(each, was)}
    beside = sorted(each for each in alike if each not in sentence and each not in short)
    yield was, rng.choice(beside) if beside else invented(was, rng)


def _near(one: str, other: str) -> bool:
    """Of the same order where both are numbers; of the same length in words is asked elsewhere."""
    return not one[0].isdigit() or len(one) == len(other)


def _another_year(was: str, rng: random.Random) -> str:
    return str(int(was) + rng.choice((-31, -12, -4, -1, 1, 3, 9, 26)))


def _another_number(was: str, rng: random.Random) -> str:
    first = rng.choice([digit for digit in "123456789" if digit != was[0]])
    return f"{first}{was[1:]}"


def _another_word(was: str, rng: random.Random) -> str:
    return rng.choice(
        [word for word in ("three", "five", "six", "seven", "eight", "nine", "twelve") if word != was.lower()]
    )
