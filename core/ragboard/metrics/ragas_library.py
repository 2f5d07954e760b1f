"""Metrics of the ragas library that are not in the RAGAS paper, computed from verdicts on statements.

With `compat=True`, small constants and rounding are as in the library.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ragboard.metrics.base import Ask, Category, Column, Direction, Metric, Need, NeedResults, no_column
from ragboard.metrics.ragchecker import (
    ANSWER_AGAINST_PASSAGES,
    ANSWER_AGAINST_REFERENCE,
    REFERENCE_AGAINST_ANSWER,
    REFERENCE_AGAINST_PASSAGES,
    no_claims,
    noise_score,
    share_score,
)
from ragboard.metrics.statements import JointVerdicts, SeparateVerdicts, VerdictTable
from ragboard.records import MorePassages, Outcome, Sample, Score, Unscored
from ragboard.tasks import Similarity, Task

__all__ = [
    "AnswerCorrectness",
    "AnswerSimilarity",
    "ContextRecall",
    "FactualCorrectness",
    "NoiseSensitivity",
    "ReferenceSimilarity",
]

LIBRARY = "ragas library 0.4"
TINY = 1e-8
NO_STATEMENT = "the reference has no statement"


@dataclass(frozen=True)
class ReferenceSimilarity(Need[float]):
    """The cosine of answer and reference, in [-1, 1]. Unscored if either is empty."""

    def tasks(self) -> tuple[type[Task], ...]:
        return (Similarity,)

    async def resolve(self, sample: Sample, ask: Ask) -> float | Unscored:
        for column, text in (("answer", sample.answer), ("reference", sample.reference)):
            if text is None:
                return no_column(column)
            if not text.strip():
                return Unscored(reason="undefined", detail=f"the {column} is empty")
        reply = await ask(Similarity(text=sample.answer or "", others=(sample.reference or "",)))
        return reply if isinstance(reply, Unscored) else reply.values[0]


@dataclass(frozen=True)
class ContextRecall(Metric):
    """The share of the reference's statements that the passages together support."""

    source: ClassVar[str] = "ragas"
    name: ClassVar[str] = "context_recall"
    title: ClassVar[str] = "Context recall"
    formula: ClassVar[str] = "statements of the reference that the passages support / all of them"
    paper: ClassVar[str] = LIBRARY
    category: ClassVar[Category] = "coverage"
    source_label: ClassVar[str] = "ragas library"
    requires: ClassVar[tuple[Column, ...]] = ("contexts", "reference")
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"
    calls: ClassVar[str] = "1 to extract the reference's statements, 1 to verify them all"
    more_passages: ClassVar[MorePassages] = "rises"

    def needs(self) -> tuple[Need[Any], ...]:
        """Return the joint verdicts on the statements of the reference."""
        return (JointVerdicts("reference"),)

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        judged = results.value(JointVerdicts("reference"))
        if not judged.verdicts:
            empty = not (sample.reference or "").strip()
            return Unscored(reason="undefined", detail="the reference is empty" if empty else NO_STATEMENT)
        return share_score([verdict.label == "supported" for verdict in judged.verdicts], "statements of the reference")


@dataclass(frozen=True)
class FactualCorrectness(Metric):
    """The agreement of the claims of answer and reference: precision, recall or their harmonic mean.

    A claim of the answer is right if the reference supports it, else wrong. A claim of the reference is missing if the
    answer does not support it. With `compat`, details are as in the ragas library: 1e-8 is added to the denominator of
    precision and recall, the score is rounded to two decimals, and it is 0 if there are no claims.
    """

    source: ClassVar[str] = "ragas"
    name: ClassVar[str] = "factual_correctness"
    title: ClassVar[str] = "Factual correctness"
    formula: ClassVar[str] = "P = right / (right + wrong), R = right / (right + missing), F1 = 2 PR / (P + R)"
    paper: ClassVar[str] = LIBRARY
    category: ClassVar[Category] = "correctness"
    source_label: ClassVar[str] = "ragas library"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "reference")
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"
    calls: ClassVar[str] = "1 to extract the claims of each text, 1 to verify them against the other text"

    mode: Literal["f1", "precision", "recall"] = "f1"
    compat: bool = False

    def needs(self) -> tuple[Need[Any], ...]:
        """Return the verdict tables that the mode uses: each text's claims against the other text."""
        return self._tables()

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        nothing = no_claims(sample, [results.value(table) for table in self._tables()])
        if nothing and not self.compat:
            return nothing
        return self._score(results)

    def _tables(self) -> tuple[SeparateVerdicts, ...]:
        return (
            (ANSWER_AGAINST_REFERENCE,)
            if self.mode == "precision"
            else (ANSWER_AGAINST_REFERENCE, REFERENCE_AGAINST_ANSWER)
        )

    def _score(self, results: NeedResults) -> Outcome:
        right, wrong = _count_supported(results.value(ANSWER_AGAINST_REFERENCE))
        missing = 0 if self.mode == "precision" else _count_supported(results.value(REFERENCE_AGAINST_ANSWER))[1]
        numerator, denominator = {
            "precision": (right, right + wrong),
            "recall": (right, right + missing),
            "f1": (2 * right, 2 * right + wrong + missing),
        }[self.mode]
        counted = f"{right} right, {wrong} wrong" + ("" if self.mode == "precision" else f", {missing} missing")
        if self.compat:
            tiny = 0.0 if self.mode == "f1" else TINY
            return Score(value=round(numerator / (denominator + tiny), 2) if denominator else 0.0, counted=counted)
        if not denominator:
            return Unscored(reason="undefined", detail="no claim is right and none is missing")
        return Score(value=numerator / denominator, counted=counted)


@dataclass(frozen=True)
class AnswerCorrectness(Metric):
    """The agreement of answer and reference: shared claims, and similarity in meaning.

    The weighted mean of the F1 of factual correctness and the cosine of answer and reference; `weight` is the weight of
    F1. With `compat`, an undefined F1 gets a value as in the ragas library: 1 if neither text has claims, else 0.
    """

    source: ClassVar[str] = "ragas"
    name: ClassVar[str] = "answer_correctness"
    title: ClassVar[str] = "Answer correctness"
    formula: ClassVar[str] = "w F1 + (1 - w) cos(e(answer), e(reference)), F1 = right / (right + (wrong + missing) / 2)"
    paper: ClassVar[str] = LIBRARY
    category: ClassVar[Category] = "correctness"
    source_label: ClassVar[str] = "ragas library"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "reference")
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    direction: ClassVar[Direction] = "higher"
    calls: ClassVar[str] = (
        "1 to extract the claims of each text, 1 to verify them against the other text, embeddings of 2 texts"
    )

    weight: float = 0.75
    compat: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for a weight outside 0 to 1."""
        if not 0 <= self.weight <= 1:
            raise ValueError(f"weight must be in [0, 1], got {self.weight}")

    def needs(self) -> tuple[Need[Any], ...]:
        """Return the verdict tables of each text's claims against the other text, and the cosine."""
        return (ANSWER_AGAINST_REFERENCE, REFERENCE_AGAINST_ANSWER, ReferenceSimilarity())

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        facts = self._factual_correctness(sample, results)
        if isinstance(facts, Unscored):
            return facts
        cosine = results.value(ReferenceSimilarity())
        counted = f"F1 {facts.value:.2f} ({facts.counted}), similarity {cosine:.2f}"
        return Score(value=self.weight * facts.value + (1 - self.weight) * cosine, counted=counted)

    def _factual_correctness(self, sample: Sample, results: NeedResults) -> Outcome:
        outcome = FactualCorrectness().score(sample, results)
        if isinstance(outcome, Score) or not self.compat:
            return outcome
        empty = not (results.value(ANSWER_AGAINST_REFERENCE).rows or results.value(REFERENCE_AGAINST_ANSWER).rows)
        return Score(value=float(empty), counted=f"{float(empty):g} by convention: {outcome.detail}")


@dataclass(frozen=True)
class NoiseSensitivity(Metric):
    """The share of the answer's claims that are wrong although passages support them.

    With `mode=relevant`, a relevant passage supports the claim; with `mode=irrelevant`, only irrelevant passages do.
    RAGChecker has the same two metrics.
    """

    source: ClassVar[str] = "ragas"
    name: ClassVar[str] = "noise_sensitivity"
    title: ClassVar[str] = "Noise sensitivity"
    formula: ClassVar[str] = "wrong claims that passages of that kind support / all claims of the answer"
    paper: ClassVar[str] = LIBRARY
    category: ClassVar[Category] = "use"
    source_label: ClassVar[str] = "ragas library"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "contexts", "reference")
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "lower"
    calls: ClassVar[str] = "1 to extract the claims of each text, 3 to verify them; shared with ragchecker"

    mode: Literal["relevant", "irrelevant"] = "relevant"

    def needs(self) -> tuple[Need[Any], ...]:
        """Return the verdict tables of the answer's claims against reference and passages, and of the reference's."""
        return (ANSWER_AGAINST_REFERENCE, ANSWER_AGAINST_PASSAGES, REFERENCE_AGAINST_PASSAGES)

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        tables = [
            results.value(table)
            for table in (ANSWER_AGAINST_REFERENCE, ANSWER_AGAINST_PASSAGES, REFERENCE_AGAINST_PASSAGES)
        ]
        nothing = no_claims(sample, tables)
        return nothing or noise_score(results, "wrong_relevant" if self.mode == "relevant" else "wrong_irrelevant")


@dataclass(frozen=True)
class AnswerSimilarity(Metric):
    """How similar answer and reference are in meaning: the cosine of their embeddings.

    Undefined if either is empty. It does not check facts: a sentence and its negation are similar.
    """

    source: ClassVar[str] = "ragas"
    name: ClassVar[str] = "answer_similarity"
    title: ClassVar[str] = "Answer similarity"
    formula: ClassVar[str] = "cos(e(answer), e(reference))"
    paper: ClassVar[str] = LIBRARY
    category: ClassVar[Category] = "correctness"
    source_label: ClassVar[str] = "ragas library"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "reference")
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    direction: ClassVar[Direction] = "higher"
    calls: ClassVar[str] = "embeddings of 2 texts"

    def needs(self) -> tuple[Need[Any], ...]:
        return (ReferenceSimilarity(),)

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        words = len((sample.answer or "").split())
        return Score(value=results.value(ReferenceSimilarity()), counted=f"answer of {words} words")


def _count_supported(table: VerdictTable) -> tuple[int, int]:
    """Return the number of claims that the table's only target supports, and the number of the others."""
    yes = sum(supported for (supported,) in table.supported)
    return yes, len(table.rows) - yes
