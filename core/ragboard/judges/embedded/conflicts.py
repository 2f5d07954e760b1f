"""Whether a sentence says something else about the same thing: another number or name, an opposite, or a denial."""

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
    FALLING,
    HAPPENS_ONCE,
    HYPOTHETICAL,
    OPPOSITE_COMPARATIVES,
    OPPOSITES,
    TITLES,
    word_set,
)
from ragboard.judges.embedded.reading import Name, ParsedSentence
from ragboard.text.sentences import Language, normal, term

__all__ = ["Conflict", "close", "conflict"]

ROUGH_TOLERANCE = 0.05
"""Maximum relative difference of two numbers that agree, if one of them is only approximate."""
_ROUGHLY = word_set(
    "about around roughly nearly almost approximately some over circa ca etwa rund knapp fast ungefähr gut"
)

FAR_APART = 0.2
"""Minimum relative difference of two numbers that disagree, if one of them is only approximate."""

MIN_COMMON = 0.65
"""Minimum share of the rest of the statement that a sentence must have in common with it to be about the same thing."""
MIN_COMMON_STRICT = 0.8
"""The same share if the position in the sentence is no evidence, and for a contradiction."""
MIN_COMMON_WORDS = 2
"""Minimum number of words that must agree; one more if the statement has a pronoun whose meaning is unknown."""
MIN_DENIED_WORDS = 3
"""Minimum number of content words and numbers of a statement that can be denied."""
NEGATION_REACH = 4
"""Maximum number of words between a `not` and the words of the statement after it."""
DENIED_WITHIN = 2
"""The word that a `not` denies is among so many content words after it: `not officially approved`."""
MAX_ADDED = 0.34
"""Maximum number of other words of the passage between those of a denied statement, as a share of them; at least
one."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """What a sentence says against a statement: `text[start:end]` of its passage."""

    here: str
    """The words of the sentence; empty for a denial."""
    there: str
    """The words of the statement that they replace; empty for a denial."""
    start: int
    end: int
    kind: Literal["figure", "name", "opposite", "denial"]
    denied: str = ""
    """Which side denies what the other says: `passage` or `answer`; empty if neither does."""
    certain: bool = True
    """Whether the two cannot both be true. If not certain, the statement is only unsupported by this sentence."""


def close(figure: Figure, other: Figure, of: ParsedSentence, among: ParsedSentence) -> bool:
    """Return whether two figures of the same kind agree, if one of them is only approximate."""
    if figure.kind != other.kind or figure.kind in {"year", "date month", "date day"}:
        return False
    rough = _before(of, figure.first) in _ROUGHLY or _before(among, other.first) in _ROUGHLY
    return rough and abs(figure.value - other.value) <= ROUGH_TOLERANCE * max(abs(figure.value), abs(other.value))


def conflict(
    claim: Claim, sentence: ParsedSentence, found: frozenset[str], around: AbstractSet[str] = frozenset()
) -> Conflict | None:
    """Return the conflict of the sentence with the claim, if both are about the same thing; a certain one is preferred.

    `found` are the items of the claim that the sentence contains, `around` all words of the passages. A question is in
    conflict with nothing.
    """
    if len(found) < MIN_COMMON_WORDS + claim.reading.has_pronoun or sentence.text[sentence.end - 1] == "?":
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
    """Whether the sentence states the rest of the claim, with all its names and figures, and states it as a fact."""
    rest = claim.items - slot
    exact = (claim.named | claim.counted) - slot
    facts = HYPOTHETICAL.isdisjoint(sentence.words | claim.reading.words)
    return facts and exact <= found and len(found & rest) >= MIN_COMMON_STRICT * len(rest)


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
    if alike < MIN_COMMON:
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
            far = abs(figure.value - other.value) > FAR_APART * max(abs(figure.value), abs(other.value))
            yield Conflict(
                sentence.text[other.start : other.end],
                mine.text[figure.start : figure.end],
                other.start,
                other.end,
                "figure",
                certain=certain
                and exact
                and not _is_bound_or_rough(figure, mine, far=far)
                and not _is_bound_or_rough(other, sentence, far=far)
                and _fills(figure, other, mine, sentence, alone=len({rival.first for rival in rivals}) == 1),
            )


def _is_bound_or_rough(figure: Figure, among: ParsedSentence, *, far: bool) -> bool:
    """Return whether a word before the figure makes it a bound, `over 240 miles`, or only approximate."""
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
    """Whether both figures belong to the same thing: a date to the same one-time event, a number to the same words."""
    before = _same_before(mine, figure.first, theirs, other.first)
    if figure.kind == "year" or figure.kind.startswith("date"):
        events = _one_time_verbs(mine.language) & mine.content & theirs.content
        return bool(events) and (before or alone)
    return before or _same_after(mine, figure.stop, theirs, other.stop)


def _rivals(figure: Figure, other: Figure, claim: Claim, sentence: ParsedSentence) -> bool:
    """Whether two figures of the same kind have different values, and the claim does not have the other value too.

    `-5%` agrees with `fell by 5%`.
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
    return before or (figure.kind != "year" and alike >= MIN_COMMON_STRICT)


@lru_cache(maxsize=8)
def _one_time_verbs(language: Language) -> frozenset[str]:
    return frozenset(term(word, language) for word in HAPPENS_ONCE)


# Names


def _names(claim: Claim, sentence: ParsedSentence, found: frozenset[str]) -> Iterator[Conflict]:
    for name in claim.reading.names:
        absent = frozenset(name.terms) - sentence.content - found
        if not absent or _rest(claim, found, frozenset(name.terms)) < MIN_COMMON:
            continue
        for other in sentence.names:
            if _differs_in_part(name, other, claim) or _replaces(name, other, claim, sentence):
                start, end = sentence.span(other.first, other.stop)
                yield Conflict(
                    sentence.text[start:end],
                    claim.reading.said(name.first, name.stop),
                    start,
                    end,
                    "name",
                    certain=False,
                )


def _differs_in_part(name: Name, other: Name, claim: Claim) -> bool:
    """Return whether one part of a name differs, as in `Tay Bridge` for `Forth Bridge`; a title is not a part."""
    if len(name.terms) != len(other.terms):
        return False
    differing = [(mine, theirs) for mine, theirs in zip(name.terms, other.terms, strict=True) if mine != theirs]
    if len(differing) != 1 or len(name.terms) == 1:
        return False
    mine, theirs = differing[0]
    return theirs not in claim.reading.content and not {mine, theirs} & TITLES


def _replaces(name: Name, other: Name, claim: Claim, sentence: ParsedSentence) -> bool:
    """Return whether the sentence has, between the same words or edges, another name that the claim does not have."""
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
        if _rest(claim, found, frozenset({word})) >= MIN_COMMON_STRICT:
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
    """Return `unlocked` for `locked`, or the reverse, if the sentence has it; capitalised words do not count."""
    others = ({f"un{word}", word.removeprefix("un")} - {word}) & said.content
    return next(
        (other for other in others if len(other) > 3 and said.spelt[said.content_terms.index(other)].islower()), None
    )


def _comparisons(claim: Claim, sentence: ParsedSentence, found: frozenset[str]) -> Iterator[Conflict]:
    """Yield conflicts such as `more than 50` for `fewer than 50`, but not for `no more` and `not less`."""
    mine = claim.reading
    words = sorted(mine.words & OPPOSITE_COMPARATIVES.keys() - sentence.words)
    if not words or mine.denials or sentence.denials or _rest(claim, found, frozenset()) < MIN_COMMON_STRICT:
        return
    for word in words:
        for other in sorted(OPPOSITE_COMPARATIVES[word] & sentence.words - mine.words):
            here, there = sentence.lowered.index(other), mine.lowered.index(word)
            if _same_way_round(mine, there, sentence, here):
                start, end = sentence.span(here, here + 1)
                certain = _certain(claim, sentence, found, frozenset())
                yield Conflict(sentence.spelt[here], mine.spelt[there], start, end, "opposite", certain=certain)


def _same_way_round(mine: ParsedSentence, there: int, theirs: ParsedSentence, here: int) -> bool:
    """Return whether both compare in the same order: `gold costs more than silver` is `silver costs less than gold`."""
    before = {place for place in mine.content_terms[:there] if place}
    if _before(mine, there) != _before(theirs, here):  # `at least` is no opposite of `most`
        return False
    return _content(mine, there + 1) == _content(theirs, here + 1) and before.issubset(theirs.content_terms[:here])


def _denial(claim: Claim, sentence: ParsedSentence, found: frozenset[str]) -> Iterator[Conflict]:
    """Yield a denial if the claim's words are close together in the sentence, and one of the two has one more `not`."""
    mine = claim.reading
    wanted = frozenset(filter(None, mine.content_terms))
    shared = wanted & sentence.content
    if len(claim.items) < MIN_DENIED_WORDS or not shared or not claim.items <= found:
        return
    if not HYPOTHETICAL.isdisjoint(sentence.words | mine.words):
        return
    window = _window(shared, sentence)
    here = sum(_reaches(at, window, sentence) and _denies(at, sentence, shared) for at in sentence.denials)
    there = sum(_denies(at, mine, shared) for at in mine.denials)
    among = sum(bool(sentence.content_terms[at]) for at in window) - len(shared)
    if {here, there} != {0, 1} or among > max(1.0, MAX_ADDED * len(wanted)):
        return
    denied = "passage" if here else "answer"
    yield Conflict("", "", sentence.start, sentence.end, "denial", denied=denied, certain=shared == wanted)


def _reaches(at: int, window: range, sentence: ParsedSentence) -> bool:
    """Return whether a `not` is among these words, or shortly before them without a comma between."""
    if at >= window.start:
        return at <= window.stop
    return window.start - at <= NEGATION_REACH and not _comma_between(sentence, at, window.start)


def _denies(at: int, reading: ParsedSentence, shared: frozenset[str]) -> bool:
    """Whether one of the next content words, before any comma, is shared: `shows no night` denies only the night."""
    following = [place for place in range(at + 1, len(reading.content_terms)) if reading.content_terms[place]][
        :DENIED_WITHIN
    ]
    return any(reading.content_terms[place] in shared and not _comma_between(reading, at, place) for place in following)


def _comma_between(reading: ParsedSentence, first: int, second: int) -> bool:
    between = reading.text[reading.word_offsets.ends[first] : reading.word_offsets.start(second)]
    return any(mark in between for mark in ",;:")


def _window(wanted: frozenset[str], sentence: ParsedSentence) -> range:
    """Return the shortest sequence of words of the sentence that contains all the wanted ones."""
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
    """Return whether the nearest content word before is the same; words such as `roughly` are ignored."""
    return _content_before(mine, there) == _content_before(theirs, here) != ""


def _same_after(mine: ParsedSentence, there: int, theirs: ParsedSentence, here: int) -> bool:
    """Return whether the first content word from this position on is the same."""
    return _content(mine, there) == _content(theirs, here) != ""


def _before(reading: ParsedSentence, at: int) -> str:
    return normal(reading.spelt[at - 1]) if at > 0 else ""


def _after(reading: ParsedSentence, at: int) -> str:
    return normal(reading.spelt[at]) if at < len(reading.spelt) else ""


def _content(reading: ParsedSentence, at: int) -> str:
    return next((place for place in reading.content_terms[at:] if place), "")


def _content_before(reading: ParsedSentence, at: int) -> str:
    """Return the nearest content word before this position; words such as `roughly` are ignored."""
    return next((reading.content_terms[one] for one in reversed(range(at)) if _counts(reading, one)), "")


def _counts(reading: ParsedSentence, at: int) -> bool:
    return bool(reading.content_terms[at]) and reading.lowered[at] not in _ROUGHLY
