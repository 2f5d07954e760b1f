"""Metrics of the ragas library for the retrieved passages: ranked precision, context relevancy, entity recall.

With `compat=True`, small constants and scores of 0 are as in the library.
"""

from __future__ import annotations

import asyncio
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
    no_column,
    yes_no_rows,
)
from ragboard.metrics.sentences import Agreement, DrawnSentences, SentenceDraws, no_sentences
from ragboard.records import MorePassages, Outcome, Sample, Score, Side, Unscored
from ragboard.tasks import ExtractEntities, JudgePassages, Task, Usefulness

__all__ = [
    "ContextEntityRecall",
    "ContextPrecision",
    "ContextRelevancy",
    "ContextUtilization",
    "EntityLists",
    "NamedEntities",
    "UsefulPassages",
    "average_precision",
]

LIBRARY = "ragas library 0.4"
EARLY_LIBRARY = "ragas library 0.0.12 to 0.0.22"
TINY_PRECISION = 1e-10
TINY_RECALL = 1e-8


def average_precision(useful: tuple[bool, ...], tiny: float = 0.0) -> float:
    """Return the mean of the precision at the rank of each useful passage, in [0, 1]; 0 without useful passages.

    `useful` is in order of rank. `tiny` is added to the divisor: the ragas library adds 1e-10 to avoid a division by 0.
    """
    ranks = [rank for rank, is_useful in enumerate(useful, 1) if is_useful]
    if not ranks:
        return 0.0
    return sum(number / rank for number, rank in enumerate(ranks, 1)) / (len(ranks) + tiny)


@dataclass(frozen=True)
class UsefulPassages(Need[Usefulness]):
    """Whether each passage helps to arrive at the target: the reference or the answer."""

    target: Side = "reference"

    def tasks(self) -> tuple[type[Task], ...]:
        return (JudgePassages,)

    async def resolve(self, sample: Sample, ask: Ask) -> Usefulness | Unscored:
        """Ask for a verdict on each passage. Unscored if the target is empty."""
        if sample.contexts is None:
            return no_column("contexts")
        column = "reference" if self.target == "reference" else "answer"
        text = sample.reference if self.target == "reference" else sample.answer
        if text is None:
            return no_column(column)
        if not text.strip():
            return Unscored(reason="undefined", detail=f"the {column} is empty")
        if not sample.contexts:
            return Usefulness(useful=(), reasons=())
        passages = tuple(passage.text for passage in sample.contexts)
        return await ask(
            JudgePassages(question=sample.question, answer=text, passages=passages, history=sample.history)
        )

    def rows(self, result: Usefulness, /) -> Iterable[Row]:
        text = "reference" if self.target == "reference" else "answer"
        return yes_no_rows(f"useful for the {text}", zip(result.useful, result.reasons, strict=True))


@dataclass(frozen=True, kw_only=True, slots=True)
class EntityLists:
    """People, places, things, dates and amounts in the reference and in the passages, each once."""

    reference: tuple[str, ...]
    passages: tuple[str, ...]


@dataclass(frozen=True)
class NamedEntities(Need[EntityLists]):
    """The entities in the reference and in the passages."""

    def tasks(self) -> tuple[type[Task], ...]:
        return (ExtractEntities,)

    async def resolve(self, sample: Sample, ask: Ask) -> EntityLists | Unscored:
        if sample.reference is None:
            return no_column("reference")
        if sample.contexts is None:
            return no_column("contexts")
        passages = "\n\n".join(passage.text for passage in sample.contexts)
        in_reference, in_passages = await asyncio.gather(_names(sample.reference, ask), _names(passages, ask))
        if isinstance(in_reference, Unscored):
            return in_reference
        if isinstance(in_passages, Unscored):
            return in_passages
        return EntityLists(reference=in_reference, passages=in_passages)

    def rows(self, result: EntityLists, /) -> Iterable[Row]:
        for about, names in (("entities of reference", result.reference), ("entities of passages", result.passages)):
            for number, name in enumerate(names, 1):
                yield judgement_row(about, number, name)


async def _names(text: str, ask: Ask) -> tuple[str, ...] | Unscored:
    if not text.strip():
        return ()
    reply = await ask(ExtractEntities(text=text))
    return reply if isinstance(reply, Unscored) else reply.names


@dataclass(frozen=True)
class _Precision(Metric):
    """Base class of context precision with and without a reference."""

    source: ClassVar[str] = "ragas"
    formula: ClassVar[str] = "sum over useful passages i of precision@i / number of useful passages"
    paper: ClassVar[str] = LIBRARY
    category: ClassVar[Category] = "focus"
    source_label: ClassVar[str] = "ragas library"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"
    calls: ClassVar[str] = "1 to judge all passages"
    need: ClassVar[UsefulPassages]

    compat: bool = False

    def needs(self) -> tuple[Need[Any], ...]:
        return (self.need,)

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        """Compute average precision: 0 if no passage is useful, undefined if nothing was retrieved."""
        judged = results.value(self.need)
        if not judged.useful and not self.compat:
            return Unscored(reason="undefined", detail="no passage was retrieved")
        value = average_precision(judged.useful, TINY_PRECISION if self.compat else 0.0)
        ranks = ", ".join(str(rank) for rank, is_useful in enumerate(judged.useful, 1) if is_useful)
        total = len(judged.useful)
        counted = f"useful at rank {ranks} of {total}" if ranks else f"none of {total} passages useful"
        return Score(value=value, counted=counted)


@dataclass(frozen=True)
class ContextPrecision(_Precision):
    """Whether the passages that are useful for the reference are ranked before the others.

    Average precision over the ranked list: 1 if all useful passages come first, 0 if no passage is useful. With
    `compat`, the divisor is the number of useful passages plus 1e-10, as in the ragas library. The score is then 0 if
    nothing was retrieved.
    """

    name: ClassVar[str] = "context_precision"
    title: ClassVar[str] = "Ranked context precision"
    requires: ClassVar[tuple[Column, ...]] = ("contexts", "reference")
    need: ClassVar[UsefulPassages] = UsefulPassages("reference")


@dataclass(frozen=True)
class ContextUtilization(_Precision):
    """Context precision without a reference: whether the passages that are useful for the answer come first.

    A passage is useful if it helps to arrive at the answer, so a hallucinated answer has no useful passages. `compat`
    is as in `ragas.context_precision`.
    """

    name: ClassVar[str] = "context_utilization"
    title: ClassVar[str] = "Ranked context utilization"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "contexts")
    need: ClassVar[UsefulPassages] = UsefulPassages("response")


@dataclass(frozen=True)
class ContextRelevancy(Metric):
    """Context relevance of early ragas versions: the share of helpful sentences, times the agreement of `n` draws.

    In each draw, the judge selects the helpful sentences. With `jaccard`, the agreement of two draws is the number of
    sentences in both, divided by the number in either. With `similarity`, it is the mean similarity of each sentence of
    the first draw to the most similar sentence of the second. Two empty draws agree fully (1). With `compat`, the score
    is 0 if the passages contain no sentences, as in the library.
    """

    source: ClassVar[str] = "ragas"
    name: ClassVar[str] = "context_relevancy"
    title: ClassVar[str] = "Context relevancy"
    formula: ClassVar[str] = "mean agreement of pairs of draws x mean share of selected sentences"
    paper: ClassVar[str] = EARLY_LIBRARY
    category: ClassVar[Category] = "focus"
    source_label: ClassVar[str] = "ragas library, early"
    requires: ClassVar[tuple[Column, ...]] = ("contexts",)
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"
    calls: ClassVar[str] = "n to select the sentences; with agreement=similarity, embeddings of those that differ"
    more_passages: ClassVar[MorePassages] = "falls"

    n: int = 2
    agreement: Agreement = "jaccard"
    compat: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for fewer than one draw."""
        if self.n < 1:
            raise ValueError(f"n, the number of draws, must be at least 1, got {self.n}")

    def needs(self) -> tuple[Need[Any], ...]:
        """Return the sentences of the passages, and which of them each draw selects."""
        return (self._need(),)

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        """Compute agreement x share of selected sentences; the agreement of a single draw is 1."""
        draws = results.value(self._need())
        if draws.sentences:
            return self._score(draws)
        if self.compat:
            return Score(value=0.0, counted="no sentence")
        return no_sentences(sample)

    def _need(self) -> DrawnSentences:
        return DrawnSentences(self.n, self.agreement)

    def _score(self, result: SentenceDraws) -> Outcome:
        total = len(result.sentences)
        selected_share = _mean(len(draw) / total for draw in result.draws)
        agreement = _mean(result.agreements) if result.agreements else 1.0
        selected = " and ".join(str(len(draw)) for draw in result.draws)
        counted = f"selected {selected} of {total} sentences, agreement {agreement:.2f}"
        return Score(value=min(1.0, max(0.0, agreement * selected_share)), counted=counted)


@dataclass(frozen=True)
class ContextEntityRecall(Metric):
    """The share of the people, places, things, dates and amounts of the reference that the passages name.

    Case and repeated spaces are ignored when names are compared. With `compat`, names are compared unchanged, 1e-8 is
    added to the denominator, and the score is 0 if the reference names nothing, as in the ragas library.
    """

    source: ClassVar[str] = "ragas"
    name: ClassVar[str] = "context_entity_recall"
    title: ClassVar[str] = "Context entity recall"
    formula: ClassVar[str] = "|E(reference) and E(passages)| / |E(reference)|"
    paper: ClassVar[str] = LIBRARY
    category: ClassVar[Category] = "coverage"
    source_label: ClassVar[str] = "ragas library"
    requires: ClassVar[tuple[Column, ...]] = ("contexts", "reference")
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"
    calls: ClassVar[str] = "1 to list the reference's entities, 1 to list those of the passages"
    more_passages: ClassVar[MorePassages] = "rises"

    compat: bool = False

    def needs(self) -> tuple[Need[Any], ...]:
        return (NamedEntities(),)

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        entities = results.value(NamedEntities())
        in_reference, in_passages = self._distinct(entities.reference), self._distinct(entities.passages)
        shared = len(in_reference & in_passages)
        counted = f"{shared} of {len(in_reference)} entities"
        if self.compat:
            return Score(value=shared / (len(in_reference) + TINY_RECALL), counted=counted)
        if not in_reference:
            empty = not (sample.reference or "").strip()
            detail = "the reference is empty" if empty else "the judge found no entity in the reference"
            return Unscored(reason="undefined", detail=detail)
        return Score(value=shared / len(in_reference), counted=counted)

    def _distinct(self, names: tuple[str, ...]) -> set[str]:
        return set(names) if self.compat else {" ".join(name.casefold().split()) for name in names}


def _mean(values: Iterable[float]) -> float:
    numbers = tuple(values)
    return sum(numbers) / len(numbers)
