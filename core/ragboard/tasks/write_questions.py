"""Write questions that a passage answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragboard.records import Sample
from ragboard.tasks.base import PromptFiles, PromptTexts, Sizes, Task
from ragboard.tasks.examples import Example, writing_examples
from ragboard.tasks.generate_questions import Questions, QuestionsJson, simulated_questions, too_many
from ragboard.tasks.replies import Json, ReplyModel

__all__ = ["WriteQuestions"]


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteQuestions(Task[Questions]):
    """Write `n` questions that the passage answers and that are plain without it."""

    role = "ask"
    reply = Questions
    leads = True
    prompts: ClassVar[PromptFiles] = {"write_questions": ("passage", "n", "examples?")}
    tags = ("passage",)

    passage: str
    n: int
    examples: tuple[Example, ...] = ()
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        """Passage, number and examples."""
        del prompts
        examples = writing_examples(self.examples, "question", mark)
        return {"passage": self.passage, "n": str(self.n), "examples": examples}

    def without_asking(self) -> Questions | None:
        """An empty passage answers nothing."""
        return Questions(questions=()) if self.n < 1 or not self.passage.strip() else None

    def reply_model(self) -> type[ReplyModel]:
        """The questions."""
        return QuestionsJson

    def parse(self, value: Json) -> Questions:
        """At most as many as were asked for: the first."""
        return Questions(questions=tuple(QuestionsJson.read(value, self).questions[: max(self.n, 0)]))

    def check(self, reply: Questions, /) -> str | None:
        """At most as many as were asked for."""
        return too_many(reply, self.n)

    def describe(self, sample: Sample) -> str:
        """`Write 3 questions that a passage answers`."""
        del sample
        return f"Write {self.n} questions that a passage answers"

    def simulate(self, sizes: Sizes) -> tuple[Questions, str]:
        """As many as are asked for."""
        return simulated_questions(self.n, sizes)
