"""Questions and answers about a corpus, written by a judge with the journal and budget of an evaluation.

The round trip keeps a question only if it retrieves its own passage first.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

from ragboard.metrics.base import AnswerTask
from ragboard.readers.corpus import CorpusPassage
from ragboard.tasks import (
    AnswerKind,
    Example,
    Failure,
    Questions,
    Similarities,
    Similarity,
    WriteAnswer,
    WriteQuestions,
    WrittenText,
)
from ragboard.text.sentences import Language, language_of, term, words_in

__all__ = ["Question", "RoundTrip", "planned_calls", "round_trip", "write_answers", "write_questions"]

MAX_CONCURRENT = 32
"""Maximum number of passages, or questions, that the judge works on at a time."""
MAX_RANKED = 20
"""Maximum number of passages that the embedder ranks: those that BM25 ranks first."""

K1, B = 1.2, 0.75
"""BM25's k1 and b, the usual values: saturation of repeated words, and penalty for long passages."""

S = TypeVar("S")
T = TypeVar("T")
ForPassage = Callable[[str], AnswerTask]


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question, its passage, and its answers by kind; a missing kind was not written."""

    question: str
    place: int
    """Position of the passage in the corpus, from 0."""
    answers: dict[AnswerKind, str]


@dataclass(frozen=True, kw_only=True)
class RoundTrip:
    """The questions that the round trip kept, and the numbers of dropped ones by reason."""

    kept: tuple[Question, ...]
    other_passage_first: int
    """Number of questions that retrieve another passage first."""
    repeated: int
    """Number of duplicates, ignoring case, space and punctuation."""
    failed: tuple[str, ...] = ()
    """Errors of the embedder, one per question that it did not rank."""


def planned_calls(passages: int, questions: int, kinds: int, *, by_meaning: bool) -> int:
    """Return the maximum number of calls without repairs: one per passage, and one per question and kind of answer.

    `by_meaning`: whether the round trip uses an embedder, with another call per question.
    """
    return passages + passages * questions * (kinds + by_meaning)


async def write_questions(
    corpus: Sequence[CorpusPassage], places: Sequence[int], n: int, examples: tuple[Example, ...], ask: ForPassage
) -> tuple[tuple[Question, ...], tuple[str, ...]]:
    """Ask for up to `n` questions per chosen passage; also return why some have none."""

    async def one(place: int) -> Questions | Failure:
        reply = await ask(_id(corpus[place]))(WriteQuestions(passage=corpus[place].text, n=n, examples=examples))
        return reply if isinstance(reply, Questions | Failure) else Failure(detail="another kind of reply")

    replies = await _all(one, places)
    questions = [
        Question(question=question, place=place, answers={})
        for place, reply in zip(places, replies, strict=True)
        if isinstance(reply, Questions)
        for question in reply.questions
    ]
    return tuple(questions), tuple(reply.detail for reply in replies if isinstance(reply, Failure))


async def round_trip(
    corpus: Sequence[CorpusPassage], questions: Sequence[Question], embed: AnswerTask | None
) -> RoundTrip:
    """Keep questions that retrieve their own passage first, without duplicates.

    Passages are ranked by BM25; with `embed`, the best of them are ranked again by similarity.
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
        places = index.ranked(question.question, 1 if embed is None else MAX_RANKED)
        first = places[:1] if embed is None else await _nearest(question.question, corpus, places, embed)
        if isinstance(first, Failure):
            failed.append(first.detail)
        elif first == (question.place,):
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
    question: str, corpus: Sequence[CorpusPassage], places: tuple[int, ...], embed: AnswerTask
) -> tuple[int, ...] | Failure:
    if not places:
        return ()
    reply = await embed(Similarity(text=question, others=tuple(corpus[place].text for place in places)))
    if not isinstance(reply, Similarities):
        return reply if isinstance(reply, Failure) else Failure(detail="another kind of reply")
    return (max(zip(places, reply.values, strict=True), key=lambda pair: pair[1])[0],)


async def write_answers(
    corpus: Sequence[CorpusPassage],
    questions: Sequence[Question],
    kinds: Sequence[AnswerKind],
    examples: tuple[Example, ...],
    ask: ForPassage,
) -> tuple[tuple[Question, ...], tuple[str, ...]]:
    """Ask for answers of these kinds; return the questions with their answers, and the reasons for missing ones."""

    async def one(pair: tuple[Question, AnswerKind]) -> WrittenText | Failure:
        each, kind = pair
        passage = corpus[each.place]
        text = "" if kind == "unaided" else passage.text
        task = WriteAnswer(question=each.question, passage=text, kind=kind, examples=examples)
        reply = await ask(_id(passage))(task)
        return reply if isinstance(reply, WrittenText | Failure) else Failure(detail="another kind of reply")

    pairs: list[tuple[Question, AnswerKind]] = [(question, kind) for question in questions for kind in kinds]
    replies = await _all(one, pairs)
    answers: dict[str, dict[AnswerKind, str]] = {each.question: {} for each in questions}
    for (each, kind), reply in zip(pairs, replies, strict=True):
        if isinstance(reply, WrittenText) and reply.text.strip():
            answers[each.question][kind] = reply.text
    answered = tuple(replace(each, answers=answers[each.question]) for each in questions)
    return answered, tuple(reply.detail for reply in replies if isinstance(reply, Failure))


async def _all(one: Callable[[S], Awaitable[T]], items: Sequence[S]) -> list[T]:
    """Return the results of all items in order, computing at most `MAX_CONCURRENT` at a time."""
    results: list[T] = []
    waiting = iter(items)
    while batch := list(islice(waiting, MAX_CONCURRENT)):
        results += await asyncio.gather(*(one(each) for each in batch))
    return results


def _id(passage: CorpusPassage) -> str:
    return f"{passage.document}#{passage.number}"


# BM25


class Bm25:
    """BM25 over stems (Robertson and Zaragoza 2009, equation 3.15); terms in most passages still count."""

    def __init__(self, passages: Sequence[str]) -> None:
        self._language: Language = language_of(" ".join(passages[:20]))
        self._counts = [Counter(self._terms(text)) for text in passages]
        lengths = [sum(counts.values()) for counts in self._counts]
        mean = sum(lengths) / len(lengths) if lengths else 1.0
        self._penalty = [K1 * (1 - B + B * length / (mean or 1.0)) for length in lengths]
        frequency = Counter(each for counts in self._counts for each in counts)
        self._weight = {
            each: math.log1p((len(passages) - count + 0.5) / (count + 0.5)) for each, count in frequency.items()
        }
        self._places: dict[str, list[int]] = {}
        for place, counts in enumerate(self._counts):
            for each in counts:
                self._places.setdefault(each, []).append(place)

    def ranked(self, question: str, limit: int) -> tuple[int, ...]:
        """Return positions of passages that share a word with the question, best first; ties by position."""
        scores: dict[int, float] = {}
        for each in dict.fromkeys(self._terms(question)):
            for place in self._places.get(each, ()):
                count = self._counts[place][each]
                score = self._weight[each] * count * (K1 + 1) / (count + self._penalty[place])
                scores[place] = scores.get(place, 0.0) + score
        return tuple(sorted(scores, key=lambda place: (-scores[place], place))[:limit])

    def _terms(self, text: str) -> list[str]:
        return [term(word, self._language) for word in words_in(text, 0, len(text))]
