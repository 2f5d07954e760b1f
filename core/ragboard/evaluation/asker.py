"""Asks each task once: from the journal or the cache where it was answered before, else the judge in its role."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from ragboard.evaluation.budget import Budget
from ragboard.evaluation.cache import AnswerCache
from ragboard.evaluation.journal import Journal
from ragboard.evaluation.lanes import Lanes
from ragboard.judges.codec import task_key
from ragboard.judges.fit import fitting
from ragboard.judges.panel import Panel
from ragboard.judges.tasks import Exchange, Failure, Judge, Reply, Sender, Task, Unasked
from ragboard.problems import kind_of_problem

__all__ = ["Ask", "Asker", "Tally"]

Ask = Callable[[Task], Awaitable[Reply | Failure]]
"""Ask one task of one sample."""


@dataclass
class Tally:
    """How many tasks were asked, were found answered, and failed."""

    asked: int = 0
    replayed: int = 0
    """Answered before, in this evaluation."""
    cached: int = 0
    """Answered before, in another."""
    failed: int = 0
    problems: Counter[str] = field(default_factory=Counter[str])
    """How often each kind of failure came."""

    def fail(self, failure: Failure) -> None:
        """Count a failure."""
        self.failed += 1
        self.problems[kind_of_problem(failure.detail)] += 1


@dataclass(frozen=True)
class _Seat:
    """Who answers one type of task, and under which identity."""

    judge: Judge
    identity: str
    cache: AnswerCache | None

    def key(self, task: Task) -> str:
        return task_key(task, self.identity)


@dataclass
class Asker:
    """The way from tasks to answers; two that ask the same at the same time share one answer."""

    panel: Panel
    journal: Journal
    budget: Budget
    cache: AnswerCache | None = None
    retry: bool = False
    """Whether a failure in the journal is asked again."""
    tally: Tally = field(default_factory=Tally)
    lanes: Lanes = field(default_factory=Lanes)
    _seats: dict[type[Task], _Seat] = field(default_factory=dict[type[Task], _Seat])
    _under_way: dict[str, asyncio.Future[Reply | Failure]] = field(
        default_factory=dict[str, "asyncio.Future[Reply | Failure]"]
    )

    def for_sample(self, sample_id: str, places: list[int] | None = None) -> Ask:
        """Ask on behalf of a sample, so that the journal tells whose tasks these were.

        `places` is told where in the journal each answer stands.
        """

        async def ask(task: Task) -> Reply | Failure:
            key = self._seat(type(task)).key(task)
            reply = await self._answer(key, task, sample_id)
            place = self.journal.place(key)
            if places is not None and place is not None:
                places.append(place)
            return reply

        return ask

    def knows(self, task: Task) -> bool:
        """Whether the journal has an answer that will be taken."""
        return self._kept(self._seat(type(task)).key(task)) is not None

    def _seat(self, kind: type[Task]) -> _Seat:
        if kind not in self._seats:
            judge = self.panel.for_task(kind)
            cached = self.cache if isinstance(judge, Sender) else None
            self._seats[kind] = _Seat(judge, judge.identity(kind), cached)
        return self._seats[kind]

    def _kept(self, key: str) -> Reply | Failure | None:
        kept = self.journal.get(key)
        return None if self.retry and isinstance(kept, Failure) else kept

    async def _answer(self, key: str, task: Task, sample_id: str) -> Reply | Failure:
        seat = self._seat(type(task))
        kept = self._kept(key)
        if kept is not None:
            self.tally.replayed += 1
            if isinstance(kept, Failure):
                self.tally.fail(kept)
            return kept
        if key in self._under_way:
            return await self._under_way[key]
        future = self._under_way[key] = asyncio.get_running_loop().create_future()
        try:
            reply = self._from_cache(key, seat, task, sample_id) or await self._ask(key, seat, task, sample_id)
        except BaseException as error:
            future.cancel(str(error))
            raise
        finally:
            del self._under_way[key]
        future.set_result(reply)
        return reply

    def _from_cache(self, key: str, seat: _Seat, task: Task, sample_id: str) -> Reply | None:
        reply = seat.cache.get(key) if seat.cache else None
        if reply is not None:
            self.journal.put(key, sample_id, task, reply)
            self.tally.cached += 1
        return reply

    async def _ask(self, key: str, seat: _Seat, task: Task, sample_id: str) -> Reply | Failure:
        if not self.budget.allows(len(self._under_way) - 1):
            return self.journal.get(key) or Unasked(detail=self.budget.stopped)
        heard: list[Exchange] = []

        def hear(_: Task, exchange: Exchange) -> None:
            heard.append(exchange)
            self.budget.hear(task, exchange)

        reply = fitting(task, await self.lanes.answer(seat.judge, task, hear))
        self.journal.put(key, sample_id, task, reply, heard)
        self.budget.note(task, reply)
        self.tally.asked += 1
        if isinstance(reply, Failure):
            self.tally.fail(reply)
        elif seat.cache:
            seat.cache.put(key, seat.judge.name, task, reply)
        return reply
