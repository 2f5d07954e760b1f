"""Similarity by an embedding model, at OpenAI or any server that speaks its protocol."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import mul
from typing import TYPE_CHECKING, Any, TypeAlias

from ragboard.judges.llm.chat import exchange
from ragboard.judges.llm.endpoint import CallFailedError, Endpoint, UnreadableError
from ragboard.judges.tasks import Exchange, Failure, Hear, Reply, Request, Similarities, Similarity, Task, unheard

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["OpenAiEmbedder"]

VERSION = "1"

BATCH = 256
"""Texts in one call."""

Vector: TypeAlias = tuple[float, ...]


class OpenAiEmbedder:
    """Answers Similarity by cosines of embeddings; the texts of a batch are embedded together, each once."""

    heuristic = False
    answers: frozenset[type[Task]] = frozenset({Similarity})

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        self.model = model
        self.endpoint = endpoint

    @property
    def name(self) -> str:
        """`openai:MODEL`."""
        return f"openai:{self.model}"

    def __repr__(self) -> str:
        return f"OpenAiEmbedder({self.model!r}, {self.endpoint!r})"

    def identity(self, task: type[Task]) -> str:
        """Model and address."""
        return f"embedding/{VERSION}/{self.model}/{self.endpoint.address}/{task.__name__}"

    def request(self, task: Task) -> Request | None:
        """The texts as they would be sent."""
        texts = _texts([task])
        return Request(text="\n".join(texts), calls=-(-len(texts) // BATCH)) if texts else None

    async def answer(self, tasks: Sequence[Task], hear: Hear = unheard) -> Sequence[Reply | Failure]:
        """One reply or failure for each task, in order. Raises JudgeError where no call can succeed."""
        texts = _texts(tasks)
        vectors: dict[str, Vector | Failure] = {}
        for start in range(0, len(texts), BATCH):
            vectors |= await self._embed(texts[start : start + BATCH], partial(hear, tasks[0]))
        return [_similarities(task, vectors) for task in tasks]

    async def _embed(self, texts: list[str], hear: Callable[[Exchange], None]) -> dict[str, Vector | Failure]:
        try:
            found, heard = await self.endpoint.call(partial(self._ask, texts))
        except CallFailedError as error:
            return dict.fromkeys(texts, Failure(detail=str(error)))
        hear(heard)
        return dict(zip(texts, found, strict=True))

    async def _ask(self, texts: list[str], client: AsyncOpenAI) -> tuple[list[Vector], Exchange]:
        body = {"model": self.model, "input": texts, "encoding_format": "float"}
        return _vectors(await client.post("/embeddings", body=body, cast_to=str), len(texts))


def _texts(tasks: Sequence[Task]) -> list[str]:
    """All texts that are to be compared, each once."""
    compared = (task for task in tasks if isinstance(task, Similarity) and task.others)
    return list(dict.fromkeys(text for task in compared for text in (task.text, *task.others) if text.strip()))


def _vectors(body: str, count: int) -> tuple[list[Vector], Exchange]:
    """The vectors in the order of their texts, and what they cost. Raises UnreadableError where they are not that."""
    try:
        answer = json.loads(body)
        rows: list[Mapping[str, Any]] = answer["data"]
        by_place = {int(row["index"]): tuple(float(part) for part in row["embedding"]) for row in rows}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnreadableError(f"the server's response holds no embeddings: {body[:200]!r}") from error
    if len(rows) != count or sorted(by_place) != list(range(count)):
        raise UnreadableError(f"the server sent {len(rows)} embeddings for {count} texts")
    if len({len(vector) for vector in by_place.values()}) > 1:
        raise UnreadableError("the server sent embeddings of different lengths")
    return [by_place[place] for place in range(count)], exchange("", answer.get("usage"))


def _similarities(task: Task, vectors: Mapping[str, Vector | Failure]) -> Similarities | Failure:
    if not isinstance(task, Similarity):
        return Failure(detail=f"an embedder does not answer {type(task).__name__}")
    if not task.others:
        return Similarities(values=())
    found = [vectors.get(text, Failure(detail="an empty text has no embedding")) for text in (task.text, *task.others)]
    failed = next((vector for vector in found if isinstance(vector, Failure)), None)
    if failed:
        return failed
    first, *others = (vector for vector in found if not isinstance(vector, Failure))
    values = tuple(_cosine(first, other) for other in others)
    if not all(math.isfinite(value) for value in values):
        return Failure(detail="the server sent an embedding that is zero or not finite")
    return Similarities(values=values)


def _cosine(one: Vector, other: Vector) -> float:
    """NaN where one of them has no direction."""
    lengths = math.hypot(*one) * math.hypot(*other)
    if not lengths or not math.isfinite(lengths):
        return math.nan
    product: float = sum(map(mul, one, other))
    return max(-1.0, min(1.0, product / lengths))
