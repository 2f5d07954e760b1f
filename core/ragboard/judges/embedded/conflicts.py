"""Find conflicts between a sentence and a statement: different numbers or names, opposites and denials.

`index.py` explains the terms claim, item and scope.
"""

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

__all__ = ["Conflict", "agree_roughly", "find_conflict"]

ROUGH_TOLERANCE = 0.05
"""Maximum relative difference at which two numbers agree, if either is approximate."""
_ROUGHLY = word_set(
    "about around roughly nearly almost approximately some over circa ca etwa rund knapp fast ungefähr gut"
)

FAR_APART = 0.2
"""Relative difference above which two numbers conflict for certain, even if either is approximate."""

MIN_COMMON = 0.65
"""Minimum share of the statement's non-conflicting items that a sentence about the same thing contains."""
MIN_COMMON_STRICT = 0.8
"""The same for conflicts that are certain, for opposites, and for figures whose neighbouring words differ."""
MIN_COMMON_WORDS = 2
"""Minimum number of items that sentence and statement must share; one more if the statement has a pronoun."""
MIN_DENIED_WORDS = 3
"""Minimum number of items that a statement needs for a denial to be recognised."""
NEGATION_REACH = 4
"""Maximum distance, in words, between a `not` and the first of the statement's words after it."""
DENIED_WITHIN = 2
"""Number of content words after a `not` that it may deny: `not officially approved`."""
MAX_ADDED = 0.34
"""Maximum number of other content words between the statement's words in a denial, as a share of the statement's words.
One is always allowed."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A conflict between a sentence and a statement. `[start:end]` is the conflicting part of the sentence's text."""

    sentence_words: str
    """The conflicting words of the sentence; empty for a denial."""
    statement_words: str
    """The conflicting words of the statement; empty for a denial."""
    start: int
    end: int
    kind: Literal["figure", "name", "opposite", "denial"]
    denied_by: Literal["passage", "statement", ""] = ""
    """Which of the two denies the other; empty if it is not a denial."""
    certain: bool = True
    """Whether sentence and statement cannot both be true. If so, the statement is contradicted, else unsupported."""


def agree_roughly(figure: Figure, other: Figure, sentence: ParsedSentence, other_sentence: ParsedSentence) -> bool:
    """Return whether two figures of the same kind agree roughly, and at least one of them is approximate."""
    if figure.kind != other.kind or figure.kind in {"year", "date month", "date day"}:
        return False
    rough = _word_before(sentence, figure.first) in _ROUGHLY or _word_before(other_sentence, other.first) in _ROUGHLY
    return rough and abs(figure.value - other.value) <= ROUGH_TOLERANCE * max(abs(figure.value), abs(other.value))


def find_conflict(
    claim: Claim, sentence: ParsedSentence, shared_items: frozenset[str], scope_items: AbstractSet[str] = frozenset()
) -> Conflict | None:
    """Return the first certain conflict of the sentence with the claim, else the first conflict, else None.

    `shared_items` are the items of the claim that the sentence contains, `scope_items` those that the scope contains.
    A question has no conflicts.
    """
    if len(shared_items) < MIN_COMMON_WORDS + claim.parsed.has_pronoun or sentence.text[sentence.end - 1] == "?":
        return None
    first = None
    for conflict in _conflicts(claim, sentence, shared_items, scope_items):
        if conflict.certain:
            return conflict
        first = first or conflict
    return first


def _conflicts(
    claim: Claim, sentence: ParsedSentence, shared_items: frozenset[str], scope_items: AbstractSet[str]
) -> Iterator[Conflict]:
    yield from _figure_conflicts(claim, sentence, shared_items, scope_items)
    yield from _name_conflicts(claim, sentence, shared_items)
    yield from _opposite_conflicts(claim, sentence, shared_items)
    yield from _comparison_conflicts(claim, sentence, shared_items)
    yield from _denial_conflicts(claim, sentence, shared_items)


def _is_certain(
    claim: Claim, sentence: ParsedSentence, shared_items: frozenset[str], conflicting: frozenset[str]
) -> bool:
    """Return whether a conflict in these items is certain.

    Sentence and claim must state facts, and agree on all other names and figures and most other items.
    """
    other_items = claim.items - conflicting
    must_match = (claim.name_terms | claim.figure_keys) - conflicting
    state_facts = HYPOTHETICAL.isdisjoint(sentence.words | claim.parsed.words)
    alike = len(shared_items & other_items) >= MIN_COMMON_STRICT * len(other_items)
    return state_facts and must_match <= shared_items and alike


def _share_of_rest(claim: Claim, shared_items: frozenset[str], excluded: frozenset[str]) -> float:
    """Return the share of the claim's items that the sentence shares; the `excluded` items do not count."""
    others = claim.items - excluded
    return len(shared_items & others) / len(others) if others else 0.0


# Figures


def _figure_conflicts(
    claim: Claim, sentence: ParsedSentence, shared_items: frozenset[str], scope_items: AbstractSet[str]
) -> Iterator[Conflict]:
    statement = claim.parsed
    missing = [figure for figure in statement.figures if figure.key not in shared_items]
    conflicting = frozenset(figure.key for figure in missing)
    alike = _share_of_rest(claim, shared_items, conflicting)
    if alike < MIN_COMMON:
        return
    one_figure = len({figure.first for figure in missing}) == 1
    certain = (
        one_figure and _is_certain(claim, sentence, shared_items, conflicting) and conflicting.isdisjoint(scope_items)
    )
    for figure in missing:
        rivals = [
            other
            for other in sentence.figures
            if _is_rival(figure, other, claim, sentence) and _are_comparable(figure, other, statement, sentence, alike)
        ]
        outside_name = not _is_part_of_name(figure, statement)
        for other in rivals:
            far = abs(figure.value - other.value) > FAR_APART * max(abs(figure.value), abs(other.value))
            yield Conflict(
                sentence.text[other.start : other.end],
                statement.text[figure.start : figure.end],
                other.start,
                other.end,
                "figure",
                certain=certain
                and outside_name
                and not _is_bound_or_rough(figure, statement, far=far)
                and not _is_bound_or_rough(other, sentence, far=far)
                and _count_same_thing(
                    figure, other, statement, sentence, only_rival=len({rival.first for rival in rivals}) == 1
                ),
            )


def _is_bound_or_rough(figure: Figure, sentence: ParsedSentence, *, far: bool) -> bool:
    """Return whether a word before the figure makes it a bound (`over 240 miles`) or approximate.

    If the compared figures are `far` apart, only a bound counts.
    """
    before = sentence.lowered[max(0, figure.first - 2) : figure.first]
    return not BOUNDING.isdisjoint(before) or (not far and not _ROUGHLY.isdisjoint(before))


def _is_part_of_name(figure: Figure, sentence: ParsedSentence) -> bool:
    """Return whether the figure is part of a name: `the 1932 Grand Prix`, `Apollo 11`."""
    before, after = figure.first - 1, figure.stop
    named = {index for name in sentence.names for index in range(name.first, name.stop)}
    if figure.kind.startswith("date"):
        return False
    return (before >= 0 and before in named and sentence.word_offsets.after(before) == " ") or (
        figure.kind == "year" and after in named and sentence.word_offsets.after(after - 1) == " "
    )


def _count_same_thing(
    figure: Figure, other: Figure, statement: ParsedSentence, sentence: ParsedSentence, *, only_rival: bool
) -> bool:
    """Return whether both figures date the same one-time event, or have the same word beside them.

    `only_rival`: the sentence has no other figure that `figure` could be compared with.
    """
    before = _same_before(statement, figure.first, sentence, other.first)
    if figure.kind == "year" or figure.kind.startswith("date"):
        events = _one_time_verbs(statement.language) & statement.content & sentence.content
        return bool(events) and (before or only_rival)
    return before or _same_after(statement, figure.stop, sentence, other.stop)


def _is_rival(figure: Figure, other: Figure, claim: Claim, sentence: ParsedSentence) -> bool:
    """Return whether `other` is a figure of the same kind whose value the claim does not state.

    `-5%` and `fell by 5%` have the same value.
    """
    statement = claim.parsed
    if figure.kind and figure.value == -other.value and not FALLING.isdisjoint(statement.words | sentence.words):
        return False
    return figure.kind == other.kind and all(other.value != stated.value for stated in statement.figures)


def _are_comparable(
    figure: Figure, other: Figure, statement: ParsedSentence, sentence: ParsedSentence, alike: float
) -> bool:
    """Return whether the same word is beside both figures, or the rest of the sentences is very similar (`alike`)."""
    after = _same_after(statement, figure.stop, sentence, other.stop)
    if after or figure.kind == "":
        return after
    before = _same_before(statement, figure.first, sentence, other.first)
    return before or (figure.kind != "year" and alike >= MIN_COMMON_STRICT)


@lru_cache(maxsize=8)
def _one_time_verbs(language: Language) -> frozenset[str]:
    return frozenset(term(word, language) for word in HAPPENS_ONCE)


# Names


def _name_conflicts(claim: Claim, sentence: ParsedSentence, shared_items: frozenset[str]) -> Iterator[Conflict]:
    for name in claim.parsed.names:
        missing = frozenset(name.terms) - sentence.content - shared_items
        if not missing or _share_of_rest(claim, shared_items, frozenset(name.terms)) < MIN_COMMON:
            continue
        for other in sentence.names:
            if _differs_in_one_word(name, other, claim) or _is_in_same_place(name, other, claim, sentence):
                start, end = sentence.span(other.first, other.stop)
                yield Conflict(
                    sentence.text[start:end],
                    claim.parsed.text_of(name.first, name.stop),
                    start,
                    end,
                    "name",
                    certain=False,
                )


def _differs_in_one_word(name: Name, other: Name, claim: Claim) -> bool:
    """Return whether two names differ in exactly one word that is not a title: `Tay Bridge`, `Forth Bridge`."""
    if len(name.terms) != len(other.terms):
        return False
    differing = [(mine, theirs) for mine, theirs in zip(name.terms, other.terms, strict=True) if mine != theirs]
    if len(differing) != 1 or len(name.terms) == 1:
        return False
    mine, theirs = differing[0]
    return theirs not in claim.parsed.content and not {mine, theirs} & TITLES


def _is_in_same_place(name: Name, other: Name, claim: Claim, sentence: ParsedSentence) -> bool:
    """Return whether both names have the same neighbouring words, and each name is in only one of the texts."""
    if sentence.content & set(name.terms) or claim.parsed.content & set(other.terms):
        return False
    statement = claim.parsed
    content_before = _same_before(statement, name.first, sentence, other.first)
    content_after = _same_after(statement, name.stop, sentence, other.stop)
    before = content_before or _word_before(statement, name.first) == _word_before(sentence, other.first)
    after = content_after or _word_at(statement, name.stop) == _word_at(sentence, other.stop)
    return before and after and (content_before or content_after)


# Opposites and denials


def _opposite_conflicts(claim: Claim, sentence: ParsedSentence, shared_items: frozenset[str]) -> Iterator[Conflict]:
    statement = claim.parsed
    opposed = _opposite_terms(statement.language)
    for word in sorted((claim.items & statement.content) - shared_items):
        other = opposed.get(word) or _opposite_with_un(word, sentence)
        if other is None or other not in sentence.content or other in claim.items:
            continue
        if _share_of_rest(claim, shared_items, frozenset({word})) >= MIN_COMMON_STRICT:
            sentence_index, statement_index = sentence.content_terms.index(other), statement.content_terms.index(word)
            yield Conflict(
                sentence.spelt[sentence_index],
                claim.words({word})[0],
                *sentence.span(sentence_index, sentence_index + 1),
                "opposite",
                certain=_is_certain(claim, sentence, shared_items, frozenset({word}))
                and bool(statement.denials) == bool(sentence.denials)
                and (
                    _same_after(statement, statement_index + 1, sentence, sentence_index + 1)
                    or _same_before(statement, statement_index, sentence, sentence_index)
                ),
            )


@lru_cache(maxsize=8)
def _opposite_terms(language: Language) -> dict[str, str]:
    return {term(word, language): term(other, language) for word, other in OPPOSITES.items()}


def _opposite_with_un(word: str, sentence: ParsedSentence) -> str | None:
    """Return `unlocked` for `locked`, or the reverse, if the sentence has that word in lower case; else None."""
    others = ({f"un{word}", word.removeprefix("un")} - {word}) & sentence.content
    return next(
        (other for other in others if len(other) > 3 and sentence.spelt[sentence.content_terms.index(other)].islower()),
        None,
    )


def _comparison_conflicts(claim: Claim, sentence: ParsedSentence, shared_items: frozenset[str]) -> Iterator[Conflict]:
    """Yield conflicts such as `more than 50` and `fewer than 50`; none if there is a negation, as in `no more`."""
    statement = claim.parsed
    words = sorted(statement.words & OPPOSITE_COMPARATIVES.keys() - sentence.words)
    if (
        not words
        or statement.denials
        or sentence.denials
        or _share_of_rest(claim, shared_items, frozenset()) < MIN_COMMON_STRICT
    ):
        return
    for word in words:
        for other in sorted(OPPOSITE_COMPARATIVES[word] & sentence.words - statement.words):
            sentence_index, statement_index = sentence.lowered.index(other), statement.lowered.index(word)
            if _has_same_order(statement, statement_index, sentence, sentence_index):
                start, end = sentence.span(sentence_index, sentence_index + 1)
                certain = _is_certain(claim, sentence, shared_items, frozenset())
                yield Conflict(
                    sentence.spelt[sentence_index],
                    statement.spelt[statement_index],
                    start,
                    end,
                    "opposite",
                    certain=certain,
                )


def _has_same_order(
    statement: ParsedSentence, statement_index: int, sentence: ParsedSentence, sentence_index: int
) -> bool:
    """Return whether both texts compare in the same order: `A costs more than B`, `A costs less than B`."""
    before = {content_term for content_term in statement.content_terms[:statement_index] if content_term}
    # `at least` and `most` are not opposites
    if _word_before(statement, statement_index) != _word_before(sentence, sentence_index):
        return False
    return _next_content(statement, statement_index + 1) == _next_content(
        sentence, sentence_index + 1
    ) and before.issubset(sentence.content_terms[:sentence_index])


def _denial_conflicts(claim: Claim, sentence: ParsedSentence, shared_items: frozenset[str]) -> Iterator[Conflict]:
    """Yield a denial if the claim's words are close together in the sentence, and only one of the two has a `not`."""
    statement = claim.parsed
    wanted = frozenset(filter(None, statement.content_terms))
    shared = wanted & sentence.content
    if len(claim.items) < MIN_DENIED_WORDS or not shared or not claim.items <= shared_items:
        return
    if not HYPOTHETICAL.isdisjoint(sentence.words | statement.words):
        return
    window = _window(shared, sentence)
    denials_in_sentence = sum(
        _reaches(index, window, sentence) and _denies(index, sentence, shared) for index in sentence.denials
    )
    denials_in_statement = sum(_denies(index, statement, shared) for index in statement.denials)
    words_between = sum(bool(sentence.content_terms[index]) for index in window) - len(shared)
    if {denials_in_sentence, denials_in_statement} != {0, 1} or words_between > max(1.0, MAX_ADDED * len(wanted)):
        return
    denied_by: Literal["passage", "statement"] = "passage" if denials_in_sentence else "statement"
    yield Conflict("", "", sentence.start, sentence.end, "denial", denied_by=denied_by, certain=shared == wanted)


def _reaches(index: int, window: range, sentence: ParsedSentence) -> bool:
    """Return whether the `not` at `index` is in the window, or shortly before it with no comma between."""
    if index >= window.start:
        return index <= window.stop
    return window.start - index <= NEGATION_REACH and not _comma_between(sentence, index, window.start)


def _denies(index: int, parsed: ParsedSentence, shared: frozenset[str]) -> bool:
    """Return whether the `not` at `index` denies a shared word: one of the next content words, before any comma."""
    following = [
        next_index for next_index in range(index + 1, len(parsed.content_terms)) if parsed.content_terms[next_index]
    ][:DENIED_WITHIN]
    return any(
        parsed.content_terms[next_index] in shared and not _comma_between(parsed, index, next_index)
        for next_index in following
    )


def _comma_between(parsed: ParsedSentence, first: int, second: int) -> bool:
    between = parsed.text[parsed.word_offsets.ends[first] : parsed.word_offsets.start(second)]
    return any(mark in between for mark in ",;:")


def _window(wanted: frozenset[str], sentence: ParsedSentence) -> range:
    """Return the shortest range of word positions in the sentence that contains all the wanted words."""
    last_index: dict[str, int] = {}
    best = range(len(sentence.content_terms))
    for index, content_term in enumerate(sentence.content_terms):
        if content_term in wanted:
            last_index[content_term] = index
            if len(last_index) == len(wanted) and index + 1 - min(last_index.values()) < len(best):
                best = range(min(last_index.values()), index + 1)
    return best


# Neighbours


def _same_before(
    statement: ParsedSentence, statement_index: int, sentence: ParsedSentence, sentence_index: int
) -> bool:
    """Return whether the nearest content word before both positions is the same, ignoring words such as `roughly`."""
    return _content_before(statement, statement_index) == _content_before(sentence, sentence_index) != ""


def _same_after(statement: ParsedSentence, statement_index: int, sentence: ParsedSentence, sentence_index: int) -> bool:
    """Return whether the first content word at or after the two positions is the same."""
    return _next_content(statement, statement_index) == _next_content(sentence, sentence_index) != ""


def _word_before(parsed: ParsedSentence, index: int) -> str:
    """Return the word before this position; empty if there is none."""
    return normal(parsed.spelt[index - 1]) if index > 0 else ""


def _word_at(parsed: ParsedSentence, index: int) -> str:
    """Return the word at this position; empty if there is none."""
    return normal(parsed.spelt[index]) if index < len(parsed.spelt) else ""


def _next_content(parsed: ParsedSentence, index: int) -> str:
    """Return the first content word at or after this position; empty if there is none."""
    return next((content_term for content_term in parsed.content_terms[index:] if content_term), "")


def _content_before(parsed: ParsedSentence, index: int) -> str:
    """Return the nearest content word before this position, or an empty string. Words such as `roughly` are ignored."""
    return next(
        (parsed.content_terms[position] for position in reversed(range(index)) if _is_content(parsed, position)), ""
    )


def _is_content(parsed: ParsedSentence, index: int) -> bool:
    return bool(parsed.content_terms[index]) and parsed.lowered[index] not in _ROUGHLY
