"""Metrics of the retrieved list by graded relevance: a judge grades each passage from 0 to 3, as in UMBRELA.

They need no gold passages. Only retrieved passages have a grade, so these metrics do not show which relevant passages
were missed.
"""

from __future__ import annotations

import asyncio
import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

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
    no_passages,
)
from ragboard.metrics.ragas_contexts import average_precision
from ragboard.records import (
    BEST_GRADE,
    PASSAGE_GRADE,
    RELEVANT_GRADE,
    MorePassages,
    Outcome,
    Sample,
    Score,
    Unscored,
)
from ragboard.tasks import GradePassages, PassageGrades, Task

__all__ = ["NDCG", "SEPARATE_PASSAGE_GRADE", "AveragePrecision", "GradedPassages", "Precision"]

UMBRELA = "Upadhyay et al. 2024 (UMBRELA), arXiv 2406.06519"
OPEN_RAG_EVAL = "Open RAG Eval 0.3, UMBRELA metric"


SEPARATE_PASSAGE_GRADE = f"{PASSAGE_GRADE}, each passage alone"
"""The `about` of a stored judgement: the grade of a passage that was graded in its own call."""


@dataclass(frozen=True)
class GradedPassages(Need[PassageGrades]):
    """How relevant each passage is to the question, from 0 to 3. With `separately`, each is graded in its own call."""

    separately: bool = False

    def tasks(self) -> tuple[type[Task], ...]:
        return (GradePassages,)

    async def resolve(self, sample: Sample, ask: Ask) -> PassageGrades | Unscored:
        """Ask for the grades. Unscored if nothing was retrieved, or if a passage has no usable grade."""
        if missing := no_passages(sample):
            return missing
        texts = tuple(passage.text for passage in sample.contexts or ())
        groups = [(text,) for text in texts] if self.separately else [texts]
        tasks = [GradePassages(question=sample.question, passages=group, history=sample.history) for group in groups]
        grades: list[int] = []
        reasons: list[str] = []
        for reply in await asyncio.gather(*map(ask, tasks)):
            if isinstance(reply, Unscored):
                return reply
            grades += reply.grades
            reasons += reply.reasons
        return PassageGrades(grades=tuple(grades), reasons=tuple(reasons))

    def rows(self, result: PassageGrades, /) -> Iterable[Row]:
        about = SEPARATE_PASSAGE_GRADE if self.separately else PASSAGE_GRADE
        for rank, (grade, reason) in enumerate(zip(result.grades, result.reasons, strict=True), 1):
            yield judgement_row(about, rank, str(grade), float(grade), reason)


@dataclass(frozen=True)
class _GradedMetric(Metric):
    """Base class of metrics of the graded list. `k` is the cutoff rank, None for no cutoff."""

    source: ClassVar[str] = "umbrela"
    category: ClassVar[Category] = "focus"
    source_label: ClassVar[str] = "UMBRELA"
    requires: ClassVar[tuple[Column, ...]] = ("contexts",)
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"
    calls: ClassVar[str] = "1 to grade all passages; with compat, 1 for each passage"
    more_passages: ClassVar[MorePassages] = "falls"  # the score tends to fall if more passages are retrieved

    k: int | None = None
    compat: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for a k below 1."""
        if self.k is not None and self.k < 1:
            raise ValueError(f"k, the cutoff rank, must be at least 1, got {self.k}")

    def needs(self) -> tuple[Need[Any], ...]:
        """Return the grades of the passages."""
        return (self._need(),)

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        return self.score_grades(results.value(self._need()).grades)

    def _need(self) -> GradedPassages:
        return GradedPassages(separately=self.compat)

    @abstractmethod
    def score_grades(self, grades: Sequence[int]) -> Outcome:
        """Compute the score from the grades in order of rank; there is at least one."""


@dataclass(frozen=True)
class NDCG(_GradedMetric):
    """Normalized discounted cumulative gain of the grades: whether passages with higher grades are ranked first.

    The gain of a passage is its grade or, with `gain=exponential`, 2^grade - 1. The discount is log2(rank + 1). The
    score is relative to the best order of the retrieved passages. So 1 means that their order is the best, not that all
    relevant passages were found. Undefined if all grades are 0. With `compat`, each passage is graded in a separate
    call, as in UMBRELA, and the score is 0 if all grades are 0, as in trec_eval.
    """

    name: ClassVar[str] = "ndcg"
    title: ClassVar[str] = "Graded nDCG"
    formula: ClassVar[str] = "DCG of the top k / DCG of the top k in the best order; DCG = sum of gain / log2(rank + 1)"
    paper: ClassVar[str] = f"{UMBRELA}; nDCG: Järvelin and Kekäläinen 2002, as in trec_eval"

    gain: Literal["linear", "exponential"] = "linear"

    def score_grades(self, grades: Sequence[int]) -> Outcome:
        """DCG / DCG of the best order."""
        cutoff = len(grades) if self.k is None else self.k
        best = self._dcg(sorted(grades, reverse=True)[:cutoff])
        if not best and not self.compat:
            return Unscored(reason="undefined", detail="all passages have grade 0, so no order is better than another")
        value = self._dcg(grades[:cutoff]) / best if best else 0.0
        return Score(value=value, counted=_in_words(grades[:cutoff]))

    def _dcg(self, grades: Sequence[int]) -> float:
        gains = grades if self.gain == "linear" else [2**grade - 1 for grade in grades]
        return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


@dataclass(frozen=True)
class _ThresholdMetric(_GradedMetric):
    """Base class of metrics for which a passage is relevant if its grade is `at_least` or higher."""

    paper: ClassVar[str] = f"{UMBRELA}; {OPEN_RAG_EVAL}"

    at_least: int = RELEVANT_GRADE

    def __post_init__(self) -> None:
        """Raise ValueError for a k below 1, and for a grade that is not 1 to 3."""
        super().__post_init__()
        if not 1 <= self.at_least <= BEST_GRADE:
            raise ValueError(
                f"at_least, the lowest grade of a relevant passage, must be 1, 2 or 3, got {self.at_least}"
            )

    def score_grades(self, grades: Sequence[int]) -> Outcome:
        """Score the top k. With `compat`, undefined if fewer than k passages were retrieved."""
        cutoff = len(grades) if self.k is None else self.k
        if self.compat and len(grades) < cutoff:
            return Unscored(reason="undefined", detail=f"only {len(grades)} of k = {cutoff} passages were retrieved")
        return self.score_relevance(tuple(grade >= self.at_least for grade in grades[:cutoff]), cutoff)

    @abstractmethod
    def score_relevance(self, relevant: tuple[bool, ...], cutoff: int) -> Outcome:
        """Compute the score. `relevant` says of each passage up to rank `cutoff` whether it is relevant."""


@dataclass(frozen=True)
class Precision(_ThresholdMetric):
    """The share of the retrieved passages that are relevant: their grade is at least 2 (setting `at_least`).

    With `k`, the divisor is k, even if fewer passages were retrieved. With `compat`, each passage is graded in a
    separate call, as in UMBRELA, and the score is undefined if fewer than `k` were retrieved, as in Open RAG Eval.
    """

    name: ClassVar[str] = "precision"
    title: ClassVar[str] = "Graded precision"
    formula: ClassVar[str] = "(passages in the top k with grade >= 2) / k (without k: all retrieved)"

    def score_relevance(self, relevant: tuple[bool, ...], cutoff: int) -> Outcome:
        """Relevant passages / cutoff."""
        return Score(value=sum(relevant) / cutoff, counted=f"{sum(relevant)} in the top {cutoff}")


@dataclass(frozen=True)
class AveragePrecision(_ThresholdMetric):
    """Whether relevant passages are ranked first: the mean precision at their ranks.

    A passage is relevant if its grade is at least 2 (setting `at_least`). The divisor is the number of relevant
    passages in the list, because relevant passages that were not retrieved are unknown. The score is 0 if no passage is
    relevant. With `compat`, each passage is graded in a separate call, as in UMBRELA, and the score is undefined if
    fewer than `k` were retrieved, as in Open RAG Eval.
    """

    name: ClassVar[str] = "average_precision"
    title: ClassVar[str] = "Graded average precision"
    formula: ClassVar[str] = "(sum of precision@i over ranks i in the top k with grade >= 2) / number of these ranks"

    def score_relevance(self, relevant: tuple[bool, ...], cutoff: int) -> Outcome:
        """Mean of the precision at the rank of each relevant passage."""
        ranks = ", ".join(str(rank) for rank, yes in enumerate(relevant, 1) if yes)
        counted = f"relevant at rank {ranks} of {len(relevant)}" if ranks else f"none of {len(relevant)} relevant"
        return Score(value=average_precision(relevant), counted=counted)


def _in_words(grades: Sequence[int]) -> str:
    return f"grades {', '.join(map(str, grades))}"
