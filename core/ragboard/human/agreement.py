"""Holds contenders against what people said: asks, counts, and keeps both in the store."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from itertools import groupby
from typing import TypeAlias

from ragboard.evaluation.asker import Ask, Asker, Tally
from ragboard.evaluation.budget import Budget
from ragboard.evaluation.cache import open_cache
from ragboard.evaluation.engine import check_roles
from ragboard.evaluation.gather import gather
from ragboard.evaluation.journal import open_journal
from ragboard.evaluation.loop import wait_for
from ragboard.evaluation.terms import Terms
from ragboard.human.pairwise import Choice, choose_better, comparable
from ragboard.human.scorers import GPT_RANKING, QUALITIES, LineUp, line_up, own_words, trivial_outcomes
from ragboard.judges.panel import Panel
from ragboard.judges.tasks import Failure, Quality, Selection, SelectSentences, Unasked, Verification, Verify
from ragboard.metrics import Metric, outcome
from ragboard.opinions import Agreement, Item, Judged, Said
from ragboard.records import Outcome, Sample, Score, Unscored
from ragboard.store import Store

__all__ = ["Agreed", "agree"]

Numbered = tuple[int, Item]
OwnWords: TypeAlias = tuple[Outcome, Outcome | None]
"""A judge's verdict, 1 or 0, and the score behind it where there is one."""
Work = Callable[[], Awaitable[list[Said]]]


@dataclass(frozen=True, kw_only=True)
class Agreed:
    """An agreement that was reckoned and kept, and what that took."""

    agreement: Agreement
    items: int
    asked: int
    replayed: int
    """Tasks whose answer was in the journal already."""
    cached: int
    """Tasks that an evaluation of the store had paid for."""
    failed: int
    stopped: str
    """Why it ended before all was asked; empty where it did not."""


def agree(
    store: Store,
    judged: Judged,
    panel: Panel,
    metrics: Sequence[Metric] = (),
    *,
    seed: int = 0,
    terms: Terms | None = None,
    watch: Callable[[int, int], None] = lambda _done, _total: None,
) -> Agreed:
    """Hear every contender on what people judged, and keep it under a name of its own in the store.

    The same file by the same judges goes on where it stopped, and takes the place of what was kept. `watch` is told
    how much is done, of how much. Raises JudgeError before anything is asked where nobody can answer.
    """
    terms = terms or Terms()
    lined = line_up(judged, panel, metrics)
    _check(judged, panel, lined)
    agreement = _agreement(judged, panel, lined, seed)
    path = store.journal_path(f"agree-{agreement.id}")
    with (
        open_journal(path, {"agreement": agreement.name, "judge": panel.name}) as journal,
        open_cache(store.cache_path, path) as cache,
    ):
        asker = Asker(panel, journal, Budget.of(terms, panel), cache if terms.cache else None)
        work = list(_work(judged, panel, lined, asker))
        heard = wait_for(_all(work, terms.together, watch))
    said = [*heard, *_unasked(judged, seed)]
    spoke = {one.contender for one in said}
    there = tuple(contender for contender in agreement.contenders if contender.name in spoke)
    agreement = replace(agreement, contenders=there)
    store.keep_agreement(agreement, judged.items, sorted(said, key=lambda one: one.position))
    return _agreed(agreement, judged, asker.tally, asker.budget.stopped)


def _agreed(agreement: Agreement, judged: Judged, tally: Tally, stopped: str) -> Agreed:
    return Agreed(
        agreement=agreement,
        items=len(judged.items),
        asked=tally.asked,
        replayed=tally.replayed,
        cached=tally.cached,
        failed=tally.failed,
        stopped=stopped,
    )


def _check(judged: Judged, panel: Panel, lined: LineUp) -> None:
    """Raise JudgeError where a role is not filled."""
    if judged.form == "statements":
        panel.for_task(Verify if "supported" in judged.dimensions else SelectSentences)
        return
    chosen = [metric for pairs in lined.metrics.values() for _, metric in pairs]
    if chosen:
        check_roles(panel, chosen)


def _agreement(judged: Judged, panel: Panel, lined: LineUp, seed: int) -> Agreement:
    digest = blake2b(digest_size=6)
    for item in judged.items:
        digest.update(repr(item).encode("utf-8", errors="surrogatepass"))
    metrics = {name: [metric.spec for _, metric in pairs] for name, pairs in lined.metrics.items()}
    digest.update(json.dumps([panel.identity(), metrics, seed], sort_keys=True).encode())
    return Agreement(
        id=digest.hexdigest(),
        name=judged.name,
        form=judged.form,
        source=judged.source,
        judge=panel.name,
        heuristic=panel.heuristic,
        seed=seed,
        contenders=lined.contenders,
        notes=(*judged.notes, *lined.notes),
    )


async def _all(work: Sequence[Work], together: int, watch: Callable[[int, int], None]) -> list[Said]:
    """All of it, so many parts at a time, in order."""
    found: list[list[Said]] = [[] for _ in work]
    waiting = iter(enumerate(work))
    done = 0

    async def worker() -> None:
        nonlocal done
        for place, part in waiting:
            found[place] = await part()
            done += 1
            watch(done, len(work))
            await asyncio.sleep(0)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(together):
                group.create_task(worker())
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from errors
    return [said for part in found for said in part]


def _work(judged: Judged, panel: Panel, lined: LineUp, asker: Asker) -> Iterator[Work]:
    numbered = list(enumerate(judged.items))
    if judged.form != "statements":
        yield from (partial(_item, each, lined, asker) for each in numbered)
        return
    for _, group in groupby(numbered, key=_together):
        yield partial(_statements, list(group), panel.name, asker)


def _together(numbered: Numbered) -> tuple[object, ...]:
    """What is asked of one judge at once: statements of one answer."""
    _, item = numbered
    side = item.sides[0]
    return (item.cluster, side.question, side.history, side.contexts, tuple(item.said))


async def _item(numbered: Numbered, lined: LineUp, asker: Asker) -> list[Said]:
    position, item = numbered
    asks = {sample.id: asker.for_sample(sample.id) for sample in item.sides}
    counted = await asyncio.gather(*(_outcomes(sample, item, lined, asker, asks[sample.id]) for sample in item.sides))
    said = [
        Said(position=position, dimension=dimension, contender=name, outcomes=tuple(each[metric] for each in counted))
        for dimension in item.said
        for name, metric in lined.metrics[dimension]
    ]
    ranked: list[Quality] = [one for one in QUALITIES if one in lined.ranked and one in item.said]
    return [*said, *[await _ranked(position, item, quality, asker.for_sample(item.id)) for quality in ranked]]


async def _outcomes(sample: Sample, item: Item, lined: LineUp, asker: Asker, ask: Ask) -> dict[Metric, Outcome]:
    metrics = [metric for dimension in item.said for _, metric in lined.metrics[dimension]]
    findings = await gather(sample, (need for metric in metrics for need in metric.needs()), ask, asker.knows)
    return {metric: outcome(metric, sample, findings) for metric in metrics}


async def _ranked(position: int, item: Item, quality: Quality, ask: Ask) -> Said:
    """How many of the two orders chose each side; where the order decides neither is better."""
    a, b = item.sides
    outcomes: tuple[Outcome, Outcome]
    if not comparable(quality, a, b):
        missing = Unscored(reason="skipped", detail="a side lacks what the dimension is about")
        outcomes = (missing, missing)
    else:
        choice = await choose_better(quality, a, b, ask)
        outcomes = _of_orders(choice.a_first, choice.b_first, choice.problem)
    return Said(position=position, dimension=quality, contender=GPT_RANKING, outcomes=outcomes)


def _of_orders(a_first: Choice | None, b_first: Choice | None, problem: str) -> tuple[Outcome, Outcome]:
    if a_first is None or b_first is None:
        failed = Unscored(reason="failed", detail=problem)
        return failed, failed
    chosen = [a_first, b_first].count("a")
    return _chosen(chosen), _chosen(2 - chosen)


def _chosen(times: int) -> Score:
    return Score(value=times, counted=f"chosen in {times} of 2 orders")


async def _statements(group: Sequence[Numbered], judge: str, asker: Asker) -> list[Said]:
    """The judge's word on statements, or sentences, that were judged in the light of the same passages."""
    (dimension,) = group[0][1].said
    sample = group[0][1].sides[0]
    texts = tuple(item.sides[0].answer or "" for _, item in group)
    heard = await (_helping if dimension == "helps" else _supported)(sample, texts, asker.for_sample(sample.id))
    return [
        Said(position=position, dimension=dimension, contender=contender.name, outcomes=(found,))
        for (position, _), words in zip(group, heard, strict=True)
        for contender, found in zip(own_words(judge), words, strict=True)
        if found is not None
    ]


async def _supported(sample: Sample, texts: tuple[str, ...], ask: Ask) -> list[OwnWords]:
    passages = tuple(passage.text for passage in sample.contexts or ())
    task = Verify(
        question=sample.question,
        statements=texts,
        passages=passages,
        joint=True,
        single=False,
        history=sample.history,
    )
    reply = await ask(task)
    if not isinstance(reply, Verification):
        return [(_unheard(reply), None)] * len(texts)
    return [
        _words(
            f"{verdict.label}: {verdict.reason}" if verdict.reason else verdict.label,
            verdict.score,
            yes=verdict.label == "supported",
        )
        for verdict in reply.joint
    ]


async def _helping(sample: Sample, texts: tuple[str, ...], ask: Ask) -> list[OwnWords]:
    reply = await ask(SelectSentences(question=sample.question, sentences=texts, history=sample.history))
    if not isinstance(reply, Selection):
        return [(_unheard(reply), None)] * len(texts)
    chosen = [place in reply.chosen for place in range(len(texts))]
    scores = reply.scores or [None] * len(texts)
    return [
        _words("chosen" if yes else "not chosen", score, yes=yes) for yes, score in zip(chosen, scores, strict=True)
    ]


def _words(said: str, score: float | None, *, yes: bool) -> OwnWords:
    return Score(value=float(yes), counted=said), None if score is None else Score(value=score, counted=said)


def _unheard(reply: object) -> Outcome:
    detail = reply.detail if isinstance(reply, Failure) else "the judge said something else"
    return Unscored(reason="skipped" if isinstance(reply, Unasked) else "failed", detail=detail)


def _unasked(judged: Judged, seed: int) -> Iterator[Said]:
    """What nobody needs to be asked for: the trivial contenders, and what the file brings."""
    for position, item in enumerate(judged.items):
        for dimension in item.said:
            for name, outcomes in trivial_outcomes(item, dimension, seed):
                yield Said(position=position, dimension=dimension, contender=name, outcomes=outcomes)
        for name, by_dimension in item.published.items():
            for dimension, scores in by_dimension.items():
                given = tuple(Score(value=value, counted="from the file") for value in scores)
                yield Said(position=position, dimension=dimension, contender=name, outcomes=given)
