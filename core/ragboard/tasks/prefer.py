"""Choose the better of two answers, or of two lists of passages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator

from ragboard.records import Sample, Turn
from ragboard.tasks.base import PromptFiles, PromptTexts, Reply, ReplySizes, Task, as_json, with_reason
from ragboard.tasks.markup import tagged_sample
from ragboard.tasks.rate import QUALITY_FILES, Quality
from ragboard.tasks.replies import NONE_IF_MISSING, Comment, Json, OneOf, ReplyModel

__all__ = ["Prefer", "Preference"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Preference(Reply):
    """The better candidate, with a reason."""

    better: Literal["a", "b"]
    reason: str = ""

    def describe(self) -> str:
        return with_reason(f"{self.better.upper()} is better", self.reason)


class PreferenceJson(ReplyModel):
    """The better candidate, with a reason, as JSON."""

    key = "better"
    reason: Comment
    better: Annotated[Literal["A", "B"], BeforeValidator(OneOf("A", "B")), NONE_IF_MISSING]


@dataclass(frozen=True, kw_only=True, slots=True)
class Prefer(Task[Preference]):
    """Choose the better of two candidates by one quality.

    `a` and `b` are answers. For context relevance, each is the text of several passages. The prompt shows `a` first.
    """

    role = "other"
    reply = Preference
    reply_model = PreferenceJson
    prompts: ClassVar[PromptFiles] = {"prefer": ("quality", "material", "a", "b", "history?"), **QUALITY_FILES}
    tags = ("quality", "question", "passage", "candidate", "turn")

    quality: Quality
    question: str
    a: str
    b: str
    contexts: tuple[str, ...]
    """The passages of both answers. The prompt has them only for faithfulness."""
    history: tuple[Turn, ...] = ()
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        passages = self.contexts if self.quality == "faithfulness" else ()
        quality = prompts.texts[f"quality_{self.quality}"].strip()
        shown = tagged_sample(self.question, passages, None, mark)
        return {"quality": quality, "material": shown, "a": self.a, "b": self.b}

    def parse(self, value: Json) -> Preference:
        json = PreferenceJson.read(value, self)
        return Preference(better="a" if json.better == "A" else "b", reason=json.reason)

    def check(self, reply: Preference, /) -> str | None:
        return None if reply.better in ("a", "b") else f"{reply.better!r} is neither 'a' nor 'b'"

    def describe(self, sample: Sample) -> str:
        return f"Choose the better of two candidates by {self.quality.replace('_', ' ')}"

    def simulate(self, sizes: ReplySizes) -> tuple[Preference, str]:
        return Preference(better="a"), as_json({"reason": "." * sizes.reason, "better": "A"})
