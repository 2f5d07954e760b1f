"""Select the sentences that help to answer a question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, cast

from pydantic import BeforeValidator, ValidationInfo

from ragboard.records import Sample, Turn
from ragboard.tasks.base import PromptFiles, PromptTexts, Reply, ReplySizes, Task, as_json, count_in_words, wrong_count
from ragboard.tasks.markup import tagged_lines
from ragboard.tasks.replies import (
    NONE_IF_MISSING,
    Json,
    ReplyModel,
    reply_error,
    require_list,
    shortened_repr,
    whole_number,
)

__all__ = ["SelectSentences", "Selection"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection(Reply):
    """The selected sentences."""

    chosen: tuple[int, ...]
    """Indices into the task's `sentences`, ascending, without repetition."""
    scores: tuple[float, ...] = ()
    """How much each of the task's sentences helps, in [0, 1]; empty if the judge gives no scores."""

    def describe(self) -> str:
        return f"{count_in_words(self.chosen, 'sentence')} selected"


def _sentence_numbers(value: object, info: ValidationInfo) -> list[int]:
    offered = len(cast("SelectSentences", info.context).sentences)
    chosen: list[int] = []
    for item in require_list(value, info):
        number = whole_number(item)
        if number is None or not 1 <= number <= offered:
            raise reply_error(f"`chosen` holds {shortened_repr(item)}, only the sentences 1 to {offered} were offered")
        chosen.append(number)
    return chosen


class ChosenJson(ReplyModel):
    """Numbers of the selected sentences, from 1, as JSON."""

    key = "chosen"
    chosen: Annotated[list[int], BeforeValidator(_sentence_numbers), NONE_IF_MISSING]


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectSentences(Task[Selection]):
    """Select the sentences that help to answer the question."""

    role = "other"
    reply = Selection
    reply_model = ChosenJson
    prompts: ClassVar[PromptFiles] = {"select_sentences": ("question", "sentences", "history?")}
    tags = ("question", "sentence", "turn")

    question: str
    sentences: tuple[str, ...]
    history: tuple[Turn, ...] = ()
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        return {"question": self.question, "sentences": tagged_lines("sentence", self.sentences, mark)}

    def trivial_reply(self) -> Selection | None:
        return None if self.sentences else Selection(chosen=())

    def parse(self, value: Json) -> Selection:
        return Selection(chosen=tuple(sorted({number - 1 for number in ChosenJson.read(value, self).chosen})))

    def check(self, reply: Selection, /) -> str | None:
        offered, chosen = len(self.sentences), reply.chosen
        if any(not 0 <= position < offered for position in chosen):
            return f"a selected sentence is not among the {offered} sentences of the task"
        if list(chosen) != sorted(set(chosen)):
            return "selected sentences are repeated or out of order"
        return wrong_count("scores", len(reply.scores), offered) if reply.scores else None

    def describe(self, sample: Sample) -> str:
        return f"Select the helpful ones of {count_in_words(self.sentences, 'sentence')}"

    def simulate(self, sizes: ReplySizes) -> tuple[Selection, str]:
        positions = range(len(self.sentences))
        return Selection(chosen=tuple(positions)), as_json({"chosen": [position + 1 for position in positions]})
