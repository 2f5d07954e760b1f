"""Judge whether each passage is useful for an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from ragboard.records import Sample, Turn
from ragboard.tasks.base import (
    PromptFiles,
    PromptTexts,
    Reply,
    ReplySizes,
    Task,
    answer_or_reference,
    as_json,
    count_in_words,
    wrong_count,
)
from ragboard.tasks.markup import tagged_texts
from ragboard.tasks.replies import NONE_IF_MISSING, Comment, Json, ReplyModel, WholeNumber, YesNo, one_per_text

__all__ = ["JudgePassages", "Usefulness"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Usefulness(Reply):
    """Whether each passage is useful, and a reason for each, in the order of the passages."""

    useful: tuple[bool, ...]
    reasons: tuple[str, ...]

    def describe(self) -> str:
        return f"{sum(self.useful)} of {count_in_words(self.useful, 'passage')} useful"


class _Passage(ReplyModel):
    passage: WholeNumber
    reason: Comment
    useful: YesNo


class PassagesJson(ReplyModel):
    """A verdict with a reason for each passage, as JSON."""

    key = "passages"
    passages: Annotated[list[_Passage], one_per_text("passage", "passages"), NONE_IF_MISSING]


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgePassages(Task[Usefulness]):
    """Judge whether each passage is useful for this answer to the question."""

    role = "other"
    reply = Usefulness
    reply_model = PassagesJson
    prompts: ClassVar[PromptFiles] = {"judge_passages": ("question", "answer", "passages", "history?")}
    tags = ("question", "answer", "passage", "turn")

    question: str
    answer: str
    passages: tuple[str, ...]
    history: tuple[Turn, ...] = ()
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        passages = tagged_texts("passage", self.passages, mark)
        return {"question": self.question, "answer": self.answer, "passages": passages}

    def trivial_reply(self) -> Usefulness | None:
        return None if self.passages else Usefulness(useful=(), reasons=())

    def parse(self, value: Json) -> Usefulness:
        rows = PassagesJson.read(value, self).passages
        return Usefulness(useful=tuple(row.useful == "yes" for row in rows), reasons=tuple(row.reason for row in rows))

    def check(self, reply: Usefulness, /) -> str | None:
        expected = len(self.passages)
        return wrong_count("verdicts on passages", len(reply.useful), expected) or wrong_count(
            "reasons", len(reply.reasons), expected
        )

    def describe(self, sample: Sample) -> str:
        target = answer_or_reference(self.answer, sample)
        return f"Judge which of {count_in_words(self.passages, 'passage')} are useful for the {target}"

    def simulate(self, sizes: ReplySizes) -> tuple[Usefulness, str]:
        count = len(self.passages)
        rows = [{"passage": rank, "reason": "." * sizes.reason, "useful": "yes"} for rank in range(1, count + 1)]
        return Usefulness(useful=(True,) * count, reasons=("",) * count), as_json({"passages": rows})
