"""Verify statements: verdicts with evidence and a reason in words."""

from __future__ import annotations

from collections.abc import Sequence

from ragboard.judges.embedded.conflicts import Conflict
from ragboard.judges.embedded.index import Claim, Library, Lookup, Scope, lookups
from ragboard.judges.embedded.matching import Match, best_match
from ragboard.records import Evidence, Verdict
from ragboard.tasks import Verification, VerifiedAgainst, Verify
from ragboard.text.sentences import normal

__all__ = ["verify"]


SAME_WORDS = 0.92
"""Minimum coverage at which a passage says the statement in nearly the same words."""
MAX_NAMED_WORDS = 3
"""Maximum number of missing words that a reason names."""
NEAREST = 0.35
"""Minimum coverage at which a reason names the nearest passage."""


def reason(lookup: Lookup, match: Match, only: Scope, source: VerifiedAgainst = "passages") -> str:
    """Return the reason as one sentence; it names what was read.

    `only`: the passage compared with the statement, from 0; None for all. `source`: what the passages are.
    """
    library, claim = lookup.library, lookup.claim
    if match.label == "supported":
        return _support(library, claim, match, source)
    if match.conflict:
        return _contradiction(library, match, match.conflict, source)
    return _absence(lookup, match, only, source)


def _passages(library: Library, match: Match) -> list[int]:
    return list(dict.fromkeys(library.passage_of[number] + 1 for number in match.sentences))


def _read(rank: int, source: VerifiedAgainst) -> str:
    """Return the text that a sentence begins with: `Passage 2`, `The reference`."""
    return f"Passage {rank}" if source == "passages" else f"The {source}"


def _support(library: Library, claim: Claim, match: Match, source: VerifiedAgainst) -> str:
    ranks = _passages(library, match)
    if len(ranks) > 1:
        return f"Passages {min(ranks)} and {max(ranks)} say it together."
    where = _read(ranks[0], source)
    if len(match.sentences) > 1:
        return f"{where} says it in two sentences."
    if _verbatim(library, claim, match):
        return f"{where} says it word for word."
    how = "it in nearly the same words" if match.seen and match.seen.pair >= SAME_WORDS else "the same in other words"
    return f"{where} says {how}."


def _verbatim(library: Library, claim: Claim, match: Match) -> bool:
    sentence = map(normal, library.sentences[match.sentences[0]].spelt)
    statement = map(normal, claim.reading.spelt)
    return f" {' '.join(statement)} " in f" {' '.join(sentence)} "


def _contradiction(library: Library, match: Match, found: Conflict, source: VerifiedAgainst) -> str:
    where = _read(_passages(library, match)[0], source)
    if found.denied == "passage":
        return f"{where} {'denies' if found.certain else 'may deny'} what the statement says."
    if found.denied == "answer":
        return f"{where} {'says' if found.certain else 'may say'} what the statement denies."
    doubt = "" if found.certain else ", perhaps of something else"
    return f"{where} says {found.here} where the statement says {found.there}{doubt}."


def _absence(lookup: Lookup, match: Match, only: Scope, source: VerifiedAgainst) -> str:
    claim = lookup.claim
    absent = claim.items - lookup.said(only)
    hard = claim.words(absent & (claim.counted | claim.named))
    if hard:
        return _not_mentioned(hard, only, source)
    if match.sentences and match.seen and match.seen.pair >= NEAREST:
        return _nearest(lookup, match, source)
    words = claim.words(_heaviest(lookup, absent))
    listed = _quoted(words, "or") if words else ""
    if only is None and source == "passages":
        return f"No passage {f'speaks of {listed}' if listed else 'says this in one place'}."
    where = _read((only or 0) + 1, source)
    return f"{where} does not {f'speak of {listed}' if listed else 'say this in one place'}."


def _not_mentioned(words: Sequence[str], only: Scope, source: VerifiedAgainst) -> str:
    """That these figures and names are missing."""
    if source != "passages":
        return f"{_quoted(words)} {'is' if len(words) == 1 else 'are'} not in the {source}."
    if only is not None:
        return f"Passage {only + 1} does not mention {_quoted(words, 'or')}."
    return f"{_quoted(words)} {'appears' if len(words) == 1 else 'appear'} in no passage."


def _nearest(lookup: Lookup, match: Match, source: VerifiedAgainst) -> str:
    claim = lookup.claim
    hard = claim.words(match.missing & (claim.counted | claim.named))
    words = hard or claim.words(_heaviest(lookup, match.missing))
    if source != "passages":
        where = f"The nearest sentence of the {source}"
        return f"{where} does not say {_quoted(words, 'or')}." if words else f"{where} says it otherwise."
    where = f"Passage {_passages(lookup.library, match)[0]} comes nearest but"
    return f"{where} does not say {_quoted(words, 'or')} there." if words else f"{where} says it otherwise."


def _heaviest(lookup: Lookup, items: frozenset[str]) -> list[str]:
    return sorted(items, key=lambda item: (-lookup.weights[item], -len(item), item))[:MAX_NAMED_WORDS]


def _quoted(words: Sequence[str], last: str = "and") -> str:
    return _listed([f"'{word}'" for word in words[:MAX_NAMED_WORDS]], last)


def _listed(words: Sequence[str], last: str) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def verify(task: Verify) -> Verification:
    """Return all verdicts of the task; the verdicts on a statement do not depend on other statements."""
    library = Library.of(task.passages, task.question)
    joint: list[Verdict] = []
    single: list[tuple[Verdict, ...]] = []
    for lookup in lookups(library, [library.claim(statement) for statement in task.statements]):
        if task.joint:
            joint.append(_verdict(lookup, None, task.against))
        if task.single:
            passages = range(library.passages)
            single.append(tuple(_verdict(lookup, passage, task.against) for passage in passages))
    return Verification(joint=tuple(joint), single=tuple(single))


def _verdict(lookup: Lookup, scope: Scope, source: VerifiedAgainst) -> Verdict:
    match = best_match(lookup, scope)
    return Verdict(
        label=match.label,
        reason=reason(lookup, match, scope, source),
        score=round(match.score, 4),
        evidence=_evidence(lookup.library, match),
    )


def _evidence(library: Library, match: Match) -> tuple[Evidence, ...]:
    if match.label == "contradicted" and match.conflict:
        rank = library.passage_of[match.sentences[0]] + 1
        start, end = match.conflict.start, match.conflict.end
        return (Evidence(rank=rank, start=start, end=end, stance="against", how="overlap"),)
    if match.label != "supported":
        return ()
    return tuple(
        Evidence(
            rank=library.passage_of[number] + 1,
            start=library.sentences[number].start,
            end=library.sentences[number].end,
            stance="for",
            how="overlap",
        )
        for number in sorted(match.sentences)
    )
