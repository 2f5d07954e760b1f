"""Whether a reply fits the task it answers: as many verdicts as asked for, only what was offered."""

from __future__ import annotations

from ragboard.judges.tasks import (
    Extraction,
    ExtractStatements,
    Failure,
    GenerateQuestions,
    Questions,
    Reply,
    Selection,
    SelectSentences,
    Similarities,
    Similarity,
    Task,
    Verification,
    Verify,
)

__all__ = ["fitting"]


def fitting(task: Task, reply: Reply | Failure) -> Reply | Failure:
    """The reply, or a Failure that says how it deviates from what was asked."""
    if isinstance(reply, Failure):
        return reply
    problem = _misfit(task, reply)
    return reply if problem is None else Failure(detail=f"the judge's reply does not fit the task: {problem}")


def _misfit(task: Task, reply: Reply) -> str | None:
    match task, reply:
        case ExtractStatements(), Extraction():
            return _extraction(task, reply)
        case Verify(), Verification():
            return _verification(task, reply)
        case GenerateQuestions(), Questions():
            got = len(reply.questions)
            return f"{got} questions, at most {task.n} were asked for" if got > task.n else None
        case SelectSentences(), Selection():
            return _selection(len(task.sentences), reply.chosen)
        case Similarity(), Similarities():
            return _count("similarities", len(reply.values), len(task.others))
        case _:
            return f"{type(reply).__name__} in answer to {type(task).__name__}"


def _count(what: str, got: int, asked: int) -> str | None:
    return None if got == asked else f"{got} {what}, {asked} were asked for"


def _extraction(task: ExtractStatements, reply: Extraction) -> str | None:
    for said in reply.statements:
        if not said.text.strip():
            return "an empty statement"
        if said.span and not 0 <= said.span.start < said.span.end <= len(task.text):
            return f"a span {said.span.start} to {said.span.end} outside a text of {len(task.text)} characters"
    return None


def _verification(task: Verify, reply: Verification) -> str | None:
    statements = len(task.statements)
    return (
        _count("joint verdicts", len(reply.joint), statements if task.joint else 0)
        or _count("rows of verdicts by passage", len(reply.single), statements if task.single else 0)
        or next(
            (problem for row in reply.single if (problem := _count("verdicts", len(row), len(task.passages)))),
            None,
        )
        or _evidence(task, reply)
    )


def _evidence(task: Verify, reply: Verification) -> str | None:
    for verdict in (*reply.joint, *(verdict for row in reply.single for verdict in row)):
        for mark in verdict.evidence:
            if not 1 <= mark.rank <= len(task.passages):
                return f"evidence in passage {mark.rank} of {len(task.passages)}"
            if not 0 <= mark.start < mark.end <= len(task.passages[mark.rank - 1]):
                return f"evidence from {mark.start} to {mark.end} outside passage {mark.rank}"
    return None


def _selection(offered: int, chosen: tuple[int, ...]) -> str | None:
    if any(not 0 <= place < offered for place in chosen):
        return f"a sentence that was not among the {offered} offered"
    return None if list(chosen) == sorted(set(chosen)) else "sentences twice or out of order"
