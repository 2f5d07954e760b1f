"""Metrics of the ragas library for the retrieved passages: ranked precision, context relevancy, entity recall.

`compat=True` adds the constants that the library adds, and scores 0 where the library does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from ragboard.metrics.base import Ask, Column, Direction, Findings, Metric, Need, Row, judgement, no_column, yes_or_no
from ragboard.metrics.sentences import Agreement, DrawnSentences, SentenceDraws
from ragboard.records import Outcome, Sample, Score, Side, Unscored
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
    """Return the mean of precision at the rank of each useful passage, in [0, 1]; 0 if none is useful.

    `tiny` is added to the number of useful passages; the library adds 1e-10 to avoid a division by 0.
    """
    found = sum(useful)
    if not found:
        return 0.0
    hits = [place for place, good in enumerate(useful, 1) if good]
    return sum(number / place for number, place in enumerate(hits, 1)) / (found + tiny)


@dataclass(frozen=True)
class UsefulPassages(Need[Usefulness]):
    """Whether each passage is useful for the reference, or for the answer."""

    toward: Side = "reference"

    def tasks(self) -> tuple[type[Task], ...]:
        return (JudgePassages,)

    async def resolve(self, sample: Sample, ask: Ask) -> Usefulness | Unscored:
        """Ask for a verdict on each passage; not resolved for an empty text."""
        if sample.contexts is None:
            return no_column("contexts")
        which = "reference" if self.toward == "reference" else "answer"
        text = sample.reference if self.toward == "reference" else sample.answer
        if text is None:
            return no_column(which)
        if not text.strip():
            return Unscored(reason="undefined", detail=f"the {which} is empty")
        if not sample.contexts:
            return Usefulness(useful=(), reasons=())
        passages = tuple(passage.text for passage in sample.contexts)
        return await ask(
            JudgePassages(question=sample.question, answer=text, passages=passages, history=sample.history)
        )

    def rows(self, found: Usefulness) -> Iterable[Row]:
        return yes_or_no(f"useful toward {self.toward}", zip(found.useful, found.reasons, strict=True))


@dataclass(frozen=True, kw_only=True, slots=True)
class EntityLists:
    """People, places, things, dates and amounts that the reference and the passages name, without repetition."""

    reference: tuple[str, ...]
    passages: tuple[str, ...]


@dataclass(frozen=True)
class NamedEntities(Need[EntityLists]):
    """The entities that the reference names, and those that the passages name."""

    def tasks(self) -> tuple[type[Task], ...]:
        return (ExtractEntities,)

    async def resolve(self, sample: Sample, ask: Ask) -> EntityLists | Unscored:
        if sample.reference is None:
            return no_column("reference")
        if sample.contexts is None:
            return no_column("contexts")
        passages = "\n\n".join(passage.text for passage in sample.contexts)
        ours, theirs = await asyncio.gather(_names(sample.reference, ask), _names(passages, ask))
        if isinstance(ours, Unscored):
            return ours
        return theirs if isinstance(theirs, Unscored) else EntityLists(reference=ours, passages=theirs)

    def rows(self, found: EntityLists) -> Iterable[Row]:
        for about, names in (("entities of reference", found.reference), ("entities of passages", found.passages)):
            for number, name in enumerate(names, 1):
                yield judgement(about, number, name)


async def _names(text: str, ask: Ask) -> tuple[str, ...] | Unscored:
    if not text.strip():
        return ()
    reply = await ask(ExtractEntities(text=text))
    return reply if isinstance(reply, Unscored) else reply.names


@dataclass(frozen=True)
class _Precision(Metric):
    """Base class of context precision with and without a reference."""

    source: ClassVar[str] = "ragas"
    formula: ClassVar[str] = "sum over useful passages i of (useful among the first i / i) / useful passages"
    paper: ClassVar[str] = LIBRARY
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"
    calls: ClassVar[str] = "1 to judge all passages"
    need: ClassVar[UsefulPassages]

    compat: bool = False

    def needs(self) -> tuple[Need[Any], ...]:
        return (self.need,)

    def score(self, sample: Sample, findings: Findings) -> Outcome:
        """Compute average precision: 0 without a useful passage, undefined without a passage."""
        return self._counted(findings.of(self.need))

    def _counted(self, judged: Usefulness) -> Outcome:
        if not judged.useful and not self.compat:
            return Unscored(reason="undefined", detail="no passage was retrieved")
        value = average_precision(judged.useful, TINY_PRECISION if self.compat else 0.0)
        places = ", ".join(str(place) for place, good in enumerate(judged.useful, 1) if good)
        among = f"{len(judged.useful)} passages"
        return Score(value=value, counted=f"useful at {places} of {among}" if places else f"none useful of {among}")


@dataclass(frozen=True)
class ContextPrecision(_Precision):
    """Whether the passages that are useful for the reference are ranked before the others.

    Average precision over the ranked list: 1 if all useful passages come first, 0 if none is useful. With `compat`, the
    divisor is the number of useful passages plus 1e-10, and the score is 0 if nothing was retrieved, as in the library.
    """

    name: ClassVar[str] = "context_precision"
    title: ClassVar[str] = "Ranked context precision"
    requires: ClassVar[tuple[Column, ...]] = ("contexts", "reference")
    need: ClassVar[UsefulPassages] = UsefulPassages("reference")


@dataclass(frozen=True)
class ContextUtilization(_Precision):
    """Context precision without a reference: whether the passages that are useful for the answer come first.

    Passages are judged by the answer itself, so for a made-up answer no passage is useful. `compat` is as in
    `ragas.context_precision`.
    """

    name: ClassVar[str] = "context_utilization"
    title: ClassVar[str] = "Ranked context utilization"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "contexts")
    need: ClassVar[UsefulPassages] = UsefulPassages("response")


@dataclass(frozen=True)
class ContextRelevancy(Metric):
    """Context relevance of the early library: the share of helpful sentences, times the agreement of `n` draws.

    Each draw selects sentences again. The agreement of two draws is the number of sentences that both select over the
    number that either selects (`jaccard`), or the mean similarity of each sentence of the first draw to the most
    similar one of the second (`similarity`, not symmetric). Two empty draws agree. With `compat`, the score is 0 if the
    passages contain no sentence, as in the library. A judge that always replies the same agrees fully.
    """

    source: ClassVar[str] = "ragas"
    name: ClassVar[str] = "context_relevancy"
    title: ClassVar[str] = "Context relevancy"
    formula: ClassVar[str] = "mean over pairs of draws of their agreement x mean over draws of chosen / all sentences"
    paper: ClassVar[str] = EARLY_LIBRARY
    requires: ClassVar[tuple[Column, ...]] = ("contexts",)
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"
    calls: ClassVar[str] = "n to choose the sentences; with agreement=similarity, embeddings of those that differ"

    n: int = 2
    agreement: Agreement = "jaccard"
    compat: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for fewer than one draw."""
        if self.n < 1:
            raise ValueError(f"n is a number of draws, at least 1, got {self.n}")

    def needs(self) -> tuple[Need[Any], ...]:
        """Return the sentences, with those selected by each draw."""
        return (self._need(),)

    def score(self, sample: Sample, findings: Findings) -> Outcome:
        """Compute agreement x share of selected sentences; the agreement of a single draw is 1."""
        found = findings.of(self._need())
        if found.sentences:
            return self._counted(found)
        if self.compat:
            return Score(value=0.0, counted="no sentence")
        what = "the passages hold no sentence" if sample.contexts else "no passage was retrieved"
        return Unscored(reason="undefined", detail=what)

    def _need(self) -> DrawnSentences:
        return DrawnSentences(self.n, self.agreement)

    def _counted(self, found: SentenceDraws) -> Outcome:
        total = len(found.sentences)
        overlap = _mean(len(draw) / total for draw in found.draws)
        agreement = _mean(found.alike) if found.alike else 1.0
        chosen = ", ".join(str(len(draw)) for draw in found.draws)
        counted = f"{chosen} of {total} sentences, agreement {agreement:.2f}"
        return Score(value=min(1.0, max(0.0, agreement * overlap)), counted=counted)


@dataclass(frozen=True)
class ContextEntityRecall(Metric):
    """The share of the people, places, things, dates and amounts of the reference that the passages name.

    Names are compared without case, with runs of spaces as one. With `compat`, they are compared as they are, 1e-8 is
    added to the denominator, and the score is 0 if the reference names nothing, as in the library.
    """

    source: ClassVar[str] = "ragas"
    name: ClassVar[str] = "context_entity_recall"
    title: ClassVar[str] = "Context entity recall"
    formula: ClassVar[str] = "|E(reference) and E(passages)| / |E(reference)|"
    paper: ClassVar[str] = LIBRARY
    requires: ClassVar[tuple[Column, ...]] = ("contexts", "reference")
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"
    calls: ClassVar[str] = "1 to name the reference's entities, 1 to name those of the passages"

    compat: bool = False

    def needs(self) -> tuple[Need[Any], ...]:
        return (NamedEntities(),)

    def score(self, sample: Sample, findings: Findings) -> Outcome:
        found = findings.of(NamedEntities())
        ours, theirs = self._distinct(found.reference), self._distinct(found.passages)
        counted = f"{len(ours & theirs)} of {len(ours)} entities"
        if self.compat:
            return Score(value=len(ours & theirs) / (len(ours) + TINY_RECALL), counted=counted)
        if not ours:
            empty = not (sample.reference or "").strip()
            detail = "the reference is empty" if empty else "the judge found no entity in the reference"
            return Unscored(reason="undefined", detail=detail)
        return Score(value=len(ours & theirs) / len(ours), counted=counted)

    def _distinct(self, names: tuple[str, ...]) -> set[str]:
        return set(names) if self.compat else {" ".join(name.casefold().split()) for name in names}


def _mean(values: Iterable[float]) -> float:
    listed = tuple(values)
    return sum(listed) / len(listed)
