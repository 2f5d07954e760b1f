"""The identity of evaluations, and the header files of their journals.

An evaluation of a run is identified by the judges and prompts that its metrics use.
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
from ragboard.judges.panel import NO_JUDGE, Panel
from ragboard.metrics import METRICS, Metric, find_metric
from ragboard.metrics.base import tasks_for
from ragboard.records import Evaluation, JsonValue
from ragboard.store import Store
from ragboard.tasks import Task

__all__ = ["Choice", "Header", "choose_evaluation", "header_data", "judge_setup", "read_header", "tasks_by_metric"]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The metrics, judges and limits that the user chose, without API keys."""

    metrics: tuple[str, ...]
    judge_options: JudgeOptions = field(default_factory=JudgeOptions)
    limits: Mapping[str, float] = field(default_factory=dict[str, float])
    """Limits by their names in `options.LIMITS`; a missing name means no limit."""


@dataclass(frozen=True, kw_only=True)
class Header:
    """The evaluation that a journal belongs to."""

    evaluation_id: str
    run_id: str
    judge: str
    """The judges' names, as in `--judge`."""
    choice: Choice | None
    """The latest choice of the user; None if the judges were built in Python."""
    identity: Mapping[str, JsonValue]
    """The `Evaluation.identity`."""
    metrics: tuple[str, ...]
    """The names of the metrics in the latest choice."""


def judge_setup(panel: Panel, metrics: Iterable[Metric]) -> dict[str, str]:
    """Return the judges' identities by name of the task type, for the task types that these metrics can send."""
    return panel.identity(_tasks(metrics))


def tasks_by_metric(metrics: Iterable[Metric]) -> dict[str, tuple[str, ...]]:
    """Return the names of the task types that each metric can send, by metric name."""
    return {metric.spec: tuple(sorted(kind.__name__ for kind in _tasks([metric]))) for metric in metrics}


def choose_evaluation(
    store: Store, run_id: str, panel: Panel, metrics: Sequence[Metric], known: Mapping[str, Metric] = METRICS
) -> Evaluation:
    """Return the evaluation of a run that gets the scores of these metrics by these judges.

    An existing evaluation, finished or not, is continued if the same judges answer the tasks of its metrics. If several
    match, the one that shares most task types with the metrics is continued, or else the newest. If none matches, the
    evaluation is new. Metrics without a judge have an evaluation of their own. `known`: the available metrics, by name.
    """
    setup = judge_setup(panel, metrics)
    panel_identity = panel.identity()
    existing = tuple(_candidates(store, run_id))
    setups = {evaluation.id: _setup_in_use(evaluation, known) for evaluation in existing}
    matching = [
        evaluation
        for evaluation in existing
        if bool(setups[evaluation.id]) == bool(setup)
        and all(panel_identity.get(task) == judge for task, judge in setups[evaluation.id].items())
    ]
    continued = max(matching, key=lambda evaluation: len(setups[evaluation.id].keys() & setup.keys()), default=None)
    identity = {**setups[continued.id], **setup} if continued else setup
    answering = panel.judges_answering(identity)
    return Evaluation(
        id=continued.id if continued else _new_id(run_id, setup, setups),
        run_id=run_id,
        judge=" + ".join(dict.fromkeys(judge.name for judge in answering)) or NO_JUDGE,
        heuristic=panel.is_rule_based(identity),
        identity=identity,
        metrics=tuple(dict.fromkeys((*(continued.metrics if continued else ()), *(metric.spec for metric in metrics)))),
    )


def _tasks(metrics: Iterable[Metric]) -> frozenset[type[Task]]:
    return tasks_for(need for metric in metrics for need in metric.needs())


def _candidates(store: Store, run_id: str) -> Iterator[Evaluation]:
    """Yield the evaluations of a run: first those in the store, newest first, then those that never finished."""
    finished = store.evaluations(run_id)
    yield from finished
    ids = {evaluation.id for evaluation in finished}
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


def _setup_in_use(evaluation: Evaluation, known: Mapping[str, Metric]) -> dict[str, JsonValue]:
    """Return the identity of the judges that the evaluation's metrics use; of all its judges if a metric is unknown."""
    metrics = [find_metric(spec, known) for spec in evaluation.metrics]
    known_metrics = [metric for metric in metrics if metric is not None]
    if len(known_metrics) < len(metrics):
        return dict(evaluation.identity)
    names = {kind.__name__ for kind in _tasks(known_metrics)}
    return {task: judge for task, judge in evaluation.identity.items() if task in names}


def _new_id(run_id: str, setup: Mapping[str, str], taken: Collection[str]) -> str:
    """Return a new id: a digest of run and judges, and of a number if another evaluation already has this id."""
    for number in count():
        content = [run_id, setup, number] if number else [run_id, setup]
        digest = blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=6).hexdigest()
        if digest not in taken:
            return digest
    raise AssertionError


def header_data(evaluation: Evaluation, options: EvaluationOptions) -> dict[str, Any]:
    """Return the header of an evaluation's journal as JSON data, without secrets."""
    return {
        "evaluation": evaluation.id,
        "run": evaluation.run_id,
        "judge": evaluation.judge,
        "identity": evaluation.identity,
        "metrics": evaluation.metrics,
        "judging": None if options.judge_options is None else options_to_json(options.judge_options),
        "limits": {name: value for name in LIMITS if (value := getattr(options, name)) is not None},
    }


def read_header(path: Path) -> Header | None:
    """Read a header file; None if it is missing or invalid."""
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
        texts = [header["evaluation"], header["run"], header.get("judge", ""), *header.get("metrics", ())]
        if not all(isinstance(text, str) for text in texts):
            return None
        return Header(
            evaluation_id=header["evaluation"],
            run_id=header["run"],
            judge=header.get("judge", ""),
            choice=_choice(header),
            identity=dict(header["identity"]),
            metrics=tuple(header["metrics"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _choice(header: Mapping[str, Any]) -> Choice | None:
    if header.get("judging") is None:
        return None
    limits = header.get("limits") or {}
    if any(name not in LIMITS or type(limit) not in (int, float) for name, limit in limits.items()):
        raise ValueError("a limit is unknown or not a number")
    return Choice(metrics=tuple(header["metrics"]), judge_options=options_from_json(header["judging"]), limits=limits)
