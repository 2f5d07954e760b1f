"""Asks each task once: from the journal where it was answered before, else the judge in its role.

A task that failed is asked again the next time, for what failed it may have passed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from ragboard.evaluation.journal import Journal
from ragboard.judges.codec import task_key
from ragboard.judges.fit import fitting
from ragboard.judges.panel import Panel
from ragboard.judges.tasks import Exchange, Failure, Reply, Task

__all__ = ["Ask", "Asker", "Tally"]

Ask = Callable[[Task], Awaitable[Reply | Failure]]
"""Ask one task of one sample."""


@dataclass
class Tally:
    """How many tasks were asked, were found answered, and failed."""

    asked: int = 0
    replayed: int = 0
    failed: int = 0


@dataclass
class Asker:
    """The way from tasks to answers; two that ask the same at the same time share one answer."""

    panel: Panel
    journal: Journal
    tally: Tally = field(default_factory=Tally)
    _under_way: dict[str, asyncio.Future[Reply | Failure]] = field(
        default_factory=dict[str, "asyncio.Future[Reply | Failure]"]
    )

    def for_sample(self, sample_id: str) -> Ask:
        """Ask on behalf of a sample, so that the journal tells whose tasks these were."""

        async def ask(task: Task) -> Reply | Failure:
            return await self._answer(task, sample_id)

        return ask

    def knows(self, task: Task) -> bool:
        """Whether the journal has an answer that will be taken; a failure is asked again."""
        kept = self.journal.get(task_key(task, self.panel.for_task(type(task)).identity(type(task))))
        return kept is not None and not isinstance(kept, Failure)

    async def _answer(self, task: Task, sample_id: str) -> Reply | Failure:
        judge = self.panel.for_task(type(task))
        key = task_key(task, judge.identity(type(task)))
        kept = self.journal.get(key)
        if kept is not None and not isinstance(kept, Failure):
            self.tally.replayed += 1
            return kept
        if key in self._under_way:
            return await self._under_way[key]
        future = self._under_way[key] = asyncio.get_running_loop().create_future()
        heard: list[Exchange] = []
        try:
            (said,) = await judge.answer([task], lambda _, exchange: heard.append(exchange))
            reply = fitting(task, said)
            self.journal.put(key, sample_id, task, reply, heard)
        except BaseException as error:
            future.cancel(str(error))
            raise
        finally:
            del self._under_way[key]
        future.set_result(reply)
        self.tally.asked += 1
        self.tally.failed += isinstance(reply, Failure)
        return reply
