"""Runs an evaluation: streams samples, gathers findings, counts, keeps everything, loads it at the end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

from ragboard.errors import JudgeError, RagboardError, SettingError
from ragboard.evaluation.asker import Asker, Tally
from ragboard.evaluation.gather import gather, tasks_for
from ragboard.evaluation.journal import open_journal
from ragboard.evaluation.progress import Progress, StatusFile
from ragboard.evaluation.results import ResultFiles, result_files
from ragboard.judges.panel import Panel
from ragboard.metrics import METRICS, Metric, metric_of, outcome
from ragboard.metrics.needs import Need
from ragboard.records import Evaluation, Outcome, Sample, Unscored
from ragboard.store import Store

__all__ = ["Finished", "evaluate_run", "evaluation_of"]

WINDOW = 32
"""Samples under way at a time."""

NOBODY = "none"
"""The judge of an evaluation in which nothing had to be asked: the file had it all."""


@dataclass(frozen=True, kw_only=True)
class Finished:
    """An evaluation that came to its end."""

    evaluation: Evaluation
    samples: int
    asked: int
    replayed: int
    """Tasks whose answer was in the journal already."""
    failed: int
    unscored: int
    """Samples that at least one metric left unscored."""


def evaluation_of(run_id: str, panel: Panel, metrics: Sequence[Metric]) -> Evaluation:
    """The evaluation of a run by these judges; the metrics do not change which one it is."""
    identity = panel.identity()
    digest = blake2b(json.dumps([run_id, identity], sort_keys=True).encode(), digest_size=6).hexdigest()
    return Evaluation(
        id=digest,
        run_id=run_id,
        judge=panel.name,
        heuristic=panel.heuristic,
        identity=identity,
        metrics=tuple(metric.spec for metric in metrics),
    )


def evaluate_run(
    store: Store,
    run_id: str,
    metrics: Sequence[Metric],
    panel: Panel,
    *,
    watch: Callable[[Progress], None] = lambda _: None,
) -> Finished:
    """Evaluate a run in the store, or go on where an earlier evaluation by the same judges stopped.

    Metrics the evaluation has already are kept and counted again from the journal. Raises JudgeError
    before anything is asked where a role is not filled, StoreBusyError where the same evaluation is
    under way elsewhere.
    """
    metrics = _with_earlier(store, evaluation_of(run_id, panel, metrics), metrics)
    evaluation = evaluation_of(run_id, panel, metrics)
    _check_roles(panel, metrics)
    path = store.journal_path(evaluation.id)
    header = {
        "evaluation": evaluation.id,
        "run": run_id,
        "identity": evaluation.identity,
        "metrics": evaluation.metrics,
    }
    with (
        open_journal(path, header) as journal,
        StatusFile(path.with_suffix(".status.json"), store.sample_count(run_id), watch) as status,
        result_files(store.folder / "staging") as results,
    ):
        asker = Asker(panel, journal)
        unscored = _wait_for(_run(store.samples(run_id), metrics, asker, results, status))
        results.close()
        journal.sync()
        if not asker.tally.asked and not asker.tally.replayed:
            evaluation = replace(evaluation, judge=NOBODY, heuristic=False)
        store.load(evaluation, results.paths)
    return _finished(evaluation, status.done, asker.tally, unscored)


def _wait_for(work: Coroutine[Any, Any, int]) -> int:
    """Run to the end; in a thread of its own where this one has an event loop already, as notebooks do."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, work).result()


def _with_earlier(store: Store, evaluation: Evaluation, metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    earlier = (metric_of(spec) for spec in store.evaluation_metrics(evaluation.id))
    kept = [metric for metric in earlier if metric is not None]
    return tuple({metric.spec: metric for metric in (*kept, *metrics)}.values())


def _check_roles(panel: Panel, metrics: Sequence[Metric]) -> None:
    if not metrics:
        raise SettingError(f"no metric was chosen; there are {', '.join(METRICS)}")
    for metric in metrics:
        for kind in sorted(tasks_for(metric.needs()), key=lambda kind: kind.__name__):
            try:
                panel.for_task(kind)
            except JudgeError as error:
                raise JudgeError(f"{metric.spec}: {error}") from error


def _finished(evaluation: Evaluation, samples: int, tally: Tally, unscored: int) -> Finished:
    return Finished(
        evaluation=evaluation,
        samples=samples,
        asked=tally.asked,
        replayed=tally.replayed,
        failed=tally.failed,
        unscored=unscored,
    )


async def _run(
    samples: Iterable[tuple[int, Sample]],
    metrics: Sequence[Metric],
    asker: Asker,
    results: ResultFiles,
    status: StatusFile,
) -> int:
    """Judge every sample, a window of them at a time; the number with an unscored metric."""
    needs = tuple(dict.fromkeys(need for metric in metrics for need in metric.needs()))
    waiting = iter(samples)
    unscored = 0

    async def work() -> None:
        nonlocal unscored
        for position, sample in waiting:
            unscored += await _judge(position, sample, metrics, needs, asker, results)
            status.step(asker.tally)
            await asyncio.sleep(0)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(WINDOW):
                group.create_task(work())
    except* RagboardError as errors:
        raise _first(errors) from errors
    return unscored


def _first(errors: BaseExceptionGroup[RagboardError]) -> RagboardError:
    error = errors.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error


async def _judge(
    position: int,
    sample: Sample,
    metrics: Sequence[Metric],
    needs: tuple[Need[Any], ...],
    asker: Asker,
    results: ResultFiles,
) -> bool:
    findings = await gather(sample, needs, asker.for_sample(sample.id), asker.knows)
    outcomes: dict[str, Outcome] = {metric.spec: outcome(metric, sample, findings) for metric in metrics}
    results.add(position, outcomes, findings)
    return any(isinstance(found, Unscored) for found in outcomes.values())
