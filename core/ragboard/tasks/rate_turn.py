"""Rate an answer of a conversation from 1 to 10."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragboard.records import Sample, Turn
from ragboard.tasks.base import PromptFiles, PromptTexts, ReplySizes, Task, as_json
from ragboard.tasks.markup import tagged_texts
from ragboard.tasks.rate import Rating
from ragboard.tasks.replies import Json, RatingJson, ReplyFormatError

__all__ = ["RateTurn"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RateTurn(Task[Rating]):
    """Rate from 1 to 10 how appropriate, complete and faithful to the passages an answer is."""

    role = "other"
    reply = Rating
    reply_model = RatingJson
    prompts: ClassVar[PromptFiles] = {"rate_turn": ("question", "passages", "reference", "answer", "history?")}
    tags = ("question", "passage", "reference", "answer", "turn")

    question: str
    contexts: tuple[str, ...]
    reference: str
    answer: str
    history: tuple[Turn, ...] = ()
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        return {
            "question": self.question,
            "passages": tagged_texts("passage", self.contexts, mark),
            "reference": self.reference,
            "answer": self.answer,
        }

    def parse(self, value: Json) -> Rating:
        json = RatingJson.read(value, self)
        if json.rating < 1:
            raise ReplyFormatError("the rating is 0; it must be from 1 to 10")
        return Rating(value=json.rating, reason=json.reason)

    def check(self, reply: Rating, /) -> str | None:
        return None if 1 <= reply.value <= 10 else f"a rating of {reply.value}; it must be from 1 to 10"

    def describe(self, sample: Sample) -> str:
        return "Rate the answer in its conversation from 1 to 10"

    def simulate(self, sizes: ReplySizes) -> tuple[Rating, str]:
        return Rating(value=10), as_json({"reason": "." * sizes.reason, "rating": 10})
