"""Write an answer of some kind to a question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ragboard.records import Sample
from ragboard.tasks.base import PromptFiles, PromptTexts, Reply, Sizes, Task, as_json
from ragboard.tasks.examples import Example, writing_examples
from ragboard.tasks.replies import Json, ReplyModel, Text

__all__ = ["AnswerKind", "WriteAnswer", "Written"]

AnswerKind = Literal["grounded", "contradictory", "unaided", "incomplete"]
"""grounded: what the passage says; contradictory: something it denies; unaided: written without the passage;
incomplete: true to the passage, but not all that was asked."""

_FIELDS = ("question", "passage", "examples?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Written(Reply):
    """A text; empty where the writer has none to offer."""

    text: str

    def describe(self) -> str:
        """The text itself."""
        return self.text or "no text"


class AnswerJson(ReplyModel):
    """A text."""

    key = "answer"
    answer: Text


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteAnswer(Task[Written]):
    """Write an answer of that kind to a question."""

    role = "ask"
    reply = Written
    prompts: ClassVar[PromptFiles] = {
        "write_grounded_answer": _FIELDS,
        "write_contradictory_answer": _FIELDS,
        "write_unaided_answer": ("question", "examples?"),
        "write_incomplete_answer": _FIELDS,
    }
    tags = ("question", "passage")

    question: str
    passage: str
    """What the answer is to be true to, or to depart from; empty for an unaided one."""
    kind: AnswerKind
    examples: tuple[Example, ...] = ()
    draw: int = 0

    def prompt_file(self) -> str:
        """By the kind."""
        return f"write_{self.kind}_answer"

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        """Question, passage and examples of answers of that kind."""
        del prompts
        written = "contradictory" if self.kind == "contradictory" else "answer"
        examples = writing_examples(self.examples, written, mark)
        return {"question": self.question, "passage": self.passage, "examples": examples}

    def reply_model(self) -> type[ReplyModel]:
        """A text."""
        return AnswerJson

    def parse(self, value: Json) -> Written:
        """On one line."""
        return Written(text=" ".join(AnswerJson.read(value, self).answer.split()))

    def describe(self, sample: Sample) -> str:
        """`Write an answer to a question: grounded`."""
        del sample
        return f"Write an answer to a question: {self.kind}"

    def simulate(self, sizes: Sizes) -> tuple[Written, str]:
        """A text of the size given."""
        text = "It " + "." * sizes.answer
        return Written(text=text), as_json({"answer": text})
