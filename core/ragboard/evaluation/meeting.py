"""How each need that does not concern statements is met: which tasks, in which order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from ragboard.evaluation.asker import Ask
from ragboard.evaluation.claims import no_column, replied
from ragboard.evaluation.qualities import directly_rated, no_answer, quality_holds, quality_rated
from ragboard.metrics.needs import (
    Agreement,
    AnswerSimilarity,
    CellVerdicts,
    DirectRating,
    DrawnSentences,
    DrawsFound,
    EntitiesFound,
    EntitiesNamed,
    Fits,
    FitsDescription,
    GeneratedQuestions,
    JointVerdicts,
    Need,
    PassagesJudged,
    QualityHolds,
    QualityRating,
    QuestionsFound,
    SelectedSentences,
    Sentence,
    SentencesFound,
    Statements,
    UsefulPassages,
)
from ragboard.records import Passage, Sample, Unscored
from ragboard.tasks import (
    Classify,
    Critique,
    Critiqued,
    Entities,
    ExtractEntities,
    ExtractStatements,
    GenerateQuestions,
    JudgePassages,
    Questions,
    Rate,
    RateAnswer,
    Selection,
    SelectSentences,
    Similarities,
    Similarity,
    Task,
    Usefulness,
    Verify,
)
from ragboard.text.sentences import sentence_spans

__all__ = ["MEETINGS", "leads_to"]


def leads_to(need: Need[Any]) -> tuple[type[Task], ...]:
    """The types of task that meeting this need can lead to."""
    if isinstance(need, DrawnSentences):
        near = need.agreement == "similarity" and need.n > 1
        return (SelectSentences, Similarity) if near else (SelectSentences,)
    return _LEADS_TO[type(need)]


async def _questions(need: GeneratedQuestions, sample: Sample, ask: Ask) -> QuestionsFound | Unscored:
    if sample.answer is None:
        return no_column("answer")
    if not sample.answer.strip():
        return QuestionsFound(questions=(), similarities=())
    reply = await replied(ask, GenerateQuestions(answer=sample.answer, n=need.n, history=sample.history), Questions)
    if isinstance(reply, Unscored) or not reply.questions:
        return reply if isinstance(reply, Unscored) else QuestionsFound(questions=(), similarities=())
    near = await replied(ask, Similarity(text=sample.question, others=reply.questions), Similarities)
    if isinstance(near, Unscored):
        return near
    return QuestionsFound(questions=reply.questions, similarities=near.values)


async def _sentences(_need: SelectedSentences, sample: Sample, ask: Ask) -> SentencesFound | Unscored:
    found = await _drawn(DrawnSentences(n=1), sample, ask)
    if isinstance(found, Unscored):
        return found
    return SentencesFound(sentences=found.sentences, chosen=found.draws[0] if found.draws else ())


async def _drawn(need: DrawnSentences, sample: Sample, ask: Ask) -> DrawsFound | Unscored:
    if sample.contexts is None:
        return no_column("contexts")
    places, texts = _offered(sample.contexts)
    if not places:
        return DrawsFound(sentences=(), draws=(), alike=())
    task = SelectSentences(question=sample.question, sentences=texts, history=sample.history)
    replies = await asyncio.gather(*(replied(ask, replace(task, draw=draw), Selection) for draw in range(need.n)))
    failed = next((reply for reply in replies if isinstance(reply, Unscored)), None)
    if failed:
        return failed
    draws = tuple(reply.chosen for reply in replies if isinstance(reply, Selection))
    alike = await _alike(need.agreement, draws, texts, ask)
    return alike if isinstance(alike, Unscored) else DrawsFound(sentences=places, draws=draws, alike=alike)


def _offered(contexts: tuple[Passage, ...]) -> tuple[tuple[Sentence, ...], tuple[str, ...]]:
    """The sentences of the passages: their places, and their texts."""
    found = [
        (Sentence(rank=passage.rank, start=start, end=end), passage.text[start:end])
        for passage in contexts
        for start, end in sentence_spans(passage.text)
    ]
    return tuple(place for place, _ in found), tuple(text for _, text in found)


async def _alike(
    agreement: Agreement, draws: tuple[tuple[int, ...], ...], texts: tuple[str, ...], ask: Ask
) -> tuple[float, ...] | Unscored:
    """How alike each pair of draws is; two that chose the same are wholly alike, and nobody is asked."""
    found: list[float] = []
    for one, other in combinations(draws, 2):
        shared, either = set(one) & set(other), set(one) | set(other)
        if one == other or agreement == "jaccard" or not (one and other):
            found.append(len(shared) / len(either) if either else 1.0)
            continue
        near = await _nearest([texts[place] for place in one], tuple(texts[place] for place in other), ask)
        if isinstance(near, Unscored):
            return near
        found.append(near)
    return tuple(found)


async def _nearest(sentences: Sequence[str], others: tuple[str, ...], ask: Ask) -> float | Unscored:
    """The mean, over the sentences, of the similarity to the nearest of the others."""
    replies = await asyncio.gather(
        *(replied(ask, Similarity(text=text, others=others), Similarities) for text in sentences)
    )
    best: list[float] = []
    for reply in replies:
        if isinstance(reply, Unscored):
            return reply
        best.append(max(reply.values))
    return sum(best) / len(best)


async def _useful(need: UsefulPassages, sample: Sample, ask: Ask) -> PassagesJudged | Unscored:
    text = sample.reference if need.toward == "reference" else sample.answer
    if sample.contexts is None:
        return no_column("contexts")
    which = "reference" if need.toward == "reference" else "answer"
    if text is None:
        return no_column(which)
    if not text.strip():
        return Unscored(reason="undefined", detail=f"the {which} is empty")
    if not sample.contexts:
        return PassagesJudged(useful=(), reasons=())
    passages = tuple(passage.text for passage in sample.contexts)
    task = JudgePassages(question=sample.question, answer=text, passages=passages, history=sample.history)
    reply = await replied(ask, task, Usefulness)
    return reply if isinstance(reply, Unscored) else PassagesJudged(useful=reply.useful, reasons=reply.reasons)


async def _fits(need: FitsDescription, sample: Sample, ask: Ask) -> Fits | Unscored:
    missing = no_answer(sample)
    if missing:
        return missing
    contexts = tuple(passage.text for passage in sample.contexts or ()) if need.with_passages else ()
    task = Critique(
        question=sample.question,
        answer=sample.answer or "",
        contexts=contexts,
        definition=need.definition,
        history=sample.history,
    )
    replies = await asyncio.gather(*(replied(ask, replace(task, draw=draw), Critiqued) for draw in range(need.n)))
    failed = next((reply for reply in replies if isinstance(reply, Unscored)), None)
    if failed:
        return failed
    said = [reply for reply in replies if isinstance(reply, Critiqued)]
    return Fits(draws=tuple(reply.yes for reply in said), reasons=tuple(reply.reason for reply in said))


async def _entities(_need: EntitiesNamed, sample: Sample, ask: Ask) -> EntitiesFound | Unscored:
    if sample.reference is None:
        return no_column("reference")
    if sample.contexts is None:
        return no_column("contexts")
    passages = "\n\n".join(passage.text for passage in sample.contexts)
    ours, theirs = await asyncio.gather(_names(sample.reference, ask), _names(passages, ask))
    if isinstance(ours, Unscored):
        return ours
    return theirs if isinstance(theirs, Unscored) else EntitiesFound(reference=ours, passages=theirs)


async def _names(text: str, ask: Ask) -> tuple[str, ...] | Unscored:
    if not text.strip():
        return ()
    reply = await replied(ask, ExtractEntities(text=text), Entities)
    return reply if isinstance(reply, Unscored) else reply.names


async def _similarity(_need: AnswerSimilarity, sample: Sample, ask: Ask) -> float | Unscored:
    for column, text in (("answer", sample.answer), ("reference", sample.reference)):
        if text is None:
            return no_column(column)
        if not text.strip():
            return Unscored(reason="undefined", detail=f"the {column} is empty")
    task = Similarity(text=sample.answer or "", others=(sample.reference or "",))
    reply = await replied(ask, task, Similarities)
    return reply if isinstance(reply, Unscored) else reply.values[0]


MEETINGS: dict[type[Need[Any]], Callable[[Any, Sample, Ask], Awaitable[object]]] = {
    GeneratedQuestions: _questions,
    SelectedSentences: _sentences,
    AnswerSimilarity: _similarity,
    DrawnSentences: _drawn,
    UsefulPassages: _useful,
    FitsDescription: _fits,
    EntitiesNamed: _entities,
    QualityRating: quality_rated,
    DirectRating: directly_rated,
    QualityHolds: quality_holds,
}
"""How to meet needs of each type."""

_LEADS_TO: dict[type[Need[Any]], tuple[type[Task], ...]] = {
    Statements: (ExtractStatements,),
    JointVerdicts: (ExtractStatements, Verify),
    CellVerdicts: (ExtractStatements, Verify),
    GeneratedQuestions: (GenerateQuestions, Similarity),
    SelectedSentences: (SelectSentences,),
    AnswerSimilarity: (Similarity,),
    UsefulPassages: (JudgePassages,),
    FitsDescription: (Critique,),
    EntitiesNamed: (ExtractEntities,),
    QualityRating: (Rate,),
    DirectRating: (RateAnswer,),
    QualityHolds: (Classify,),
}
