"""How well passages cover a statement: the scoring, the one thing to replace by a learned one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragboard.judges.embedded.conflicts import Conflict, close, conflict
from ragboard.judges.embedded.library import Claim, Library
from ragboard.judges.embedded.reading import BEGINNING, Reading
from ragboard.records import Label

__all__ = ["Match", "best_match", "matches"]

SUPPORTED = 0.72
"""Coverage from which a statement without any missing figure or name counts as supported."""
NEAR, NAMED_BEFORE, ELSEWHERE = 0.8, 0.8, 0.4
"""What a word is worth that is only akin; a name said elsewhere in the passage; any word said there."""
APART = 0.95
"""What two sentences are worth that do not follow each other."""
BLOCKED, AGAINST = 0.75, 0.3
"""What is left of the score where a figure or name is missing, and where a sentence says otherwise."""
WORDING = 0.25
"""The part of the score that all words as they stand make, function words among them."""
TRIED, RIVAL = 2, 0.6
"""Sentences of a passage that are looked at closely, and what share of the best one's weight they need."""
LEANT = 0.8
"""What a word of its passage is worth to a sentence that begins with a pronoun, in choosing where to look."""
HOPELESS = 0.25
"""A sentence below this score finds no second one that would help."""
SHORTEST_AKIN, AKIN = 6, 0.7
"""Words of so many letters are akin where this part from their beginning is the same."""


@dataclass(frozen=True, slots=True)
class Match:
    """A statement held against one sentence or two."""

    label: Label
    score: float
    """Support in [0, 1]."""
    sentences: tuple[int, ...] = ()
    """Numbers in the library; empty where no word is shared."""
    missing: frozenset[str] = frozenset()
    """Items that these sentences do not say."""
    conflict: Conflict | None = None


NOTHING = Match("unsupported", 0.0)
_ORDER: dict[Label, int] = {"supported": 2, "contradicted": 1, "unsupported": 0}


def matches(library: Library, claim: Claim) -> tuple[Match, ...]:
    """The best match in each passage, by itself."""
    leads = _leads(library, _ranked(library, claim))
    return tuple(
        _in_scope(library, claim, leads.get(passage, ()), frozenset({passage})) for passage in range(library.passages)
    )


def _ranked(library: Library, claim: Claim) -> dict[int, float]:
    """Sentences by the weight of the claim they hold; one that begins with a pronoun leans on its passage."""
    ranked = library.rank(claim.items)
    for number in ranked:
        sentence = library.sentences[number]
        if sentence.refers_back:
            leant = (claim.items - claim.counted - sentence.everything) & library.contents[library.passage_of[number]]
            ranked[number] += LEANT * math.fsum([library.weights[item] for item in leant])
    return ranked


def _leads(library: Library, ranked: dict[int, float]) -> dict[int, list[int]]:
    """For each passage the sentences worth a close look."""
    leads: dict[int, list[int]] = {}
    for number in sorted(ranked, key=lambda each: (-ranked[each], each)):
        chosen = leads.setdefault(library.passage_of[number], [])
        if not chosen or (len(chosen) < TRIED and ranked[number] >= RIVAL * ranked[chosen[0]]):
            chosen.append(number)
    return leads


def best_match(library: Library, claim: Claim, single: Sequence[Match]) -> Match:
    """The match in all passages together: the best single one, or two sentences of two passages."""
    best = max(single, key=_goodness, default=NOTHING)
    if best.label == "supported" or not best.sentences:
        return best
    leads = [match.sentences[0] for match in sorted(single, key=_goodness, reverse=True)[:TRIED] if match.sentences]
    together = _in_scope(library, claim, leads, frozenset(range(library.passages)))
    return together if together.label == "supported" else best


def _goodness(match: Match) -> tuple[int, float]:
    return _ORDER[match.label], match.score


def _in_scope(library: Library, claim: Claim, leads: Iterable[int], scope: frozenset[int]) -> Match:
    found = NOTHING
    for lead in leads:
        match = _match(library, claim, (lead,))
        if match.label == "unsupported" and match.score >= HOPELESS:
            match = max(match, _with_second(library, claim, match, scope), key=_goodness)
        found = max(found, match, key=_goodness)
    return found


def _with_second(library: Library, claim: Claim, first: Match, scope: frozenset[int]) -> Match:
    """The match with the sentence that says most of what is missing, if that agrees with the claim.

    A sentence that shares only a number with the claim is about something else.
    """
    lead = first.sentences[0]
    ranked = {
        number: weight
        for number, weight in library.rank(first.missing).items()
        if library.passage_of[number] in scope and number != lead
    }
    if not ranked:
        return first
    second = min(ranked, key=lambda number: (-ranked[number], abs(number - lead), number))
    told = claim.items - claim.counted
    if any(told.isdisjoint(library.sentences[number].content) for number in (lead, second)):
        return first
    if _match(library, claim, (second,)).conflict:
        return first
    return _match(library, claim, (lead, second))


def _match(library: Library, claim: Claim, numbers: tuple[int, ...]) -> Match:
    sentences = [library.sentences[number] for number in numbers]
    worth = {item: _worth(item, claim, sentences) for item in claim.items}
    found = frozenset(item for item, part in worth.items() if part)
    around = frozenset[str]().union(*(library.contents[library.passage_of[number]] for number in numbers))
    for item in claim.items - found:
        if item in around:
            worth[item] = NAMED_BEFORE if item in claim.named else ELSEWHERE
    coverage = _coverage(library, worth) * _togetherness(library, numbers)
    against = _against(claim, sentences, found, around)
    missing = claim.items - found
    score = (1 - WORDING) * coverage + WORDING * _wording(claim, sentences)
    if against:
        return Match("contradicted", score * AGAINST, numbers, missing, against)
    if missing & claim.counted or (missing & claim.named) - around:
        return Match("unsupported", score * BLOCKED, numbers, missing)
    return Match("supported" if coverage >= SUPPORTED else "unsupported", score, numbers, missing)


def _against(
    claim: Claim, sentences: Sequence[Reading], found: frozenset[str], around: frozenset[str]
) -> Conflict | None:
    """What the one sentence has against the claim; a pronoun in it may stand for what the passage names."""
    if len(sentences) != 1:
        return None
    meant = frozenset[str]()
    if sentences[0].refers_back:
        meant = claim.items - claim.counted
    elif sentences[0].has_pronoun:
        meant = claim.named
    return conflict(claim, sentences[0], found | (meant & around))


def _wording(claim: Claim, sentences: Sequence[Reading]) -> float:
    said = frozenset[str]().union(*(sentence.words for sentence in sentences))
    words = claim.reading.words
    return len(words & said) / len(words) if words else 0.0


def _coverage(library: Library, worth: dict[str, float]) -> float:
    weights = library.weights
    total = math.fsum([weights[item] for item in worth])
    return math.fsum([weights[item] * part for item, part in worth.items()]) / total if total else 0.0


def _togetherness(library: Library, numbers: tuple[int, ...]) -> float:
    apart = len(numbers) > 1 and (
        abs(numbers[0] - numbers[1]) > 1 or library.passage_of[numbers[0]] != library.passage_of[numbers[1]]
    )
    return APART if apart else 1.0


def _worth(item: str, claim: Claim, sentences: Sequence[Reading]) -> float:
    if any(item in sentence.everything for sentence in sentences):
        return 1.0
    if item in claim.counted:
        return 1.0 if any(_roughly(item, claim, sentence) for sentence in sentences) else 0.0
    if len(item) >= SHORTEST_AKIN and item not in claim.named:
        alike = (sentence for sentence in sentences if item[:BEGINNING] in sentence.beginnings)
        return NEAR if any(_akin(item, other) for sentence in alike for other in sentence.content) else 0.0
    return 0.0


def _roughly(key: str, claim: Claim, sentence: Reading) -> bool:
    return any(
        close(figure, other, claim.reading, sentence)
        for figure in claim.reading.figures
        if figure.key == key
        for other in sentence.figures
    )


def _akin(word: str, other: str) -> bool:
    if len(other) < SHORTEST_AKIN or word[:BEGINNING] != other[:BEGINNING]:
        return False
    shared = int(AKIN * max(len(word), len(other)) + 0.5)
    return word[:shared] == other[:shared]
