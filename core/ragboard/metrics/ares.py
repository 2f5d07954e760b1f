"""The three metrics of ARES: context relevance, answer faithfulness and answer relevance, each judged yes or no."""

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
from ragboard.tasks import AresQuality, Classification, Classify, Task

__all__ = ["AnswerFaithfulness", "AnswerRelevance", "AresMetric", "ContextRelevance", "QualityVerdict"]

NOT_ASKED = "Not judged, because the judge finds the passages irrelevant to the question."


@dataclass(frozen=True)
class QualityVerdict(Need[Classification]):
    """A yes-or-no verdict on one quality. Unscored if the answer or the passages are needed but missing."""

    quality: AresQuality
    passages_first: bool = False
    """Whether to judge context relevance first. If the passages are irrelevant, the verdict is no."""

    def tasks(self) -> tuple[type[Task], ...]:
        return (Classify,)

    async def resolve(self, sample: Sample, ask: Ask) -> Classification | Unscored:
        """Ask for the verdict; with `passages_first`, only if the passages are relevant."""
        if self.passages_first:
            first = await _classify("context_relevance", sample, ask, with_passages=True)
            if isinstance(first, Unscored):
                return first
            if not first.holds:
                return Classification(holds=False, reason=NOT_ASKED)
        return await _classify(self.quality, sample, ask, with_passages=self.quality != "answer_relevance")

    def rows(self, verdict: Classification, /) -> Iterable[Row]:
        about = f"{self.quality.replace('_', ' ')} (ARES{', compat' if self.passages_first else ''})"
        yield judgement_row(about, 1, "yes" if verdict.holds else "no", verdict.probability, verdict.reason)


async def _classify(
    quality: AresQuality, sample: Sample, ask: Ask, *, with_passages: bool
) -> Classification | Unscored:
    needs_answer = quality != "context_relevance"
    missing = (needs_answer and no_answer(sample)) or (with_passages and no_passages(sample))
    if missing:
        return missing
    contexts = tuple(passage.text for passage in sample.contexts or ())
    answer = sample.answer or "" if needs_answer else ""
    task = Classify(quality=quality, question=sample.question, contexts=contexts, answer=answer, history=sample.history)
    return await ask(task)


@dataclass(frozen=True)
class AresMetric(Metric):
    """Base class of the three metrics. The score is 1 for yes and 0 for no."""

    source: ClassVar[str] = "ares"
    formula: ClassVar[str] = "1 if the judge says yes, 0 if it says no"
    paper: ClassVar[str] = "Saad-Falcon et al. 2024 (ARES), arXiv 2311.09476, section 3"
    source_label: ClassVar[str] = "ARES"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"
    quality: ClassVar[AresQuality]

    def needs(self) -> tuple[Need[Any], ...]:
        return (self._need(),)

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        verdict = results.value(self._need())
        probability = "" if verdict.probability is None else f", probability {verdict.probability:.2f}"
        return Score(value=float(verdict.holds), counted=f"judged {'yes' if verdict.holds else 'no'}{probability}")

    def _need(self) -> QualityVerdict:
        return QualityVerdict(self.quality)


@dataclass(frozen=True)
class ContextRelevance(AresMetric):
    """Whether the passages together contain what the question asks for: 1 or 0."""

    name: ClassVar[str] = "context_relevance"
    title: ClassVar[str] = "ARES context relevance"
    category: ClassVar[Category] = "focus"
    requires: ClassVar[tuple[Column, ...]] = ("contexts",)
    calls: ClassVar[str] = "1 to classify"
    quality: ClassVar[AresQuality] = "context_relevance"


@dataclass(frozen=True)
class _AnswerMetric(AresMetric):
    calls: ClassVar[str] = "1 to classify; with compat, first 1 for context relevance, which is shared with that metric"

    compat: bool = False

    def _need(self) -> QualityVerdict:
        return QualityVerdict(self.quality, passages_first=self.compat)


@dataclass(frozen=True)
class AnswerFaithfulness(_AnswerMetric):
    """Whether the passages together support everything the answer says: 1 or 0.

    With `compat`, the judge is first asked whether the passages are relevant to the question. If they are not, the
    score is 0. ARES's code does this too.
    """

    name: ClassVar[str] = "answer_faithfulness"
    title: ClassVar[str] = "ARES answer faithfulness"
    category: ClassVar[Category] = "grounding"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "contexts")
    quality: ClassVar[AresQuality] = "answer_faithfulness"


@dataclass(frozen=True)
class AnswerRelevance(_AnswerMetric):
    """Whether the answer answers the question: 1 or 0.

    With `compat`, the judge is first asked whether the passages are relevant to the question. If they are not, the
    score is 0. ARES's code does this too. `compat` needs passages.
    """

    name: ClassVar[str] = "answer_relevance"
    title: ClassVar[str] = "ARES answer relevance"
    category: ClassVar[Category] = "relevance"
    requires: ClassVar[tuple[Column, ...]] = ("answer",)
    quality: ClassVar[AresQuality] = "answer_relevance"
