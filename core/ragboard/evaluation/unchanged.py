"""Recognise evaluations whose stored results are current, because their inputs have not changed."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from ragboard.evaluation.draws import Draws
from ragboard.evaluation.journal import is_being_written
from ragboard.evaluation.options import EvaluationOptions
from ragboard.judges.options import options_to_json
from ragboard.records import Evaluation
from ragboard.store import Store

__all__ = ["NOTHING_LOADED", "LoadedState", "input_digest", "is_current", "loaded_state"]


@dataclass(frozen=True, kw_only=True)
class LoadedState:
    """What the stored results of an evaluation were computed from."""

    inputs: str | None
    """`input_digest` when the results were stored; None if they are not complete."""
    end: int
    """The position after the last sample with results."""
    journal: int
    """Number of bytes of the journal from which the results were computed; 0 to read the journal from the start."""
    modified: int
    """When the journal was last modified, in nanoseconds."""
    unscored: int
    """Number of samples for which at least one metric is unscored."""
    tasks: int
    """Number of tasks with a reply or failure."""
    failed: int
    """Number of failed tasks."""


NOTHING_LOADED = LoadedState(inputs=None, end=0, journal=0, modified=0, unscored=0, tasks=0, failed=0)
"""The state of an evaluation without results."""


def loaded_state(store: Store, evaluation_id: str) -> LoadedState | None:
    """Return the stored state of an evaluation; None if it is unknown, as in stores of older versions."""
    stored = store.loaded_state(evaluation_id)
    return LoadedState(**stored) if stored and stored.keys() == LoadedState.__dataclass_fields__.keys() else None


def is_current(
    store: Store, evaluation: Evaluation, draws: Draws, options: EvaluationOptions, loaded: LoadedState
) -> bool:
    """Return whether the evaluation, computed again, would have the stored results."""
    path = store.journal_path(evaluation.id)
    try:
        journal = path.stat()
    except FileNotFoundError:
        return False
    return (
        loaded.inputs is not None
        and (loaded.journal, loaded.modified) == (journal.st_size, journal.st_mtime_ns)
        and loaded.inputs == input_digest(store, evaluation, draws, options, loaded.end)
        and not is_being_written(path)
    )


def input_digest(
    store: Store, evaluation: Evaluation, draws: Draws, options: EvaluationOptions, end: int
) -> str | None:
    """Return a digest of what the results at the positions before `end` depend on, besides the journal.

    These are ragboard's code, the metrics and draws, the dataset's nuggets, labels and references, the prices and the
    judge options. None if a metric is not ragboard's own, because its code may depend on anything.
    """
    if any(type(metric).__module__.partition(".")[0] != "ragboard" for metric in draws.metrics):
        return None
    parts: list[Any] = [
        _code(),
        [repr(metric) for metric in draws.metrics],
        sorted(draws.counts.items()),
        store.last_question_changes(),
        store.dataset_references(evaluation.run_id, end),
        {model: asdict(price) for model, price in options.prices.items()},
        options.judge_options and options_to_json(options.judge_options),
    ]
    return blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=16).hexdigest()


@cache
def _code() -> list[Any]:
    """Return the sizes and modification times of ragboard's modules, which can change without a new version."""
    package = Path(__file__).parents[1]
    modules = ((path, path.stat()) for path in sorted(package.rglob("*.py")))
    return [[str(path.relative_to(package)), at.st_size, at.st_mtime_ns] for path, at in modules]
