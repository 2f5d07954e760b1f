"""From a sample and the needs of the chosen metrics to findings: which tasks, in which order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from ragboard.evaluation.asker import Ask
from ragboard.evaluation.claims import Claims, Known, no_column, replied
from ragboard.judges.embedded.text import sentence_spans
from ragboard.judges.tasks import (
    ExtractStatements,
    Failure,
    GenerateQuestions,
    Questions,
    Reply,
    Selection,
    SelectSentences,
    Similarities,
    Similarity,
    Task,
    Verify,
)
from ragboard.metrics.needs import (
    AnswerSimilarity,
    CellVerdicts,
    Findings,
    GeneratedQuestions,
    JointVerdicts,
    Need,
    QuestionsFound,
    SelectedSentences,
    Sentence,
    SentencesFound,
    Statements,
)
from ragboard.records import Sample, Unscored

__all__ = ["gather", "tasks_for"]


def tasks_for(needs: Iterable[Need[Any]]) -> frozenset[type[Task]]:
    """The types of task that meeting these needs can lead to."""
    return frozenset(task for need in needs for task in _LEADS_TO[type(need)])


async def gather(sample: Sample, needs: Iterable[Need[Any]], ask: Ask, known: Known = lambda _: False) -> Findings:
    """Meet every need of one sample; one that cannot be met is an Unscored that says why.

    `known` says whether a task was answered before: an answer that is there decides how the rest is asked.
    """
    wanted = tuple(dict.fromkeys(needs))
    claims = Claims.of(sample, wanted, _once(ask), known)
    found = await asyncio.gather(*(_meet(need, claims) for need in wanted))
    return Findings(dict(zip(wanted, found, strict=True)))


def _once(ask: Ask) -> Ask:
    """Asks each task once, however many needs lead to it."""
    asked: dict[Task, asyncio.Future[Reply | Failure]] = {}

    async def once(task: Task) -> Reply | Failure:
        if task not in asked:
            asked[task] = asyncio.ensure_future(ask(task))
        return await asked[task]

    return once


async def _meet(need: Need[Any], claims: Claims) -> object:
    match need:
        case Statements():
            return await claims.statements(need)
        case JointVerdicts():
            return await claims.joint(need)
        case CellVerdicts():
            return await claims.cells(need)
        case _:
            return await _MEET[type(need)](need, claims.sample, claims.ask)


async def _questions(need: GeneratedQuestions, sample: Sample, ask: Ask) -> QuestionsFound | Unscored:
    if sample.answer is None:
        return no_column("answer")
    if not sample.answer.strip():
        return QuestionsFound(questions=(), similarities=())
    reply = await replied(ask, GenerateQuestions(answer=sample.answer, n=need.n), Questions)
    if isinstance(reply, Unscored) or not reply.questions:
        return reply if isinstance(reply, Unscored) else QuestionsFound(questions=(), similarities=())
    near = await replied(ask, Similarity(text=sample.question, others=reply.questions), Similarities)
    if isinstance(near, Unscored):
        return near
    return QuestionsFound(questions=reply.questions, similarities=near.values)


async def _sentences(_need: SelectedSentences, sample: Sample, ask: Ask) -> SentencesFound | Unscored:
    if sample.contexts is None:
        return no_column("contexts")
    places = tuple(
        Sentence(rank=passage.rank, start=start, end=end)
        for passage in sample.contexts
        for start, end in sentence_spans(passage.text)
    )
    if not places:
        return SentencesFound(sentences=(), chosen=())
    by_rank = {passage.rank: passage.text for passage in sample.contexts}
    texts = tuple(by_rank[place.rank][place.start : place.end] for place in places)
    reply = await replied(ask, SelectSentences(question=sample.question, sentences=texts), Selection)
    return reply if isinstance(reply, Unscored) else SentencesFound(sentences=places, chosen=reply.chosen)


async def _similarity(_need: AnswerSimilarity, sample: Sample, ask: Ask) -> float | Unscored:
    for column, text in (("answer", sample.answer), ("reference", sample.reference)):
        if text is None:
            return no_column(column)
        if not text.strip():
            return Unscored(reason="undefined", detail=f"the {column} is empty")
    task = Similarity(text=sample.answer or "", others=(sample.reference or "",))
    reply = await replied(ask, task, Similarities)
    return reply if isinstance(reply, Unscored) else reply.values[0]


_MEET: dict[type[Need[Any]], Callable[[Any, Sample, Ask], Awaitable[object]]] = {
    GeneratedQuestions: _questions,
    SelectedSentences: _sentences,
    AnswerSimilarity: _similarity,
}

_LEADS_TO: dict[type[Need[Any]], tuple[type[Task], ...]] = {
    Statements: (ExtractStatements,),
    JointVerdicts: (ExtractStatements, Verify),
    CellVerdicts: (ExtractStatements, Verify),
    GeneratedQuestions: (GenerateQuestions, Similarity),
    SelectedSentences: (SelectSentences,),
    AnswerSimilarity: (Similarity,),
}
