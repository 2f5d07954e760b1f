"""How needs are met that are one judge's word on a whole text: a rating, or whether a quality holds."""

from __future__ import annotations

from ragboard.evaluation.asker import Ask
from ragboard.evaluation.claims import no_column, replied
from ragboard.metrics.needs import DirectlyRated, DirectRating, QualityHolds, QualityRated, QualityRating
from ragboard.records import Sample, Unscored
from ragboard.tasks import AnswerRated, AresQuality, Classified, Classify, Rate, RateAnswer, Rating

__all__ = ["directly_rated", "no_answer", "quality_holds", "quality_rated"]

NOT_ASKED = "Not asked: the passages were judged not relevant to the question."


def no_answer(sample: Sample) -> Unscored | None:
    """Why nothing can be asked of the answer, or None."""
    if sample.answer is None:
        return no_column("answer")
    return None if sample.answer.strip() else Unscored(reason="undefined", detail="the answer is empty")


def _no_passages(sample: Sample) -> Unscored | None:
    if sample.contexts is None:
        return no_column("contexts")
    return None if sample.contexts else Unscored(reason="undefined", detail="no passage was retrieved")


async def quality_rated(need: QualityRating, sample: Sample, ask: Ask) -> QualityRated | Unscored:
    """The rating; only what the quality is about is shown."""
    of_answer, of_passages = need.quality != "context_relevance", need.quality != "answer_relevance"
    missing = (of_answer and no_answer(sample)) or (of_passages and _no_passages(sample))
    if missing:
        return missing
    task = Rate(
        quality=need.quality,
        question=sample.question,
        answer=sample.answer or "" if of_answer else "",
        contexts=tuple(passage.text for passage in sample.contexts or ()) if of_passages else (),
        history=sample.history,
    )
    reply = await replied(ask, task, Rating)
    return reply if isinstance(reply, Unscored) else QualityRated(value=reply.value, reason=reply.reason)


async def directly_rated(_need: DirectRating, sample: Sample, ask: Ask) -> DirectlyRated | Unscored:
    """How well the answer answers the question."""
    missing = no_answer(sample)
    if missing:
        return missing
    task = RateAnswer(question=sample.question, answer=sample.answer or "", history=sample.history)
    reply = await replied(ask, task, AnswerRated)
    return reply if isinstance(reply, Unscored) else DirectlyRated(score=reply.score, reason=reply.reason)


async def quality_holds(need: QualityHolds, sample: Sample, ask: Ask) -> Classified | Unscored:
    """The verdict, asked for only where the passages are relevant if the need says so."""
    if need.after_contexts:
        first = await _classified("context_relevance", sample, ask, with_passages=True)
        if isinstance(first, Unscored):
            return first
        if not first.holds:
            return Classified(holds=False, reason=NOT_ASKED)
    return await _classified(need.quality, sample, ask, with_passages=need.quality != "answer_relevance")


async def _classified(quality: AresQuality, sample: Sample, ask: Ask, *, with_passages: bool) -> Classified | Unscored:
    of_answer = quality != "context_relevance"
    missing = (of_answer and no_answer(sample)) or (with_passages and _no_passages(sample))
    if missing:
        return missing
    contexts = tuple(passage.text for passage in sample.contexts or ())
    answer = sample.answer or "" if of_answer else ""
    task = Classify(quality=quality, question=sample.question, contexts=contexts, answer=answer, history=sample.history)
    return await replied(ask, task, Classified)
