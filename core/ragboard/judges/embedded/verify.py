"""Statements held against passages: the table of verdicts that was asked for."""

from __future__ import annotations

from ragboard.judges.embedded.library import Claim, Library
from ragboard.judges.embedded.matching import Match, best_match, matches
from ragboard.judges.embedded.reasons import reason
from ragboard.judges.tasks import Verification, Verify
from ragboard.records import Evidence, Verdict

__all__ = ["verify"]


def verify(task: Verify) -> Verification:
    """Every cell the task asks for; a statement's verdicts do not depend on the other statements."""
    library = Library.of(task.passages, task.question)
    joint: list[Verdict] = []
    single: list[tuple[Verdict, ...]] = []
    for statement in task.statements:
        claim = library.claim(statement)
        found = matches(library, claim)
        if task.joint:
            joint.append(_verdict(library, claim, best_match(library, claim, found), None))
        if task.single:
            single.append(tuple(_verdict(library, claim, match, only) for only, match in enumerate(found)))
    return Verification(joint=tuple(joint), single=tuple(single))


def _verdict(library: Library, claim: Claim, match: Match, only: int | None) -> Verdict:
    return Verdict(
        label=match.label,
        reason=reason(library, claim, match, only),
        score=round(match.score, 4),
        evidence=_evidence(library, match),
    )


def _evidence(library: Library, match: Match) -> tuple[Evidence, ...]:
    if match.conflict:
        rank = library.passage_of[match.sentences[0]] + 1
        return (
            Evidence(rank=rank, start=match.conflict.start, end=match.conflict.end, stance="against", how="overlap"),
        )
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
