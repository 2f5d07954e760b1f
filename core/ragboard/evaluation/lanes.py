"""The way to judges that answer many tasks at once better than one by one: what waits goes together."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragboard.judges.base import Batching, Judge, Meter, RequestMeter, RequestSize
from ragboard.tasks import Exchange, Failure, OnCall, Reply, Task

__all__ = ["Lanes"]


@dataclass
class _Waiting:
    task: Task
    hear: OnCall
    answer: asyncio.Future[Reply | Failure]


@dataclass
class _Lane:
    """The tasks that wait for one judge while it answers others."""

    judge: Judge
    most: int
    waiting: list[_Waiting] = field(default_factory=list[_Waiting])
    worker: asyncio.Task[None] | None = None

    async def answer(self, task: Task, hear: OnCall) -> Reply | Failure:
        answer: asyncio.Future[Reply | Failure] = asyncio.get_running_loop().create_future()
        self.waiting.append(_Waiting(task, hear, answer))
        if self.worker is None or self.worker.done():
            self.worker = asyncio.ensure_future(self._work())
        return await answer

    async def _work(self) -> None:
        await asyncio.sleep(0)
        while self.waiting:
            some, self.waiting = self.waiting[: self.most], self.waiting[self.most :]
            try:
                await self._serve(some)
            except Exception as error:  # noqa: BLE001 - whatever it is, those who wait are told, and raise it
                for one in (*some, *self.waiting):
                    if not one.answer.done():
                        one.answer.set_exception(error)
                self.waiting.clear()

    async def _serve(self, some: Sequence[_Waiting]) -> None:
        hears = _Hears({id(one.task): one.hear for one in some})
        replies = await self.judge.answer([one.task for one in some], hears)
        for one, reply in zip(some, replies, strict=True):
            if not one.answer.done():
                one.answer.set_result(reply)


@dataclass(frozen=True)
class _Hears:
    """Hands on what is said of each task of a batch to its own meter."""

    of: Mapping[int, OnCall]
    """By the id of the task object."""

    def __call__(self, task: Task, exchange: Exchange) -> None:
        self.of[id(task)](task, exchange)

    async def admit(self, task: Task, size: RequestSize) -> None:
        await RequestMeter(task, self.of[id(task)], size).admit()

    def unanswered(self, task: Task, *, billed: bool) -> None:
        hear = self.of[id(task)]
        if isinstance(hear, Meter):
            hear.unanswered(task, billed=billed)


@dataclass
class Lanes:
    """A lane for each judge that wants batches; the others are asked at once."""

    _lanes: dict[int, _Lane | None] = field(default_factory=dict[int, "_Lane | None"])

    async def answer(self, judge: Judge, task: Task, hear: OnCall) -> Reply | Failure:
        """The judge's reply to the task."""
        if id(judge) not in self._lanes:
            self._lanes[id(judge)] = _Lane(judge, judge.together) if isinstance(judge, Batching) else None
        lane = self._lanes[id(judge)]
        if lane:
            return await lane.answer(task, hear)
        (reply,) = await judge.answer([task], hear)
        return reply
