"""Say which of two is better in a quality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator

from ragboard.records import Sample, Turn
from ragboard.tasks.base import PromptFiles, PromptTexts, Reply, Sizes, Task, as_json, with_reason
from ragboard.tasks.markup import material
from ragboard.tasks.rate import QUALITY_FILES, Quality
from ragboard.tasks.replies import ABSENT, Comment, Json, OneOf, ReplyModel

__all__ = ["Prefer", "Preference"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Preference(Reply):
    """The better one."""

    better: Literal["a", "b"]
    reason: str = ""

    def describe(self) -> str:
        """`A is better: it is shorter`."""
        return with_reason(f"{self.better.upper()} is better", self.reason)


class PreferenceJson(ReplyModel):
    """The better one, and why."""

    key = "better"
    reason: Comment
    better: Annotated[Literal["A", "B"], BeforeValidator(OneOf("A", "B")), ABSENT]


@dataclass(frozen=True, kw_only=True, slots=True)
class Prefer(Task[Preference]):
    """Say which of two is better in a quality.

    `a` and `b` are answers, or for context relevance the passages of either side as one text. The
    order they are asked in is the order they are shown in.
    """

    role = "ask"
    reply = Preference
    prompts: ClassVar[PromptFiles] = {"prefer": ("quality", "material", "a", "b", "history?"), **QUALITY_FILES}
    tags = ("quality", "question", "passage", "candidate", "turn")

    quality: Quality
    question: str
    a: str
    b: str
    contexts: tuple[str, ...]
    """What both answers are held against, for faithfulness."""
    history: tuple[Turn, ...] = ()
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        """The quality, what both are held against, and both."""
        passages = self.contexts if self.quality == "faithfulness" else ()
        quality = prompts.texts[f"quality_{self.quality}"].strip()
        shown = material(self.question, passages, None, mark)
        return {"quality": quality, "material": shown, "a": self.a, "b": self.b}

    def reply_model(self) -> type[ReplyModel]:
        """The better one, and why."""
        return PreferenceJson

    def parse(self, value: Json) -> Preference:
        """One of the two."""
        read = PreferenceJson.read(value, self)
        return Preference(better="a" if read.better == "A" else "b", reason=read.reason)

    def check(self, reply: Preference, /) -> str | None:
        """One of the two."""
        return None if reply.better in ("a", "b") else f"{reply.better!r} is neither 'a' nor 'b'"

    def describe(self, sample: Sample) -> str:
        """`Say which of two is better in faithfulness`."""
        del sample
        return f"Say which of two is better in {self.quality.replace('_', ' ')}"

    def simulate(self, sizes: Sizes) -> tuple[Preference, str]:
        """The first, and a reason."""
        return Preference(better="a"), as_json({"reason": "." * sizes.reason, "better": "A"})
