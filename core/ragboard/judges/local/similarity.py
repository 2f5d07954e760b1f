"""Compare texts with a cross-encoder for similarity (STS) on this machine."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from functools import cached_property
from threading import Lock
from typing import Any

from ragboard.errors import JudgeError
from ragboard.judges.local.models import (
    ANY_HARDWARE,
    Hardware,
    digest,
    load,
    model_folder,
    read_json,
    replace_surrogates,
    running_on,
)
from ragboard.tasks import Failure, OnCall, Reply, Similarities, Similarity, Task, ignore_call

__all__ = ["CrossSimilarity"]

VERSION = "1"

BATCH_SIZE = 32
"""Number of pairs that the model reads at once."""


class CrossSimilarity:
    """Answers Similarity with a cross-encoder, which reads two texts and outputs their similarity.

    The model reads `text` first, then one of the others. If an output is not in [0, 1], the task fails. `model` is a
    folder or a name on Hugging Face. Raises JudgeError if the model cannot be loaded or has several outputs.
    """

    heuristic = False
    answers: frozenset[type[Task]] = frozenset({Similarity})
    batch_size = 8

    def __init__(self, model: str, *, hardware: Hardware = ANY_HARDWARE) -> None:
        self.model = model
        self.hardware = hardware
        self._folder = model_folder(model)
        config = read_json(self._folder, "config.json", "a cross-encoder")
        labels = config.get("id2label") if isinstance(config, dict) else None
        if not isinstance(labels, dict) or len(labels) != 1:
            raise JudgeError(f"{model}: is not a cross-encoder with one output; expected a similarity (STS) model")
        self._digest = digest(self._folder)
        self._lock = Lock()

    @property
    def name(self) -> str:
        """The name that users see: `ce:MODEL`."""
        return f"ce:{self.model}"

    def __repr__(self) -> str:
        return f"CrossSimilarity({self.model!r})"

    def identity(self, task: type[Task]) -> str:
        """Return the model and a digest of its files."""
        return f"ce/{VERSION}/{self.model}/{self._digest}/{task.__name__}"

    async def answer(self, tasks: Sequence[Task], _on_call: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        """Return one reply or failure per task, in order; the model runs in a thread."""
        pairs = [(task.text, other) for task in tasks if isinstance(task, Similarity) for other in task.others]
        scores = iter(await asyncio.to_thread(self._scores, pairs) if pairs else ())
        return [self._reply(task, [next(scores) for _ in getattr(task, "others", ())]) for task in tasks]

    def _reply(self, task: Task, scores: list[float]) -> Similarities | Failure:
        if not isinstance(task, Similarity):
            return Failure(detail=f"{self.name} does not answer {type(task).__name__}")
        if not all(math.isfinite(score) and 0 <= score <= 1 for score in scores):
            return Failure(detail=f"{self.name} returned a similarity outside [0, 1]")
        return Similarities(values=tuple(scores))

    def _scores(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        readable_pairs = [(replace_surrogates(first), replace_surrogates(second)) for first, second in pairs]
        with self._lock, running_on(self.hardware):
            scores = self._model.predict(readable_pairs, batch_size=BATCH_SIZE, show_progress_bar=False)
        return [float(score) for score in scores]

    @cached_property
    def _model(self) -> Any:
        return load("CrossEncoder", self._folder, self.hardware)
