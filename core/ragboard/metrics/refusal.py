"""The refusal rate: whether each answer refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ragboard.metrics.base import Category, Column, Direction, Metric, Need, NeedResults
from ragboard.metrics.statements import ExtractedStatements, Statements
from ragboard.records import Outcome, Sample, Score, Unscored

__all__ = ["Refusal", "refuses_in_full"]

UNKNOWN = Unscored(reason="skipped", detail="the run file's claims do not say whether the answer refuses")


def refuses_in_full(extracted: ExtractedStatements) -> bool | Unscored:
    """Return whether the text refuses and states nothing, or an Unscored if that is unknown."""
    if extracted.statements:
        return False
    return UNKNOWN if extracted.refuses is None else extracted.refuses


@dataclass(frozen=True)
class Refusal(Metric):
    """1 if the answer refuses to answer, completely or in part, else 0; the mean is the refusal rate.

    A refusal is good if the passages do not contain the answer, and bad if they do. Undefined for an empty answer.
    """

    source: ClassVar[str] = "ragboard"
    name: ClassVar[str] = "refusal"
    title: ClassVar[str] = "Refusal"
    formula: ClassVar[str] = "1 if the answer refuses to answer, else 0"
    paper: ClassVar[str] = "ragboard"
    category: ClassVar[Category] = "relevance"
    source_label: ClassVar[str] = "ragboard"
    requires: ClassVar[tuple[Column, ...]] = ("answer",)
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "neutral"
    calls: ClassVar[str] = "1 to extract statements, which says whether the answer refuses"

    def needs(self) -> tuple[Need[Any], ...]:
        """Return the answer's statements; their extraction also says whether the answer refuses."""
        return (Statements(),)

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        extracted = results.value(Statements())
        if not (sample.answer or "").strip():
            return Unscored(reason="undefined", detail="the answer is empty")
        if extracted.refuses is None:
            return UNKNOWN
        counted = "the answer refuses" if extracted.refuses else "the answer does not refuse"
        if extracted.refuses and extracted.statements:
            counted = "the answer refuses in part"
        return Score(value=float(extracted.refuses), counted=counted)
