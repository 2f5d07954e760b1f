"""Rewrite a follow-up question so that it can be understood without the conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragboard.records import Sample, Turn
from ragboard.tasks.base import PromptFiles, PromptTexts, ReplySizes, Task, as_json
from ragboard.tasks.replies import Json, ReplyFormatError, ReplyModel, Text
from ragboard.tasks.write_answer import WrittenText

__all__ = ["RewriteQuestion"]


class RewrittenJson(ReplyModel):
    """A question, as JSON."""

    key = "question"
    question: Text


@dataclass(frozen=True, kw_only=True, slots=True)
class RewriteQuestion(Task[WrittenText]):
    """Rewrite a follow-up question as a standalone question."""

    role = "other"
    is_judgement = False
    reply = WrittenText
    reply_model = RewrittenJson
    prompts: ClassVar[PromptFiles] = {"rewrite_question": ("question", "history?")}
    tags = ("question", "turn")

    question: str
    history: tuple[Turn, ...] = ()
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        return {"question": self.question}

    def parse(self, value: Json) -> WrittenText:
        """Convert the question. Raises ReplyFormatError if it is empty."""
        text = " ".join(RewrittenJson.read(value, self).question.split())
        if not text:
            raise ReplyFormatError("the question is empty")
        return WrittenText(text=text)

    def check(self, reply: WrittenText, /) -> str | None:
        return None if reply.text.strip() else "the question is empty"

    def describe(self, sample: Sample) -> str:
        return "Rewrite the question as a standalone question"

    def simulate(self, sizes: ReplySizes) -> tuple[WrittenText, str]:
        text = f"1 {'.' * sizes.question}"
        return WrittenText(text=text), as_json({"question": text})
