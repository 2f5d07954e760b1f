"""Asks each task once: from the journal or the cache where it was answered before, else the judge in its role."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from ragboard.evaluation.budget import Account, Budget
from ragboard.evaluation.cache import AnswerCache
from ragboard.evaluation.journal import Journal
from ragboard.evaluation.lanes import Lanes
from ragboard.judges.base import Judge, Metering, NotAskedError, RequestSize, Sender
from ragboard.judges.panel import Panel
from ragboard.problems import kind_of_problem
from ragboard.tasks import Failure, NotAsked, Reply, Task, fits, fitting, task_key

__all__ = ["Ask", "Asker", "Tally"]

CLAIMED_SECONDS = 0.2
"""Between two looks for an answer that another evaluation asks for."""

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
        return self._kept(self._seat(type(task)).key(task), task) is not None

    def _seat(self, kind: type[Task]) -> _Seat:
        if kind not in self._seats:
            judge = self.panel.for_task(kind)
            cached = self.cache if isinstance(judge, Sender) else None
            self._seats[kind] = _Seat(judge, judge.identity(kind), cached)
        return self._seats[kind]

    def _kept(self, key: str, task: Task) -> Reply | Failure | None:
        kept = self.journal.get(key)
        if kept is None or not fits(task, kept) or (self.retry and isinstance(kept, Failure)):
            return None
        return kept

    async def _answer(self, key: str, task: Task, sample_id: str) -> Reply | Failure:
        seat = self._seat(type(task))
        kept = self._kept(key, task)
        if kept is not None:
            return self._replay(key, seat, task, kept)
        if key in self._under_way:
            return await self._under_way[key]
        future = self._under_way[key] = asyncio.get_running_loop().create_future()
        try:
            reply = self._from_cache(key, seat, task, sample_id) or await self._ask_once(key, seat, task, sample_id)
        except BaseException as error:
            future.cancel(str(error))
            raise
        finally:
            del self._under_way[key]
        future.set_result(reply)
        return reply

    def _replay(self, key: str, seat: _Seat, task: Task, kept: Reply | Failure) -> Reply | Failure:
        """An answer of the journal; a process killed before it was in the cache too did not put it there."""
        self.tally.replayed += 1
        if isinstance(kept, Failure):
            self.tally.fail(kept)
        elif seat.cache and not seat.cache.has(key):
            seat.cache.put(key, seat.judge.name, task, kept)
        return kept

    def _from_cache(self, key: str, seat: _Seat, task: Task, sample_id: str) -> Reply | None:
        reply = seat.cache.get(key) if seat.cache else None
        if reply is None or not fits(task, reply):
            return None
        self.journal.put(key, sample_id, task, reply)
        self.tally.cached += 1
        return reply

    async def _ask_once(self, key: str, seat: _Seat, task: Task, sample_id: str) -> Reply | Failure:
        """Ask, unless another evaluation of the store asks the same: then wait for its answer."""
        cache = seat.cache
        if cache is None:
            return await self._ask(key, seat, task, sample_id)
        while not cache.claim(key):
            if not self.budget.allows():
                return self.journal.get(key) or NotAsked(detail=self.budget.stopped)
            await asyncio.sleep(CLAIMED_SECONDS)
            reply = self._from_cache(key, seat, task, sample_id)
            if reply is not None:
                return reply
        try:
            return self._from_cache(key, seat, task, sample_id) or await self._ask(key, seat, task, sample_id)
        finally:
            cache.release(key)

    async def _ask(self, key: str, seat: _Seat, task: Task, sample_id: str) -> Reply | Failure:
        account = Account(self.budget)
        try:
            reply = await self._reply(seat.judge, task, account)
        except NotAskedError as error:
            reply = NotAsked(detail=str(error))
        finally:
            account.close(task)
        if isinstance(reply, NotAsked):
            self.journal.put_calls(key, sample_id, task, account.heard)
            return self.journal.get(key) or reply
        self.journal.put(key, sample_id, task, reply, account.heard)
        self.budget.note(task, reply)
        self.tally.asked += 1
        if isinstance(reply, Failure):
            self.tally.fail(reply)
        elif seat.cache:
            seat.cache.put(key, seat.judge.name, task, reply)
        return reply

    async def _reply(self, judge: Judge, task: Task, account: Account) -> Reply | Failure:
        """What the judge says; of one that has its requests not admitted itself, the first is admitted here."""
        if not self.budget.allows():
            return NotAsked(detail=self.budget.stopped)
        if isinstance(judge, Sender) and not (isinstance(judge, Metering) and judge.metering):
            sent = judge.request(task)
            if sent is not None:
                size = RequestSize(prompt_bytes=len(sent.text.encode(errors="replace")), reply_tokens=None)
                await account.admit(task, size)
        return fitting(task, await self.lanes.answer(judge, task, account))
