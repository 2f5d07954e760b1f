"""Grade how relevant each passage is to a question, from 0 to 3."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, ValidationInfo

from ragboard.records import BEST_GRADE, Sample, Turn
from ragboard.tasks.base import PromptFiles, PromptTexts, Reply, ReplySizes, Task, as_json, count_in_words, wrong_count
from ragboard.tasks.markup import tagged_texts
from ragboard.tasks.replies import (
    NONE_IF_MISSING,
    Comment,
    Json,
    ReplyModel,
    WholeNumber,
    one_per_text,
    reply_error,
    shortened_repr,
    whole_number,
)

__all__ = ["GradePassages", "PassageGrades"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PassageGrades(Reply):
    """A grade from 0 to 3 and a reason for each passage, in the order of the passages."""

    grades: tuple[int, ...]
    reasons: tuple[str, ...]

    def describe(self) -> str:
        counts = Counter(self.grades)
        in_words = ", ".join(f"{counts[grade]} of grade {grade}" for grade in sorted(counts, reverse=True))
        return in_words or "no passages"


def _grade(value: object, info: ValidationInfo) -> int:
    number = whole_number(value)
    if number is None or not 0 <= number <= BEST_GRADE:
        raise reply_error(
            f"`{info.field_name}`", after_place=f" is {shortened_repr(value)}, no whole number from 0 to {BEST_GRADE}"
        )
    return number


class _Passage(ReplyModel):
    passage: WholeNumber
    reason: Comment
    grade: Annotated[Literal[0, 1, 2, 3], BeforeValidator(_grade), NONE_IF_MISSING]


class GradesJson(ReplyModel):
    """A grade with a reason for each passage, as JSON."""

    key = "passages"
    passages: Annotated[list[_Passage], one_per_text("passage", "passages"), NONE_IF_MISSING]


@dataclass(frozen=True, kw_only=True, slots=True)
class GradePassages(Task[PassageGrades]):
    """Grade how relevant each passage is to the question, from 0 (irrelevant) to 3 (has the exact answer)."""

    role = "other"
    reply = PassageGrades
    reply_model = GradesJson
    prompts: ClassVar[PromptFiles] = {"grade_passages": ("question", "passages", "history?")}
    tags = ("question", "passage", "turn")

    question: str
    passages: tuple[str, ...]
    history: tuple[Turn, ...] = ()
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        return {"question": self.question, "passages": tagged_texts("passage", self.passages, mark)}

    def trivial_reply(self) -> PassageGrades | None:
        return None if self.passages else PassageGrades(grades=(), reasons=())

    def parse(self, value: Json) -> PassageGrades:
        rows = GradesJson.read(value, self).passages
        return PassageGrades(grades=tuple(row.grade for row in rows), reasons=tuple(row.reason for row in rows))

    def check(self, reply: PassageGrades, /) -> str | None:
        expected = len(self.passages)
        if any(not 0 <= grade <= BEST_GRADE for grade in reply.grades):
            return f"a grade is not from 0 to {BEST_GRADE}"
        return wrong_count("grades", len(reply.grades), expected) or wrong_count(
            "reasons", len(reply.reasons), expected
        )

    def describe(self, sample: Sample) -> str:
        return f"Grade the relevance of {count_in_words(self.passages, 'passage')} from 0 to {BEST_GRADE}"

    def simulate(self, sizes: ReplySizes) -> tuple[PassageGrades, str]:
        count = len(self.passages)
        rows = [{"passage": rank, "reason": "." * sizes.reason, "grade": BEST_GRADE} for rank in range(1, count + 1)]
        return PassageGrades(grades=(BEST_GRADE,) * count, reasons=("",) * count), as_json({"passages": rows})
