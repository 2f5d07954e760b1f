"""Compares scorers with people's labels: asks judges, counts metrics, and keeps both in the store."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from itertools import groupby
from typing import TypeAlias

from ragboard.evaluation.budget import Budget
from ragboard.evaluation.cache import open_cache
from ragboard.evaluation.engine import check_roles
from ragboard.evaluation.journal import open_journal
from ragboard.evaluation.options import EvaluationOptions
from ragboard.evaluation.runner import TaskRunner, run_all, wait_for
from ragboard.human.pairwise import choose_better, comparable
from ragboard.human.scorers import GPT_RANKING, QUALITIES, LineUp, judge_scorers, line_up, trivial_outcomes
from ragboard.judges.panel import Panel
from ragboard.metrics import Metric, outcome
from ragboard.metrics.base import AnswerTask, resolve
from ragboard.readers.labels import Item, LabelFile
from ragboard.records import Outcome, Sample, Score, Unscored
from ragboard.store import Store
from ragboard.store.queries.agreements import Agreement, ScorerResult
from ragboard.tasks import Failure, NotAsked, Quality, Selection, SelectSentences, Verification, Verify

__all__ = ["Agreed", "TextOutcomes", "agree", "ask_about_texts"]

NumberedItem: TypeAlias = tuple[int, Item]
TextOutcomes: TypeAlias = tuple[Outcome, Outcome | None]
"""A judge's verdict on a text, 1 or 0, and the score behind it if there is one."""
Work: TypeAlias = Callable[[], Awaitable[list[ScorerResult]]]


@dataclass(frozen=True, kw_only=True)
class Agreed:
    """An agreement that was computed and kept, and what that took."""

    agreement: Agreement
    items: int
    asked: int
    replayed: int
    """Tasks whose answer was in the journal already."""
    cached: int
    """Tasks that an evaluation of the store had paid for."""
    failed: int
    stopped: str
    """Why it ended before all was asked; empty if it did not."""


def agree(
    store: Store,
    labelled: LabelFile,
    panel: Panel,
    metrics: Sequence[Metric] = (),
    *,
    seed: int = 0,
    options: EvaluationOptions | None = None,
    watch: Callable[[int, int], None] = lambda _done, _total: None,
) -> Agreed:
    """Score what people labelled with every scorer, and keep it under a name of its own in the store.

    The same file by the same judges goes on where it stopped, and replaces what was kept. `watch` is called with how
    many parts are done, of how many. Raises JudgeError before anything is asked if nobody can answer.
    """
    options = options or EvaluationOptions()
    lined = line_up(labelled, panel, metrics)
    _check_judges(labelled, panel, lined)
    agreement = _agreement(labelled, panel, lined, seed)
    path = store.journal_path(f"agree-{agreement.id}")
    with (
        open_journal(path, {"agreement": agreement.name, "judge": panel.name}) as journal,
        open_cache(store.cache_path, path) as cache,
    ):
        asker = TaskRunner(panel, journal, Budget.of(options, panel), cache if options.cache else None)
        work = _work(labelled, panel, lined, asker)
        scored = wait_for(run_all(work, options.concurrency, watch))
        results = [*(one for part in scored for one in part), *_unasked(labelled, seed)]
    names = {one.scorer for one in results}
    agreement = replace(agreement, contenders=tuple(one for one in agreement.contenders if one.name in names))
    store.keep_agreement(agreement, labelled.items, sorted(results, key=lambda one: one.position))
    tally = asker.tally
    return Agreed(
        agreement=agreement,
        items=len(labelled.items),
        asked=tally.asked,
        replayed=tally.replayed,
        cached=tally.cached,
        failed=tally.failed,
        stopped=asker.budget.stopped,
    )


def _check_judges(labelled: LabelFile, panel: Panel, lined: LineUp) -> None:
    """Raise JudgeError if a role is not filled."""
    if labelled.form == "statements":
        panel.for_task(Verify if "supported" in labelled.dimensions else SelectSentences)
        return
    chosen = [metric for pairs in lined.metrics.values() for _, metric in pairs]
    if chosen:
        check_roles(panel, chosen)


def _agreement(labelled: LabelFile, panel: Panel, lined: LineUp, seed: int) -> Agreement:
    digest = blake2b(digest_size=6)
    for one in labelled.items:
        written = (
            f"Item(id={one.id!r}, cluster={one.cluster!r}, sides={one.sides!r}, said={one.human_ratings!r},"
            f" published={one.published!r})"
        )
        digest.update(written.encode("utf-8", errors="surrogatepass"))
    metrics = {name: [metric.spec for _, metric in pairs] for name, pairs in lined.metrics.items()}
    digest.update(json.dumps([panel.identity(), metrics, seed], sort_keys=True).encode())
    return Agreement(
        id=digest.hexdigest(),
        name=labelled.name,
        form=labelled.form,
        source=labelled.source,
        judge=panel.name,
        heuristic=panel.heuristic,
        seed=seed,
        contenders=lined.scorers,
        notes=(*labelled.notes, *lined.notes),
    )


def _work(labelled: LabelFile, panel: Panel, lined: LineUp, asker: TaskRunner) -> list[Work]:
    """What to ask, in parts: each item, or the statements of one answer at once."""

    def answer_of(numbered: NumberedItem) -> tuple[object, ...]:
        _, item = numbered
        side = item.sides[0]
        return (item.cluster, side.question, side.history, side.contexts, tuple(item.human_ratings))

    numbered = list(enumerate(labelled.items))
    if labelled.form == "statements":
        return [partial(_statements, list(group), panel.name, asker) for _, group in groupby(numbered, key=answer_of)]
    return [partial(_item, each, lined, asker) for each in numbered]


async def _item(numbered: NumberedItem, lined: LineUp, asker: TaskRunner) -> list[ScorerResult]:
    """Every metric of every side, and GPT Ranking of a pair."""
    position, item = numbered
    metrics = [metric for dimension in item.human_ratings for _, metric in lined.metrics[dimension]]

    async def outcomes(sample: Sample) -> dict[Metric, Outcome]:
        needs = (need for metric in metrics for need in metric.needs())
        findings = await resolve(sample, needs, asker.for_sample(sample.id), asker.knows)
        return {metric: outcome(metric, sample, findings) for metric in metrics}

    counted = await asyncio.gather(*map(outcomes, item.sides))
    results = [
        ScorerResult(
            position=position, dimension=dimension, scorer=name, outcomes=tuple(each[metric] for each in counted)
        )
        for dimension in item.human_ratings
        for name, metric in lined.metrics[dimension]
    ]
    ranked: list[Quality] = [one for one in QUALITIES if one in lined.ranked and one in item.human_ratings]
    return [*results, *[await _ranked(position, item, quality, asker.for_sample(item.id)) for quality in ranked]]


async def _ranked(position: int, item: Item, quality: Quality, ask: AnswerTask) -> ScorerResult:
    """In how many of the two orders each side was chosen; if the order decides neither is better."""
    a, b = item.sides
    problem: Outcome | None = None
    chosen = 0
    if comparable(quality, a, b):
        choice = await choose_better(quality, a, b, ask)
        chosen = [choice.a_first, choice.b_first].count("a")
        if choice.a_first is None or choice.b_first is None:
            problem = Unscored(reason="failed", detail=choice.problem)
    else:
        problem = Unscored(reason="skipped", detail="a side lacks what the dimension is about")
    outcomes = (
        problem or Score(value=times, counted=f"chosen in {times} of 2 orders") for times in (chosen, 2 - chosen)
    )
    return ScorerResult(position=position, dimension=quality, scorer=GPT_RANKING, outcomes=tuple(outcomes))


async def _statements(group: Sequence[NumberedItem], judge: str, asker: TaskRunner) -> list[ScorerResult]:
    """The judge's verdict and score on the statements, or sentences, of one answer."""
    (dimension,) = group[0][1].human_ratings
    sample = group[0][1].sides[0]
    texts = tuple(item.sides[0].answer or "" for _, item in group)
    outcomes = await ask_about_texts(sample, texts, asker.for_sample(sample.id), helping=dimension == "helps")
    return [
        ScorerResult(position=position, dimension=dimension, scorer=scorer.name, outcomes=(found,))
        for (position, _), both in zip(group, outcomes, strict=True)
        for scorer, found in zip(judge_scorers(judge), both, strict=True)
        if found is not None
    ]


async def ask_about_texts(
    sample: Sample, texts: tuple[str, ...], ask: AnswerTask, *, helping: bool = False
) -> list[TextOutcomes]:
    """Whether the passages support each statement; with `helping`, whether each sentence helps with the question."""
    if helping:
        selected = await ask(SelectSentences(question=sample.question, sentences=texts, history=sample.history))
        if not isinstance(selected, Selection):
            return [(_unanswered(selected), None)] * len(texts)
        chosen = [place in selected.chosen for place in range(len(texts))]
        scores = selected.scores or [None] * len(texts)
        return [
            _outcomes_of("chosen" if yes else "not chosen", score, yes=yes)
            for yes, score in zip(chosen, scores, strict=True)
        ]
    passages = tuple(passage.text for passage in sample.contexts or ())
    reply = await ask(
        Verify(
            question=sample.question,
            statements=texts,
            passages=passages,
            joint=True,
            single=False,
            history=sample.history,
        )
    )
    if not isinstance(reply, Verification):
        return [(_unanswered(reply), None)] * len(texts)
    return [
        _outcomes_of(
            f"{verdict.label}: {verdict.reason}" if verdict.reason else verdict.label,
            verdict.score,
            yes=verdict.label == "supported",
        )
        for verdict in reply.joint
    ]


def _outcomes_of(counted: str, score: float | None, *, yes: bool) -> TextOutcomes:
    return Score(value=float(yes), counted=counted), None if score is None else Score(value=score, counted=counted)


def _unanswered(reply: object) -> Outcome:
    detail = reply.detail if isinstance(reply, Failure) else "the judge said something else"
    return Unscored(reason="skipped" if isinstance(reply, NotAsked) else "failed", detail=detail)


def _unasked(labelled: LabelFile, seed: int) -> Iterator[ScorerResult]:
    """What nobody needs to be asked for: the trivial baselines, and the scores that the file brings."""
    for position, item in enumerate(labelled.items):
        for dimension in item.human_ratings:
            for name, outcomes in trivial_outcomes(item, dimension, seed):
                yield ScorerResult(position=position, dimension=dimension, scorer=name, outcomes=outcomes)
        for name, by_dimension in item.published.items():
            for dimension, scores in by_dimension.items():
                given = tuple(Score(value=value, counted="from the file") for value in scores)
                yield ScorerResult(position=position, dimension=dimension, scorer=name, outcomes=given)
