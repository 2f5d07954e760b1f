"""Say of each passage whether it is useful to arrive at an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from ragboard.records import Sample, Turn
from ragboard.tasks.base import (
    PromptFiles,
    PromptTexts,
    Reply,
    Sizes,
    Task,
    as_json,
    count_of,
    side_of,
    wrong_count,
)
from ragboard.tasks.markup import numbered
from ragboard.tasks.replies import ABSENT, Comment, Json, ReplyModel, WholeNumber, YesNo, numbered_by

__all__ = ["JudgePassages", "Usefulness"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Usefulness(Reply):
    """For each passage, in order, whether it is useful, and why."""

    useful: tuple[bool, ...]
    reasons: tuple[str, ...]

    def describe(self) -> str:
        """`2 of 5 passages useful`."""
        return f"{sum(self.useful)} of {count_of(self.useful, 'passage')} useful"


class _Passage(ReplyModel):
    passage: WholeNumber
    reason: Comment
    useful: YesNo


class PassagesJson(ReplyModel):
    """A verdict on each passage, and why."""

    key = "passages"
    passages: Annotated[list[_Passage], numbered_by("passage", "passages"), ABSENT]


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgePassages(Task[Usefulness]):
    """Say of each passage whether it is useful to arrive at this answer."""

    role = "ask"
    reply = Usefulness
    prompts: ClassVar[PromptFiles] = {"judge_passages": ("question", "answer", "passages", "history?")}
    tags = ("question", "answer", "passage", "turn")

    question: str
    answer: str
    passages: tuple[str, ...]
    history: tuple[Turn, ...] = ()
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        """Question, answer, and passages with their numbers."""
        del prompts
        passages = numbered("passage", self.passages, mark)
        return {"question": self.question, "answer": self.answer, "passages": passages}

    def without_asking(self) -> Usefulness | None:
        """Where there is no passage."""
        return None if self.passages else Usefulness(useful=(), reasons=())

    def reply_model(self) -> type[ReplyModel]:
        """A verdict on each passage."""
        return PassagesJson

    def parse(self, value: Json) -> Usefulness:
        """Every passage once."""
        rows = PassagesJson.read(value, self).passages
        return Usefulness(useful=tuple(row.useful == "yes" for row in rows), reasons=tuple(row.reason for row in rows))

    def check(self, reply: Usefulness, /) -> str | None:
        """Every passage once."""
        asked = len(self.passages)
        return wrong_count("verdicts on passages", len(reply.useful), asked) or wrong_count(
            "reasons", len(reply.reasons), asked
        )

    def describe(self, sample: Sample) -> str:
        """`Say which of 5 passages are useful to arrive at the reference`."""
        toward = side_of(self.answer, sample)
        return f"Say which of {count_of(self.passages, 'passage')} are useful to arrive at the {toward}"

    def simulate(self, sizes: Sizes) -> tuple[Usefulness, str]:
        """All useful, each with a reason."""
        count = len(self.passages)
        rows = [{"passage": rank, "reason": "." * sizes.reason, "useful": "yes"} for rank in range(1, count + 1)]
        return Usefulness(useful=(True,) * count, reasons=("",) * count), as_json({"passages": rows})
