"""An embedder that runs a sentence-transformers model on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cached_property
from threading import Lock
from typing import Any

from ragboard.judges.cosines import Vector, similarities, texts_to_embed
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
from ragboard.tasks import Failure, OnCall, Reply, Similarity, Task, ignore_call

__all__ = ["StEmbedder"]

VERSION = "1"

BATCH_SIZE = 64
"""Number of texts that the model reads at once."""


class StEmbedder:
    """Answers Similarity by cosines of a sentence-transformers model's embeddings.

    If a text is longer than the model's limit, only its beginning is embedded. `model` is a folder or a name on Hugging
    Face. Raises JudgeError if the model cannot be downloaded or is not a sentence encoder. The weights are loaded with
    the first task; `answer` raises JudgeError if that fails.
    """

    heuristic = False
    answers: frozenset[type[Task]] = frozenset({Similarity})
    batch_size = 32

    def __init__(self, model: str, *, hardware: Hardware = ANY_HARDWARE) -> None:
        self.model = model
        self.hardware = hardware
        self._folder = model_folder(model)
        modules = read_json(self._folder, "modules.json", "a sentence-transformers model")
        self._digest = digest(self._folder, dict.fromkeys(str(module.get("path", "")) for module in modules))
        self._lock = Lock()

    @property
    def name(self) -> str:
        """The name that users see: `st:MODEL`."""
        return f"st:{self.model}"

    def __repr__(self) -> str:
        return f"StEmbedder({self.model!r})"

    def identity(self, task: type[Task]) -> str:
        """Return the model and a digest of its files."""
        return f"st/{VERSION}/{self.model}/{self._digest}/{task.__name__}"

    async def answer(self, tasks: Sequence[Task], _on_call: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        """Return one reply or failure per task, in order; the model runs in a thread."""
        texts = texts_to_embed(tasks)
        embedded = await asyncio.to_thread(self._vectors, texts) if texts else []
        vectors: dict[str, Vector | Failure] = dict(zip(texts, embedded, strict=True))
        return [similarities(task, vectors) for task in tasks]

    def _vectors(self, texts: Sequence[str]) -> list[Vector]:
        with self._lock, running_on(self.hardware):
            rows = self._model.encode([*map(replace_surrogates, texts)], batch_size=BATCH_SIZE, show_progress_bar=False)
        return [tuple(map(float, row)) for row in rows]

    @cached_property
    def _model(self) -> Any:
        return load("SentenceTransformer", self._folder, self.hardware)
