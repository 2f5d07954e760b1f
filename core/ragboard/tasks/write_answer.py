"""Write an answer to a question, for synthetic training data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ragboard.records import Sample
from ragboard.tasks.base import PromptFiles, PromptTexts, Reply, ReplySizes, Task, as_json
from ragboard.tasks.examples import WritingExample, format_writing_examples
from ragboard.tasks.replies import Json, ReplyModel, Text

__all__ = ["AnswerKind", "WriteAnswer", "WrittenText"]

AnswerKind = Literal["grounded", "contradictory", "unaided", "incomplete"]
"""`grounded`: from the passage. `contradictory`: contradicts the passage. `unaided`: written without the passage.
`incomplete`: from the passage, but answers only part of the question."""

_FIELDS = ("question", "passage", "examples?")


@dataclass(frozen=True, kw_only=True, slots=True)
class WrittenText(Reply):
    """A text that the judge wrote; empty if it wrote nothing."""

    text: str

    def describe(self) -> str:
        return self.text or "no text"


class AnswerJson(ReplyModel):
    """An answer, as JSON."""

    key = "answer"
    answer: Text


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteAnswer(Task[WrittenText]):
    """Write an answer of the given kind to a question."""

    role = "other"
    is_judgement = False
    reply = WrittenText
    reply_model = AnswerJson
    prompts: ClassVar[PromptFiles] = {
        "write_grounded_answer": _FIELDS,
        "write_contradictory_answer": _FIELDS,
        "write_unaided_answer": ("question", "examples?"),
        "write_incomplete_answer": _FIELDS,
    }
    tags = ("question", "passage")

    question: str
    passage: str
    """The passage; empty for an unaided answer."""
    kind: AnswerKind
    examples: tuple[WritingExample, ...] = ()
    draw: int = 0

    def prompt_file(self) -> str:
        return f"write_{self.kind}_answer"

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        field = "contradictory" if self.kind == "contradictory" else "answer"
        examples = format_writing_examples(self.examples, field, mark)
        return {"question": self.question, "passage": self.passage, "examples": examples}

    def parse(self, value: Json) -> WrittenText:
        return WrittenText(text=" ".join(AnswerJson.read(value, self).answer.split()))

    def describe(self, sample: Sample) -> str:
        return f"Write an answer to a question ({self.kind})"

    def simulate(self, sizes: ReplySizes) -> tuple[WrittenText, str]:
        text = "It " + "." * sizes.answer
        return WrittenText(text=text), as_json({"answer": text})
