"""Decide whether an answer agrees with its reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragboard.records import Sample, Turn
from ragboard.tasks.base import PromptFiles, PromptTexts, Reply, ReplySizes, Task, as_json, with_reason
from ragboard.tasks.replies import Json, VerdictJson

__all__ = ["MatchReference", "ReferenceMatch"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReferenceMatch(Reply):
    """Whether the answer agrees with the reference, with a reason."""

    matches: bool
    reason: str = ""

    def describe(self) -> str:
        return with_reason("agrees" if self.matches else "does not agree", self.reason)


@dataclass(frozen=True, kw_only=True, slots=True)
class MatchReference(Task[ReferenceMatch]):
    """Decide whether an answer agrees with the reference answer."""

    role = "other"
    reply = ReferenceMatch
    reply_model = VerdictJson
    prompts: ClassVar[PromptFiles] = {"match_reference": ("question", "reference", "answer", "history?")}
    tags = ("question", "reference", "answer", "turn")

    question: str
    reference: str
    answer: str
    history: tuple[Turn, ...] = ()
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        return {"question": self.question, "reference": self.reference, "answer": self.answer}

    def parse(self, value: Json) -> ReferenceMatch:
        json = VerdictJson.read(value, self)
        return ReferenceMatch(matches=json.verdict == "yes", reason=json.reason)

    def describe(self, sample: Sample) -> str:
        return "Decide whether the answer agrees with the reference"

    def simulate(self, sizes: ReplySizes) -> tuple[ReferenceMatch, str]:
        return ReferenceMatch(matches=True), as_json({"reason": "." * sizes.reason, "verdict": "yes"})
