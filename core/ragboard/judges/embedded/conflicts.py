"""Whether a sentence says something else of the same thing: number, name, opposite or denial."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ragboard.judges.embedded.figures import Figure
from ragboard.judges.embedded.index import Claim
from ragboard.judges.embedded.lexicon import (
    BOUNDING,
    COMPARED,
    FALLING,
    HAPPENS_ONCE,
    HYPOTHETICAL,
    OPPOSITES,
    TITLES,
    word_set,
)
from ragboard.judges.embedded.reading import Name, ParsedSentence
from ragboard.text.sentences import Language, normal, term

__all__ = ["Conflict", "close", "conflict"]

ROUGH = 0.05
"""How far apart two numbers may be where one is said to be rough."""
_ROUGHLY = word_set(
    "about around roughly nearly almost approximately some over circa ca etwa rund knapp fast ungefähr gut"
)

FAR = 0.2
"""How far apart two numbers must be to say different things where one is said to be rough."""

ALIKE = 0.65
"""The share of the rest of the statement that a sentence must hold to be about the same thing."""
MUCH_ALIKE = 0.8
"""The same where the place in the sentence does not show it, and for a contradiction."""
FEWEST = 2
"""Words that must agree, and one more where the statement says `it` of who knows what."""
FRAME = 3
"""Content words and numbers that a denied statement must have."""
REACH = 4
"""How many words before those of the statement a `not` may stand."""
DENIED = 2
"""Content words after a `not` among which is the one that it denies: `not officially approved`."""
ADDED = 0.34
"""The words of the passage among those of a denied statement, at most: a share of the statement's, or one."""


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
    certain: bool = True
    """Whether the two cannot both be true; else the statement is only not supported here."""


def close(figure: Figure, other: Figure, of: ParsedSentence, among: ParsedSentence) -> bool:
    """Whether two figures of one kind agree, one of them being a rough one."""
    if figure.kind != other.kind or figure.kind in {"year", "date month", "date day"}:
        return False
    rough = _before(of, figure.first) in _ROUGHLY or _before(among, other.first) in _ROUGHLY
    return rough and abs(figure.value - other.value) <= ROUGH * max(abs(figure.value), abs(other.value))


def conflict(
    claim: Claim, sentence: ParsedSentence, found: frozenset[str], around: AbstractSet[str] = frozenset()
) -> Conflict | None:
    """What the sentence has against the claim, if they are about the same thing; one that is certain comes first.

    `found` are the claim's items that the sentence holds, `around` all that the passages say. A question says nothing
    against anything.
    """
    if len(found) < FEWEST + claim.reading.has_pronoun or sentence.text[sentence.end - 1] == "?":
        return None
    first = None
    for each in _conflicts(claim, sentence, found, around):
        if each.certain:
            return each
        first = first or each
    return first


def _conflicts(
    claim: Claim, sentence: ParsedSentence, found: frozenset[str], around: AbstractSet[str]
) -> Iterator[Conflict]:
    yield from _figures(claim, sentence, found, around)
    yield from _names(claim, sentence, found)
    yield from _opposites(claim, sentence, found)
    yield from _comparisons(claim, sentence, found)
    yield from _denial(claim, sentence, found)


def _certain(claim: Claim, sentence: ParsedSentence, found: frozenset[str], slot: frozenset[str]) -> bool:
    """Whether the sentence says the rest of the claim, all its names and figures among it, and says it as a fact."""
    rest = claim.items - slot
    exact = (claim.named | claim.counted) - slot
    facts = HYPOTHETICAL.isdisjoint(sentence.words | claim.reading.words)
    return facts and exact <= found and len(found & rest) >= MUCH_ALIKE * len(rest)


def _rest(claim: Claim, found: frozenset[str], without: frozenset[str]) -> float:
    others = claim.items - without
    return len(found & others) / len(others) if others else 0.0


# Figures


def _figures(
    claim: Claim, sentence: ParsedSentence, found: frozenset[str], around: AbstractSet[str]
) -> Iterator[Conflict]:
    mine = claim.reading
    missing = [figure for figure in mine.figures if figure.key not in found]
    slot = frozenset(figure.key for figure in missing)
    alike = _rest(claim, found, slot)
    if alike < ALIKE:
        return
    one = len({figure.first for figure in missing}) == 1
    certain = one and _certain(claim, sentence, found, slot) and slot.isdisjoint(around)
    for figure in missing:
        rivals = [
            other
            for other in sentence.figures
            if _rivals(figure, other, claim, sentence) and _same_place(figure, other, mine, sentence, alike)
        ]
        exact = not _part_of_name(figure, mine)
        for other in rivals:
            far = abs(figure.value - other.value) > FAR * max(abs(figure.value), abs(other.value))
            yield Conflict(
                sentence.text[other.start : other.end],
                mine.text[figure.start : figure.end],
                other.start,
                other.end,
                "figure",
                certain=certain
                and exact
                and not _vague(figure, mine, far=far)
                and not _vague(other, sentence, far=far)
                and _fills(figure, other, mine, sentence, alone=len({each.first for each in rivals}) == 1),
            )


def _vague(figure: Figure, among: ParsedSentence, *, far: bool) -> bool:
    """Whether a word before it makes it a bound, `over 240 miles`, or a rough one that may mean a value not far off."""
    before = among.lowered[max(0, figure.first - 2) : figure.first]
    return not BOUNDING.isdisjoint(before) or (not far and not _ROUGHLY.isdisjoint(before))


def _part_of_name(figure: Figure, among: ParsedSentence) -> bool:
    """`the 1932 Grand Prix`, `Apollo 11`: the number belongs to a name."""
    before, after = figure.first - 1, figure.stop
    named = {at for name in among.names for at in range(name.first, name.stop)}
    if figure.kind.startswith("date"):
        return False
    return (before >= 0 and before in named and among.word_offsets.after(before) == " ") or (
        figure.kind == "year" and after in named and among.word_offsets.after(after - 1) == " "
    )


def _fills(figure: Figure, other: Figure, mine: ParsedSentence, theirs: ParsedSentence, *, alone: bool) -> bool:
    """Whether a year or date is told of the same event, one that happens once, and another number of the same thing."""
    before = _same_before(mine, figure.first, theirs, other.first)
    if figure.kind == "year" or figure.kind.startswith("date"):
        events = _once(mine.language) & mine.content & theirs.content
        return bool(events) and (before or alone)
    return before or _same_after(mine, figure.stop, theirs, other.stop)


def _rivals(figure: Figure, other: Figure, claim: Claim, sentence: ParsedSentence) -> bool:
    """Figures of one kind, the other's value being none that the claim names too, with a unit or without.

    `-5%` is no rival of `fell by 5%`.
    """
    mine = claim.reading
    if figure.kind and figure.value == -other.value and not FALLING.isdisjoint(mine.words | sentence.words):
        return False
    return figure.kind == other.kind and all(other.value != one.value for one in mine.figures)


def _same_place(figure: Figure, other: Figure, mine: ParsedSentence, theirs: ParsedSentence, alike: float) -> bool:
    after = _same_after(mine, figure.stop, theirs, other.stop)
    if after or figure.kind == "":
        return after
    before = _same_before(mine, figure.first, theirs, other.first)
    return before or (figure.kind != "year" and alike >= MUCH_ALIKE)


@lru_cache(maxsize=8)
def _once(language: Language) -> frozenset[str]:
    return frozenset(term(word, language) for word in HAPPENS_ONCE)


# Names


def _names(claim: Claim, sentence: ParsedSentence, found: frozenset[str]) -> Iterator[Conflict]:
    for name in claim.reading.names:
        absent = frozenset(name.terms) - sentence.content - found
        if not absent or _rest(claim, found, frozenset(name.terms)) < ALIKE:
            continue
        for other in sentence.names:
            if _other_bearer(name, other, claim) or _in_its_place(name, other, claim, sentence):
                start, end = sentence.span(other.first, other.stop)
                yield Conflict(
                    sentence.text[start:end],
                    claim.reading.said(name.first, name.stop),
                    start,
                    end,
                    "name",
                    certain=False,
                )


def _other_bearer(name: Name, other: Name, claim: Claim) -> bool:
    """`Tay Bridge` for `Forth Bridge`: as long, and one part differs; a title is no other name."""
    if len(name.terms) != len(other.terms):
        return False
    differing = [(mine, theirs) for mine, theirs in zip(name.terms, other.terms, strict=True) if mine != theirs]
    if len(differing) != 1 or len(name.terms) == 1:
        return False
    mine, theirs = differing[0]
    return theirs not in claim.reading.content and not {mine, theirs} & TITLES


def _in_its_place(name: Name, other: Name, claim: Claim, sentence: ParsedSentence) -> bool:
    """None of the name is said, and another, unknown to the claim, stands between the same words or edges."""
    if sentence.content & set(name.terms) or claim.reading.content & set(other.terms):
        return False
    mine = claim.reading
    said_before = _same_before(mine, name.first, sentence, other.first)
    said_after = _same_after(mine, name.stop, sentence, other.stop)
    before = said_before or _before(mine, name.first) == _before(sentence, other.first)
    after = said_after or _after(mine, name.stop) == _after(sentence, other.stop)
    return before and after and (said_before or said_after)


# Opposites and denials


def _opposites(claim: Claim, sentence: ParsedSentence, found: frozenset[str]) -> Iterator[Conflict]:
    mine = claim.reading
    opposed = _opposed(mine.language)
    for word in sorted((claim.items & mine.content) - found):
        other = opposed.get(word) or _undone(word, sentence)
        if other is None or other not in sentence.content or other in claim.items:
            continue
        if _rest(claim, found, frozenset({word})) >= MUCH_ALIKE:
            at, there = sentence.content_terms.index(other), mine.content_terms.index(word)
            yield Conflict(
                sentence.spelt[at],
                claim.words({word})[0],
                *sentence.span(at, at + 1),
                "opposite",
                certain=_certain(claim, sentence, found, frozenset({word}))
                and bool(mine.denials) == bool(sentence.denials)
                and (_same_after(mine, there + 1, sentence, at + 1) or _same_before(mine, there, sentence, at)),
            )


@lru_cache(maxsize=8)
def _opposed(language: Language) -> dict[str, str]:
    return {term(word, language): term(other, language) for word, other in OPPOSITES.items()}


def _undone(word: str, said: ParsedSentence) -> str | None:
    """`unlocked` for `locked` and the other way round; `Unkosten` are `Kosten`, and a name is no opposite either."""
    others = ({f"un{word}", word.removeprefix("un")} - {word}) & said.content
    return next(
        (other for other in others if len(other) > 3 and said.spelt[said.content_terms.index(other)].islower()), None
    )


def _comparisons(claim: Claim, sentence: ParsedSentence, found: frozenset[str]) -> Iterator[Conflict]:
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
                certain = _certain(claim, sentence, found, frozenset())
                yield Conflict(sentence.spelt[here], mine.spelt[there], start, end, "opposite", certain=certain)


def _same_way_round(mine: ParsedSentence, there: int, theirs: ParsedSentence, here: int) -> bool:
    """Whether the same is compared: `gold costs more than silver` agrees with `silver costs less than gold`."""
    before = {place for place in mine.content_terms[:there] if place}
    if _before(mine, there) != _before(theirs, here):  # `at least` is no opposite of `most`
        return False
    return _content(mine, there + 1) == _content(theirs, here + 1) and before.issubset(theirs.content_terms[:here])


def _denial(claim: Claim, sentence: ParsedSentence, found: frozenset[str]) -> Iterator[Conflict]:
    """The claim's words stand close together in the sentence, and one of the two has one `not` more."""
    mine = claim.reading
    wanted = frozenset(filter(None, mine.content_terms))
    shared = wanted & sentence.content
    if len(claim.items) < FRAME or not shared or not claim.items <= found:
        return
    if not HYPOTHETICAL.isdisjoint(sentence.words | mine.words):
        return
    window = _window(shared, sentence)
    here = sum(_reaches(at, window, sentence) and _denies(at, sentence, shared) for at in sentence.denials)
    there = sum(_denies(at, mine, shared) for at in mine.denials)
    among = sum(bool(sentence.content_terms[at]) for at in window) - len(shared)
    if {here, there} != {0, 1} or among > max(1.0, ADDED * len(wanted)):
        return
    denied = "passage" if here else "answer"
    yield Conflict("", "", sentence.start, sentence.end, "denial", denied=denied, certain=shared == wanted)


def _reaches(at: int, window: range, sentence: ParsedSentence) -> bool:
    """Whether a `not` stands among these words or shortly before them, with no comma between."""
    if at >= window.start:
        return at <= window.stop
    return window.start - at <= REACH and not _parted(sentence, at, window.start)


def _denies(at: int, reading: ParsedSentence, shared: frozenset[str]) -> bool:
    """Whether one of the next content words, before any comma, is shared: `shows no night` denies only the night."""
    following = [place for place in range(at + 1, len(reading.content_terms)) if reading.content_terms[place]][:DENIED]
    return any(reading.content_terms[place] in shared and not _parted(reading, at, place) for place in following)


def _parted(reading: ParsedSentence, first: int, second: int) -> bool:
    between = reading.text[reading.word_offsets.ends[first] : reading.word_offsets.start(second)]
    return any(mark in between for mark in ",;:")


def _window(wanted: frozenset[str], sentence: ParsedSentence) -> range:
    """The shortest run of the sentence's words with all that are wanted in it."""
    last: dict[str, int] = {}
    best = range(len(sentence.content_terms))
    for at, place in enumerate(sentence.content_terms):
        if place in wanted:
            last[place] = at
            if len(last) == len(wanted) and at + 1 - min(last.values()) < len(best):
                best = range(min(last.values()), at + 1)
    return best


# Neighbours


def _same_before(mine: ParsedSentence, there: int, theirs: ParsedSentence, here: int) -> bool:
    """Whether the nearest content word before is the same, `roughly` and its like aside."""
    return _content_before(mine, there) == _content_before(theirs, here) != ""


def _same_after(mine: ParsedSentence, there: int, theirs: ParsedSentence, here: int) -> bool:
    """Whether the first content word from there on is the same."""
    return _content(mine, there) == _content(theirs, here) != ""


def _before(reading: ParsedSentence, at: int) -> str:
    return normal(reading.spelt[at - 1]) if at > 0 else ""


def _after(reading: ParsedSentence, at: int) -> str:
    return normal(reading.spelt[at]) if at < len(reading.spelt) else ""


def _content(reading: ParsedSentence, at: int) -> str:
    return next((place for place in reading.content_terms[at:] if place), "")


def _content_before(reading: ParsedSentence, at: int) -> str:
    """The nearest content word before, `roughly` and its like aside."""
    return next((reading.content_terms[one] for one in reversed(range(at)) if _counts(reading, one)), "")


def _counts(reading: ParsedSentence, at: int) -> bool:
    return bool(reading.content_terms[at]) and reading.lowered[at] not in _ROUGHLY
