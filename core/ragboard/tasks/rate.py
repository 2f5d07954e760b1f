"""Rate a quality from 0 to 10 at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ragboard.records import Sample, Turn
from ragboard.tasks.base import PromptFiles, PromptTexts, Reply, Sizes, Task, as_json, with_reason
from ragboard.tasks.markup import material
from ragboard.tasks.replies import Json, RatingJson, ReplyModel

__all__ = ["QUALITY_FILES", "Quality", "Rate", "Rating"]

Quality = Literal["faithfulness", "answer_relevance", "context_relevance"]
"""What a judge may rate or compare directly: the three qualities of the RAGAS paper."""

QUALITY_FILES: PromptFiles = {
    "quality_faithfulness": (),
    "quality_answer_relevance": (),
    "quality_context_relevance": (),
}
"""What each quality is, as a prompt says it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rating(Reply):
    """A whole number from 0 to 10; higher is better."""

    value: int
    reason: str = ""

    def describe(self) -> str:
        """`7 of 10: it is short`."""
        return with_reason(f"{self.value} of 10", self.reason)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate(Task[Rating]):
    """Rate a quality from 0 to 10 at once, without steps between.

    Only what the quality is about is shown: faithfulness all; answer relevance no contexts; context
    relevance no answer.
    """

    role = "ask"
    reply = Rating
    prompts: ClassVar[PromptFiles] = {"rate": ("quality", "material", "history?"), **QUALITY_FILES}
    tags = ("quality", "question", "passage", "answer", "turn")

    quality: Quality
    question: str
    answer: str
    contexts: tuple[str, ...]
    history: tuple[Turn, ...] = ()
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        """The quality, and what it is about."""
        contexts = () if self.quality == "answer_relevance" else self.contexts
        answer = None if self.quality == "context_relevance" else self.answer
        quality = prompts.texts[f"quality_{self.quality}"].strip()
        return {"quality": quality, "material": material(self.question, contexts, answer, mark)}

    def reply_model(self) -> type[ReplyModel]:
        """A rating, and why."""
        return RatingJson

    def parse(self, value: Json) -> Rating:
        """0 to 10."""
        read = RatingJson.read(value, self)
        return Rating(value=read.rating, reason=read.reason)

    def check(self, reply: Rating, /) -> str | None:
        """0 to 10."""
        return None if 0 <= reply.value <= 10 else f"a rating of {reply.value}, outside 0 to 10"

    def describe(self, sample: Sample) -> str:
        """`Rate faithfulness from 0 to 10`."""
        del sample
        return f"Rate {self.quality.replace('_', ' ')} from 0 to 10"

    def simulate(self, sizes: Sizes) -> tuple[Rating, str]:
        """10, and a reason."""
        return Rating(value=10), as_json({"reason": "." * sizes.reason, "rating": 10})
