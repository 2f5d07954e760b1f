"""Truthfulness as in CRAG: a correct answer counts 1, a missing answer 0, a wrong answer -1."""

from __future__ import annotations

from collections.abc import Iterable
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
    no_column,
)
from ragboard.metrics.refusal import refuses_in_full
from ragboard.metrics.statements import Statements
from ragboard.records import Outcome, Sample, Score, Unscored
from ragboard.tasks import ExtractStatements, MatchReference, Task

__all__ = ["AnswerCheck", "CheckedAnswer", "Truthfulness"]

Truth = Literal["correct", "missing", "wrong"]

VALUES: dict[Truth, float] = {"correct": 1.0, "missing": 0.0, "wrong": -1.0}

I_DO_NOT_KNOW = "i don't know"
"""In CRAG's code, an answer that contains this is missing. Case does not matter."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedAnswer:
    """Whether an answer is correct, missing or wrong, with the reason."""

    truth: Truth
    reason: str


@dataclass(frozen=True)
class AnswerCheck(Need[CheckedAnswer]):
    """Whether the answer is correct, missing or wrong, given the reference. Clear cases are decided without a judge.

    With `compat`, these are the cases of CRAG's code: an answer that contains "i don't know" is missing. If both answer
    and reference contain "invalid", the answer is correct; if only one of them does, it is wrong.
    """

    compat: bool = False

    def tasks(self) -> tuple[type[Task], ...]:
        return (MatchReference,) if self.compat else (ExtractStatements, MatchReference)

    async def resolve(self, sample: Sample, ask: Ask) -> CheckedAnswer | Unscored:
        if sample.answer is None:
            return no_column("answer")
        if sample.reference is None:
            return no_column("reference")
        if not sample.reference.strip():
            return Unscored(reason="undefined", detail="the reference is empty")
        decided = self._decide_by_words(sample.answer.strip().casefold(), sample.reference.strip().casefold())
        if decided:
            return decided
        if not self.compat:
            extracted = await ask.resolve(Statements())
            refuses = extracted if isinstance(extracted, Unscored) else refuses_in_full(extracted)
            if isinstance(refuses, Unscored):
                return refuses
            if refuses:
                return CheckedAnswer(truth="missing", reason="the answer refuses")
        task = MatchReference(
            question=sample.question, reference=sample.reference, answer=sample.answer, history=sample.history
        )
        reply = await ask(task)
        if isinstance(reply, Unscored):
            return reply
        return CheckedAnswer(truth="correct" if reply.matches else "wrong", reason=reply.reason)

    def _decide_by_words(self, answer: str, reference: str) -> CheckedAnswer | None:
        """Decide without a judge, from the two texts in lower case. Return None if a judge must be asked."""
        if not answer and not self.compat:
            return CheckedAnswer(truth="missing", reason="the answer is empty")
        if self.compat and I_DO_NOT_KNOW in answer:
            return CheckedAnswer(truth="missing", reason=f'the answer contains "{I_DO_NOT_KNOW}"')
        if answer == reference:
            return CheckedAnswer(truth="correct", reason="the answer equals the reference")
        invalid = [name for name, text in (("answer", answer), ("reference", reference)) if "invalid" in text]
        if self.compat and invalid:
            truth: Truth = "correct" if len(invalid) == 2 else "wrong"
            return CheckedAnswer(truth=truth, reason=f'"invalid" is in the {" and the ".join(invalid)}')
        return None

    def rows(self, result: CheckedAnswer, /) -> Iterable[Row]:
        about = f"agreement with the reference{', as in CRAG' if self.compat else ''}"
        yield judgement_row(about, 1, result.truth, VALUES[result.truth], result.reason)


@dataclass(frozen=True)
class Truthfulness(Metric):
    """1 for a correct answer, 0 for a missing answer, -1 for a wrong answer.

    The mean over a run is the share of correct answers minus the share of wrong ones. An answer that refuses and states
    nothing is missing. An answer that equals the reference is correct. For other answers, a judge decides whether they
    agree with the reference. With `compat`, an answer is missing if it contains "i don't know".
    """

    source: ClassVar[str] = "crag"
    name: ClassVar[str] = "truthfulness"
    title: ClassVar[str] = "Truthfulness"
    formula: ClassVar[str] = "1 correct, 0 missing, -1 wrong; mean = (2 correct + missing) / n - 1"
    paper: ClassVar[str] = "Yang et al. 2024 (CRAG), arXiv 2406.04744; facebookresearch/CRAG, local_evaluation.py"
    category: ClassVar[Category] = "correctness"
    source_label: ClassVar[str] = "CRAG"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "reference")
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    direction: ClassVar[Direction] = "higher"
    calls: ClassVar[str] = "1 to extract statements, which says whether the answer refuses, 1 to match the reference"

    compat: bool = False

    def needs(self) -> tuple[Need[Any], ...]:
        return (AnswerCheck(self.compat),)

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        result = results.value(AnswerCheck(self.compat))
        return Score(
            value=VALUES[result.truth], counted=f"{result.truth}: {result.reason}" if result.reason else result.truth
        )
