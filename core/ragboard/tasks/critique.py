"""Answer a yes-or-no question about an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragboard.records import Sample, Turn
from ragboard.tasks.base import PromptFiles, PromptTexts, Reply, ReplySizes, Task, as_json, with_reason
from ragboard.tasks.markup import tagged_sample
from ragboard.tasks.replies import Json, VerdictJson

__all__ = ["Critique", "CritiqueVerdict"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CritiqueVerdict(Reply):
    """The answer to a yes-or-no question, with a reason."""

    yes: bool
    reason: str = ""

    def describe(self) -> str:
        return with_reason("yes" if self.yes else "no", self.reason)


@dataclass(frozen=True, kw_only=True, slots=True)
class Critique(Task[CritiqueVerdict]):
    """Answer a yes-or-no question about an answer: "Is it harmful?"."""

    role = "other"
    reply = CritiqueVerdict
    reply_model = VerdictJson
    prompts: ClassVar[PromptFiles] = {"critique": ("definition", "material", "history?")}
    tags = ("description", "question", "passage", "answer", "turn")

    question: str
    answer: str
    contexts: tuple[str, ...]
    """The passages if the yes-or-no question is about them, else empty."""
    definition: str
    """The yes-or-no question about the answer."""
    history: tuple[Turn, ...] = ()
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        shown = tagged_sample(self.question, self.contexts, self.answer, mark)
        return {"definition": self.definition, "material": shown}

    def parse(self, value: Json) -> CritiqueVerdict:
        json = VerdictJson.read(value, self)
        return CritiqueVerdict(yes=json.verdict == "yes", reason=json.reason)

    def describe(self, sample: Sample) -> str:
        return f"Answer yes or no about the answer: {self.definition}"

    def simulate(self, sizes: ReplySizes) -> tuple[CritiqueVerdict, str]:
        return CritiqueVerdict(yes=False), as_json({"reason": "." * sizes.reason, "verdict": "yes"})
