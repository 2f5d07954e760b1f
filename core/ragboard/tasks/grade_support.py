"""Grade how much of a sentence a passage supports, with the grades of TREC RAG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import BeforeValidator

from ragboard.records import Sample
from ragboard.tasks.base import PromptFiles, PromptTexts, Reply, ReplySizes, Task, as_json
from ragboard.tasks.replies import NONE_IF_MISSING, Json, OneOf, ReplyModel

__all__ = ["GradeSupport", "Support", "SupportGrade"]

Support: TypeAlias = Literal["full", "partial", "none"]
"""How much of a sentence a passage supports: all of it, some of it, or nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SupportGrade(Reply):
    """How much of the sentence the passage supports."""

    support: Support

    def describe(self) -> str:
        return {"full": "full support", "partial": "partial support", "none": "no support"}[self.support]


class SupportJson(ReplyModel):
    """A grade without a reason, as JSON."""

    key = "support"
    support: Annotated[Support, BeforeValidator(OneOf("full", "partial", "none")), NONE_IF_MISSING]


@dataclass(frozen=True, kw_only=True, slots=True)
class GradeSupport(Task[SupportGrade]):
    """Grade how much of an answer's sentence one passage supports."""

    role = "verify"
    reply = SupportGrade
    reply_model = SupportJson
    prompts: ClassVar[PromptFiles] = {"grade_support": ("sentence", "passage")}
    tags = ("sentence", "passage")

    sentence: str
    """The sentence without citation marks."""
    passage: str
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        return {"sentence": self.sentence, "passage": self.passage}

    def trivial_reply(self) -> SupportGrade | None:
        return None if self.passage.strip() else SupportGrade(support="none")

    def parse(self, value: Json) -> SupportGrade:
        return SupportGrade(support=SupportJson.read(value, self).support)

    def describe(self, sample: Sample) -> str:
        return "Grade how far a cited passage supports a sentence"

    def simulate(self, sizes: ReplySizes) -> tuple[SupportGrade, str]:
        return SupportGrade(support="full"), as_json({"support": "partial"})  # `partial` is the longest grade
