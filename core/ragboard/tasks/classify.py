"""Decide whether an answer or its passages have one of the qualities of ARES."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from ragboard.records import Sample, Turn
from ragboard.tasks.base import PromptFiles, PromptTexts, Reply, ReplySizes, Task, as_json, with_reason
from ragboard.tasks.examples import LabelledExample, format_labelled_examples
from ragboard.tasks.markup import tagged_texts
from ragboard.tasks.replies import Json, VerdictJson

__all__ = ["AresQuality", "Classification", "Classify"]

AresQuality: TypeAlias = Literal["context_relevance", "answer_faithfulness", "answer_relevance"]
"""The three qualities of ARES, each judged once for the whole sample (Saad-Falcon et al. 2024, section 3)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Classification(Reply):
    """Whether the quality holds."""

    holds: bool
    probability: float | None = None
    """The probability that the quality holds, in [0, 1]; None if the judge only says yes or no."""
    reason: str = ""
    """The judge's reason; empty if it gives none."""

    def describe(self) -> str:
        with_probability = "" if self.probability is None else f", probability {self.probability:.2f}"
        return with_reason(f"{'yes' if self.holds else 'no'}{with_probability}", self.reason)


@dataclass(frozen=True, kw_only=True, slots=True)
class Classify(Task[Classification]):
    """Decide whether the passages or the answer have a quality.

    A chat model reads question and contexts for context relevance, contexts and answer for answer faithfulness,
    question and answer for answer relevance. A trained judge may read other texts of the sample.
    """

    role = "verify"
    reply = Classification
    reply_model = VerdictJson
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
        return f"classify_{self.quality}"

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        return {
            "question": self.question,
            "answer": self.answer,
            "passages": tagged_texts("passage", self.contexts, mark),
            "examples": format_labelled_examples(self.examples_in_prompt(prompts), mark),
        }

    def examples_in_prompt(self, prompts: PromptTexts) -> tuple[LabelledExample, ...]:
        return prompts.examples.get(self.quality, ())

    def parse(self, value: Json) -> Classification:
        """Convert a yes or no; a chat model gives no probability."""
        json = VerdictJson.read(value, self)
        return Classification(holds=json.verdict == "yes", reason=json.reason)

    def check(self, reply: Classification, /) -> str | None:
        probability = reply.probability
        if probability is None or 0 <= probability <= 1:
            return None
        return f"a probability of {probability}; it must be in [0, 1]"

    def describe(self, sample: Sample) -> str:
        return f"Decide whether {self.quality.replace('_', ' ')} holds"

    def simulate(self, sizes: ReplySizes) -> tuple[Classification, str]:
        return Classification(holds=True), as_json({"reason": "." * sizes.reason, "verdict": "yes"})
