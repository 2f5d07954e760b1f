"""Generate questions from an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragboard.records import Sample, Turn
from ragboard.tasks.base import PromptFiles, PromptTexts, Reply, ReplySizes, Task, as_json
from ragboard.tasks.replies import Json, ReplyFormatError, ReplyModel, Texts

__all__ = ["GenerateQuestions", "Questions", "QuestionsJson", "simulated_questions", "too_many"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Questions(Reply):
    """Questions; empty if the text answers no question."""

    questions: tuple[str, ...]

    def describe(self) -> str:
        return " / ".join(self.questions) or "no questions"


class QuestionsJson(ReplyModel):
    """A list of questions, as JSON."""

    key = "questions"
    questions: Texts


def too_many(reply: Questions, n: int) -> str | None:
    """Return a message if there are more than `n` questions; else None. A judge may return fewer."""
    count = len(reply.questions)
    return f"expected at most {n} question{'s' * (n != 1)}, got {count}" if count > n else None


def simulated_questions(n: int, sizes: ReplySizes) -> tuple[Questions, str]:
    """Return `n` questions of the assumed length, and their JSON text."""
    texts = tuple(f"{number} {'.' * sizes.question}" for number in range(n))
    return Questions(questions=texts), as_json({"questions": texts})


@dataclass(frozen=True, kw_only=True, slots=True)
class GenerateQuestions(Task[Questions]):
    """Generate `n` questions that could have led to the answer."""

    role = "other"
    is_judgement = False
    reply = Questions
    runs_first = True
    reply_model = QuestionsJson
    prompts: ClassVar[PromptFiles] = {"generate_questions": ("answer", "n", "history?")}
    tags = ("answer", "turn")
    history_note = (
        "The answer was given in a conversation. Its earlier turns, the oldest first, show what the answer refers to. "
        "Write questions that the user could have asked next."
    )

    answer: str
    n: int
    history: tuple[Turn, ...] = ()
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        return {"answer": self.answer, "n": str(self.n)}

    def trivial_reply(self) -> Questions | None:
        return Questions(questions=()) if self.n < 1 or not self.answer.strip() else None

    def parse(self, value: Json) -> Questions:
        """Convert the questions. Raises ReplyFormatError unless there are 0 or `n`."""
        questions = QuestionsJson.read(value, self).questions
        if questions and len(questions) != self.n:
            raise ReplyFormatError(f"expected {self.n} question{'s' * (self.n != 1)}, got {len(questions)}")
        return Questions(questions=tuple(questions))

    def check(self, reply: Questions, /) -> str | None:
        return too_many(reply, self.n)

    def describe(self, sample: Sample) -> str:
        return f"Generate {self.n} questions from the answer"

    def simulate(self, sizes: ReplySizes) -> tuple[Questions, str]:
        return simulated_questions(self.n, sizes)
