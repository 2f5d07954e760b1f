"""Recognise an evaluation whose stored results are up to date, so its journal need not be read again."""

from __future__ import annotations

import json
from collections.abc import Sequence
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

__all__ = ["LoadedState", "input_digest", "unchanged_state"]


@dataclass(frozen=True, kw_only=True)
class LoadedState:
    """A digest of what an evaluation's stored results were computed from, and numbers of its samples and tasks."""

    inputs: str
    """The `input_digest` when the results were stored."""
    samples: int
    """Number of samples with results."""
    unscored: int
    tasks: int
    failed: int


def unchanged_state(store: Store, evaluation_id: str, inputs: str | None) -> LoadedState | None:
    """Return the stored state of an evaluation if its results were computed from these inputs, else None."""
    stored = store.loaded_state(evaluation_id)
    if stored is None or stored["inputs"] != inputs or is_being_written(store.journal_path(evaluation_id)):
        return None
    return LoadedState(**stored)


def input_digest(
    store: Store, evaluation: Evaluation, draws: Draws, positions: Sequence[int], options: EvaluationOptions
) -> str | None:
    """Return a digest of everything that the results of an evaluation depend on.

    These are the replies in the journal, the metrics and their code, the samples, the nuggets and labels of their
    questions, the references from the dataset, the prices and the judge options. None if there is no journal, or if a
    metric is from a plugin, because its code may depend on anything.
    """
    if any(type(metric).__module__.partition(".")[0] != "ragboard" for metric in draws.metrics):
        return None
    try:
        journal = store.journal_path(evaluation.id).stat()
    except FileNotFoundError:
        return None
    parts: list[Any] = [
        _code(),
        [repr(metric) for metric in draws.metrics],
        sorted(draws.counts.items()),
        [positions.start, positions.stop] if isinstance(positions, range) else list(positions),
        [journal.st_size, journal.st_mtime_ns],
        store.last_question_changes(),
        store.dataset_references(evaluation.run_id),
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
