"""Answers in the shapes that models give them, true ones and the same with one thing made wrong."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

from ragboard.judges.embedded.writing.falsehoods import falsified
from ragboard.judges.embedded.writing.nouns import Ask
from ragboard.text.sentences import Language

__all__ = ["Around", "answer_to", "false_answer_to"]

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
    language: Language
    asks: tuple[Ask, ...]
    sentences: tuple[str, ...]
    """Those that can be read without the ones before them."""


def answer_to(ask: Ask, around: Around, rng: random.Random) -> str:
    """A true answer of one or two sentences, or of a few words."""
    return " ".join(_shaped(ask, around, rng))


def false_answer_to(ask: Ask, around: Around, rng: random.Random) -> str:
    """The answer of the same shape with one thing in it changed; empty where nothing can be.

    In two sentences either may be the false one.
    """
    sentences = _shaped(ask, around, rng)
    place = rng.randrange(len(sentences))
    for at in dict.fromkeys((place, 0)):
        changed = falsified(sentences[at], ask, around.passage, around.asks, rng)
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


def _led_in(ask: Ask, around: Around, rng: random.Random) -> list[str]:
    if around.language != "en":
        return [ask.statement]
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
    reworded = rng.random() < REWORDED and around.language == "en"
    return [_reworded(each) for each in sentences] if reworded else sentences


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
