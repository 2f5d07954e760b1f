"""From a sample and the needs of the chosen metrics to findings: which tasks, in which order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from ragboard.evaluation.asker import Ask
from ragboard.judges.embedded.text import sentence_spans
from ragboard.judges.tasks import (
    Extraction,
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
    Verification,
    Verify,
)
from ragboard.metrics.needs import (
    Findings,
    GeneratedQuestions,
    JointVerdicts,
    Judged,
    Need,
    QuestionsFound,
    SelectedSentences,
    Sentence,
    SentencesFound,
    Statements,
    StatementsFound,
)
from ragboard.records import Sample, Side, Statement, Unscored, Verdict

__all__ = ["ASKED", "gather"]

R = TypeVar("R", bound=Reply)

ASKED: tuple[type[Task], ...] = (ExtractStatements, Verify, GenerateQuestions, SelectSentences, Similarity)
"""The task types that meeting a need can lead to."""

NOTHING_RETRIEVED = Verdict(label="unsupported", reason="No passage was retrieved.")


async def gather(sample: Sample, needs: Iterable[Need[Any]], ask: Ask) -> Findings:
    """Meet every need of one sample; one that cannot be met is an Unscored that says why."""
    wanted = tuple(dict.fromkeys(needs))
    found = await asyncio.gather(*(_meet(need, sample, ask) for need in wanted))
    return Findings(dict(zip(wanted, found, strict=True)))


async def _meet(need: Need[Any], sample: Sample, ask: Ask) -> object:
    return await _MEET[type(need)](need, sample, ask)


async def _reply(ask: Ask, task: Any, kind: type[R]) -> R | Unscored:
    reply = await ask(task)
    if isinstance(reply, Failure):
        return Unscored(reason="failed", detail=reply.detail)
    if not isinstance(reply, kind):
        raise TypeError(f"the judge answered {type(task).__name__} with {type(reply).__name__}")
    return reply


def _side(sample: Sample, side: Side) -> str | None:
    return sample.answer if side == "response" else sample.reference


def _no(column: str) -> Unscored:
    return Unscored(reason="skipped", detail=f"the run file has no {column} for this sample")


async def _statements(need: Statements | JointVerdicts, sample: Sample, ask: Ask) -> StatementsFound | Unscored:
    text = _side(sample, need.side)
    if text is None:
        return _no("answer" if need.side == "response" else "reference")
    if not text.strip():
        return StatementsFound(statements=(), refuses=False)
    reply = await _reply(ask, ExtractStatements(question=sample.question, text=text), Extraction)
    if isinstance(reply, Unscored):
        return reply
    found = tuple(Statement(side=need.side, text=said.text, span=said.span) for said in reply.statements)
    return StatementsFound(statements=found, refuses=reply.refuses)


async def _joint(need: JointVerdicts, sample: Sample, ask: Ask) -> Judged | Unscored:
    if sample.contexts is None:
        return _no("contexts")
    found = await _statements(need, sample, ask)
    if isinstance(found, Unscored):
        return found
    verdicts = await _verdicts(sample, found, ask)
    if isinstance(verdicts, Unscored):
        return verdicts
    return Judged(statements=found.statements, verdicts=verdicts, refuses=found.refuses)


async def _verdicts(sample: Sample, found: StatementsFound, ask: Ask) -> tuple[Verdict, ...] | Unscored:
    if not found.statements:
        return ()
    passages = tuple(passage.text for passage in sample.contexts or ())
    if not any(text.strip() for text in passages):
        return (NOTHING_RETRIEVED,) * len(found.statements)
    texts = tuple(statement.text for statement in found.statements)
    task = Verify(question=sample.question, statements=texts, passages=passages, joint=True, single=False)
    reply = await _reply(ask, task, Verification)
    return reply if isinstance(reply, Unscored) else reply.joint


async def _questions(need: GeneratedQuestions, sample: Sample, ask: Ask) -> QuestionsFound | Unscored:
    if sample.answer is None:
        return _no("answer")
    if not sample.answer.strip():
        return QuestionsFound(questions=(), similarities=())
    reply = await _reply(ask, GenerateQuestions(answer=sample.answer, n=need.n), Questions)
    if isinstance(reply, Unscored) or not reply.questions:
        return reply if isinstance(reply, Unscored) else QuestionsFound(questions=(), similarities=())
    near = await _reply(ask, Similarity(text=sample.question, others=reply.questions), Similarities)
    if isinstance(near, Unscored):
        return near
    return QuestionsFound(questions=reply.questions, similarities=near.values)


async def _sentences(_need: SelectedSentences, sample: Sample, ask: Ask) -> SentencesFound | Unscored:
    if sample.contexts is None:
        return _no("contexts")
    places = tuple(
        Sentence(rank=passage.rank, start=start, end=end)
        for passage in sample.contexts
        for start, end in sentence_spans(passage.text)
    )
    if not places:
        return SentencesFound(sentences=(), chosen=())
    by_rank = {passage.rank: passage.text for passage in sample.contexts}
    texts = tuple(by_rank[place.rank][place.start : place.end] for place in places)
    reply = await _reply(ask, SelectSentences(question=sample.question, sentences=texts), Selection)
    return reply if isinstance(reply, Unscored) else SentencesFound(sentences=places, chosen=reply.chosen)


_MEET: dict[type[Need[Any]], Callable[[Any, Sample, Ask], Awaitable[object]]] = {
    Statements: _statements,
    JointVerdicts: _joint,
    GeneratedQuestions: _questions,
    SelectedSentences: _sentences,
}
