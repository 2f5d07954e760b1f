"""Select the sentences that help to answer a question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, cast

from pydantic import BeforeValidator, ValidationInfo

from ragboard.records import Sample, Turn
from ragboard.tasks.base import PromptFiles, PromptTexts, Reply, Sizes, Task, as_json, count_of, wrong_count
from ragboard.tasks.markup import numbered_lines
from ragboard.tasks.replies import ABSENT, Json, ReplyModel, items_of, reply_error, shown, whole_number

__all__ = ["SelectSentences", "Selection"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection(Reply):
    """Indices of the selected sentences in the task's `sentences`, ascending, each once."""

    chosen: tuple[int, ...]
    scores: tuple[float, ...] = ()
    """How much each sentence of the task helps, in [0, 1]; empty if the judge gives no scores."""

    def describe(self) -> str:
        return f"{count_of(self.chosen, 'sentence')} selected"


def _offered(value: object, info: ValidationInfo) -> list[int]:
    offered = len(cast("SelectSentences", info.context).sentences)
    chosen: list[int] = []
    for item in items_of(value, info):
        number = whole_number(item)
        if number is None or not 1 <= number <= offered:
            raise reply_error(f"`chosen` holds {shown(item)}, only the sentences 1 to {offered} were offered")
        chosen.append(number)
    return chosen


class ChosenJson(ReplyModel):
    """Numbers of the selected sentences, from 1, as JSON."""

    key = "chosen"
    chosen: Annotated[list[int], BeforeValidator(_offered), ABSENT]


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectSentences(Task[Selection]):
    """Select the sentences that help to answer the question."""

    role = "ask"
    reply = Selection
    reply_model = ChosenJson
    prompts: ClassVar[PromptFiles] = {"select_sentences": ("question", "sentences", "history?")}
    tags = ("question", "sentence", "turn")

    question: str
    sentences: tuple[str, ...]
    history: tuple[Turn, ...] = ()
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        return {"question": self.question, "sentences": numbered_lines("sentence", self.sentences, mark)}

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
        return f"Select the helpful ones of {count_of(self.sentences, 'sentence')}"

    def simulate(self, sizes: Sizes) -> tuple[Selection, str]:
        positions = range(len(self.sentences))
        return Selection(chosen=tuple(positions)), as_json({"chosen": [position + 1 for position in positions]})
