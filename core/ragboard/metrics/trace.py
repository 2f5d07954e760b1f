"""TRACe, the metrics of RAGBench: relevance of the passages, and how the answer uses and adheres to them.

They are computed from two results that other metrics use too: the sentences that help to answer the question, and the
joint verdicts on the statements of the answer, with quotes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ragboard.metrics.base import Ask, Category, Column, Direction, Metric, Need, NeedResults
from ragboard.metrics.ragas import no_statements
from ragboard.metrics.sentences import SelectedSentences, Sentence, no_sentences, sentences_of
from ragboard.metrics.statements import JointVerdicts, JudgedStatements
from ragboard.records import Evidence, MorePassages, Outcome, Sample, Score, Unscored
from ragboard.tasks import Task

__all__ = ["Adherence", "Completeness", "Relevance", "SentenceUse", "UsedSentences", "Utilization"]

PAPER = "Friel et al. 2024 (RAGBench), arXiv 2407.11005, section 3"
VERIFIES = "1 to extract statements, 1 to verify them all; shared with ragas.faithfulness"
SELECTS = "1 to select the sentences; shared with ragas.context_relevance"

NO_QUOTES = "the judge quotes no evidence, so the sentences that the answer uses are unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class SentenceUse:
    """All sentences of the passages, and the indices of the sentences that the answer uses."""

    sentences: tuple[Sentence, ...]
    used: tuple[int, ...]
    statements: int
    """Number of the answer's statements."""
    unquoted: int
    """Number of supported statements without a quote. Which sentences they use is unknown."""
    refuses: bool | None


@dataclass(frozen=True)
class UsedSentences(Need[SentenceUse]):
    """The sentences of the passages that the answer uses: the judge quotes from them as support."""

    def tasks(self) -> tuple[type[Task], ...]:
        return JointVerdicts().tasks()

    async def resolve(self, sample: Sample, ask: Ask) -> SentenceUse | Unscored:
        """Derive the used sentences from the joint verdicts. Fails if no supported statement has a quote."""
        judged = await ask.resolve(JointVerdicts())
        if isinstance(judged, Unscored):
            return judged
        quotes = _quotes(judged)
        if quotes and not any(quotes):
            return Unscored(reason="failed", detail=NO_QUOTES)
        sentences = tuple(sentence for sentence, _ in sentences_of(sample.contexts or ()))
        return SentenceUse(
            sentences=sentences,
            used=tuple(
                index
                for index, sentence in enumerate(sentences)
                if any(_overlaps(quote, sentence) for statement_quotes in quotes for quote in statement_quotes)
            ),
            statements=len(judged.statements),
            unquoted=sum(not statement_quotes for statement_quotes in quotes),
            refuses=judged.refuses,
        )


def _quotes(judged: JudgedStatements) -> list[tuple[Evidence, ...]]:
    """Return the quotes for each supported statement. A local model's window is the text it read, not a quote."""
    return [
        tuple(evidence for evidence in verdict.evidence if evidence.stance == "for" and evidence.how != "window")
        for verdict in judged.verdicts
        if verdict.label == "supported"
    ]


def _overlaps(quote: Evidence, sentence: Sentence) -> bool:
    return quote.rank == sentence.rank and quote.start < sentence.end and sentence.start < quote.end


@dataclass(frozen=True)
class _TraceMetric(Metric):
    """Base class of the four metrics."""

    source: ClassVar[str] = "trace"
    paper: ClassVar[str] = PAPER
    source_label: ClassVar[str] = "RAGBench (TRACe)"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "contexts")
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"


@dataclass(frozen=True)
class Relevance(_TraceMetric):
    """The share of the passages' sentences that help to answer the question.

    It equals `ragas.context_relevance`: 0 if no sentence helps, undefined if the passages contain no sentences.
    """

    name: ClassVar[str] = "relevance"
    title: ClassVar[str] = "TRACe relevance"
    formula: ClassVar[str] = "|R| / |T|: helpful sentences / all sentences of the passages"
    category: ClassVar[Category] = "focus"
    requires: ClassVar[tuple[Column, ...]] = ("contexts",)
    calls: ClassVar[str] = SELECTS
    more_passages: ClassVar[MorePassages] = "falls"

    def needs(self) -> tuple[Need[Any], ...]:
        """Return the sentences that help to answer the question."""
        return (SelectedSentences(),)

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        selection = results.value(SelectedSentences())
        return _share(selection.chosen, selection.sentences) if selection.sentences else no_sentences(sample)


@dataclass(frozen=True)
class Utilization(_TraceMetric):
    """The share of the passages' sentences that the answer uses: sentences that are quoted for supported statements.

    Undefined if the passages have no sentences, or if the answer has no statements (`refusal` if it only refuses). With
    `compat`, an answer without statements scores 0. Fails if the judge quotes nothing.
    """

    name: ClassVar[str] = "utilization"
    title: ClassVar[str] = "TRACe utilization"
    formula: ClassVar[str] = "|U| / |T|: sentences that the answer uses / all sentences of the passages"
    category: ClassVar[Category] = "use"
    calls: ClassVar[str] = VERIFIES
    more_passages: ClassVar[MorePassages] = "falls"

    compat: bool = False

    def needs(self) -> tuple[Need[Any], ...]:
        """Return the joint verdicts, and the sentences that they quote."""
        return (JointVerdicts(), UsedSentences())

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        use = results.value(UsedSentences())
        if not use.sentences:
            return no_sentences(sample)
        if not use.statements and not self.compat:
            return no_statements(sample, refuses=use.refuses)
        return _share(use.used, use.sentences, use.unquoted)


@dataclass(frozen=True)
class Completeness(_TraceMetric):
    """The share of the helpful sentences of the passages that the answer uses.

    Undefined if no sentence helps, or if the answer has no statements (`refusal` if it only refuses). With `compat`,
    the score is 1 if no sentence helps, as in RAGBench, and 0 for an answer without statements. Fails if the judge
    quotes nothing.
    """

    name: ClassVar[str] = "completeness"
    title: ClassVar[str] = "TRACe completeness"
    formula: ClassVar[str] = "|R and U| / |R|: helpful sentences that the answer uses / all helpful sentences"
    category: ClassVar[Category] = "use"
    calls: ClassVar[str] = f"{SELECTS}; {VERIFIES}"

    compat: bool = False

    def needs(self) -> tuple[Need[Any], ...]:
        """Return the sentences that help, the joint verdicts, and the sentences that these quote."""
        return (SelectedSentences(), JointVerdicts(), UsedSentences())

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        helpful, use = results.value(SelectedSentences()).chosen, results.value(UsedSentences())
        if not use.sentences:
            return no_sentences(sample)
        if not use.statements and not self.compat:
            return no_statements(sample, refuses=use.refuses)
        if not helpful:
            detail = "no sentence of the passages helps to answer the question"
            return Score(value=1.0, counted=detail) if self.compat else Unscored(reason="undefined", detail=detail)
        return _share(sorted({*helpful} & {*use.used}), helpful, use.unquoted, "helpful sentences")


@dataclass(frozen=True)
class Adherence(_TraceMetric):
    """Whether the passages together support the whole answer: 1 if every statement is supported, else 0.

    Undefined for an answer without statements (`refusal` if it only refuses); with `compat`, such an answer scores 1.
    """

    name: ClassVar[str] = "adherence"
    title: ClassVar[str] = "TRACe adherence"
    formula: ClassVar[str] = "1 if no statement of the answer is unsupported or contradicted, else 0"
    category: ClassVar[Category] = "grounding"
    calls: ClassVar[str] = VERIFIES

    compat: bool = False

    def needs(self) -> tuple[Need[Any], ...]:
        """Return the joint verdicts on the statements of the answer."""
        return (JointVerdicts(),)

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        judged = results.value(JointVerdicts())
        if not judged.verdicts and not self.compat:
            return no_statements(sample, refuses=judged.refuses)
        not_supported = sum(verdict.label != "supported" for verdict in judged.verdicts)
        return Score(
            value=float(not not_supported),
            counted=f"{not_supported} of {len(judged.verdicts)} statements not supported",
        )


def _share(part: Sequence[object], total: Sequence[object], unquoted: int = 0, noun: str = "sentences") -> Score:
    unknown = f", {unquoted} supported statement{'' if unquoted == 1 else 's'} without a quote" if unquoted else ""
    return Score(value=len(part) / len(total), counted=f"{len(part)} of {len(total)} {noun}{unknown}")
