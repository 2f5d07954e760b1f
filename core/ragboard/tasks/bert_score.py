"""Compare the tokens of texts (BERTScore)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragboard.records import Sample
from ragboard.tasks.base import Reply, ReplySizes, Task, as_json, count_in_words, wrong_count

__all__ = ["BertScore", "BertScores"]


@dataclass(frozen=True, kw_only=True, slots=True)
class BertScores(Reply):
    """Precision and recall of the task's `text` against each of its `others`, in order; None if a text has no tokens.

    The values are rescaled so that two random texts score 0 on average. They are at most 1 and can be negative.
    """

    precision: tuple[float | None, ...]
    recall: tuple[float | None, ...]

    def describe(self) -> str:
        pairs = zip(self.precision, self.recall, strict=False)
        return ", ".join(f"precision {_in_words(p)} recall {_in_words(r)}" for p, r in pairs) or "none"


def _in_words(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"


@dataclass(frozen=True, kw_only=True, slots=True)
class BertScore(Task[BertScores]):
    """Compare the tokens of `text` with the tokens of each of `others`. A local model answers this without a prompt."""

    role = "embed"
    is_judgement = False
    suggested_judge: ClassVar[str] = "a local model for BERTScore: --embed bertscore"
    reply = BertScores

    text: str
    others: tuple[str, ...]
    draw: int = 0

    def check(self, reply: BertScores, /) -> str | None:
        expected = len(self.others)
        return wrong_count("precisions", len(reply.precision), expected) or wrong_count(
            "recalls", len(reply.recall), expected
        )

    def describe(self, sample: Sample) -> str:
        return f"Compare the tokens of a text with {count_in_words(self.others, 'other text')}"

    def simulate(self, sizes: ReplySizes) -> tuple[BertScores, str]:
        values = (0.0,) * len(self.others)
        return BertScores(precision=values, recall=values), as_json("")
