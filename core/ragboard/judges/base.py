"""The protocols that judges implement, and the metering of their requests to models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol, cast, runtime_checkable

from ragboard.tasks import Exchange, Failure, OnCall, Reply, Task, ignore_call

__all__ = [
    "BatchJudge",
    "ComputingJudge",
    "Judge",
    "LimitReachedError",
    "Meter",
    "MeteredJudge",
    "ModelJudge",
    "RequestEstimate",
    "RequestMeter",
    "RequestSize",
    "meter_of",
]


class Judge(Protocol):
    """Answers tasks. A judge may answer only some types of task; an evaluation combines judges by role."""

    @property
    def name(self) -> str:
        """The name that users see: `embedded`."""
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
        """Return everything besides the task that can change the reply: code version, model, digest of the prompts.

        The parts are separated by `/`; the first names the kind of judge (`llm`, `own`, `embedded`).
        """
        ...

    async def answer(self, tasks: Sequence[Task], on_call: OnCall = ignore_call, /) -> Sequence[Reply | Failure]:
        """Answer tasks: return one reply or failure per task, in order, and report calls to models to `on_call`."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestEstimate:
    """What a judge would send to its model for one task. Used to estimate the cost."""

    text: str
    """The text of the first call, or of all calls if there are several."""
    calls: int = 1
    """Number of calls if all replies are valid."""
    repair: str = ""
    """What the judge would send after an invalid reply; empty if it would not ask again."""


@runtime_checkable
class ModelJudge(Protocol):
    """A judge that sends texts to a model and can say beforehand what it would send."""

    @property
    def model(self) -> str:
        """The name of the model, as in the price list."""
        ...

    def request(self, task: Task, /) -> RequestEstimate | None:
        """Return what the judge would send for the task, or None if it needs no model for the reply."""
        ...


@runtime_checkable
class BatchJudge(Protocol):
    """A judge that is faster with batches. The evaluation passes it one batch of waiting tasks at a time."""

    @property
    def batch_size(self) -> int:
        """Maximum number of tasks in a batch."""
        ...


@runtime_checkable
class ComputingJudge(Protocol):
    """A judge that computes in Python, calls no model and can be pickled, so worker processes can run it."""

    @property
    def computes(self) -> bool:
        """Always True. A judge with this attribute counts as a `ComputingJudge`."""
        ...


class LimitReachedError(Exception):
    """A request was not sent because a limit was reached. The message names the limit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestSize:
    """The maximum size of a request and its reply."""

    prompt_bytes: int
    reply_tokens: int | None
    """Maximum number of output tokens; None without a limit, 0 for embeddings."""


@runtime_checkable
class Meter(Protocol):
    """An `OnCall` that also counts requests without a reply and can refuse further requests."""

    def __call__(self, task: Task, exchange: Exchange, /) -> None:
        """Count an answered request."""
        ...

    async def admit(self, task: Task, size: RequestSize, /) -> None:
        """Wait until a request may be sent, and count it. Raises LimitReachedError if no more may be sent."""
        ...

    def unanswered(self, task: Task, /, *, may_be_billed: bool) -> None:
        """Count a request that got no reply. `may_be_billed`: the server may still charge for it."""
        ...


def meter_of(on_call: OnCall) -> Meter | None:
    """Return the callback if it is a meter, else None."""
    kind: type = type(on_call)
    return cast("Meter", on_call) if _is_meter(kind) else None


@cache
def _is_meter(kind: type) -> bool:
    """Return whether a class implements `Meter`. Cached: the check is slow, and every request needs it."""
    return issubclass(kind, Meter)


@dataclass(frozen=True, slots=True)
class RequestMeter:
    """Reports every attempt to send one request to `on_call` if that is a `Meter`; otherwise does nothing."""

    task: Task
    on_call: OnCall
    size: RequestSize

    async def admit(self) -> None:
        """Wait until the request may be sent, and count it. Raises LimitReachedError if no more may be sent."""
        if meter := meter_of(self.on_call):
            await meter.admit(self.task, self.size)

    def unanswered(self, *, may_be_billed: bool) -> None:
        """Count a request that got no reply. `may_be_billed`: the server may still charge for it."""
        if meter := meter_of(self.on_call):
            meter.unanswered(self.task, may_be_billed=may_be_billed)


@runtime_checkable
class MeteredJudge(Protocol):
    """A model judge that asks its `Meter` before every request, not only before the first one of each task."""

    @property
    def is_metered(self) -> bool:
        """Whether it asks its meter before every request."""
        ...
