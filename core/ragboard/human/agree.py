"""Score labelled items with judges, metrics and trivial baselines, and store the scores as an agreement."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from itertools import groupby
from statistics import fmean
from typing import TypeAlias

from ragboard.evaluation.budget import Budget, usage_by_model
from ragboard.evaluation.cache import open_cache
from ragboard.evaluation.engine import check_roles
from ragboard.evaluation.journal import open_journal
from ragboard.evaluation.options import EvaluationOptions
from ragboard.evaluation.runner import TaskRunner, run_all, wait_for
from ragboard.human.pairwise import choose_better, comparable
from ragboard.human.scorers import (
    GPT_RANKING,
    QUALITIES,
    ScorerSelection,
    grade_scorer,
    judge_scorers,
    select_scorers,
    trivial_outcomes,
)
from ragboard.judges.panel import Panel
from ragboard.metrics import Metric, compute_outcome
from ragboard.metrics.base import SendTask, resolve, tasks_for
from ragboard.readers.labels import ANSWER_SUPPORTED, HELPS, PASSAGE_RELEVANCE, LabelFile, LabelledItem
from ragboard.records import ModelUsage, Outcome, Sample, Score, Unscored
from ragboard.store import Store
from ragboard.store.queries.agreements import Agreement, ScorerResult
from ragboard.tasks import (
    Extraction,
    ExtractStatements,
    Failure,
    GradePassages,
    NotSent,
    PassageGrades,
    Prefer,
    Quality,
    Selection,
    SelectSentences,
    Task,
    Verification,
    Verify,
)

__all__ = [
    "AgreementResult",
    "TextOutcomes",
    "agree",
    "ask_about_texts",
    "check_judges",
    "group_by_answer",
    "plan_agreement",
    "read_verdict",
]

NumberedItem: TypeAlias = tuple[int, LabelledItem]
"""The position of an item in its file, from 0, and the item."""
TextOutcomes: TypeAlias = tuple[Outcome, Outcome | None]
"""A judge's verdict on a text as a score of 1 or 0, and the judge's score of the text; None if it gives no scores."""
Job: TypeAlias = Callable[[], Awaitable[list[ScorerResult]]]
"""An async function that scores one item, all statements of an answer, or all passages of a question."""

TEXT_TASKS: Mapping[str, type[Task]] = {
    "supported": Verify,
    ANSWER_SUPPORTED: Verify,
    HELPS: SelectSentences,
    PASSAGE_RELEVANCE: GradePassages,
}
"""The type of task that judges a labelled text, by dimension."""


@dataclass(frozen=True, kw_only=True)
class AgreementResult:
    """The stored agreement, with the number of tasks, their cost and their duration."""

    agreement: Agreement
    items: int
    """Number of labelled items."""
    asked: int
    """Number of tasks that this call sent to judges."""
    replayed: int
    """Number of tasks answered from the journal of an earlier call."""
    cached: int
    """Number of tasks answered from the store's cache."""
    resumed: bool
    """Whether an earlier call for the same agreement answered some of the tasks."""
    failed: int
    """Number of tasks without a usable reply."""
    stopped: str
    """Why a limit (of cost, tokens or time) stopped the call early; empty if all tasks were sent."""
    usage: tuple[ModelUsage, ...]
    """Calls, tokens and cost by model, including earlier calls for the same agreement."""
    seconds: float
    """Duration of the tasks in seconds, without the time to load a model."""


def agree(
    store: Store,
    labelled: LabelFile,
    panel: Panel,
    metrics: Sequence[Metric] = (),
    *,
    seed: int = 0,
    options: EvaluationOptions | None = None,
    watch: Callable[[int, int], None] = lambda _done, _total: None,
) -> AgreementResult:
    """Score the labelled items with every scorer and store the result as an agreement.

    A second call with the same file, scorers and judges continues where the first stopped, and replaces the stored
    agreement. `watch` is called with the number of finished jobs and their total. Raises JudgeError before any judge is
    called if the panel has no judge for a role that the scorers need.
    """
    options = options or EvaluationOptions()
    selection = select_scorers(labelled, panel, metrics)
    check_judges(labelled, panel, selection)
    agreement = _build_agreement(labelled, panel, selection, seed)
    path = store.journal_path(f"agree-{agreement.id}")
    with (
        open_journal(path, {"agreement": agreement.name, "judge": panel.name}) as journal,
        open_cache(store.cache_path, path) as cache,
    ):
        resumed = len(journal) > 0
        runner = TaskRunner(panel, journal, Budget.for_panel(options, panel), cache if options.cache else None)
        jobs = _list_jobs(labelled, panel, selection, runner)
        stopwatch = _Stopwatch(min(options.samples_at_a_time, len(jobs) // 2), watch)
        scored = wait_for(run_all(jobs, options.samples_at_a_time, stopwatch))
        usage = usage_by_model(journal, panel, options.prices)
        results = [*(result for part in scored for result in part), *_results_without_judge(labelled, seed)]
    names = {result.scorer for result in results}
    agreement = replace(agreement, scorers=tuple(scorer for scorer in agreement.scorers if scorer.name in names))
    store.keep_agreement(agreement, labelled.items, sorted(results, key=lambda result: result.position))
    tally = runner.tally
    return AgreementResult(
        agreement=agreement,
        items=len(labelled.items),
        asked=tally.asked,
        replayed=tally.replayed,
        cached=tally.cached,
        resumed=resumed,
        failed=tally.failed,
        stopped=runner.budget.stopped,
        usage=usage,
        seconds=stopwatch.seconds,
    )


@dataclass
class _Stopwatch:
    """Measures how long jobs take. The first jobs are not measured, because a judge may load its model."""

    skip: int
    """Number of first jobs that are not measured."""
    watch: Callable[[int, int], None]
    started: float = field(default_factory=time.perf_counter)
    seconds: float = 0.0
    """The duration of all jobs, extrapolated from the measured ones."""

    def __call__(self, done: int, total: int) -> None:
        now = time.perf_counter()
        if done == self.skip:
            self.started = now
        if done > self.skip:
            self.seconds = (now - self.started) * total / (done - self.skip)
        self.watch(done, total)


def check_judges(labelled: LabelFile, panel: Panel, selection: ScorerSelection) -> None:
    """Raise JudgeError if the panel has no judge for a role that the scorers need."""
    if labelled.compares_verdicts:
        for kind in _task_types(labelled, selection):
            panel.for_task(kind)
        return
    chosen = [metric for pairs in selection.metrics.values() for _, metric in pairs]
    if chosen:
        check_roles(panel, chosen)


def _task_types(labelled: LabelFile, selection: ScorerSelection) -> frozenset[type[Task]]:
    """Return the types of task that the scorers can send."""
    if labelled.compares_verdicts:
        types = frozenset(TEXT_TASKS[dimension] for dimension in labelled.dimensions)
        return types | ({ExtractStatements} if labelled.form == "answers" else frozenset())
    needs = (need for pairs in selection.metrics.values() for _, metric in pairs for need in metric.needs())
    return tasks_for(needs) | ({Prefer} if selection.ranked else frozenset())


def plan_agreement(labelled: LabelFile, panel: Panel, metrics: Sequence[Metric] = (), *, seed: int = 0) -> Agreement:
    """Return the agreement that `agree` would store. Its id is a hash of items, scorers, judges and seed."""
    return _build_agreement(labelled, panel, select_scorers(labelled, panel, metrics), seed)


def _build_agreement(labelled: LabelFile, panel: Panel, selection: ScorerSelection, seed: int) -> Agreement:
    digest = blake2b(digest_size=6)
    for item in labelled.items:  # ids of stored agreements depend on this text, so its field names must not change
        text = (
            f"Item(id={item.id!r}, cluster={item.cluster!r}, sides={item.samples!r}, said={item.human_labels!r},"
            f" published={item.published!r})"
        )
        digest.update(text.encode("utf-8", errors="surrogatepass"))
    metrics = {name: [metric.spec for _, metric in pairs] for name, pairs in selection.metrics.items()}
    digest.update(
        json.dumps([panel.identity(_task_types(labelled, selection)), metrics, seed], sort_keys=True).encode()
    )
    return Agreement(
        id=digest.hexdigest(),
        name=labelled.name,
        form=labelled.form,
        source=labelled.source,
        judge=panel.name,
        heuristic=panel.is_rule_based({kind.__name__ for kind in _task_types(labelled, selection)}),
        seed=seed,
        scorers=selection.scorers,
        notes=(*labelled.notes, *selection.notes),
    )


def _list_jobs(labelled: LabelFile, panel: Panel, selection: ScorerSelection, runner: TaskRunner) -> list[Job]:
    """Return the jobs to run concurrently, one per item. Statements are grouped by answer, passages by question."""
    if labelled.form == "passages":
        return [partial(_grade_passages, group, panel.name, runner) for group in group_by_answer(labelled)]
    if labelled.form == "statements":
        return [partial(_judge_statements, group, panel.name, runner) for group in group_by_answer(labelled)]
    if labelled.compares_verdicts:
        return [partial(_judge_answer, numbered, panel.name, runner) for numbered in enumerate(labelled.items)]
    return [partial(_score_item, numbered, selection, runner) for numbered in enumerate(labelled.items)]


def group_by_answer(labelled: LabelFile) -> list[list[NumberedItem]]:
    """Group adjacent items: the statements of one answer, or the passages of one question."""

    def answer_key(numbered: NumberedItem) -> tuple[object, ...]:
        _, item = numbered
        side = item.samples[0]
        return (item.cluster, side.question, side.history, side.contexts, tuple(item.human_labels))

    return [list(group) for _, group in groupby(enumerate(labelled.items), key=answer_key)]


async def _score_item(numbered: NumberedItem, selection: ScorerSelection, runner: TaskRunner) -> list[ScorerResult]:
    """Score one item: every metric on each side, and GPT Ranking for a pair."""
    position, item = numbered
    metrics = [metric for dimension in item.human_labels for _, metric in selection.metrics[dimension]]

    async def outcomes(sample: Sample) -> dict[Metric, Outcome]:
        needs = (need for metric in metrics for need in metric.needs())
        results = await resolve(sample, needs, runner.for_sample(sample.id), runner.knows)
        return {metric: compute_outcome(metric, sample, results) for metric in metrics}

    by_side = await asyncio.gather(*map(outcomes, item.samples))
    results = [
        ScorerResult(
            position=position,
            dimension=dimension,
            scorer=name,
            outcomes=tuple(outcomes_of_side[metric] for outcomes_of_side in by_side),
        )
        for dimension in item.human_labels
        for name, metric in selection.metrics[dimension]
    ]
    ranked: list[Quality] = [
        quality for quality in QUALITIES if quality in selection.ranked and quality in item.human_labels
    ]
    return [*results, *[await _rank_pair(position, item, quality, runner.for_sample(item.id)) for quality in ranked]]


async def _rank_pair(position: int, item: LabelledItem, quality: Quality, ask: SendTask) -> ScorerResult:
    """Let the judge compare a pair in both orders. A side's score is how often the judge prefers it, 0 to 2."""
    a, b = item.samples
    problem: Outcome | None = None
    chosen = 0
    if comparable(quality, a, b):
        choice = await choose_better(quality, a, b, ask)
        chosen = [choice.a_first, choice.b_first].count("a")
        if choice.a_first is None or choice.b_first is None:
            problem = Unscored(reason="failed", detail=choice.problem)
    else:
        problem = Unscored(reason="skipped", detail="a side has no text for this dimension")
    outcomes = (
        problem or Score(value=times, counted=f"chosen in {times} of 2 orders") for times in (chosen, 2 - chosen)
    )
    return ScorerResult(position=position, dimension=quality, scorer=GPT_RANKING, outcomes=tuple(outcomes))


async def _judge_statements(group: Sequence[NumberedItem], judge: str, runner: TaskRunner) -> list[ScorerResult]:
    """Judge the statements or sentences of one answer."""
    (dimension,) = group[0][1].human_labels
    sample = group[0][1].samples[0]
    texts = tuple(item.samples[0].answer or "" for _, item in group)
    outcomes = await ask_about_texts(sample, texts, runner.for_sample(sample.id), helping=dimension == HELPS)
    return [
        ScorerResult(position=position, dimension=dimension, scorer=scorer.name, outcomes=(outcome,))
        for (position, _), both in zip(group, outcomes, strict=True)
        for scorer, outcome in zip(judge_scorers(judge), both, strict=True)
        if outcome is not None
    ]


async def _grade_passages(group: Sequence[NumberedItem], judge: str, runner: TaskRunner) -> list[ScorerResult]:
    """Grade the passages of one question, all in one task."""
    sample = group[0][1].samples[0]
    texts = tuple(item.samples[0].answer or "" for _, item in group)
    ask = runner.for_sample(sample.id)
    reply = await ask(GradePassages(question=sample.question, passages=texts, history=sample.history))
    outcomes: list[Outcome] = [_unscored_outcome(reply)] * len(texts)
    if isinstance(reply, PassageGrades):
        outcomes = [
            Score(value=grade, counted=f"grade {grade}: {reason}" if reason else f"grade {grade}")
            for grade, reason in zip(reply.grades, reply.reasons, strict=True)
        ]
    return [
        ScorerResult(
            position=position, dimension=PASSAGE_RELEVANCE, scorer=grade_scorer(judge).name, outcomes=(outcome,)
        )
        for (position, _), outcome in zip(group, outcomes, strict=True)
    ]


async def _judge_answer(numbered: NumberedItem, judge: str, runner: TaskRunner) -> list[ScorerResult]:
    """Judge a whole answer: it is supported if all its statements are; its score is the mean of their scores."""
    position, item = numbered
    sample = item.samples[0]
    ask = runner.for_sample(sample.id)
    reply = await ask(ExtractStatements(question=sample.question, text=sample.answer or "", history=sample.history))
    verdict_and_score: TextOutcomes
    if not isinstance(reply, Extraction):
        verdict_and_score = _unscored_outcome(reply), None
    elif not reply.statements:
        verdict_and_score = Unscored(reason="undefined", detail="the answer has no statements"), None
    else:
        texts = tuple(statement.text for statement in reply.statements)
        outcomes = await ask_about_texts(sample, texts, ask)
        verdicts = [verdict.value for verdict, _ in outcomes if isinstance(verdict, Score)]
        scores = [score.value for _, score in outcomes if isinstance(score, Score)]
        counted = f"{verdicts.count(1.0)} of {len(texts)} statements are supported"
        verdict_and_score = (
            Score(value=min(verdicts), counted=counted) if len(verdicts) == len(texts) else outcomes[0][0],
            Score(value=fmean(scores), counted=f"mean of {len(texts)} statements")
            if len(scores) == len(texts)
            else None,
        )
    return [
        ScorerResult(position=position, dimension=ANSWER_SUPPORTED, scorer=scorer.name, outcomes=(outcome,))
        for scorer, outcome in zip(judge_scorers(judge), verdict_and_score, strict=True)
        if outcome is not None
    ]


async def ask_about_texts(
    sample: Sample, texts: tuple[str, ...], ask: SendTask, *, helping: bool = False
) -> list[TextOutcomes]:
    """Ask a judge whether the passages support each text.

    With `helping`, the texts are sentences, and the judge chooses those that help to answer the question.
    """
    if helping:
        selected = await ask(SelectSentences(question=sample.question, sentences=texts, history=sample.history))
        if not isinstance(selected, Selection):
            return [(_unscored_outcome(selected), None)] * len(texts)
        chosen = [index in selected.chosen for index in range(len(texts))]
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
        return [(_unscored_outcome(reply), None)] * len(texts)
    return [
        _outcomes_of(
            f"{verdict.label}: {verdict.reason}" if verdict.reason else verdict.label,
            verdict.score,
            yes=verdict.label == "supported",
        )
        for verdict in reply.joint
    ]


def read_verdict(outcome: Score) -> str:
    """Return the verdict in an outcome of `ask_about_texts`, such as `contradicted` or `chosen`."""
    return outcome.counted.partition(":")[0]


def _outcomes_of(counted: str, score: float | None, *, yes: bool) -> TextOutcomes:
    return Score(value=float(yes), counted=counted), None if score is None else Score(value=score, counted=counted)


def _unscored_outcome(reply: object) -> Outcome:
    detail = reply.detail if isinstance(reply, Failure) else "the judge's reply has the wrong type"
    return Unscored(reason="skipped" if isinstance(reply, NotSent) else "failed", detail=detail)


def _results_without_judge(labelled: LabelFile, seed: int) -> Iterator[ScorerResult]:
    """Yield the scores that need no judge: those of trivial baselines, and those in the file."""
    for position, item in enumerate(labelled.items):
        for dimension in item.human_labels:
            for name, outcomes in trivial_outcomes(item, dimension, seed):
                yield ScorerResult(position=position, dimension=dimension, scorer=name, outcomes=outcomes)
        for name, by_dimension in item.published.items():
            for dimension, scores in by_dimension.items():
                in_file = tuple(Score(value=value, counted="from the file") for value in scores)
                yield ScorerResult(position=position, dimension=dimension, scorer=name, outcomes=in_file)
