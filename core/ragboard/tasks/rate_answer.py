"""Rate how well an answer answers its question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragboard.records import Sample, Turn
from ragboard.tasks.base import PromptFiles, PromptTexts, Reply, ReplySizes, Task, as_json, with_reason
from ragboard.tasks.replies import Json, RatingJson

__all__ = ["AnswerRating", "RateAnswer"]


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerRating(Reply):
    """A score in [0, 1]; higher is better."""

    score: float
    reason: str = ""

    def describe(self) -> str:
        return with_reason(f"{self.score:.2f} of 1", self.reason)


@dataclass(frozen=True, kw_only=True, slots=True)
class RateAnswer(Task[AnswerRating]):
    """Rate how well an answer answers its question, regardless of whether it is true."""

    role = "other"
    reply = AnswerRating
    reply_model = RatingJson
    prompts: ClassVar[PromptFiles] = {"rate_answer": ("question", "answer", "history?")}
    tags = ("question", "answer", "turn")

    question: str
    answer: str
    history: tuple[Turn, ...] = ()
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        return {"question": self.question, "answer": self.answer}

    def parse(self, value: Json) -> AnswerRating:
        """Convert the rating from 0 to 10 to a score in [0, 1]."""
        json = RatingJson.read(value, self)
        return AnswerRating(score=json.rating / 10, reason=json.reason)

    def check(self, reply: AnswerRating, /) -> str | None:
        return None if 0 <= reply.score <= 1 else f"a score of {reply.score}; it must be in [0, 1]"

    def describe(self, sample: Sample) -> str:
        return "Rate how well the answer answers the question"

    def simulate(self, sizes: ReplySizes) -> tuple[AnswerRating, str]:
        return AnswerRating(score=1.0), as_json({"reason": "." * sizes.reason, "rating": 10})
