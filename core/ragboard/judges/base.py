"""Interfaces of judges, and the metering of their requests to models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ragboard.tasks import Exchange, Failure, OnCall, Reply, Task, ignore_call

__all__ = [
    "BatchJudge",
    "Judge",
    "Meter",
    "MeteredJudge",
    "ModelJudge",
    "NotAskedError",
    "Request",
    "RequestMeter",
    "RequestSize",
]


class Judge(Protocol):
    """Answers tasks. A judge can answer some types of task only; an evaluation combines judges by role."""

    @property
    def name(self) -> str:
        """Its name for users: `embedded`."""
        ...

    @property
    def heuristic(self) -> bool:
        """Whether it judges by rules instead of a trained model."""
        ...

    @property
    def answers(self) -> frozenset[type[Task]]:
        """The types of task that it can answer."""
        ...

    def identity(self, task: type[Task]) -> str:
        """Return everything besides the task that can change its answer: code version, model, digest of the prompts.

        The parts are separated by `/`; the first names the kind of judge (`llm`, `own`, `embedded`).
        """
        ...

    async def answer(self, tasks: Sequence[Task], on_call: OnCall = ignore_call, /) -> Sequence[Reply | Failure]:
        """Answer tasks: return one reply or failure per task, in order, and report calls to models to `on_call`."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What a judge would send to its model for one task, for estimates of cost."""

    text: str
    """The text of the first call, or of all calls if there are several."""
    calls: int = 1
    """Calls if no reply has to be repaired."""
    repair: str = ""
    """What it would send after a reply of the wrong form; empty if it does not ask again."""


@runtime_checkable
class ModelJudge(Protocol):
    """A judge that sends texts to a model and can say beforehand which. Other judges send nothing."""

    @property
    def model(self) -> str:
        """The name of the model in the list of prices."""
        ...

    def request(self, task: Task, /) -> Request | None:
        """Return what it would send for the task, or None if the answer is known without asking."""
        ...


@runtime_checkable
class BatchJudge(Protocol):
    """A judge that is faster with batches; it gets the waiting tasks, one batch at a time."""

    @property
    def batch_size(self) -> int:
        """The most tasks in a batch."""
        ...


class NotAskedError(Exception):
    """A request was not sent, because a limit is reached. The message says which."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestSize:
    """The largest possible size of a request and its reply."""

    prompt_bytes: int
    reply_tokens: int | None
    """The limit of output tokens; None without a limit, 0 for embeddings."""


@runtime_checkable
class Meter(Protocol):
    """An `OnCall` that also counts requests without a reply and can refuse further requests."""

    def __call__(self, task: Task, exchange: Exchange, /) -> None:
        """Count an answered request."""
        ...

    async def admit(self, task: Task, size: RequestSize, /) -> None:
        """Wait until a request may be sent, and count it. Raises NotAskedError if no more may be sent."""
        ...

    def unanswered(self, task: Task, /, *, may_be_billed: bool) -> None:
        """Count a request without a reply; `may_be_billed` if the server may still charge for it."""
        ...


@dataclass(frozen=True, slots=True)
class RequestMeter:
    """The meter of one request, which can be sent several times. Without limits if `on_call` is not a `Meter`."""

    task: Task
    on_call: OnCall
    size: RequestSize

    async def admit(self) -> None:
        """Wait until the request may be sent, and count it. Raises NotAskedError if no more may be sent."""
        if isinstance(self.on_call, Meter):
            await self.on_call.admit(self.task, self.size)

    def unanswered(self, *, may_be_billed: bool) -> None:
        """Count a request without a reply; `may_be_billed` if the server may still charge for it."""
        if isinstance(self.on_call, Meter):
            self.on_call.unanswered(self.task, may_be_billed=may_be_billed)


@runtime_checkable
class MeteredJudge(Protocol):
    """A model judge that asks its `Meter` before every request; for others only the first one is metered."""

    @property
    def is_metered(self) -> bool:
        """Whether it asks its meter before every request."""
        ...
