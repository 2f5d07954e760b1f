"""The sentences of the passages that help to answer the question, selected once or in several draws."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

from ragboard.metrics.base import Ask, Need, Row, judgement_row, no_column
from ragboard.records import Passage, Sample, Unscored
from ragboard.tasks import SelectSentences, Similarity, Task
from ragboard.text.sentences import sentence_spans

__all__ = [
    "Agreement",
    "DrawnSentences",
    "SelectedSentences",
    "Sentence",
    "SentenceDraws",
    "SentenceSelection",
    "no_sentences",
    "sentences_of",
]

Agreement = Literal["jaccard", "similarity"]
"""How the agreement of two draws is measured: by the shared sentences, or by similarity in meaning."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """A sentence: `text[start:end]` of the passage at `rank`."""

    rank: int
    start: int
    end: int


def sentences_of(passages: Sequence[Passage]) -> list[tuple[Sentence, str]]:
    """Return all sentences of the passages, in order, each with its text."""
    return [
        (Sentence(rank=passage.rank, start=start, end=end), passage.text[start:end])
        for passage in passages
        for start, end in sentence_spans(passage.text)
    ]


def no_sentences(sample: Sample) -> Unscored:
    """Return the Unscored for a sample whose passages contain no sentence."""
    detail = "the passages contain no sentence" if sample.contexts else "no passage was retrieved"
    return Unscored(reason="undefined", detail=detail)


@dataclass(frozen=True, kw_only=True, slots=True)
class SentenceSelection:
    """All sentences of the passages, and the indices of the selected sentences."""

    sentences: tuple[Sentence, ...]
    chosen: tuple[int, ...]


@dataclass(frozen=True)
class SelectedSentences(Need[SentenceSelection]):
    """The sentences of the passages that help to answer the question."""

    def tasks(self) -> tuple[type[Task], ...]:
        return (SelectSentences,)

    async def resolve(self, sample: Sample, ask: Ask) -> SentenceSelection | Unscored:
        result = await ask.resolve(DrawnSentences(n=1))
        if isinstance(result, Unscored):
            return result
        return SentenceSelection(sentences=result.sentences, chosen=result.draws[0] if result.draws else ())

    def rows(self, result: SentenceSelection, /) -> Iterable[Row]:
        chosen = set(result.chosen)
        for index, sentence in enumerate(result.sentences):
            yield "sentences", (sentence.rank, sentence.start, sentence.end, index in chosen)


@dataclass(frozen=True, kw_only=True, slots=True)
class SentenceDraws:
    """All sentences of the passages, and the indices of the sentences selected in each draw."""

    sentences: tuple[Sentence, ...]
    draws: tuple[tuple[int, ...], ...]
    agreements: tuple[float, ...]
    """The agreement of each pair of draws, in [-1, 1], in the order (1, 2), (1, 3), ..., (2, 3), ..."""


@dataclass(frozen=True)
class DrawnSentences(Need[SentenceDraws]):
    """The sentences that help to answer the question, selected `n` times, and the agreement of the draws."""

    n: int = 2
    agreement: Agreement = "jaccard"

    def tasks(self) -> tuple[type[Task], ...]:
        """Return `SelectSentences`, and `Similarity` if the draws are compared by similarity."""
        compares = self.agreement == "similarity" and self.n > 1
        return (SelectSentences, Similarity) if compares else (SelectSentences,)

    async def resolve(self, sample: Sample, ask: Ask) -> SentenceDraws | Unscored:
        if sample.contexts is None:
            return no_column("contexts")
        sentences = sentences_of(sample.contexts)
        if not sentences:
            return SentenceDraws(sentences=(), draws=(), agreements=())
        texts = tuple(text for _, text in sentences)
        task = SelectSentences(question=sample.question, sentences=texts, history=sample.history)
        draws: list[tuple[int, ...]] = []
        for reply in await asyncio.gather(*(ask(replace(task, draw=draw)) for draw in range(self.n))):
            if isinstance(reply, Unscored):
                return reply
            draws.append(reply.chosen)
        agreements: list[float] = []
        for first, second in combinations(draws, 2):
            agreement = await self._agreement(first, second, texts, ask)
            if isinstance(agreement, Unscored):
                return agreement
            agreements.append(agreement)
        spans = tuple(sentence for sentence, _ in sentences)
        return SentenceDraws(sentences=spans, draws=tuple(draws), agreements=tuple(agreements))

    async def _agreement(
        self, first: tuple[int, ...], second: tuple[int, ...], texts: Sequence[str], ask: Ask
    ) -> float | Unscored:
        """Return the agreement of two draws. Equal draws need no call to a judge."""
        if first == second or self.agreement == "jaccard" or not (first and second):
            shared, either = set(first) & set(second), set(first) | set(second)
            return len(shared) / len(either) if either else 1.0
        second_texts = tuple(texts[index] for index in second)
        nearest: list[float] = []
        for reply in await asyncio.gather(
            *(ask(Similarity(text=texts[index], others=second_texts)) for index in first)
        ):
            if isinstance(reply, Unscored):
                return reply
            nearest.append(max(reply.values))
        return sum(nearest) / len(nearest)

    def rows(self, result: SentenceDraws, /) -> Iterable[Row]:
        """Return the sentences selected in each draw, and the agreement of each pair of draws."""
        for number, draw in enumerate(result.draws, 1):
            chosen = ", ".join(str(index + 1) for index in draw)
            share = len(draw) / len(result.sentences)
            yield judgement_row("sentences chosen by draw", number, chosen or "none", share)
        pairs = combinations(range(1, len(result.draws) + 1), 2)
        for number, ((first, second), agreement) in enumerate(zip(pairs, result.agreements, strict=True), 1):
            yield judgement_row(
                f"agreement of draws ({self.agreement})", number, f"draws {first} and {second}", agreement
            )
