"""Recognise results in the store that need not be computed again: those of an evaluation whose inputs are the same."""

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
    """A digest of what an evaluation's stored results were computed from, and numbers of its samples and tasks."""

    inputs: str | None
    """`input_digest` when the results were stored; None if they are not complete."""
    end: int
    """The position after the last sample with results."""
    journal: int
    """Bytes of the journal whose replies and calls the results have; 0 if the journal is to be read from the start."""
    modified: int
    """When the journal was last modified, in nanoseconds."""
    unscored: int
    tasks: int
    failed: int


NOTHING_LOADED = LoadedState(inputs=None, end=0, journal=0, modified=0, unscored=0, tasks=0, failed=0)
"""The state of an evaluation without results."""


def loaded_state(store: Store, evaluation_id: str) -> LoadedState | None:
    """Return the stored state of an evaluation; None if it is unknown, as from older versions."""
    stored = store.loaded_state(evaluation_id)
    return LoadedState(**stored) if stored and stored.keys() == LoadedState.__dataclass_fields__.keys() else None


def is_current(
    store: Store, evaluation: Evaluation, draws: Draws, options: EvaluationOptions, loaded: LoadedState
) -> bool:
    """Return whether the stored results are those that computing them again would give."""
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
    """Return a digest of everything but the journal that the results at the positions before `end` depend on.

    That is the metrics and the code that computes them, the nuggets and labels of questions and the references that
    samples take from the dataset, the prices and the judge options. None if a metric is not ragboard's own, because its
    code may depend on anything.
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
    """Return the sizes and modification times of ragboard's modules: code can change while the version does not."""
    package = Path(__file__).parents[1]
    modules = ((path, path.stat()) for path in sorted(package.rglob("*.py")))
    return [[str(path.relative_to(package)), at.st_size, at.st_mtime_ns] for path, at in modules]
