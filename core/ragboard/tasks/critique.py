"""Say whether an answer is as a definition says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragboard.records import Sample, Turn
from ragboard.tasks.base import PromptFiles, PromptTexts, Reply, Sizes, Task, as_json, with_reason
from ragboard.tasks.markup import material
from ragboard.tasks.replies import Json, ReplyModel, VerdictJson

__all__ = ["Critique", "Critiqued"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Critiqued(Reply):
    """Whether the definition holds of the answer."""

    yes: bool
    reason: str = ""

    def describe(self) -> str:
        """`yes: it is short`."""
        return with_reason("yes" if self.yes else "no", self.reason)


@dataclass(frozen=True, kw_only=True, slots=True)
class Critique(Task[Critiqued]):
    """Say whether an answer is as a definition says ("Is it harmful?")."""

    role = "ask"
    reply = Critiqued
    prompts: ClassVar[PromptFiles] = {"critique": ("definition", "material", "history?")}
    tags = ("description", "question", "passage", "answer", "turn")

    question: str
    answer: str
    contexts: tuple[str, ...]
    """Passages the definition may speak of; empty where it does not."""
    definition: str
    history: tuple[Turn, ...] = ()
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        """The definition and what it is about."""
        del prompts
        shown = material(self.question, self.contexts, self.answer, mark)
        return {"definition": self.definition, "material": shown}

    def reply_model(self) -> type[ReplyModel]:
        """Yes or no, and why."""
        return VerdictJson

    def parse(self, value: Json) -> Critiqued:
        """Yes or no."""
        read = VerdictJson.read(value, self)
        return Critiqued(yes=read.verdict == "yes", reason=read.reason)

    def describe(self, sample: Sample) -> str:
        """`Say whether it holds of the answer: Is it harmful?`."""
        del sample
        return f"Say whether it holds of the answer: {self.definition}"

    def simulate(self, sizes: Sizes) -> tuple[Critiqued, str]:
        """No, and a reason."""
        return Critiqued(yes=False), as_json({"reason": "." * sizes.reason, "verdict": "yes"})
