"""Questions and answers about a corpus, asked of a judge with the journal and budget of an evaluation.

The round trip keeps a question only where its own passage comes first for it.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
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
    Written,
)
from ragboard.text.sentences import Language, language_of, term, words_in

__all__ = ["Question", "RoundTrip", "planned_calls", "round_trip", "write_answers", "write_questions"]

TOGETHER = 32
"""Most passages at a time."""
NEAREST = 20
"""Most passages that the embedder ranks, of those that share most words with the question."""

K1, B = 1.2, 0.75
"""BM25's k1 and b: saturation of repeated words, and penalty of long passages; the usual values."""

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
    """Questions that the round trip kept, and those that it dropped, by reason."""

    kept: tuple[Question, ...]
    elsewhere: int
    """Questions that retrieve another passage first."""
    repeated: int
    """Repeated questions, ignoring case, space and punctuation."""
    failed: tuple[str, ...] = ()
    """Errors of the embedder, one per question it did not rank."""


def planned_calls(passages: int, questions: int, kinds: int, *, by_meaning: bool) -> int:
    """Return the most calls without repairs: one per passage, question and kind of answer, and embedded question.

    The last only where the round trip goes by meaning.
    """
    return passages + passages * questions * (kinds + by_meaning)


async def write_questions(
    corpus: Sequence[CorpusPassage], places: Sequence[int], n: int, examples: tuple[Example, ...], ask: ForPassage
) -> tuple[tuple[Question, ...], tuple[str, ...]]:
    """Ask for up to `n` questions per chosen passage; also return why some have none."""

    async def one(place: int) -> Questions | Failure:
        said = await ask(_id(corpus[place]))(WriteQuestions(passage=corpus[place].text, n=n, examples=examples))
        return said if isinstance(said, Questions | Failure) else Failure(detail="another kind of reply")

    replies = await _all(one, places)
    found = [
        Question(question=question, place=place, answers={})
        for place, said in zip(places, replies, strict=True)
        if isinstance(said, Questions)
        for question in said.questions
    ]
    return tuple(found), tuple(said.detail for said in replies if isinstance(said, Failure))


async def round_trip(corpus: Sequence[CorpusPassage], asked: Sequence[Question], near: AnswerTask | None) -> RoundTrip:
    """Keep questions that retrieve their own passage first, without repetition; `near` ranks by meaning."""
    index = Bm25([passage.text for passage in corpus])
    seen: set[str] = set()
    kept: list[Question] = []
    elsewhere = 0
    failed: list[str] = []
    for each in asked:
        key = "".join(filter(str.isalnum, each.question.casefold()))
        if key in seen:
            continue
        seen.add(key)
        places = index.ranked(each.question, 1 if near is None else NEAREST)
        first = places[:1] if near is None else await _nearest(each.question, corpus, places, near)
        if isinstance(first, Failure):
            failed.append(first.detail)
        elif first == (each.place,):
            kept.append(each)
        else:
            elsewhere += 1
    return RoundTrip(kept=tuple(kept), elsewhere=elsewhere, repeated=len(asked) - len(seen), failed=tuple(failed))


async def _nearest(
    question: str, corpus: Sequence[CorpusPassage], places: tuple[int, ...], near: AnswerTask
) -> tuple[int, ...] | Failure:
    if not places:
        return ()
    said = await near(Similarity(text=question, others=tuple(corpus[place].text for place in places)))
    if not isinstance(said, Similarities):
        return said if isinstance(said, Failure) else Failure(detail="another kind of reply")
    return (max(zip(places, said.values, strict=True), key=lambda pair: pair[1])[0],)


async def write_answers(
    corpus: Sequence[CorpusPassage],
    asked: Sequence[Question],
    kinds: Sequence[AnswerKind],
    examples: tuple[Example, ...],
    ask: ForPassage,
) -> tuple[tuple[Question, ...], tuple[str, ...]]:
    """Ask for answers; return questions with answers, and why some have none."""

    async def one(pair: tuple[Question, AnswerKind]) -> Written | Failure:
        each, kind = pair
        passage = corpus[each.place]
        shown = "" if kind == "unaided" else passage.text
        task = WriteAnswer(question=each.question, passage=shown, kind=kind, examples=examples)
        said = await ask(_id(passage))(task)
        return said if isinstance(said, Written | Failure) else Failure(detail="another kind of reply")

    wanted: list[tuple[Question, AnswerKind]] = [(each, kind) for each in asked for kind in kinds]
    replies = await _all(one, wanted)
    answers: dict[str, dict[AnswerKind, str]] = {each.question: {} for each in asked}
    for (each, kind), said in zip(wanted, replies, strict=True):
        if isinstance(said, Written) and said.text.strip():
            answers[each.question][kind] = said.text
    found = tuple(Question(question=each.question, place=each.place, answers=answers[each.question]) for each in asked)
    return found, tuple(said.detail for said in replies if isinstance(said, Failure))


async def _all(one: Callable[[S], Awaitable[T]], of: Sequence[S]) -> list[T]:
    """Yield results in order, with a limited number of passages at a time."""
    found: list[T] = []
    waiting = iter(of)
    while some := list(islice(waiting, TOGETHER)):
        found += await asyncio.gather(*(one(each) for each in some))
    return found


def _id(passage: CorpusPassage) -> str:
    return f"{passage.document}#{passage.number}"


# BM25


class Bm25:
    """BM25 over stems (Robertson and Zaragoza 2009, equation 3.15); terms in most passages still count."""

    def __init__(self, passages: Sequence[str]) -> None:
        self._language: Language = language_of(" ".join(passages[:20]))
        self._held = [Counter(self._terms(text)) for text in passages]
        lengths = [sum(held.values()) for held in self._held]
        mean = sum(lengths) / len(lengths) if lengths else 1.0
        self._penalty = [K1 * (1 - B + B * length / (mean or 1.0)) for length in lengths]
        seen = Counter(each for held in self._held for each in held)
        self._weight = {each: math.log1p((len(passages) - count + 0.5) / (count + 0.5)) for each, count in seen.items()}
        self._places: dict[str, list[int]] = {}
        for place, held in enumerate(self._held):
            for each in held:
                self._places.setdefault(each, []).append(place)

    def ranked(self, question: str, limit: int) -> tuple[int, ...]:
        """Return positions of passages that share a word with the question, best first; ties by position."""
        scores: dict[int, float] = {}
        for each in dict.fromkeys(self._terms(question)):
            for place in self._places.get(each, ()):
                count = self._held[place][each]
                worth = self._weight[each] * count * (K1 + 1) / (count + self._penalty[place])
                scores[place] = scores.get(place, 0.0) + worth
        return tuple(sorted(scores, key=lambda place: (-scores[place], place))[:limit])

    def _terms(self, text: str) -> list[str]:
        return [term(word, self._language) for word in words_in(text, 0, len(text))]
