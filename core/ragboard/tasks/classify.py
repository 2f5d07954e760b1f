"""Say whether a quality of ARES holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from ragboard.records import Sample, Turn
from ragboard.tasks.base import PromptFiles, PromptTexts, Reply, Sizes, Task, as_json, with_reason
from ragboard.tasks.examples import LabelledExample, labelled_examples
from ragboard.tasks.markup import numbered
from ragboard.tasks.replies import Json, ReplyModel, VerdictJson

__all__ = ["AresQuality", "Classified", "Classify"]

AresQuality: TypeAlias = Literal["context_relevance", "answer_faithfulness", "answer_relevance"]
"""The three qualities that ARES has judged, each of a whole text (Saad-Falcon et al. 2024, section 3)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Classified(Reply):
    """Whether it holds."""

    holds: bool
    probability: float | None = None
    """That it holds, in [0, 1]; None where the judge says only yes or no."""
    reason: str = ""

    def describe(self) -> str:
        """`yes, probability 0.81: it is there`."""
        likely = "" if self.probability is None else f", probability {self.probability:.2f}"
        return with_reason(f"{'yes' if self.holds else 'no'}{likely}", self.reason)


@dataclass(frozen=True, kw_only=True, slots=True)
class Classify(Task[Classified]):
    """Say whether a quality holds of the passages, or of the answer.

    Context relevance looks at question and contexts, answer faithfulness at contexts and answer, answer relevance at
    question and answer; all are given, and a judge reads what it was taught on.
    """

    role = "verify"
    reply = Classified
    prompts: ClassVar[PromptFiles] = {
        "classify_context_relevance": ("question", "passages", "examples?", "history?"),
        "classify_answer_faithfulness": ("passages", "answer", "question?", "examples?", "history?"),
        "classify_answer_relevance": ("question", "answer", "passages?", "examples?", "history?"),
    }
    tags = ("question", "passage", "answer", "turn")

    quality: AresQuality
    question: str
    contexts: tuple[str, ...]
    answer: str = ""
    """Empty for context relevance."""
    history: tuple[Turn, ...] = ()
    draw: int = 0

    def prompt_file(self) -> str:
        """By the quality."""
        return f"classify_{self.quality}"

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        """Question, passages, answer, and a person's examples."""
        return {
            "question": self.question,
            "answer": self.answer,
            "passages": numbered("passage", self.contexts, mark),
            "examples": labelled_examples(self.shown_examples(prompts), mark),
        }

    def shown_examples(self, prompts: PromptTexts) -> tuple[LabelledExample, ...]:
        """Those of the quality."""
        return prompts.examples.get(self.quality, ())

    def reply_model(self) -> type[ReplyModel]:
        """Yes or no, and why."""
        return VerdictJson

    def parse(self, value: Json) -> Classified:
        """Yes or no; a chat model gives no probability."""
        read = VerdictJson.read(value, self)
        return Classified(holds=read.verdict == "yes", reason=read.reason)

    def check(self, reply: Classified, /) -> str | None:
        """A probability is in 0 to 1."""
        said = reply.probability
        return None if said is None or 0 <= said <= 1 else f"a probability of {said}, outside 0 to 1"

    def describe(self, sample: Sample) -> str:
        """`Say whether answer relevance holds`."""
        del sample
        return f"Say whether {self.quality.replace('_', ' ')} holds"

    def simulate(self, sizes: Sizes) -> tuple[Classified, str]:
        """Yes, and a reason."""
        return Classified(holds=True), as_json({"reason": "." * sizes.reason, "verdict": "yes"})
