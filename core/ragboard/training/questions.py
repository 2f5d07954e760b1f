"""Let a judge write questions and answers about a corpus, and filter the questions.

The filter is the round trip of ARES: a question is kept if a search for it ranks its own passage first.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

from ragboard.metrics.base import SendTask
from ragboard.readers.corpus import CorpusPassage
from ragboard.tasks import (
    AnswerKind,
    Failure,
    Questions,
    Similarities,
    Similarity,
    WriteAnswer,
    WriteQuestions,
    WritingExample,
    WrittenText,
)
from ragboard.text.sentences import Language, language_of, term, words_in

__all__ = ["Question", "RoundTrip", "planned_calls", "round_trip", "write_answers", "write_questions"]

MAX_CONCURRENT = 32
"""Maximum number of passages, or questions, that the judge works on at a time."""
MAX_RANKED = 20
"""Maximum number of passages that the embedder ranks after BM25."""

K1, B = 1.2, 0.75
"""BM25's parameters k1 (saturation of repeated words) and b (penalty for long passages), with their usual values."""

S = TypeVar("S")
T = TypeVar("T")
SenderFor = Callable[[str], SendTask]
"""Takes the id of a passage, and returns a function that sends tasks. The journal records them under this id."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question about a passage, with its answers by kind."""

    question: str
    passage: int
    """The index of the passage in the corpus."""
    answers: dict[AnswerKind, str]


@dataclass(frozen=True, kw_only=True)
class RoundTrip:
    """The result of the round trip."""

    kept: tuple[Question, ...]
    other_passage_first: int
    """Number of questions for which the search ranks another passage first."""
    repeated: int
    """Number of duplicates, ignoring case, space and punctuation."""
    failed: tuple[str, ...] = ()
    """The embedder's error for each question that it could not rank."""


def planned_calls(passages: int, questions: int, kinds: int, *, with_embedder: bool) -> int:
    """Return the maximum number of calls without repairs.

    It is one per passage, one per question and kind of answer, and one per question for an embedder in the round trip.
    """
    return passages + passages * questions * (kinds + with_embedder)


async def write_questions(
    corpus: Sequence[CorpusPassage],
    indices: Sequence[int],
    n: int,
    examples: tuple[WritingExample, ...],
    sender_for: SenderFor,
) -> tuple[tuple[Question, ...], tuple[str, ...]]:
    """Ask for up to `n` questions about each passage at `indices`.

    Return the questions, and the judge's error for each passage that it wrote no questions for.
    """

    async def write(index: int) -> Questions | Failure:
        reply = await sender_for(_id(corpus[index]))(WriteQuestions(passage=corpus[index].text, n=n, examples=examples))
        return reply if isinstance(reply, Questions | Failure) else Failure(detail="another kind of reply")

    replies = await _gather(write, indices)
    questions = [
        Question(question=question, passage=index, answers={})
        for index, reply in zip(indices, replies, strict=True)
        if isinstance(reply, Questions)
        for question in reply.questions
    ]
    return tuple(questions), tuple(reply.detail for reply in replies if isinstance(reply, Failure))


async def round_trip(
    corpus: Sequence[CorpusPassage], questions: Sequence[Question], embed: SendTask | None
) -> RoundTrip:
    """Search the corpus for each question. Keep each question once if its own passage is ranked first.

    BM25 ranks the passages. With `embed`, the best of them are ranked again by similarity.
    """
    index = Bm25([passage.text for passage in corpus])
    seen: set[str] = set()
    kept: list[Question] = []
    other_passage_first = 0
    failed: list[str] = []
    for question in questions:
        key = "".join(filter(str.isalnum, question.question.casefold()))
        if key in seen:
            continue
        seen.add(key)
        ranked = index.rank(question.question, 1 if embed is None else MAX_RANKED)
        first = ranked[:1] if embed is None else await _nearest(question.question, corpus, ranked, embed)
        if isinstance(first, Failure):
            failed.append(first.detail)
        elif first == (question.passage,):
            kept.append(question)
        else:
            other_passage_first += 1
    return RoundTrip(
        kept=tuple(kept),
        other_passage_first=other_passage_first,
        repeated=len(questions) - len(seen),
        failed=tuple(failed),
    )


async def _nearest(
    question: str, corpus: Sequence[CorpusPassage], ranked: tuple[int, ...], embed: SendTask
) -> tuple[int, ...] | Failure:
    """Return the index of the passage that is most similar to the question, as a tuple; empty if `ranked` is empty."""
    if not ranked:
        return ()
    reply = await embed(Similarity(text=question, others=tuple(corpus[index].text for index in ranked)))
    if not isinstance(reply, Similarities):
        return reply if isinstance(reply, Failure) else Failure(detail="another kind of reply")
    return (max(zip(ranked, reply.values, strict=True), key=lambda pair: pair[1])[0],)


async def write_answers(
    corpus: Sequence[CorpusPassage],
    questions: Sequence[Question],
    kinds: Sequence[AnswerKind],
    examples: tuple[WritingExample, ...],
    sender_for: SenderFor,
) -> tuple[tuple[Question, ...], tuple[str, ...]]:
    """Ask for answers of these kinds. Return the questions with their answers, and the judge's errors."""

    async def write(pair: tuple[Question, AnswerKind]) -> WrittenText | Failure:
        question, kind = pair
        passage = corpus[question.passage]
        text = "" if kind == "unaided" else passage.text
        task = WriteAnswer(question=question.question, passage=text, kind=kind, examples=examples)
        reply = await sender_for(_id(passage))(task)
        return reply if isinstance(reply, WrittenText | Failure) else Failure(detail="another kind of reply")

    pairs: list[tuple[Question, AnswerKind]] = [(question, kind) for question in questions for kind in kinds]
    replies = await _gather(write, pairs)
    answers: dict[str, dict[AnswerKind, str]] = {question.question: {} for question in questions}
    for (question, kind), reply in zip(pairs, replies, strict=True):
        if isinstance(reply, WrittenText) and reply.text.strip():
            answers[question.question][kind] = reply.text
    answered = tuple(replace(question, answers=answers[question.question]) for question in questions)
    return answered, tuple(reply.detail for reply in replies if isinstance(reply, Failure))


async def _gather(function: Callable[[S], Awaitable[T]], items: Sequence[S]) -> list[T]:
    """Return the results of the function for all items, in order. At most `MAX_CONCURRENT` calls run at a time."""
    results: list[T] = []
    waiting = iter(items)
    while batch := list(islice(waiting, MAX_CONCURRENT)):
        results += await asyncio.gather(*(function(item) for item in batch))
    return results


def _id(passage: CorpusPassage) -> str:
    return f"{passage.document}#{passage.number}"


# BM25


class Bm25:
    """BM25 over stems (Robertson and Zaragoza 2009, equation 3.15), with an idf that is never negative."""

    def __init__(self, passages: Sequence[str]) -> None:
        self._language: Language = language_of(" ".join(passages[:20]))
        self._counts = [Counter(self._terms(text)) for text in passages]
        lengths = [sum(counts.values()) for counts in self._counts]
        mean = sum(lengths) / len(lengths) if lengths else 1.0
        self._penalty = [K1 * (1 - B + B * length / (mean or 1.0)) for length in lengths]
        frequency = Counter(stem for counts in self._counts for stem in counts)
        self._weight = {
            stem: math.log1p((len(passages) - count + 0.5) / (count + 0.5)) for stem, count in frequency.items()
        }
        self._passages_with: dict[str, list[int]] = {}
        for index, counts in enumerate(self._counts):
            for stem in counts:
                self._passages_with.setdefault(stem, []).append(index)

    def rank(self, question: str, limit: int) -> tuple[int, ...]:
        """Return the indices of at most `limit` passages that share a word with the question, best first."""
        scores: dict[int, float] = {}
        for stem in dict.fromkeys(self._terms(question)):
            for index in self._passages_with.get(stem, ()):
                count = self._counts[index][stem]
                score = self._weight[stem] * count * (K1 + 1) / (count + self._penalty[index])
                scores[index] = scores.get(index, 0.0) + score
        return tuple(sorted(scores, key=lambda index: (-scores[index], index))[:limit])

    def _terms(self, text: str) -> list[str]:
        return [term(word, self._language) for word in words_in(text, 0, len(text))]
