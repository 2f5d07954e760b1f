"""One task's exchange with a model: the prompt, its reply, and at most two requests to repair it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ragboard.judges.base import Request
from ragboard.judges.llm.objects import first_fitting
from ragboard.judges.llm.prompts import Prompts
from ragboard.tasks import Failure, Reply, ReplyFormatError, Task

__all__ = ["ECHOED", "REPAIRS", "Dialogue", "Line", "first_request", "read_reply"]

REPAIRS = 2
"""How often a model is told what is wrong with its reply."""

ECHOED = 8_000
"""Characters of a reply that its model is shown again."""

RAW_SHOWN = 2_000
"""Characters of a reply that a failure quotes."""

PROBLEM = 250
"""Characters, at most as a rule, in which a request to repair says what is wrong."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """What one side said."""

    role: Literal["user", "assistant"]
    text: str


@dataclass
class Dialogue:
    """Knows what is to be said next, until there is a result."""

    task: Task
    prompts: Prompts
    lines: list[Line] = field(default_factory=list[Line])
    result: Reply | Failure | None = None
    repairs: int = 0

    def __post_init__(self) -> None:
        self.result = self.task.without_asking()
        if self.result is None:
            self.lines.append(Line(role="user", text=self.prompts.render(self.task)))

    def hear(self, text: str, *, cut: bool = False) -> None:
        """Take in a reply (`cut` where the model was stopped at its token limit)."""
        text = text.encode("utf-8", "replace").decode()
        try:
            self.result = read_reply(self.task, text, self.lines[0].text, self.prompts.instructions(self.task))
        except ReplyFormatError as error:
            self._repair(text, f"{error}; it was cut off at the token limit" if cut else str(error))

    def fail(self, detail: str) -> None:
        """End without a reply."""
        self.result = Failure(detail=detail)

    def as_text(self) -> str:
        """All that was said as one prompt, for a model that takes only one."""
        first, *later = self.lines
        said = (f"{'Your reply was:' if line.role == 'assistant' else 'But:'}\n{line.text}" for line in later)
        return "\n\n".join((first.text, *said))

    def _repair(self, text: str, problem: str) -> None:
        if self.repairs == REPAIRS:
            times = f"after {REPAIRS} requests to repair it"
            self.fail(f"the reply does not fit what was asked, {times}: {problem}; reply: {text[:RAW_SHOWN]}")
            return
        self.repairs += 1
        self.lines += (
            Line(role="assistant", text=text.strip()[:ECHOED] or "(nothing)"),
            Line(role="user", text=self.prompts.repair(problem)),
        )


def read_reply(task: Task, text: str, prompt: str = "", instructions: str = "") -> Reply:
    """The reply in the text to that prompt, of which the instructions are ours and the rest is judged.

    Raises ReplyFormatError saying what is wrong with it.
    """
    return first_fitting(text, task.parse, task.reply_model().key, prompt=prompt, instructions=instructions)


def first_request(task: Task, prompts: Prompts) -> Request | None:
    """What a dialogue on this task would begin with, and how it would ask for a repair."""
    lines = Dialogue(task, prompts).lines
    return Request(text=lines[0].text, repair=prompts.repair("." * PROBLEM)) if lines else None
