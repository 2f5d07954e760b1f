"""RAGChecker's eleven metrics (Ru et al. 2024, arXiv 2408.08067), in its three groups.

All are computed from four tables of verdicts: the claims of the answer and of the reference, each checked against the
other text and against each passage separately. Only the verdict *supported* counts as entailed.

With `compat=True`, undefined scores are 0, as in RAGChecker. If nothing was retrieved, hallucination and self-knowledge
are then 0 too, although every claim is one or the other.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ragboard.metrics.base import Category, Column, Direction, Metric, Need, NeedResults
from ragboard.metrics.claim_classes import ClaimClass, classify_claims, relevant_passages
from ragboard.metrics.ragas import no_statements
from ragboard.metrics.statements import SeparateVerdicts, VerdictTable
from ragboard.records import MorePassages, Outcome, Sample, Score, Unscored

__all__ = [
    "F1",
    "ClaimRecall",
    "ContextPrecision",
    "ContextUtilization",
    "Faithfulness",
    "Hallucination",
    "NoiseSensitivityInIrrelevant",
    "NoiseSensitivityInRelevant",
    "Precision",
    "Recall",
    "SelfKnowledge",
    "claim_classes",
    "claim_classes_if_resolved",
    "f_score",
    "no_claims",
    "noise_score",
    "share_score",
]

ANSWER_AGAINST_REFERENCE = SeparateVerdicts("response", "reference")
REFERENCE_AGAINST_ANSWER = SeparateVerdicts("reference", "response")
ANSWER_AGAINST_PASSAGES = SeparateVerdicts("response", "passages")
REFERENCE_AGAINST_PASSAGES = SeparateVerdicts("reference", "passages")

NOTHING_RETRIEVED = Unscored(reason="undefined", detail="no passage was retrieved")
REFERENCE_CLAIMS = "claims of the reference"
EXTRACT_BOTH = "1 to extract the claims of each text"


@dataclass(frozen=True)
class RagcheckerMetric(Metric):
    """Base class of RAGChecker's metrics."""

    source: ClassVar[str] = "ragchecker"
    paper: ClassVar[str] = "Ru et al. 2024, arXiv 2408.08067, section 3"
    source_label: ClassVar[str] = "RAGChecker"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"
    group: ClassVar[Literal["overall", "retriever", "generator"]]
    reads: ClassVar[tuple[SeparateVerdicts, ...]]
    """The needs with the verdict tables that the metric is computed from."""

    compat: bool = False

    def needs(self) -> tuple[Need[Any], ...]:
        return self.reads

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        """Return the share; with `compat`, 0 if it is undefined or nothing was retrieved."""
        tables = [results.value(table) for table in self.reads]
        outcome = no_claims(sample, tables) or self.count(results)
        if self.compat and not all(table.targets for table in tables):
            outcome = NOTHING_RETRIEVED
        if self.compat and isinstance(outcome, Unscored):
            return Score(value=0.0, counted=f"0 by convention: {outcome.detail}")
        return outcome

    @abstractmethod
    def count(self, results: NeedResults) -> Outcome:
        """Compute the share, or return an Unscored with the reason. Every table has at least one claim."""


@dataclass(frozen=True)
class Precision(RagcheckerMetric):
    """The share of the answer's claims that the reference supports."""

    name: ClassVar[str] = "precision"
    title: ClassVar[str] = "Answer precision"
    category: ClassVar[Category] = "correctness"
    formula: ClassVar[str] = "claims of the answer that the reference supports / all claims of the answer"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "reference")
    calls: ClassVar[str] = "1 to extract the claims, 1 to verify them against the reference"
    group: ClassVar[Literal["overall", "retriever", "generator"]] = "overall"
    reads: ClassVar[tuple[SeparateVerdicts, ...]] = (ANSWER_AGAINST_REFERENCE,)

    def count(self, results: NeedResults) -> Outcome:
        """Claims that the reference supports / all claims."""
        return share_score([supported for (supported,) in results.value(ANSWER_AGAINST_REFERENCE).supported], "claims")


@dataclass(frozen=True)
class Recall(RagcheckerMetric):
    """The share of the reference's claims that the answer supports."""

    name: ClassVar[str] = "recall"
    title: ClassVar[str] = "Answer recall"
    category: ClassVar[Category] = "correctness"
    formula: ClassVar[str] = "claims of the reference that the answer supports / all claims of the reference"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "reference")
    calls: ClassVar[str] = "1 to extract the reference's claims, 1 to verify them against the answer"
    group: ClassVar[Literal["overall", "retriever", "generator"]] = "overall"
    reads: ClassVar[tuple[SeparateVerdicts, ...]] = (REFERENCE_AGAINST_ANSWER,)

    def count(self, results: NeedResults) -> Outcome:
        """Claims of the reference that the answer supports / all claims of the reference."""
        covered = [supported for (supported,) in results.value(REFERENCE_AGAINST_ANSWER).supported]
        return share_score(covered, f"{REFERENCE_CLAIMS} in the answer")


@dataclass(frozen=True)
class F1(RagcheckerMetric):
    """The harmonic mean of precision and recall; 0 if both are 0."""

    name: ClassVar[str] = "f1"
    title: ClassVar[str] = "Answer F1"
    category: ClassVar[Category] = "correctness"
    formula: ClassVar[str] = "2 PR / (P + R) of precision and recall"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "reference")
    calls: ClassVar[str] = f"{EXTRACT_BOTH}, 1 to verify them against the other text"
    group: ClassVar[Literal["overall", "retriever", "generator"]] = "overall"
    reads: ClassVar[tuple[SeparateVerdicts, ...]] = (ANSWER_AGAINST_REFERENCE, REFERENCE_AGAINST_ANSWER)

    def count(self, results: NeedResults) -> Outcome:
        """Return the harmonic mean of precision and recall; undefined if either is undefined."""
        return f_score(Precision().count(results), Recall().count(results), recall_suffix="")


@dataclass(frozen=True)
class ClaimRecall(RagcheckerMetric):
    """The share of the reference's claims that at least one passage supports."""

    name: ClassVar[str] = "claim_recall"
    title: ClassVar[str] = "Claim recall"
    category: ClassVar[Category] = "coverage"
    formula: ClassVar[str] = "claims of the reference that some passage supports / all claims of the reference"
    requires: ClassVar[tuple[Column, ...]] = ("contexts", "reference")
    calls: ClassVar[str] = "1 to extract the reference's claims, 1 to verify them against each passage"
    group: ClassVar[Literal["overall", "retriever", "generator"]] = "retriever"
    reads: ClassVar[tuple[SeparateVerdicts, ...]] = (REFERENCE_AGAINST_PASSAGES,)
    more_passages: ClassVar[MorePassages] = "rises"

    def count(self, results: NeedResults) -> Outcome:
        """Claims of the reference that some passage supports / all claims of the reference."""
        found = [any(row) for row in results.value(REFERENCE_AGAINST_PASSAGES).supported]
        return share_score(found, f"{REFERENCE_CLAIMS} in a single passage")


@dataclass(frozen=True)
class ContextPrecision(RagcheckerMetric):
    """The share of the passages that support at least one claim of the reference. Their order does not matter."""

    name: ClassVar[str] = "context_precision"
    title: ClassVar[str] = "Context precision"
    category: ClassVar[Category] = "focus"
    formula: ClassVar[str] = "passages that support some claim of the reference / all passages"
    requires: ClassVar[tuple[Column, ...]] = ("contexts", "reference")
    calls: ClassVar[str] = "1 to extract the reference's claims, 1 to verify them against each passage"
    group: ClassVar[Literal["overall", "retriever", "generator"]] = "retriever"
    reads: ClassVar[tuple[SeparateVerdicts, ...]] = (REFERENCE_AGAINST_PASSAGES,)
    more_passages: ClassVar[MorePassages] = "falls"

    def count(self, results: NeedResults) -> Outcome:
        """Relevant passages / all passages."""
        table = results.value(REFERENCE_AGAINST_PASSAGES)
        if not table.targets:
            return NOTHING_RETRIEVED
        return share_score(relevant_passages(table.supported, len(table.targets)), "passages")


@dataclass(frozen=True)
class ContextUtilization(RagcheckerMetric):
    """The share of the reference's retrieved claims that the answer supports.

    A claim is retrieved if at least one passage supports it.
    """

    name: ClassVar[str] = "context_utilization"
    title: ClassVar[str] = "Context utilization"
    category: ClassVar[Category] = "use"
    formula: ClassVar[str] = "retrieved claims of the reference that the answer supports / all retrieved ones"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "contexts", "reference")
    calls: ClassVar[str] = "1 to extract the reference's claims, 2 to verify them: against each passage and the answer"
    group: ClassVar[Literal["overall", "retriever", "generator"]] = "generator"
    reads: ClassVar[tuple[SeparateVerdicts, ...]] = (REFERENCE_AGAINST_PASSAGES, REFERENCE_AGAINST_ANSWER)

    def count(self, results: NeedResults) -> Outcome:
        """Retrieved claims that the answer supports / all retrieved claims of the reference."""
        retrieved = [any(row) for row in results.value(REFERENCE_AGAINST_PASSAGES).supported]
        covered = [supported for (supported,) in results.value(REFERENCE_AGAINST_ANSWER).supported]
        used = [is_covered for is_covered, is_retrieved in zip(covered, retrieved, strict=True) if is_retrieved]
        if not used:
            return Unscored(reason="undefined", detail="no single passage supports a claim of the reference")
        return share_score(used, f"retrieved {REFERENCE_CLAIMS}")


@dataclass(frozen=True)
class NoiseSensitivityInRelevant(RagcheckerMetric):
    """The share of the answer's claims that are wrong and that a relevant passage supports.

    A claim is wrong if the reference does not support it. A passage is relevant if it supports a claim of the
    reference.
    """

    name: ClassVar[str] = "noise_sensitivity_in_relevant"
    title: ClassVar[str] = "Noise sensitivity (relevant)"
    category: ClassVar[Category] = "use"
    formula: ClassVar[str] = "wrong claims that some relevant passage supports / all claims of the answer"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "contexts", "reference")
    direction: ClassVar[Direction] = "lower"
    calls: ClassVar[str] = (
        f"{EXTRACT_BOTH}, 3 to verify them: both against each passage, the answer's claims against the reference"
    )
    group: ClassVar[Literal["overall", "retriever", "generator"]] = "generator"
    reads: ClassVar[tuple[SeparateVerdicts, ...]] = (
        ANSWER_AGAINST_REFERENCE,
        ANSWER_AGAINST_PASSAGES,
        REFERENCE_AGAINST_PASSAGES,
    )

    def count(self, results: NeedResults) -> Outcome:
        """Wrong claims that a relevant passage supports / all claims."""
        return noise_score(results, "wrong_relevant")


@dataclass(frozen=True)
class NoiseSensitivityInIrrelevant(RagcheckerMetric):
    """The share of the answer's claims that are wrong and that only irrelevant passages support."""

    name: ClassVar[str] = "noise_sensitivity_in_irrelevant"
    title: ClassVar[str] = "Noise sensitivity (irrelevant)"
    category: ClassVar[Category] = "use"
    formula: ClassVar[str] = "wrong claims that only irrelevant passages support / all claims of the answer"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "contexts", "reference")
    direction: ClassVar[Direction] = "lower"
    calls: ClassVar[str] = NoiseSensitivityInRelevant.calls
    group: ClassVar[Literal["overall", "retriever", "generator"]] = "generator"
    reads: ClassVar[tuple[SeparateVerdicts, ...]] = (
        ANSWER_AGAINST_REFERENCE,
        ANSWER_AGAINST_PASSAGES,
        REFERENCE_AGAINST_PASSAGES,
    )

    def count(self, results: NeedResults) -> Outcome:
        """Wrong claims that only irrelevant passages support / all claims."""
        return noise_score(results, "wrong_irrelevant")


@dataclass(frozen=True)
class Hallucination(RagcheckerMetric):
    """The share of the answer's claims that are wrong and that no passage supports."""

    name: ClassVar[str] = "hallucination"
    title: ClassVar[str] = "Hallucination"
    category: ClassVar[Category] = "grounding"
    formula: ClassVar[str] = "claims that neither the reference nor a passage supports / all claims of the answer"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "contexts", "reference")
    direction: ClassVar[Direction] = "lower"
    calls: ClassVar[str] = "1 to extract the claims, 2 to verify them: against each passage and the reference"
    group: ClassVar[Literal["overall", "retriever", "generator"]] = "generator"
    reads: ClassVar[tuple[SeparateVerdicts, ...]] = (ANSWER_AGAINST_REFERENCE, ANSWER_AGAINST_PASSAGES)

    def count(self, results: NeedResults) -> Outcome:
        """Wrong claims that no passage supports / all claims."""
        return _unsupported_by_passages(results, right=False)


@dataclass(frozen=True)
class SelfKnowledge(RagcheckerMetric):
    """The share of the answer's claims that are right although no passage supports them.

    Whether this is good depends on the system. A system that must answer only from its passages should score 0.
    """

    name: ClassVar[str] = "self_knowledge"
    title: ClassVar[str] = "Self-knowledge"
    category: ClassVar[Category] = "use"
    formula: ClassVar[str] = "claims that the reference supports and no passage does / all claims of the answer"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "contexts", "reference")
    direction: ClassVar[Direction] = "neutral"
    calls: ClassVar[str] = Hallucination.calls
    group: ClassVar[Literal["overall", "retriever", "generator"]] = "generator"
    reads: ClassVar[tuple[SeparateVerdicts, ...]] = (ANSWER_AGAINST_REFERENCE, ANSWER_AGAINST_PASSAGES)

    def count(self, results: NeedResults) -> Outcome:
        """Right claims that no passage supports / all claims."""
        return _unsupported_by_passages(results, right=True)


@dataclass(frozen=True)
class Faithfulness(RagcheckerMetric):
    """The share of the answer's claims that at least one single passage supports.

    Unlike in `ragas.faithfulness`, a claim that only several passages together support does not count.
    """

    name: ClassVar[str] = "faithfulness"
    title: ClassVar[str] = "Faithfulness (single passages)"
    category: ClassVar[Category] = "grounding"
    formula: ClassVar[str] = "claims of the answer that some passage supports / all claims of the answer"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "contexts")
    calls: ClassVar[str] = "1 to extract the claims, 1 to verify them against each passage"
    group: ClassVar[Literal["overall", "retriever", "generator"]] = "generator"
    reads: ClassVar[tuple[SeparateVerdicts, ...]] = (ANSWER_AGAINST_PASSAGES,)

    def count(self, results: NeedResults) -> Outcome:
        """Claims that some passage supports / all claims."""
        return share_score([any(row) for row in results.value(ANSWER_AGAINST_PASSAGES).supported], "claims")


def claim_classes(results: NeedResults) -> tuple[ClaimClass, ...]:
    """Return the class of each claim of the answer, from the tables that noise sensitivity reads."""
    sources, reference = results.value(ANSWER_AGAINST_PASSAGES), results.value(REFERENCE_AGAINST_PASSAGES)
    right = [supported for (supported,) in results.value(ANSWER_AGAINST_REFERENCE).supported]
    return classify_claims(right, sources.supported, relevant_passages(reference.supported, len(sources.targets)))


def claim_classes_if_resolved(results: NeedResults) -> tuple[ClaimClass, ...]:
    """Return the class of each claim of the answer; empty if a table is missing or the reference has no claims."""
    resolved: set[object] = set(results.by_need)
    tables = (ANSWER_AGAINST_REFERENCE, ANSWER_AGAINST_PASSAGES, REFERENCE_AGAINST_PASSAGES)
    if any(table not in resolved or results.missing(table) for table in tables):
        return ()
    return claim_classes(results) if results.value(REFERENCE_AGAINST_PASSAGES).rows else ()


def noise_score(results: NeedResults, kind: Literal["wrong_relevant", "wrong_irrelevant"]) -> Outcome:
    """Return the share of the answer's claims that are in this class."""
    return share_score([claim_class == kind for claim_class in claim_classes(results)], "claims")


def no_claims(sample: Sample, tables: Sequence[VerdictTable]) -> Unscored | None:
    """Return an Unscored if a table has no claims, else None."""
    for table in tables:
        if table.side == "response" and not table.rows:
            return no_statements(sample, refuses=table.refuses)
    if not all(table.rows for table in tables):
        return Unscored(reason="undefined", detail="the reference has no claim")
    return None


def f_score(precision: Outcome, recall: Outcome, *, recall_suffix: str = " covered") -> Outcome:
    """Return the harmonic mean of two shares; undefined if either is undefined, 0 if both are 0.

    In the text that shows the counts, `recall_suffix` follows the recall.
    """
    if isinstance(precision, Unscored):
        return precision
    if isinstance(recall, Unscored):
        return recall
    total = precision.value + recall.value
    value = 2 * precision.value * recall.value / total if total else 0.0
    return Score(value=value, counted=f"{precision.counted} right, {recall.counted}{recall_suffix}")


def share_score(hits: Sequence[bool], noun: str) -> Score:
    """Return the share of True values as a score. `noun` names what is counted, in the plural."""
    return Score(value=sum(hits) / len(hits), counted=f"{sum(hits)} of {len(hits)} {noun}")


def _unsupported_by_passages(results: NeedResults, *, right: bool) -> Outcome:
    correct = [supported for (supported,) in results.value(ANSWER_AGAINST_REFERENCE).supported]
    unsupported = [not any(row) for row in results.value(ANSWER_AGAINST_PASSAGES).supported]
    hits = [no_source and is_correct == right for no_source, is_correct in zip(unsupported, correct, strict=True)]
    where = "in the reference but in no single passage" if right else "neither in the reference nor in a single passage"
    return share_score(hits, f"claims {where}")
