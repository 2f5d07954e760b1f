"""What the ragas library counts on the retrieved passages: order, focus with self-consistency, entities.

Where the library adds a constant or calls an empty case 0, `compat=True` does the same.
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
    """Mean, over the useful passages, of the share of useful ones down to each; 0 where none is.

    `tiny` is added to the number of useful passages: the library's 1e-10 keeps it from dividing by 0.
    """
    found = sum(useful)
    if not found:
        return 0.0
    hits = [place for place, good in enumerate(useful, 1) if good]
    return sum(number / place for number, place in enumerate(hits, 1)) / (found + tiny)


@dataclass(frozen=True)
class UsefulPassages(Need[Usefulness]):
    """Whether each passage is useful to arrive at the reference, or at the answer."""

    toward: Side = "reference"

    def tasks(self) -> tuple[type[Task], ...]:
        return (JudgePassages,)

    async def resolve(self, sample: Sample, ask: Ask) -> Usefulness | Unscored:
        """A verdict on each passage; not resolved toward an empty text."""
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
    """The people, places, things, dates and amounts that two texts name, each once."""

    reference: tuple[str, ...]
    passages: tuple[str, ...]


@dataclass(frozen=True)
class NamedEntities(Need[EntityLists]):
    """What the reference names, and what the passages name."""

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
    """What both have in common."""

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
        """Average precision; no useful passage is 0, no passage at all undefined."""
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
    """Whether the passages that help to arrive at the reference stand before those that do not.

    Average precision over the ranked list: 1 where all useful passages come first, 0 where none is useful.
    `compat` divides by the number of useful passages plus 1e-10, and gives 0 where nothing was retrieved,
    as the library does.
    """

    name: ClassVar[str] = "context_precision"
    title: ClassVar[str] = "Ranked context precision"
    requires: ClassVar[tuple[Column, ...]] = ("contexts", "reference")
    need: ClassVar[UsefulPassages] = UsefulPassages("reference")


@dataclass(frozen=True)
class ContextUtilization(_Precision):
    """Context precision without a reference: whether the passages that the answer can be taken from come first.

    Judged against the answer itself, so a made-up answer finds no useful passage. `compat` as in
    `ragas.context_precision`.
    """

    name: ClassVar[str] = "context_utilization"
    title: ClassVar[str] = "Ranked context utilization"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "contexts")
    need: ClassVar[UsefulPassages] = UsefulPassages("response")


@dataclass(frozen=True)
class ContextRelevancy(Metric):
    """Context relevance as the library had it: the share of helpful sentences, times how far `n` draws agree.

    Each draw chooses sentences anew. Two draws agree by the sentences they share over those either chose
    (`jaccard`), or by the mean similarity of each sentence of the first to its nearest in the second
    (`similarity`, which is not symmetric). Nothing chosen twice is agreement. `compat` gives 0 where the
    passages hold no sentence, as the library does. A judge that always says the same agrees with itself.
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
        """The sentences, and the chosen ones of each draw."""
        return (self._need(),)

    def score(self, sample: Sample, findings: Findings) -> Outcome:
        """Agreement x overlap; agreement is 1 for a single draw."""
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

    Names are compared without case and with spaces run together; `compat` compares them as they are, adds
    1e-8 to the denominator and gives 0 where the reference names nothing, as the library does.
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
