"""What a judge is, and how its requests to models are counted before they are sent."""

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
    """Answers tasks. One that can answer only some says so, and an evaluation composes several."""

    @property
    def name(self) -> str:
        """How a person names it: `embedded`."""
        ...

    @property
    def heuristic(self) -> bool:
        """Whether its answers are rules of thumb rather than a trained model's reading."""
        ...

    @property
    def answers(self) -> frozenset[type[Task]]:
        """The task types it can answer."""
        ...

    def identity(self, task: type[Task]) -> str:
        """All that could change its answer besides the task: code version, model, prompt text."""
        ...

    async def answer(self, tasks: Sequence[Task], on_call: OnCall = ignore_call, /) -> Sequence[Reply | Failure]:
        """Answer a batch: one reply or failure for each task, in order; `on_call` is told of calls to models."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What a judge would send to its model for one task."""

    text: str
    """All text of the first call, or of all calls where there are several."""
    calls: int = 1
    """Calls where every reply is as it should be."""
    repair: str = ""
    """What it would say to a reply that does not fit; empty where it asks no second time."""


@runtime_checkable
class ModelJudge(Protocol):
    """A judge that sends texts to a model, and can say beforehand which. A judge that is none asks nobody outside."""

    @property
    def model(self) -> str:
        """The model, by the name that prices are listed under."""
        ...

    def request(self, task: Task, /) -> Request | None:
        """What it would send; None where the answer is plain without asking."""
        ...


@runtime_checkable
class BatchJudge(Protocol):
    """A judge that answers many tasks at once better than one by one; it is given what waits, one batch at a time."""

    @property
    def batch_size(self) -> int:
        """Tasks it is given at once, at most."""
        ...


class NotAskedError(Exception):
    """A request may not be sent: a limit is reached. The message says which."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestSize:
    """How large a request and its reply can be."""

    prompt_bytes: int
    reply_tokens: int | None
    """The output limit; None without one, 0 for embeddings."""


@runtime_checkable
class Meter(Protocol):
    """An `OnCall` that also counts requests without a reply, and may refuse to have more of them sent."""

    def __call__(self, task: Task, exchange: Exchange, /) -> None:
        """The request was answered."""
        ...

    async def admit(self, task: Task, size: RequestSize, /) -> None:
        """Wait until a request may be sent, and count it. Raises NotAskedError where none may be sent any more."""
        ...

    def unanswered(self, task: Task, /, *, billed: bool) -> None:
        """The request got no reply; `billed` where the server may have written one all the same."""
        ...


@dataclass(frozen=True, slots=True)
class RequestMeter:
    """The meter for one request, which may be sent several times; without limits where `on_call` only listens."""

    task: Task
    on_call: OnCall
    size: RequestSize

    async def admit(self) -> None:
        """As `Meter.admit`."""
        if isinstance(self.on_call, Meter):
            await self.on_call.admit(self.task, self.size)

    def unanswered(self, *, billed: bool) -> None:
        """As `Meter.unanswered`."""
        if isinstance(self.on_call, Meter):
            self.on_call.unanswered(self.task, billed=billed)


@runtime_checkable
class MeteredJudge(Protocol):
    """A sender that has every request admitted by the `Meter` it is given; for others the first one is admitted."""

    @property
    def is_metered(self) -> bool:
        """Whether it does."""
        ...
