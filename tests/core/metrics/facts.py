"""A judge for facts: passages that contain `f1` support statements with `f1`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ragboard.records import Evidence, Span, Verdict
from ragboard.tasks import (
    ExtractedStatement,
    Extraction,
    ExtractStatements,
    Failure,
    GradeSupport,
    OnCall,
    Reply,
    Task,
    Verification,
    Verify,
    ignore_call,
)
from ragboard.text.sentences import sentence_spans

NO = Verdict(label="unsupported")
FACT = re.compile(r"f\d+")


def entailed(statement: str, passages: Sequence[str]) -> Verdict:
    """Supported if each fact that the statement names is in a passage."""
    given = [set(FACT.findall(passage)) for passage in passages]
    needed = set(FACT.findall(statement))
    if not needed <= set().union(*given):
        return NO
    marks = [
        Evidence(rank=rank, start=0, end=1, stance="for", how="quoted")
        for rank, facts in enumerate(given, 1)
        if facts & needed
    ]
    return Verdict(label="supported", evidence=tuple(marks))


@dataclass
class FactJudge:
    """Finds a statement in every sentence of facts, and goes by the facts that passages name."""

    grades: dict[str, Reply | Failure] = field(default_factory=dict[str, "Reply | Failure"])
    """The grade of each passage."""
    asked: list[Task] = field(default_factory=list[Task])
    name: str = "facts"
    heuristic: bool = False
    answers: frozenset[type[Task]] = frozenset({ExtractStatements, Verify, GradeSupport})

    def identity(self, task: type[Task]) -> str:
        return f"facts/{task.__name__}"

    async def answer(self, tasks: Sequence[Task], _on_call: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        self.asked += tasks
        return [self._reply(task) for task in tasks]

    def _reply(self, task: Task) -> Reply | Failure:
        match task:
            case ExtractStatements():
                return extraction(task.text)
            case Verify():
                return Verification(
                    joint=tuple(entailed(one, task.passages) for one in task.statements) if task.joint else (),
                    single=tuple(tuple(entailed(one, [text]) for text in task.passages) for one in task.statements)
                    if task.single
                    else (),
                )
            case GradeSupport():
                return self.grades[task.passage]
            case _:
                return Failure(detail="not asked")


def extraction(text: str) -> Extraction:
    """A statement for each half of a sentence that names facts."""
    found: list[ExtractedStatement] = []
    for start, end in sentence_spans(text):
        for half in re.finditer(r"[^;]+", text[start:end]):
            if FACT.search(half[0]):
                span = Span(start=start + half.start(), end=start + half.end(), how="verbatim")
                found.append(ExtractedStatement(text=half[0].strip(), span=span))
    return Extraction(statements=tuple(found), refuses=not found)
