"""Statements held against passages: the table of verdicts that was asked for."""

from __future__ import annotations

from ragboard.judges.embedded.library import Library
from ragboard.judges.embedded.lookup import Lookup, Scope, lookups
from ragboard.judges.embedded.matching import Match, best_match
from ragboard.judges.embedded.reasons import reason
from ragboard.records import Evidence, Verdict
from ragboard.tasks import Verification, Verify

__all__ = ["verify"]


def verify(task: Verify) -> Verification:
    """Every cell the task asks for; a statement's verdicts do not depend on the other statements."""
    library = Library.of(task.passages, task.question)
    joint: list[Verdict] = []
    single: list[tuple[Verdict, ...]] = []
    for lookup in lookups(library, [library.claim(statement) for statement in task.statements]):
        if task.joint:
            joint.append(_verdict(lookup, None))
        if task.single:
            single.append(tuple(_verdict(lookup, passage) for passage in range(library.passages)))
    return Verification(joint=tuple(joint), single=tuple(single))


def _verdict(lookup: Lookup, scope: Scope) -> Verdict:
    match = best_match(lookup, scope)
    return Verdict(
        label=match.label,
        reason=reason(lookup, match, scope),
        score=round(match.score, 4),
        evidence=_evidence(lookup.library, match),
    )


def _evidence(library: Library, match: Match) -> tuple[Evidence, ...]:
    if match.conflict:
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
