"""Counting requests to models before they are sent, so that a limit holds for every one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ragboard.judges.tasks import Exchange, Hear, Task

__all__ = ["Meter", "Metering", "RequestMeter", "RequestSize", "UnaskedError"]


class UnaskedError(Exception):
    """A request may not be sent: a limit is reached. The message says which."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestSize:
    """How large a request and its reply can be."""

    prompt_bytes: int
    reply_tokens: int | None
    """The output limit; None without one, 0 for embeddings."""


@runtime_checkable
class Meter(Protocol):
    """A `Hear` that also counts requests without a reply, and may refuse to have more of them sent."""

    def __call__(self, task: Task, exchange: Exchange, /) -> None:
        """The request was answered."""
        ...

    async def admit(self, task: Task, size: RequestSize, /) -> None:
        """Wait until a request may be sent, and count it. Raises UnaskedError where none may be sent any more."""
        ...

    def unanswered(self, task: Task, /, *, billed: bool) -> None:
        """The request got no reply; `billed` where the server may have written one all the same."""
        ...


@dataclass(frozen=True, slots=True)
class RequestMeter:
    """The meter for one request, which may be sent several times; without limits where `hear` is a plain function."""

    task: Task
    hear: Hear
    size: RequestSize

    async def admit(self) -> None:
        """As `Meter.admit`."""
        if isinstance(self.hear, Meter):
            await self.hear.admit(self.task, self.size)

    def unanswered(self, *, billed: bool) -> None:
        """As `Meter.unanswered`."""
        if isinstance(self.hear, Meter):
            self.hear.unanswered(self.task, billed=billed)


@runtime_checkable
class Metering(Protocol):
    """A sender that has every request admitted by the `Meter` it is given; for others the first one is admitted."""

    @property
    def metering(self) -> bool:
        """Whether it does."""
        ...
