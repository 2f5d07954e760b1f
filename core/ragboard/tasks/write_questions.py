"""Write questions that a passage answers, for synthetic training data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragboard.records import Sample
from ragboard.tasks.base import PromptFiles, PromptTexts, ReplySizes, Task
from ragboard.tasks.examples import WritingExample, format_writing_examples
from ragboard.tasks.generate_questions import Questions, QuestionsJson, simulated_questions, too_many
from ragboard.tasks.replies import Json

__all__ = ["WriteQuestions"]


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteQuestions(Task[Questions]):
    """Write `n` questions that the passage answers. They can be understood without the passage."""

    role = "other"
    is_judgement = False
    reply = Questions
    runs_first = True
    reply_model = QuestionsJson
    prompts: ClassVar[PromptFiles] = {"write_questions": ("passage", "n", "examples?")}
    tags = ("passage",)

    passage: str
    n: int
    examples: tuple[WritingExample, ...] = ()
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        examples = format_writing_examples(self.examples, "question", mark)
        return {"passage": self.passage, "n": str(self.n), "examples": examples}

    def trivial_reply(self) -> Questions | None:
        return Questions(questions=()) if self.n < 1 or not self.passage.strip() else None

    def parse(self, value: Json) -> Questions:
        """Convert the first `n` questions."""
        return Questions(questions=tuple(QuestionsJson.read(value, self).questions[: max(self.n, 0)]))

    def check(self, reply: Questions, /) -> str | None:
        return too_many(reply, self.n)

    def describe(self, sample: Sample) -> str:
        return f"Write {self.n} questions that a passage answers"

    def simulate(self, sizes: ReplySizes) -> tuple[Questions, str]:
        return simulated_questions(self.n, sizes)
