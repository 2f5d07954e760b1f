"""Rate how well an answer answers its question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragboard.records import Sample, Turn
from ragboard.tasks.base import PromptFiles, PromptTexts, Reply, Sizes, Task, as_json, with_reason
from ragboard.tasks.replies import Json, RatingJson, ReplyModel

__all__ = ["AnswerRated", "RateAnswer"]


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerRated(Reply):
    """A score in [0, 1]; higher answers the question better."""

    score: float
    reason: str = ""

    def describe(self) -> str:
        """`0.70 of 1: it is short`."""
        return with_reason(f"{self.score:.2f} of 1", self.reason)


@dataclass(frozen=True, kw_only=True, slots=True)
class RateAnswer(Task[AnswerRated]):
    """Rate how well an answer answers its question, true or not."""

    role = "ask"
    reply = AnswerRated
    prompts: ClassVar[PromptFiles] = {"rate_answer": ("question", "answer", "history?")}
    tags = ("question", "answer", "turn")

    question: str
    answer: str
    history: tuple[Turn, ...] = ()
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        """Question and answer."""
        del prompts, mark
        return {"question": self.question, "answer": self.answer}

    def reply_model(self) -> type[ReplyModel]:
        """A rating, and why."""
        return RatingJson

    def parse(self, value: Json) -> AnswerRated:
        """A tenth of the rating."""
        read = RatingJson.read(value, self)
        return AnswerRated(score=read.rating / 10, reason=read.reason)

    def check(self, reply: AnswerRated, /) -> str | None:
        """0 to 1."""
        return None if 0 <= reply.score <= 1 else f"a score of {reply.score}, outside 0 to 1"

    def describe(self, sample: Sample) -> str:
        """What is asked for."""
        del sample
        return "Rate how well the answer answers the question"

    def simulate(self, sizes: Sizes) -> tuple[AnswerRated, str]:
        """1, and a reason."""
        return AnswerRated(score=1.0), as_json({"reason": "." * sizes.reason, "rating": 10})
