"""Sentences of the passages that help to answer the question, selected once or in several draws."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

from ragboard.metrics.base import Ask, Need, Row, judgement, no_column
from ragboard.records import Sample, Unscored
from ragboard.tasks import SelectSentences, Similarity, Task
from ragboard.text.sentences import sentence_spans

__all__ = ["Agreement", "DrawnSentences", "SelectedSentences", "Sentence", "SentenceDraws", "SentenceSelection"]

Agreement = Literal["jaccard", "similarity"]
"""How the agreement of two draws is measured: by shared sentences, or by similarity in meaning."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """A sentence: `text[start:end]` of the passage at `rank`."""

    rank: int
    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SentenceSelection:
    """All sentences of the passages, and the positions of the selected ones, from 0."""

    sentences: tuple[Sentence, ...]
    chosen: tuple[int, ...]


@dataclass(frozen=True)
class SelectedSentences(Need[SentenceSelection]):
    """The sentences of the passages that help to answer the question."""

    def tasks(self) -> tuple[type[Task], ...]:
        return (SelectSentences,)

    async def resolve(self, sample: Sample, ask: Ask) -> SentenceSelection | Unscored:
        found = await DrawnSentences(n=1).resolve(sample, ask)
        if isinstance(found, Unscored):
            return found
        return SentenceSelection(sentences=found.sentences, chosen=found.draws[0] if found.draws else ())

    def rows(self, found: SentenceSelection) -> Iterable[Row]:
        chosen = set(found.chosen)
        for place, sentence in enumerate(found.sentences):
            yield "sentences", (sentence.rank, sentence.start, sentence.end, place in chosen)


@dataclass(frozen=True, kw_only=True, slots=True)
class SentenceDraws:
    """All sentences of the passages, and the positions of those selected by each draw, from 0."""

    sentences: tuple[Sentence, ...]
    draws: tuple[tuple[int, ...], ...]
    alike: tuple[float, ...]
    """The agreement of each pair of draws, in [-1, 1]; pairs (1, 2), (1, 3), ... (2, 3), ..."""


@dataclass(frozen=True)
class DrawnSentences(Need[SentenceDraws]):
    """The sentences that help to answer the question, selected `n` times, and how far the draws agree."""

    n: int = 2
    agreement: Agreement = "jaccard"

    def tasks(self) -> tuple[type[Task], ...]:
        """Return selection, and similarity if draws are compared in meaning."""
        near = self.agreement == "similarity" and self.n > 1
        return (SelectSentences, Similarity) if near else (SelectSentences,)

    async def resolve(self, sample: Sample, ask: Ask) -> SentenceDraws | Unscored:
        if sample.contexts is None:
            return no_column("contexts")
        offered = [
            (Sentence(rank=passage.rank, start=start, end=end), passage.text[start:end])
            for passage in sample.contexts
            for start, end in sentence_spans(passage.text)
        ]
        if not offered:
            return SentenceDraws(sentences=(), draws=(), alike=())
        texts = tuple(text for _, text in offered)
        task = SelectSentences(question=sample.question, sentences=texts, history=sample.history)
        draws: list[tuple[int, ...]] = []
        for reply in await asyncio.gather(*(ask(replace(task, draw=draw)) for draw in range(self.n))):
            if isinstance(reply, Unscored):
                return reply
            draws.append(reply.chosen)
        alike: list[float] = []
        for one, other in combinations(draws, 2):
            near = await self._alike(one, other, texts, ask)
            if isinstance(near, Unscored):
                return near
            alike.append(near)
        return SentenceDraws(sentences=tuple(place for place, _ in offered), draws=tuple(draws), alike=tuple(alike))

    async def _alike(
        self, one: tuple[int, ...], other: tuple[int, ...], texts: Sequence[str], ask: Ask
    ) -> float | Unscored:
        """Return the agreement of two draws; equal draws ask no judge."""
        if one == other or self.agreement == "jaccard" or not (one and other):
            shared, either = set(one) & set(other), set(one) | set(other)
            return len(shared) / len(either) if either else 1.0
        others = tuple(texts[place] for place in other)
        nearest: list[float] = []
        for reply in await asyncio.gather(*(ask(Similarity(text=texts[place], others=others)) for place in one)):
            if isinstance(reply, Unscored):
                return reply
            nearest.append(max(reply.values))
        return sum(nearest) / len(nearest)

    def rows(self, found: SentenceDraws) -> Iterable[Row]:
        """Return what each draw selected, and the agreement of each pair of draws."""
        for number, draw in enumerate(found.draws, 1):
            chosen = ", ".join(str(place + 1) for place in draw)
            share = len(draw) / len(found.sentences)
            yield judgement("sentences chosen by draw", number, chosen or "none", share)
        pairs = combinations(range(1, len(found.draws) + 1), 2)
        for number, ((one, other), alike) in enumerate(zip(pairs, found.alike, strict=True), 1):
            yield judgement(f"agreement of draws ({self.agreement})", number, f"draws {one} and {other}", alike)
