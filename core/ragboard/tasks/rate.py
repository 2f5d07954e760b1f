"""Rate a quality from 0 to 10 in one step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ragboard.records import Sample, Turn
from ragboard.tasks.base import PromptFiles, PromptTexts, Reply, ReplySizes, Task, as_json, with_reason
from ragboard.tasks.markup import tagged_sample
from ragboard.tasks.replies import Json, RatingJson

__all__ = ["QUALITY_FILES", "Quality", "Rate", "Rating"]

Quality = Literal["faithfulness", "answer_relevance", "context_relevance"]
"""The three qualities of the RAGAS paper."""

QUALITY_FILES: PromptFiles = {
    "quality_faithfulness": (),
    "quality_answer_relevance": (),
    "quality_context_relevance": (),
}
"""The prompt files with the definition of each quality. They have no fields."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rating(Reply):
    """A rating from 0 to 10; higher is better."""

    value: int
    reason: str = ""

    def describe(self) -> str:
        return with_reason(f"{self.value} of 10", self.reason)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate(Task[Rating]):
    """Rate a quality from 0 to 10 in one step, without extracting statements.

    The prompt has no contexts for answer relevance, and no answer for context relevance.
    """

    role = "other"
    reply = Rating
    reply_model = RatingJson
    prompts: ClassVar[PromptFiles] = {"rate": ("quality", "material", "history?"), **QUALITY_FILES}
    tags = ("quality", "question", "passage", "answer", "turn")

    quality: Quality
    question: str
    answer: str
    contexts: tuple[str, ...]
    history: tuple[Turn, ...] = ()
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        contexts = () if self.quality == "answer_relevance" else self.contexts
        answer = None if self.quality == "context_relevance" else self.answer
        quality = prompts.texts[f"quality_{self.quality}"].strip()
        return {"quality": quality, "material": tagged_sample(self.question, contexts, answer, mark)}

    def parse(self, value: Json) -> Rating:
        json = RatingJson.read(value, self)
        return Rating(value=json.rating, reason=json.reason)

    def check(self, reply: Rating, /) -> str | None:
        return None if 0 <= reply.value <= 10 else f"a rating of {reply.value}; it must be from 0 to 10"

    def describe(self, sample: Sample) -> str:
        return f"Rate {self.quality.replace('_', ' ')} from 0 to 10"

    def simulate(self, sizes: ReplySizes) -> tuple[Rating, str]:
        return Rating(value=10), as_json({"reason": "." * sizes.reason, "rating": 10})
