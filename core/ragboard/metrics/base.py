"""What a metric is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from ragboard.errors import SettingError
from ragboard.metrics.needs import Findings, Need
from ragboard.records import Outcome, Sample, Score, Unscored

__all__ = ["Column", "Direction", "Metric", "outcome"]

Column = Literal["answer", "contexts", "reference", "reference_contexts"]
Direction = Literal["higher", "lower", "neutral"]

ROUNDING = 1e-9
"""How far a sum of floats may lie beside its bounds."""


@dataclass(frozen=True)
class Metric(ABC):
    """A way to count. Its fields are its settings; its docstring is what people read about it.

    Its identity is source, name and the settings that differ from their defaults, for the same word
    means different things in different systems.
    """

    source: ClassVar[str]
    """Whose definition: `ragas`."""
    name: ClassVar[str]
    title: ClassVar[str]
    """How pages call it: `Faithfulness`."""
    formula: ClassVar[str]
    paper: ClassVar[str]
    """Where the definition stands: paper, section."""
    requires: ClassVar[tuple[Column, ...]]
    """Columns a sample must have, besides the question."""
    range: ClassVar[tuple[float, float]]
    direction: ClassVar[Direction]
    """Which way is better; neutral where that depends on what one wants."""
    calls: ClassVar[str]
    """What it asks a judge, in words."""

    @property
    def spec(self) -> str:
        """The identity as one string: `ragas.answer_relevance`, `ragas.answer_relevance(n=5)`."""
        settings = ",".join(self._changed())
        return f"{self.source}.{self.name}" + (f"({settings})" if settings else "")

    @property
    def label(self) -> str:
        """The title with the settings that differ from their defaults: `Recall (k=5)`."""
        settings = ", ".join(self._changed())
        return f"{self.title} ({settings})" if settings else self.title

    def _changed(self) -> list[str]:
        return [
            f"{field.name}={getattr(self, field.name)}"
            for field in fields(self)
            if getattr(self, field.name) != field.default
        ]

    @abstractmethod
    def needs(self) -> tuple[Need[Any], ...]:
        """What must be known of a sample first."""

    @abstractmethod
    def score(self, sample: Sample, findings: Findings) -> Outcome:
        """Count. Called only when every required column is there and every need was met."""


def outcome(metric: Metric, sample: Sample, findings: Findings) -> Outcome:
    """The metric's score of a sample, or why there is none.

    Raises SettingError where the metric's own code gives a number outside its range.
    """
    for column in metric.requires:
        if getattr(sample, column) is None:
            return Unscored(reason="skipped", detail=f"the run file has no {column} for this sample")
    for need in metric.needs():
        missing = findings.missing(need)
        if missing is not None:
            return missing
    return _in_range(metric, sample, metric.score(sample, findings))


def _in_range(metric: Metric, sample: Sample, found: Outcome) -> Outcome:
    low, high = metric.range
    if isinstance(found, Score) and not low - ROUNDING <= found.value <= high + ROUNDING:
        raise SettingError(f"{metric.spec} gives {found.value} for sample {sample.id!r}; its range is {low} to {high}")
    return found
