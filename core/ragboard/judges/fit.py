"""Whether a reply fits the task it answers: as many verdicts as asked for, only what was offered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ragboard.judges.codec import REPLIES
from ragboard.judges.tasks import (
    AnswerRated,
    Classified,
    Classify,
    Critique,
    Entities,
    ExtractEntities,
    Extraction,
    ExtractStatements,
    Failure,
    GenerateQuestions,
    JudgePassages,
    Prefer,
    Preference,
    Questions,
    Rate,
    RateAnswer,
    Rating,
    Reply,
    Selection,
    SelectSentences,
    Similarities,
    Similarity,
    Task,
    Usefulness,
    Verification,
    Verify,
    WriteAnswer,
    WriteQuestions,
    Written,
)

__all__ = ["fits", "fitting"]


def fitting(task: Task, reply: Reply | Failure) -> Reply | Failure:
    """The reply, or a Failure that says how it deviates from what was asked."""
    if isinstance(reply, Failure):
        return reply
    problem = _misfit(task, reply)
    return reply if problem is None else Failure(detail=f"the judge's reply does not fit the task: {problem}")


def fits(task: Task, reply: Reply | Failure) -> bool:
    """Whether what was kept as the answer to a task can be one; a failure always can."""
    return isinstance(reply, Failure) or _misfit(task, reply) is None


def _misfit(task: Task, reply: Reply) -> str | None:
    if type(reply) is not REPLIES[type(task)]:
        return f"{type(reply).__name__} in answer to {type(task).__name__}"
    return _CHECKS[type(task)](task, reply)


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


def _questions(task: GenerateQuestions | WriteQuestions, reply: Questions) -> str | None:
    got = len(reply.questions)
    return f"{got} questions, at most {task.n} were asked for" if got > task.n else None


def _selection(task: SelectSentences, reply: Selection) -> str | None:
    offered, chosen = len(task.sentences), reply.chosen
    if any(not 0 <= place < offered for place in chosen):
        return f"a sentence that was not among the {offered} offered"
    if list(chosen) != sorted(set(chosen)):
        return "sentences twice or out of order"
    return _count("scores", len(reply.scores), offered) if reply.scores else None


def _similarities(task: Similarity, reply: Similarities) -> str | None:
    return _count("similarities", len(reply.values), len(task.others))


def _critique(_task: Critique, _reply: object) -> None:
    return None


def _rating(_task: Rate, reply: Rating) -> str | None:
    return None if 0 <= reply.value <= 10 else f"a rating of {reply.value}, outside 0 to 10"


def _preference(_task: Prefer, reply: Preference) -> str | None:
    return None if reply.better in ("a", "b") else f"{reply.better!r} is neither 'a' nor 'b'"


def _usefulness(task: JudgePassages, reply: Usefulness) -> str | None:
    asked = len(task.passages)
    return _count("verdicts on passages", len(reply.useful), asked) or _count("reasons", len(reply.reasons), asked)


def _entities(_task: ExtractEntities, reply: Entities) -> str | None:
    if any(not name.strip() for name in reply.names):
        return "an empty name"
    return "a name twice" if len(set(reply.names)) < len(reply.names) else None


def _answer_rated(_task: RateAnswer, reply: AnswerRated) -> str | None:
    return None if 0 <= reply.score <= 1 else f"a score of {reply.score}, outside 0 to 1"


def _written(_task: WriteAnswer, _reply: Written) -> None:
    return None


def _classified(_task: Classify, reply: Classified) -> str | None:
    said = reply.probability
    return None if said is None or 0 <= said <= 1 else f"a probability of {said}, outside 0 to 1"


_CHECKS: dict[type[Task], Callable[[Any, Any], str | None]] = {
    ExtractStatements: _extraction,
    Verify: _verification,
    GenerateQuestions: _questions,
    SelectSentences: _selection,
    Similarity: _similarities,
    Critique: _critique,
    Rate: _rating,
    Prefer: _preference,
    JudgePassages: _usefulness,
    ExtractEntities: _entities,
    RateAnswer: _answer_rated,
    WriteQuestions: _questions,
    WriteAnswer: _written,
    Classify: _classified,
}
