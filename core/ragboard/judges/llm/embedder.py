"""An embedder that calls an embedding model at OpenAI or an OpenAI-compatible server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ragboard.judges.base import LimitReachedError, RequestEstimate, RequestMeter, RequestSize
from ragboard.judges.cosines import Vector, similarities, texts_to_embed
from ragboard.judges.llm.endpoint import Endpoint, Send
from ragboard.judges.llm.responses import CallFailedError, MalformedResponseError, make_exchange, parse_json
from ragboard.tasks import Exchange, Failure, NotSent, OnCall, Reply, Similarity, Task, ignore_call

__all__ = ["OpenAiEmbedder"]

VERSION = "1"

BATCH = 256
"""Maximum number of texts in one call."""


class OpenAiEmbedder:
    """Answers Similarity by cosines of embeddings."""

    heuristic = False
    is_metered = True
    answers: frozenset[type[Task]] = frozenset({Similarity})

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        self.model = model
        self.endpoint = endpoint

    @property
    def name(self) -> str:
        """The name that users see: `openai:MODEL`."""
        return f"openai:{self.model}"

    def __repr__(self) -> str:
        return f"OpenAiEmbedder({self.model!r}, {self.endpoint!r})"

    def identity(self, task: type[Task]) -> str:
        """Return the model and the endpoint's identity."""
        return f"embedding/{VERSION}/{self.model}/{self.endpoint.identity}/{task.__name__}"

    def request(self, task: Task) -> RequestEstimate | None:
        """Return the texts that would be sent; None if the reply needs no call."""
        texts = texts_to_embed([self.endpoint.redaction.mask_task(task)])
        return RequestEstimate(text="\n".join(texts), calls=-(-len(texts) // BATCH)) if texts else None

    async def answer(self, tasks: Sequence[Task], on_call: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        """Return one reply or failure per task, in order. Each text is embedded once.

        Raises JudgeError if no call can succeed.
        """
        key = self.endpoint.request_key(tasks[0], self.identity) if tasks else ""
        tasks = [self.endpoint.redaction.mask_task(task) for task in tasks]
        texts = texts_to_embed(tasks)
        vectors: dict[str, Vector | Failure] = {}
        for start in range(0, len(texts), BATCH):
            try:
                vectors |= await self._embed(texts[start : start + BATCH], tasks[0], on_call, key)
            except LimitReachedError as error:
                return [NotSent(detail=str(error))] * len(tasks)
        return [similarities(task, vectors) for task in tasks]

    async def _embed(self, texts: list[str], task: Task, on_call: OnCall, key: str) -> dict[str, Vector | Failure]:
        size = RequestSize(prompt_bytes=sum(len(text.encode(errors="replace")) for text in texts), reply_tokens=0)
        try:
            meter = RequestMeter(task, on_call, size)
            vectors, usage = await self.endpoint.call(partial(self._ask, texts), meter=meter, key=key)
        except CallFailedError as error:
            return dict.fromkeys(texts, Failure(detail=str(error)))
        on_call(task, usage)
        return dict(zip(texts, vectors, strict=True))

    async def _ask(self, texts: list[str], send: Send) -> tuple[list[Vector], Exchange]:
        body = {"model": self.model, "input": texts, "encoding_format": "float"}
        response = await send(self.endpoint.route("embeddings", deployment=self.model), body)
        return _vectors(self.endpoint.mask_secrets(response), len(texts))


def _vectors(body: str, count: int) -> tuple[list[Vector], Exchange]:
    """Return the vectors in the order of their texts, and the tokens.

    Raises MalformedResponseError if the response does not have `count` vectors of the same length.
    """
    try:
        answer = parse_json(body)
        rows: list[Mapping[str, Any]] = answer["data"]
        by_place = {int(row["index"]): tuple(float(part) for part in row["embedding"]) for row in rows}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise MalformedResponseError(f"the server's response contains no embeddings: {body[:200]!r}") from error
    if len(rows) != count or sorted(by_place) != list(range(count)):
        raise MalformedResponseError(f"the server sent {len(rows)} embeddings for {count} texts")
    if len({len(vector) for vector in by_place.values()}) > 1:
        raise MalformedResponseError("the server sent embeddings of different lengths")
    return [by_place[place] for place in range(count)], make_exchange("", answer.get("usage"))
