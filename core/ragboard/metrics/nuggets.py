"""Nugget scores: the share of a question's nuggets that the answer states (AutoNuggetizer, arXiv 2411.09607).

The nuggets belong to the question. They are in the run file's column `nuggets`, or were written and approved with
`ragboard nuggets` or on the page Datasets. The judge decides for each nugget whether the answer states it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeAlias

from ragboard.metrics.base import Ask, Category, Column, Direction, Metric, Need, NeedResults, Row, no_column
from ragboard.records import Importance, NuggetLabel, Outcome, Sample, Score, Unscored
from ragboard.tasks import AssignNuggets, Task

__all__ = [
    "All",
    "AllStrict",
    "AssignedLabel",
    "AssignedNugget",
    "NuggetAssignments",
    "NuggetMetric",
    "Vital",
    "VitalStrict",
    "Weighted",
    "WeightedStrict",
]

NUGGETS_PER_CALL = 10
"""Maximum number of nuggets in one call with `compat=True`, as in AutoNuggetizer."""

AssignedLabel: TypeAlias = NuggetLabel | Literal["failed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class AssignedNugget:
    """A nugget, and whether the answer states it."""

    text: str
    importance: Importance | None
    label: AssignedLabel
    """`failed` means that the judge gave no usable reply; it occurs only with `compat=True`."""
    reason: str = ""


@dataclass(frozen=True)
class NuggetAssignments(Need[tuple[AssignedNugget, ...]]):
    """Whether the answer states each nugget of the question."""

    compat: bool = False
    """Whether to ask about at most ten nuggets per call, and to count nuggets without a usable reply as missing."""

    def tasks(self) -> tuple[type[Task], ...]:
        return (AssignNuggets,)

    async def resolve(self, sample: Sample, ask: Ask) -> tuple[AssignedNugget, ...] | Unscored:
        if sample.answer is None:
            return no_column("answer")
        if sample.nuggets is None:
            return no_column("nuggets")
        nuggets = sample.nuggets
        texts = tuple(nugget.text for nugget in nuggets)
        task = AssignNuggets(question=sample.question, answer=sample.answer, nuggets=texts, history=sample.history)
        size = NUGGETS_PER_CALL if self.compat else max(len(texts), 1)
        parts = [replace(task, nuggets=texts[start : start + size]) for start in range(0, len(texts), size)]
        assigned: list[tuple[AssignedLabel, str]] = []
        for part, reply in zip(parts, await asyncio.gather(*map(ask, parts)), strict=True):
            if isinstance(reply, Unscored):
                if reply.reason != "failed" or not self.compat:
                    return reply
                assigned.extend(("failed", reply.detail) for _ in part.nuggets)
            else:
                assigned.extend(zip(reply.labels, reply.reasons, strict=True))
        return tuple(
            AssignedNugget(text=nugget.text, importance=nugget.importance, label=label, reason=reason)
            for nugget, (label, reason) in zip(nuggets, assigned, strict=True)
        )

    def rows(self, result: tuple[AssignedNugget, ...], /) -> Iterable[Row]:
        for number, nugget in enumerate(result):
            yield "assignments", (number, nugget.text, nugget.importance, nugget.label, nugget.reason, self.compat)


VALUES: dict[str, float] = {"support": 1.0, "partial_support": 0.5}
WEIGHTS: dict[Importance, float] = {"vital": 1.0, "okay": 0.5}


@dataclass(frozen=True)
class NuggetMetric(Metric):
    """Base class of the nugget scores."""

    source: ClassVar[str] = "nuggets"
    paper: ClassVar[str] = "Pradeep et al. 2024 (AutoNuggetizer), arXiv 2411.09607, section 3.5"
    category: ClassVar[Category] = "correctness"
    source_label: ClassVar[str] = "TREC RAG nuggets"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "nuggets")
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"
    calls: ClassVar[str] = "1 for all nuggets of the question; with compat=True, 1 for every ten nuggets"
    strict: ClassVar[bool] = False
    """Whether a nugget that the answer states only in part counts as missing."""
    noun: ClassVar[str] = "nugget"

    compat: bool = False

    def needs(self) -> tuple[Need[Any], ...]:
        return (NuggetAssignments(self.compat),)

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        assigned: tuple[AssignedNugget, ...] = results.value(NuggetAssignments(self.compat))
        weighted = self.weighted(assigned)
        if not weighted:
            if self.compat:
                return Score(value=0.0, counted=f"no {self.noun}")
            return Unscored(reason="undefined", detail=f"the question has no {self.noun}")
        divisor = self.divisor([weight for _, weight in weighted])
        value = sum(weight * self._value(nugget.label) for nugget, weight in weighted) / divisor
        stated = sum(nugget.label == "support" for nugget, _ in weighted)
        partly = sum(nugget.label == "partial_support" for nugget, _ in weighted)
        counted = f"{stated} of {len(weighted)} {self.noun}{'' if len(weighted) == 1 else 's'}" + (
            f", {partly} in part" if partly else ""
        )
        return Score(value=value, counted=counted)

    def weighted(self, assigned: Sequence[AssignedNugget]) -> list[tuple[AssignedNugget, float]]:
        """Return the nuggets that count, with their weights."""
        return [(nugget, 1.0) for nugget in assigned]

    def divisor(self, weights: Sequence[float]) -> float:
        """Return the number by which the weighted sum is divided."""
        return sum(weights)

    def _value(self, label: str) -> float:
        return float(label == "support") if self.strict else VALUES.get(label, 0.0)


@dataclass(frozen=True)
class All(NuggetMetric):
    """The share of the question's nuggets that the answer states. A nugget that it states in part counts half."""

    name: ClassVar[str] = "all"
    title: ClassVar[str] = "Nuggets"
    formula: ClassVar[str] = "(stated + 0.5 stated in part) / nuggets"


@dataclass(frozen=True)
class AllStrict(NuggetMetric):
    """The share of the question's nuggets that the answer states completely."""

    name: ClassVar[str] = "all_strict"
    title: ClassVar[str] = "Nuggets (strict)"
    formula: ClassVar[str] = "stated / nuggets"
    strict: ClassVar[bool] = True


class _VitalOnly(NuggetMetric):
    noun: ClassVar[str] = "vital nugget"

    def weighted(self, assigned: Sequence[AssignedNugget]) -> list[tuple[AssignedNugget, float]]:
        return [(nugget, 1.0) for nugget in assigned if nugget.importance == "vital"]


@dataclass(frozen=True)
class Vital(_VitalOnly):
    """The share of the question's vital nuggets that the answer states. A nugget that it states in part counts half."""

    name: ClassVar[str] = "vital"
    title: ClassVar[str] = "Vital nuggets"
    formula: ClassVar[str] = "(stated + 0.5 stated in part) / vital nuggets"


@dataclass(frozen=True)
class VitalStrict(_VitalOnly):
    """The share of the question's vital nuggets that the answer states completely: the main score of TREC RAG 2024."""

    name: ClassVar[str] = "vital_strict"
    title: ClassVar[str] = "Vital nuggets (strict)"
    formula: ClassVar[str] = "stated / vital nuggets"
    strict: ClassVar[bool] = True


class _ByImportance(NuggetMetric):
    def weighted(self, assigned: Sequence[AssignedNugget]) -> list[tuple[AssignedNugget, float]]:
        return [(nugget, WEIGHTS[nugget.importance]) for nugget in assigned if nugget.importance]

    def divisor(self, weights: Sequence[float]) -> float:
        """Return the sum of the weights. With `compat`, add the weight of each importance that no nugget has.

        This is as in Open RAG Eval.
        """
        absent = [weight for weight in WEIGHTS.values() if weight not in weights]
        return sum(weights) + (sum(absent) if self.compat else 0.0)


@dataclass(frozen=True)
class Weighted(_ByImportance):
    """The share of the question's nuggets that the answer states; vital nuggets weigh 1, okay nuggets 0.5.

    A nugget that the answer states in part counts half.
    """

    name: ClassVar[str] = "weighted"
    title: ClassVar[str] = "Nuggets (weighted)"
    formula: ClassVar[str] = "sum of weight * (1 stated, 0.5 in part) / sum of weights; vital 1, okay 0.5"


@dataclass(frozen=True)
class WeightedStrict(_ByImportance):
    """The share of the question's nuggets that the answer states completely; vital nuggets weigh 1, okay ones 0.5."""

    name: ClassVar[str] = "weighted_strict"
    title: ClassVar[str] = "Nuggets (weighted and strict)"
    formula: ClassVar[str] = "sum of weight of stated nuggets / sum of weights; vital 1, okay 0.5"
    strict: ClassVar[bool] = True
