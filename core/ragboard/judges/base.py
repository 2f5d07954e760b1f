"""The protocols of judges, and of meters that count and limit a judge's requests to models."""

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
    "as_meter",
]


class Judge(Protocol):
    """Answers tasks of some types. An evaluation combines several judges in a `Panel`."""

    @property
    def name(self) -> str:
        """The name that users see: `embedded`."""
        ...

    @property
    def heuristic(self) -> bool:
        """Whether it is rule-based."""
        ...

    @property
    def answers(self) -> frozenset[type[Task]]:
        """The types of task that it can answer."""
        ...

    def identity(self, task: type[Task]) -> str:
        """Return what determines a reply besides the task: the code's version, the model, a digest of the prompts.

        The parts are separated by `/`. The first is the kind of judge, such as `llm` or `embedded`.
        """
        ...

    async def answer(self, tasks: Sequence[Task], on_call: OnCall = ignore_call, /) -> Sequence[Reply | Failure]:
        """Return one reply or failure per task, in order. `on_call` is called after every call to a model."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestEstimate:
    """What a judge would send to its model for one task, for cost estimates."""

    text: str
    """The text of the call, or of all calls if there are several."""
    calls: int = 1
    """Number of calls if all replies are valid."""
    repair: str = ""
    """The text of the request after an invalid reply; empty if the judge does not repeat a request."""


@runtime_checkable
class ModelJudge(Protocol):
    """A judge that calls a model, and can return in advance what it would send."""

    @property
    def model(self) -> str:
        """The name of the model, as in the price list."""
        ...

    def request(self, task: Task, /) -> RequestEstimate | None:
        """Return what the judge would send for the task; None if the reply needs no call."""
        ...


@runtime_checkable
class BatchJudge(Protocol):
    """A judge that is faster with many tasks per call of `answer`. An evaluation calls it with one batch at a time."""

    @property
    def batch_size(self) -> int:
        """Maximum number of tasks in a batch."""
        ...


@runtime_checkable
class ComputingJudge(Protocol):
    """A judge that calls no model and can be pickled. An evaluation may run it in worker processes."""

    @property
    def computes(self) -> bool:
        """Always True. The attribute marks the class as a `ComputingJudge`."""
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
    """An `OnCall` that also counts requests without a reply, and can stop further requests."""

    def __call__(self, task: Task, exchange: Exchange, /) -> None:
        """Count an answered request."""
        ...

    async def admit(self, task: Task, size: RequestSize, /) -> None:
        """Wait until a request may be sent, and count it. Raises LimitReachedError if no more may be sent."""
        ...

    def unanswered(self, task: Task, /, *, may_be_billed: bool) -> None:
        """Count a request that got no reply. `may_be_billed`: the server may still charge for it."""
        ...


def as_meter(on_call: OnCall) -> Meter | None:
    """Return the callback as a meter; None if it is not a meter."""
    kind: type = type(on_call)
    return cast("Meter", on_call) if _is_meter(kind) else None


@cache
def _is_meter(kind: type) -> bool:
    """Return whether a class implements `Meter`. Cached, because the check is slow and runs for every request."""
    return issubclass(kind, Meter)


@dataclass(frozen=True, slots=True)
class RequestMeter:
    """The meter of one request, which may be sent several times. It does nothing if `on_call` is not a `Meter`."""

    task: Task
    on_call: OnCall
    size: RequestSize

    async def admit(self) -> None:
        """Wait until the request may be sent, and count it. Raises LimitReachedError if no more may be sent."""
        if meter := as_meter(self.on_call):
            await meter.admit(self.task, self.size)

    def unanswered(self, *, may_be_billed: bool) -> None:
        """Count a request that got no reply. `may_be_billed`: the server may still charge for it."""
        if meter := as_meter(self.on_call):
            meter.unanswered(self.task, may_be_billed=may_be_billed)


@runtime_checkable
class MeteredJudge(Protocol):
    """A model judge that calls `Meter.admit` before every request, including repeated requests for the same task."""

    @property
    def is_metered(self) -> bool:
        """Whether it calls `Meter.admit` before every request."""
        ...
