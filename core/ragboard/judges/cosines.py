"""Cosine similarities of texts from their embeddings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import mul
from typing import TypeAlias

from ragboard.tasks import Failure, Similarities, Similarity, Task

__all__ = ["Vector", "similarities", "texts_to_embed"]

Vector: TypeAlias = tuple[float, ...]


def texts_to_embed(tasks: Sequence[Task]) -> list[str]:
    """Return the texts of all `Similarity` tasks, without repetition and without empty texts."""
    similarity_tasks = [task for task in tasks if isinstance(task, Similarity) and task.others]
    texts = dict.fromkeys(text for task in similarity_tasks for text in (task.text, *task.others))
    return [text for text in texts if text.strip()]


def similarities(task: Task, vectors: Mapping[str, Vector | Failure]) -> Similarities | Failure:
    """Return the cosine of the task's `text` with each of its `others`, in order.

    `vectors` has the embedding of each text, or a Failure. Returns a Failure if an embedding is missing or not usable.
    """
    if not isinstance(task, Similarity):
        return Failure(detail=f"an embedder does not answer {type(task).__name__}")
    if not task.others:
        return Similarities(values=())
    embeddings = [
        vectors.get(text, Failure(detail="an empty text has no embedding")) for text in (task.text, *task.others)
    ]
    failed = next((vector for vector in embeddings if isinstance(vector, Failure)), None)
    if failed:
        return failed
    first, *others = (vector for vector in embeddings if not isinstance(vector, Failure))
    values = tuple(_cosine(first, other) for other in others)
    if not all(math.isfinite(value) for value in values):
        return Failure(detail="an embedding is zero or not finite")
    return Similarities(values=values)


def _cosine(first: Vector, second: Vector) -> float:
    """Return the cosine of two vectors, in [-1, 1]; NaN if a vector is zero or not finite."""
    lengths = math.hypot(*first) * math.hypot(*second)
    if not lengths or not math.isfinite(lengths):
        return math.nan
    product: float = sum(map(mul, first, second))
    return max(-1.0, min(1.0, product / lengths))
