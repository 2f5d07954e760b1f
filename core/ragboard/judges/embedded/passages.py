"""Which passages an answer could have been written from: those that bear out a statement of it."""

from __future__ import annotations

from ragboard.judges.embedded.statements import extract
from ragboard.judges.embedded.verify import verify
from ragboard.records import Verdict
from ragboard.tasks import JudgePassages, Usefulness, Verify

__all__ = ["usefulness"]


def usefulness(task: JudgePassages) -> Usefulness:
    """A passage is useful where it supports a statement of the answer by itself; none is to an answer without one."""
    statements = tuple(each.text for each in extract(task.answer).statements)
    found = verify(
        Verify(question=task.question, statements=statements, passages=task.passages, joint=False, single=True)
    )
    said = [_said([row[place] for row in found.single]) for place in range(len(task.passages))]
    return Usefulness(
        useful=tuple(count > 0 for count in said), reasons=tuple(_reason(count, statements) for count in said)
    )


def _said(verdicts: list[Verdict]) -> int:
    return sum(verdict.label == "supported" for verdict in verdicts)


def _reason(said: int, statements: tuple[str, ...]) -> str:
    if not statements:
        return "The answer states nothing that a passage could bear out."
    return f"It supports {said} of {len(statements)} statements of the answer."
