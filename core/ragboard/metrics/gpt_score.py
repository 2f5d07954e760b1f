"""GPT Score, a baseline in the RAGAS paper: a judge rates a quality from 0 to 10 in one step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from ragboard.metrics.base import (
    Ask,
    Category,
    Column,
    Direction,
    Metric,
    Need,
    NeedResults,
    Row,
    judgement_row,
    no_answer,
    no_passages,
)
from ragboard.records import Outcome, Sample, Score, Unscored
from ragboard.tasks import Quality, Rate, Rating, Task

__all__ = ["AnswerRelevance", "ContextRelevance", "Faithfulness", "GptScore", "QualityRating"]


@dataclass(frozen=True)
class QualityRating(Need[Rating]):
    """A rating of one quality from 0 to 10, in one step."""

    quality: Quality

    def tasks(self) -> tuple[type[Task], ...]:
        return (Rate,)

    async def resolve(self, sample: Sample, ask: Ask) -> Rating | Unscored:
        """Ask for the rating; the judge sees only the texts that the quality is about."""
        needs_answer, needs_passages = self.quality != "context_relevance", self.quality != "answer_relevance"
        missing = (needs_answer and no_answer(sample)) or (needs_passages and no_passages(sample))
        if missing:
            return missing
        task = Rate(
            quality=self.quality,
            question=sample.question,
            answer=sample.answer or "" if needs_answer else "",
            contexts=tuple(passage.text for passage in sample.contexts or ()) if needs_passages else (),
            history=sample.history,
        )
        return await ask(task)

    def rows(self, rating: Rating, /) -> Iterable[Row]:
        yield judgement_row(f"rating of {self.quality}", 1, str(rating.value), float(rating.value), rating.reason)


@dataclass(frozen=True)
class GptScore(Metric):
    """Base class of the three metrics. Ratings have a reason but no evidence."""

    source: ClassVar[str] = "gpt_score"
    formula: ClassVar[str] = "a whole number from 0 to 10, given by the judge"
    paper: ClassVar[str] = "Es et al. 2023, arXiv 2309.15217, section 4 (GPT Score)"
    source_label: ClassVar[str] = "RAGAS paper, GPT Score"
    range: ClassVar[tuple[float, float]] = (0.0, 10.0)
    direction: ClassVar[Direction] = "higher"
    calls: ClassVar[str] = "1 to rate"
    quality: ClassVar[Quality]

    def needs(self) -> tuple[Need[Any], ...]:
        return (QualityRating(self.quality),)

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        return Score(value=float(results.value(QualityRating(self.quality)).value), counted="one rating, 0 to 10")


@dataclass(frozen=True)
class Faithfulness(GptScore):
    """How far the passages support the answer, from 0 to 10, rated by the judge in one step."""

    name: ClassVar[str] = "faithfulness"
    title: ClassVar[str] = "GPT Score (faithfulness)"
    category: ClassVar[Category] = "grounding"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "contexts")
    quality: ClassVar[Quality] = "faithfulness"


@dataclass(frozen=True)
class AnswerRelevance(GptScore):
    """How well the answer answers the question, from 0 to 10, rated by the judge in one step."""

    name: ClassVar[str] = "answer_relevance"
    title: ClassVar[str] = "GPT Score (answer relevance)"
    category: ClassVar[Category] = "relevance"
    requires: ClassVar[tuple[Column, ...]] = ("answer",)
    quality: ClassVar[Quality] = "answer_relevance"


@dataclass(frozen=True)
class ContextRelevance(GptScore):
    """How far the passages contain only what the question needs, from 0 to 10, rated by the judge in one step."""

    name: ClassVar[str] = "context_relevance"
    title: ClassVar[str] = "GPT Score (context relevance)"
    category: ClassVar[Category] = "focus"
    requires: ClassVar[tuple[Column, ...]] = ("contexts",)
    quality: ClassVar[Quality] = "context_relevance"
