"""Which evaluation of a run some metrics and judges belong to, and the header of its journal that says so.

An evaluation is identified by the judges and prompts that its metrics ask, and by nothing else: a judge that nobody
asks, or a task type that a new version adds, leaves it what it is.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Any

from ragboard.evaluation.options import LIMITS, EvaluationOptions
from ragboard.judges.options import JudgeOptions, options_from_json, options_to_json
from ragboard.judges.panel import NOBODY, Panel
from ragboard.metrics import METRICS, Metric, metric_of
from ragboard.metrics.base import tasks_for
from ragboard.records import Evaluation, JsonValue
from ragboard.store import Store
from ragboard.tasks import Task

__all__ = ["Choice", "Header", "evaluation_of", "header_data", "judge_setup", "read_header", "tasks_by_metric"]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What a person chose to evaluate: by which metrics, by whose judgement, how much of it. Holds no key."""

    metrics: tuple[str, ...]
    judging: JudgeOptions = field(default_factory=JudgeOptions)
    limits: Mapping[str, float] = field(default_factory=dict[str, float])
    """By the names of `options.LIMITS`; what is not there is not limited."""


@dataclass(frozen=True, kw_only=True)
class Header:
    """Which evaluation a journal belongs to."""

    evaluation_id: str
    run_id: str
    judge: str
    """The judges as a person would name them."""
    choice: Choice | None
    """What was chosen last; None where the judges were given in Python."""
    identity: Mapping[str, JsonValue]
    """As `Evaluation.identity`."""
    metrics: tuple[str, ...]
    """Those that were asked for last."""


def judge_setup(panel: Panel, metrics: Iterable[Metric]) -> dict[str, str]:
    """For each task type that these metrics can lead to, all that could change the answer besides the task."""
    return panel.identity(_tasks(metrics))


def tasks_by_metric(metrics: Iterable[Metric]) -> dict[str, tuple[str, ...]]:
    """For each metric the names of the task types that it can lead to."""
    return {metric.spec: tuple(sorted(kind.__name__ for kind in _tasks([metric]))) for metric in metrics}


def evaluation_of(
    store: Store, run_id: str, panel: Panel, metrics: Sequence[Metric], known: Mapping[str, Metric] = METRICS
) -> Evaluation:
    """The evaluation of a run that these metrics by these judges belong to.

    That is one that is there already, finished or not, if these judges are those of all its metrics: then it goes on,
    with the metrics that it has and these. Metrics that ask nobody have an evaluation of their own. Of several it is
    the one that shares most task types with these metrics, then the newest. Otherwise it is a new one. `known` are the
    metrics among which those that it has are looked up.
    """
    setup = judge_setup(panel, metrics)
    ours = panel.identity()
    there = tuple(_candidates(store, run_id))
    own = {one.id: _own_setup(one, known) for one in there}
    matching = [
        one
        for one in there
        if bool(own[one.id]) == bool(setup) and all(ours.get(task) == who for task, who in own[one.id].items())
    ]
    found = max(matching, key=lambda one: len(own[one.id].keys() & setup.keys()), default=None)
    identity = {**own[found.id], **setup} if found else setup
    answering = panel.answering_any(identity)
    return Evaluation(
        id=found.id if found else _new_id(run_id, setup, own),
        run_id=run_id,
        judge=" + ".join(dict.fromkeys(judge.name for judge in answering)) or NOBODY,
        heuristic=any(judge.heuristic for judge in answering),
        identity=identity,
        metrics=tuple(dict.fromkeys((*(found.metrics if found else ()), *(metric.spec for metric in metrics)))),
    )


def _tasks(metrics: Iterable[Metric]) -> frozenset[type[Task]]:
    return tasks_for(need for metric in metrics for need in metric.needs())


def _candidates(store: Store, run_id: str) -> Iterator[Evaluation]:
    """The evaluations of a run that may go on, newest first: those in the store, then those that never finished."""
    finished = store.evaluations(run_id)
    yield from finished
    ids = {one.id for one in finished}
    for path in sorted(store.journal_path("any").parent.glob("*.json")):
        header = read_header(path)
        if header and header.run_id == run_id and header.evaluation_id not in ids:
            yield Evaluation(
                id=header.evaluation_id,
                run_id=run_id,
                judge=header.judge,
                heuristic=False,
                identity=header.identity,
                metrics=header.metrics,
            )


def _own_setup(there: Evaluation, known: Mapping[str, Metric]) -> dict[str, JsonValue]:
    """Who answered the task types of an evaluation's metrics; all that it names where a metric is not known here."""
    metrics = [metric_of(spec, known) for spec in there.metrics]
    found = [metric for metric in metrics if metric is not None]
    if len(found) < len(metrics):
        return dict(there.identity)
    names = {kind.__name__ for kind in _tasks(found)}
    return {task: who for task, who in there.identity.items() if task in names}


def _new_id(run_id: str, setup: Mapping[str, str], taken: Collection[str]) -> str:
    """A digest of run and judges; where another evaluation has it, which grew by other judges since, the next one."""
    for number in count():
        content = [run_id, setup, number] if number else [run_id, setup]
        found = blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=6).hexdigest()
        if found not in taken:
            return found
    raise AssertionError


def header_data(evaluation: Evaluation, options: EvaluationOptions) -> dict[str, Any]:
    """The header as JSON-ready data; nothing in it is secret."""
    return {
        "evaluation": evaluation.id,
        "run": evaluation.run_id,
        "judge": evaluation.judge,
        "identity": evaluation.identity,
        "metrics": evaluation.metrics,
        "judging": None if options.judging is None else options_to_json(options.judging),
        "limits": {name: value for name in LIMITS if (value := getattr(options, name)) is not None},
    }


def read_header(path: Path) -> Header | None:
    """The header in that file; None where there is none, only a part of one yet, or something else."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        texts = [said["evaluation"], said["run"], said.get("judge", ""), *said.get("metrics", ())]
        if not all(isinstance(text, str) for text in texts):
            return None
        return Header(
            evaluation_id=said["evaluation"],
            run_id=said["run"],
            judge=said.get("judge", ""),
            choice=_choice(said),
            identity=dict(said["identity"]),
            metrics=tuple(said["metrics"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _choice(said: Mapping[str, Any]) -> Choice | None:
    if said.get("judging") is None:
        return None
    limits = said.get("limits") or {}
    if any(name not in LIMITS or type(limit) not in (int, float) for name, limit in limits.items()):
        raise ValueError("limits")
    return Choice(metrics=tuple(said["metrics"]), judging=options_from_json(said["judging"]), limits=limits)
