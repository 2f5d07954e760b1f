"""Tasks about nuggets, the facts that a good answer states: write, weigh and assign them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, cast

from pydantic import BeforeValidator, ValidationInfo

from ragboard.records import Importance, Nugget, NuggetLabel, Sample, Turn
from ragboard.tasks.base import PromptFiles, PromptTexts, Reply, ReplySizes, Task, as_json, count_in_words, wrong_count
from ragboard.tasks.markup import tagged_lines, tagged_texts
from ragboard.tasks.replies import (
    NONE_IF_MISSING,
    Comment,
    Json,
    OneOf,
    ReplyModel,
    Text,
    WholeNumber,
    one_per_text,
    reply_error,
    require_list,
)

__all__ = ["AssignNuggets", "NuggetLabels", "Nuggets", "WeighNuggets", "WriteNuggets"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Nuggets(Reply):
    """The nuggets of a question, the most important first."""

    nuggets: tuple[Nugget, ...]

    def describe(self) -> str:
        vital = sum(nugget.importance == "vital" for nugget in self.nuggets)
        return f"{count_in_words(self.nuggets, 'nugget')}, {vital} vital"


class _NuggetRow(ReplyModel):
    text: Text
    importance: Annotated[Importance, BeforeValidator(OneOf("vital", "okay")), NONE_IF_MISSING]


def _at_most_n(value: object, info: ValidationInfo) -> list[Any]:
    items, n = require_list(value, info), cast("WriteNuggets", info.context).n
    if len(items) > n:
        raise reply_error(f"`nuggets` holds {len(items)} nuggets; at most {n} were asked for")
    return items


class NuggetsJson(ReplyModel):
    """A list of nuggets with their importance, as JSON."""

    key = "nuggets"
    nuggets: Annotated[list[_NuggetRow], BeforeValidator(_at_most_n), NONE_IF_MISSING]


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteNuggets(Task[Nuggets]):
    """Write the nuggets of a question from passages, or revise earlier nuggets with further passages."""

    role = "other"
    is_judgement = False
    reply = Nuggets
    reply_model = NuggetsJson
    prompts: ClassVar[PromptFiles] = {"write_nuggets": ("question", "passages", "nuggets", "n", "history?")}
    tags = ("question", "passage", "nugget", "turn")

    question: str
    passages: tuple[str, ...]
    nuggets: tuple[str, ...] = ()
    """The nuggets from earlier passages, which the reply extends and corrects."""
    n: int = 30
    """Maximum number of nuggets."""
    history: tuple[Turn, ...] = ()
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        return {
            "question": self.question,
            "passages": tagged_texts("passage", self.passages, mark),
            "nuggets": tagged_lines("nugget", self.nuggets, mark) or "(none yet)",
            "n": str(self.n),
        }

    def trivial_reply(self) -> Nuggets | None:
        return None if any(text.strip() for text in self.passages) else Nuggets(nuggets=())

    def parse(self, value: Json) -> Nuggets:
        rows = NuggetsJson.read(value, self).nuggets
        # If nuggets have the same text, the first one counts.
        importance: dict[str, Importance] = {" ".join(row.text.split()): row.importance for row in reversed(rows)}
        return Nuggets(nuggets=tuple(Nugget(text=text, importance=importance[text]) for text in reversed(importance)))

    def check(self, reply: Nuggets, /) -> str | None:
        if len({nugget.text for nugget in reply.nuggets}) < len(reply.nuggets):
            return "a nugget occurs twice"
        return f"expected at most {self.n} nuggets, got {len(reply.nuggets)}" if len(reply.nuggets) > self.n else None

    def describe(self, sample: Sample) -> str:
        return f"Write nuggets from {count_in_words(self.passages, 'passage')}"

    def simulate(self, sizes: ReplySizes) -> tuple[Nuggets, str]:
        """Assume six nuggets; `n` in the worst case."""
        count = self.n if sizes.worst_case else min(6, self.n)
        nuggets = tuple(Nugget(text=f"{number} {'.' * sizes.quote}", importance="vital") for number in range(count))
        rows = [{"text": nugget.text, "importance": nugget.importance} for nugget in nuggets]
        return Nuggets(nuggets=nuggets), as_json({"nuggets": rows})


class _ImportanceRow(ReplyModel):
    nugget: WholeNumber
    reason: Comment
    importance: Annotated[Importance, BeforeValidator(OneOf("vital", "okay")), NONE_IF_MISSING]


class WeighedJson(ReplyModel):
    """The importance of each nugget, as JSON."""

    key = "nuggets"
    nuggets: Annotated[list[_ImportanceRow], one_per_text("nugget", "nuggets"), NONE_IF_MISSING]


@dataclass(frozen=True, kw_only=True, slots=True)
class WeighNuggets(Task[Nuggets]):
    """Decide which nuggets are vital for a good answer to the question."""

    role = "other"
    reply = Nuggets
    reply_model = WeighedJson
    prompts: ClassVar[PromptFiles] = {"weigh_nuggets": ("question", "nuggets", "history?")}
    tags = ("question", "nugget", "turn")

    question: str
    nuggets: tuple[str, ...]
    history: tuple[Turn, ...] = ()
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        return {"question": self.question, "nuggets": tagged_lines("nugget", self.nuggets, mark)}

    def trivial_reply(self) -> Nuggets | None:
        return None if self.nuggets else Nuggets(nuggets=())

    def parse(self, value: Json) -> Nuggets:
        rows = WeighedJson.read(value, self).nuggets
        return Nuggets(
            nuggets=tuple(
                Nugget(text=text, importance=row.importance) for text, row in zip(self.nuggets, rows, strict=True)
            )
        )

    def check(self, reply: Nuggets, /) -> str | None:
        if tuple(nugget.text for nugget in reply.nuggets) != self.nuggets:
            return "the nuggets differ from those of the task"
        return None

    def describe(self, sample: Sample) -> str:
        return f"Decide which of {count_in_words(self.nuggets, 'nugget')} are vital"

    def simulate(self, sizes: ReplySizes) -> tuple[Nuggets, str]:
        nuggets = tuple(Nugget(text=text, importance="vital") for text in self.nuggets)
        reason = "." * sizes.reason
        rows = [{"nugget": n, "reason": reason, "importance": "vital"} for n in range(1, len(nuggets) + 1)]
        return Nuggets(nuggets=nuggets), as_json({"nuggets": rows})


_IN_WORDS: dict[NuggetLabel, str] = {
    "support": "stated",
    "partial_support": "partly stated",
    "not_support": "missing",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class NuggetLabels(Reply):
    """Whether the answer states each nugget, and a reason for each, in the order of the nuggets."""

    labels: tuple[NuggetLabel, ...]
    reasons: tuple[str, ...]

    def describe(self) -> str:
        counts = Counter(_IN_WORDS[label] for label in self.labels)
        return ", ".join(f"{counts[word]} {word}" for word in _IN_WORDS.values() if counts[word]) or "no nuggets"


class _LabelRow(ReplyModel):
    nugget: WholeNumber
    reason: Comment
    label: Annotated[NuggetLabel, BeforeValidator(OneOf("support", "partial_support", "not_support")), NONE_IF_MISSING]


class AssignedJson(ReplyModel):
    """A label with a reason for each nugget, as JSON."""

    key = "nuggets"
    nuggets: Annotated[list[_LabelRow], one_per_text("nugget", "nuggets"), NONE_IF_MISSING]


@dataclass(frozen=True, kw_only=True, slots=True)
class AssignNuggets(Task[NuggetLabels]):
    """Decide for each nugget whether the answer states it: completely, in part, or not at all."""

    role = "other"
    reply = NuggetLabels
    reply_model = AssignedJson
    prompts: ClassVar[PromptFiles] = {"assign_nuggets": ("question", "answer", "nuggets", "history?")}
    tags = ("question", "answer", "nugget", "turn")

    question: str
    answer: str
    nuggets: tuple[str, ...]
    history: tuple[Turn, ...] = ()
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        nuggets = tagged_lines("nugget", self.nuggets, mark)
        return {"question": self.question, "answer": self.answer, "nuggets": nuggets}

    def trivial_reply(self) -> NuggetLabels | None:
        if not self.nuggets:
            return NuggetLabels(labels=(), reasons=())
        if not self.answer.strip():
            count = len(self.nuggets)
            absent: NuggetLabel = "not_support"
            return NuggetLabels(labels=(absent,) * count, reasons=("The answer is empty.",) * count)
        return None

    def parse(self, value: Json) -> NuggetLabels:
        rows = AssignedJson.read(value, self).nuggets
        return NuggetLabels(labels=tuple(row.label for row in rows), reasons=tuple(row.reason for row in rows))

    def check(self, reply: NuggetLabels, /) -> str | None:
        expected = len(self.nuggets)
        return wrong_count("labels", len(reply.labels), expected) or wrong_count(
            "reasons", len(reply.reasons), expected
        )

    def describe(self, sample: Sample) -> str:
        return f"Look for {count_in_words(self.nuggets, 'nugget')} in the answer"

    def simulate(self, sizes: ReplySizes) -> tuple[NuggetLabels, str]:
        count = len(self.nuggets)
        rows = [
            {"nugget": number, "reason": "." * sizes.reason, "label": "partial_support"}
            for number in range(1, count + 1)
        ]
        stated: NuggetLabel = "support"
        return NuggetLabels(labels=(stated,) * count, reasons=("",) * count), as_json({"nuggets": rows})
