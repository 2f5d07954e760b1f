"""Whether a sentence says something else of the same thing: number, name, opposite or denial."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ragboard.judges.embedded.figures import Figure
from ragboard.judges.embedded.index import Claim
from ragboard.judges.embedded.lexicon import COMPARED, FALLING, OPPOSITES, TITLES, UNTIL, word_set
from ragboard.judges.embedded.reading import Name, Reading
from ragboard.text.sentences import Language, normal, term

__all__ = ["Conflict", "close", "conflict"]

ROUGH = 0.05
"""How far apart two numbers may be where one is said to be rough."""
_ROUGHLY = word_set(
    "about around roughly nearly almost approximately some over circa ca etwa rund knapp fast ungefähr gut"
)

ALIKE = 0.65
"""The share of the rest of the statement that a sentence must hold to be about the same thing."""
MUCH_ALIKE = 0.8
"""The same where the place in the sentence does not show it."""
VERY_ALIKE = 0.7
"""The same for a denial, which may be of something else in the sentence."""
_MANNER = {"en": ("ly",), "de": ("lich", "isch", "ell")}
"""Endings of words that say how: between `not` and what it denies they change nothing."""
FEWEST = 2
"""Words that must agree, and one more where the statement says `it` of who knows what."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """What a sentence says against a statement: `text[start:end]` of its passage."""

    here: str
    """The words of the sentence; empty for a denial."""
    there: str
    """The words of the statement in their place; empty for a denial."""
    start: int
    end: int
    kind: Literal["figure", "name", "opposite", "denial"]
    denied: str = ""
    """Which side denies what the other says: `passage`, `answer`, or neither."""


def close(figure: Figure, other: Figure, of: Reading, among: Reading) -> bool:
    """Whether two figures of one kind agree, one of them being a rough one."""
    if figure.kind != other.kind or figure.kind in {"year", "date month", "date day"}:
        return False
    rough = _before(of, figure.first) in _ROUGHLY or _before(among, other.first) in _ROUGHLY
    return rough and abs(figure.value - other.value) <= ROUGH * max(abs(figure.value), abs(other.value))


def conflict(claim: Claim, sentence: Reading, found: frozenset[str]) -> Conflict | None:
    """What the sentence has against the claim, if they are about the same thing.

    `found` are the claim's items that the sentence holds. A question says nothing against anything.
    """
    if len(found) < FEWEST + claim.reading.has_pronoun or sentence.text[sentence.end - 1] == "?":
        return None
    return next(_conflicts(claim, sentence, found), None)


def _conflicts(claim: Claim, sentence: Reading, found: frozenset[str]) -> Iterator[Conflict]:
    yield from _figures(claim, sentence, found)
    yield from _names(claim, sentence, found)
    yield from _opposites(claim, sentence, found)
    yield from _comparisons(claim, sentence, found)
    yield from _denial(claim, sentence, found)


def _rest(claim: Claim, found: frozenset[str], without: frozenset[str]) -> float:
    others = claim.items - without
    return len(found & others) / len(others) if others else 0.0


# Figures


def _figures(claim: Claim, sentence: Reading, found: frozenset[str]) -> Iterator[Conflict]:
    missing = [figure for figure in claim.reading.figures if figure.key not in found]
    alike = _rest(claim, found, frozenset(figure.key for figure in missing))
    if alike < ALIKE:
        return
    for figure in missing:
        for other in sentence.figures:
            if _rivals(figure, other, claim, sentence) and _same_place(figure, other, claim.reading, sentence, alike):
                yield Conflict(
                    sentence.text[other.start : other.end],
                    claim.reading.text[figure.start : figure.end],
                    other.start,
                    other.end,
                    "figure",
                )


def _rivals(figure: Figure, other: Figure, claim: Claim, sentence: Reading) -> bool:
    """Figures of one kind, the other's value being none that the claim names too, with a unit or without.

    `-5%` is no rival of `fell by 5%`.
    """
    mine = claim.reading
    if figure.kind and figure.value == -other.value and not FALLING.isdisjoint(mine.words | sentence.words):
        return False
    return figure.kind == other.kind and all(other.value != one.value for one in mine.figures)


def _same_place(figure: Figure, other: Figure, mine: Reading, theirs: Reading, alike: float) -> bool:
    after = _content(mine, figure.stop) == _content(theirs, other.stop) != ""
    before = _content_before(mine, figure.first) == _content_before(theirs, other.first) != ""
    if figure.kind == "":
        return after
    if figure.kind == "year":
        return after or before
    return after or before or alike >= MUCH_ALIKE


# Names


def _names(claim: Claim, sentence: Reading, found: frozenset[str]) -> Iterator[Conflict]:
    for name in claim.reading.names:
        absent = frozenset(name.terms) - sentence.content - found
        if not absent or _rest(claim, found, frozenset(name.terms)) < ALIKE:
            continue
        for other in sentence.names:
            if _other_bearer(name, other, claim) or _in_its_place(name, other, claim, sentence):
                start, end = sentence.span(other.first, other.stop)
                yield Conflict(sentence.text[start:end], claim.reading.said(name.first, name.stop), start, end, "name")


def _other_bearer(name: Name, other: Name, claim: Claim) -> bool:
    """`Tay Bridge` for `Forth Bridge`: as long, and one part differs; a title is no other name."""
    if len(name.terms) != len(other.terms):
        return False
    differing = [(mine, theirs) for mine, theirs in zip(name.terms, other.terms, strict=True) if mine != theirs]
    if len(differing) != 1 or len(name.terms) == 1:
        return False
    mine, theirs = differing[0]
    return theirs not in claim.reading.content and not {mine, theirs} & TITLES


def _in_its_place(name: Name, other: Name, claim: Claim, sentence: Reading) -> bool:
    """None of the name is said, and another, unknown to the claim, stands between the same words or edges."""
    if sentence.content & set(name.terms) or claim.reading.content & set(other.terms):
        return False
    mine = claim.reading
    said_before = _content_before(mine, name.first) == _content_before(sentence, other.first) != ""
    said_after = _content(mine, name.stop) == _content(sentence, other.stop) != ""
    before = said_before or _before(mine, name.first) == _before(sentence, other.first)
    after = said_after or _after(mine, name.stop) == _after(sentence, other.stop)
    return before and after and (said_before or said_after)


# Opposites and denials


def _opposites(claim: Claim, sentence: Reading, found: frozenset[str]) -> Iterator[Conflict]:
    opposed = _opposed(claim.reading.language)
    for word in sorted(claim.items - found):
        other = opposed.get(word) or _undone(word, sentence)
        if other is None or other not in sentence.content or other in claim.items:
            continue
        if _rest(claim, found, frozenset({word})) >= MUCH_ALIKE:
            at = sentence.places.index(other)
            yield Conflict(sentence.spelt[at], claim.words({word})[0], *sentence.span(at, at + 1), "opposite")


@lru_cache(maxsize=8)
def _opposed(language: Language) -> dict[str, str]:
    return {term(word, language): term(other, language) for word, other in OPPOSITES.items()}


def _undone(word: str, said: Reading) -> str | None:
    """`unlocked` for `locked` and the other way round; `Unkosten` are `Kosten`, and a name is no opposite either."""
    others = ({f"un{word}", word.removeprefix("un")} - {word}) & said.content
    return next((other for other in others if len(other) > 3 and said.spelt[said.places.index(other)].islower()), None)


def _comparisons(claim: Claim, sentence: Reading, found: frozenset[str]) -> Iterator[Conflict]:
    """`more than 50` for `fewer than 50`; `no more` and `not less` are left alone."""
    mine = claim.reading
    words = sorted(mine.words & COMPARED.keys() - sentence.words)
    if not words or mine.denials or sentence.denials or _rest(claim, found, frozenset()) < MUCH_ALIKE:
        return
    for word in words:
        for other in sorted(COMPARED[word] & sentence.words - mine.words):
            here, there = sentence.lowered.index(other), mine.lowered.index(word)
            if _same_way_round(mine, there, sentence, here):
                start, end = sentence.span(here, here + 1)
                yield Conflict(sentence.spelt[here], mine.spelt[there], start, end, "opposite")


def _same_way_round(mine: Reading, there: int, theirs: Reading, here: int) -> bool:
    """Whether the same is compared: `gold costs more than silver` agrees with `silver costs less than gold`."""
    before = {place for place in mine.places[:there] if place}
    if _before(mine, there) != _before(theirs, here):  # `at least` is no opposite of `most`
        return False
    return _content(mine, there + 1) == _content(theirs, here + 1) and before.issubset(theirs.places[:here])


def _denial(claim: Claim, sentence: Reading, found: frozenset[str]) -> Iterator[Conflict]:
    if _rest(claim, found, frozenset()) < VERY_ALIKE:
        return
    if not UNTIL.isdisjoint(sentence.words | claim.reading.words):
        return
    answer = any(
        _said_of_the_same(word, claim.reading, sentence.content) for word in claim.reading.negated & sentence.content
    )
    passage = any(
        _said_of_the_same(word, sentence, claim.items) for word in sentence.negated & claim.items - claim.named
    )
    if answer != passage:
        yield Conflict("", "", sentence.start, sentence.end, "denial", denied="answer" if answer else "passage")


def _said_of_the_same(word: str, denying: Reading, other: frozenset[str]) -> bool:
    """Whether what stands before the denied word is in the other text too: `shows no night` denies no other night."""
    if word not in denying.places:
        return True
    at = denying.places.index(word)
    while at and _says_how(denying, at - 1):
        at -= 1
    before = _content_before(denying, at)
    return not before or before in other


def _says_how(reading: Reading, at: int) -> bool:
    return reading.spelt[at].endswith(_MANNER.get(reading.language, ())) and reading.placed.after(at).isspace()


# Neighbours


def _before(reading: Reading, at: int) -> str:
    return normal(reading.spelt[at - 1]) if at > 0 else ""


def _after(reading: Reading, at: int) -> str:
    return normal(reading.spelt[at]) if at < len(reading.spelt) else ""


def _content(reading: Reading, at: int) -> str:
    return next((place for place in reading.places[at:] if place), "")


def _content_before(reading: Reading, at: int) -> str:
    return next((place for place in reversed(reading.places[:at]) if place), "")
