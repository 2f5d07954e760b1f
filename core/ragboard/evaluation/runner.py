"""Asks each task once: from the journal or the cache where it was answered before, else the judge in its role."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ragboard.evaluation.budget import Account, Budget
from ragboard.evaluation.cache import AnswerCache
from ragboard.evaluation.journal import Journal
from ragboard.judges.base import (
    BatchJudge,
    Judge,
    Meter,
    MeteredJudge,
    ModelJudge,
    NotAskedError,
    RequestMeter,
    RequestSize,
)
from ragboard.judges.panel import Panel
from ragboard.metrics.base import AnswerTask
from ragboard.problems import kind_of_problem
from ragboard.tasks import Exchange, Failure, NotAsked, OnCall, Reply, Task, fits, fitting, task_key

__all__ = ["Batcher", "Tally", "TaskRunner", "run_all", "wait_for"]

T = TypeVar("T")

CLAIMED_SECONDS = 0.2
"""Between two looks for an answer that another evaluation asks for."""


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
class _Route:
    """Who answers one type of task, and under which identity."""

    judge: Judge
    identity: str
    cache: AnswerCache | None

    def key(self, task: Task) -> str:
        return task_key(task, self.identity)


@dataclass
class _Waiting:
    task: Task
    on_call: OnCall
    answer: asyncio.Future[Reply | Failure]


@dataclass
class _Queue:
    """The tasks that wait for one judge while it answers others."""

    judge: Judge
    most: int
    waiting: list[_Waiting] = field(default_factory=list[_Waiting])
    worker: asyncio.Task[None] | None = None

    async def answer(self, task: Task, on_call: OnCall) -> Reply | Failure:
        answer: asyncio.Future[Reply | Failure] = asyncio.get_running_loop().create_future()
        self.waiting.append(_Waiting(task, on_call, answer))
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
        calls = _Calls({id(one.task): one.on_call for one in some})
        replies = await self.judge.answer([one.task for one in some], calls)
        for one, reply in zip(some, replies, strict=True):
            if not one.answer.done():
                one.answer.set_result(reply)


@dataclass(frozen=True)
class _Calls:
    """Hands on what is said of each task of a batch to its own meter."""

    of: Mapping[int, OnCall]
    """By the id of the task object."""

    def __call__(self, task: Task, exchange: Exchange) -> None:
        self.of[id(task)](task, exchange)

    async def admit(self, task: Task, size: RequestSize) -> None:
        await RequestMeter(task, self.of[id(task)], size).admit()

    def unanswered(self, task: Task, *, billed: bool) -> None:
        on_call = self.of[id(task)]
        if isinstance(on_call, Meter):
            on_call.unanswered(task, billed=billed)


@dataclass
class Batcher:
    """Gives a judge that answers many tasks at once better than one by one what waits, together; others one by one."""

    _queues: dict[int, _Queue | None] = field(default_factory=dict[int, "_Queue | None"])

    async def answer(self, judge: Judge, task: Task, on_call: OnCall) -> Reply | Failure:
        """The judge's reply to the task."""
        if id(judge) not in self._queues:
            self._queues[id(judge)] = _Queue(judge, judge.batch_size) if isinstance(judge, BatchJudge) else None
        queue = self._queues[id(judge)]
        if queue:
            return await queue.answer(task, on_call)
        (reply,) = await judge.answer([task], on_call)
        return reply


@dataclass
class TaskRunner:
    """Gets tasks answered; two that ask the same at the same time share one answer."""

    panel: Panel
    journal: Journal
    budget: Budget
    cache: AnswerCache | None = None
    retry: bool = False
    """Whether a failure in the journal is asked again."""
    tally: Tally = field(default_factory=Tally)
    batcher: Batcher = field(default_factory=Batcher)
    _routes: dict[type[Task], _Route] = field(default_factory=dict[type[Task], _Route])
    _under_way: dict[str, asyncio.Future[Reply | Failure]] = field(
        default_factory=dict[str, "asyncio.Future[Reply | Failure]"]
    )

    def for_sample(self, sample_id: str, places: list[int] | None = None) -> AnswerTask:
        """Ask on behalf of a sample, so that the journal tells whose tasks these were.

        `places` is told where in the journal each answer stands.
        """

        async def ask(task: Task) -> Reply | Failure:
            key = self._route(type(task)).key(task)
            reply = await self._answer(key, task, sample_id)
            place = self.journal.place(key)
            if places is not None and place is not None:
                places.append(place)
            return reply

        return ask

    def knows(self, task: Task) -> bool:
        """Whether the journal has an answer that will be taken."""
        return self._kept(self._route(type(task)).key(task), task) is not None

    def _route(self, kind: type[Task]) -> _Route:
        if kind not in self._routes:
            judge = self.panel.for_task(kind)
            cached = self.cache if isinstance(judge, ModelJudge) else None
            self._routes[kind] = _Route(judge, judge.identity(kind), cached)
        return self._routes[kind]

    def _kept(self, key: str, task: Task) -> Reply | Failure | None:
        kept = self.journal.get(key)
        if kept is None or not fits(task, kept) or (self.retry and isinstance(kept, Failure)):
            return None
        return kept

    async def _answer(self, key: str, task: Task, sample_id: str) -> Reply | Failure:
        route = self._route(type(task))
        kept = self._kept(key, task)
        if kept is not None:
            return self._replay(key, route, task, kept)
        if key in self._under_way:
            return await self._under_way[key]
        future = self._under_way[key] = asyncio.get_running_loop().create_future()
        try:
            reply = self._from_cache(key, route, task, sample_id) or await self._ask_once(key, route, task, sample_id)
        except BaseException as error:
            future.cancel(str(error))
            raise
        finally:
            del self._under_way[key]
        future.set_result(reply)
        return reply

    def _replay(self, key: str, route: _Route, task: Task, kept: Reply | Failure) -> Reply | Failure:
        """An answer of the journal; a process killed before it was in the cache too did not put it there."""
        self.tally.replayed += 1
        if isinstance(kept, Failure):
            self.tally.fail(kept)
        elif route.cache and not route.cache.has(key):
            route.cache.put(key, route.judge.name, task, kept)
        return kept

    def _from_cache(self, key: str, route: _Route, task: Task, sample_id: str) -> Reply | None:
        reply = route.cache.get(key) if route.cache else None
        if reply is None or not fits(task, reply):
            return None
        self.journal.put(key, sample_id, task, reply)
        self.tally.cached += 1
        return reply

    async def _ask_once(self, key: str, route: _Route, task: Task, sample_id: str) -> Reply | Failure:
        """Ask, unless another evaluation of the store asks the same: then wait for its answer."""
        cache = route.cache
        if cache is None:
            return await self._ask(key, route, task, sample_id)
        while not cache.claim(key):
            if not self.budget.allows():
                return self.journal.get(key) or NotAsked(detail=self.budget.stopped)
            await asyncio.sleep(CLAIMED_SECONDS)
            reply = self._from_cache(key, route, task, sample_id)
            if reply is not None:
                return reply
        try:
            return self._from_cache(key, route, task, sample_id) or await self._ask(key, route, task, sample_id)
        finally:
            cache.release(key)

    async def _ask(self, key: str, route: _Route, task: Task, sample_id: str) -> Reply | Failure:
        account = Account(self.budget)
        try:
            reply = await self._reply(route.judge, task, account)
        except NotAskedError as error:
            reply = NotAsked(detail=str(error))
        finally:
            account.close(task)
        if isinstance(reply, NotAsked):
            self.journal.put_calls(key, sample_id, task, account.exchanges)
            return self.journal.get(key) or reply
        self.journal.put(key, sample_id, task, reply, account.exchanges)
        self.budget.note(task, reply)
        self.tally.asked += 1
        if isinstance(reply, Failure):
            self.tally.fail(reply)
        elif route.cache:
            route.cache.put(key, route.judge.name, task, reply)
        return reply

    async def _reply(self, judge: Judge, task: Task, account: Account) -> Reply | Failure:
        """What the judge says; of one that has its requests not admitted itself, the first is admitted here."""
        if not self.budget.allows():
            return NotAsked(detail=self.budget.stopped)
        if isinstance(judge, ModelJudge) and not (isinstance(judge, MeteredJudge) and judge.is_metered):
            sent = judge.request(task)
            if sent is not None:
                size = RequestSize(prompt_bytes=len(sent.text.encode(errors="replace")), reply_tokens=None)
                await account.admit(task, size)
        return fitting(task, await self.batcher.answer(judge, task, account))


async def run_all(
    work: Sequence[Callable[[], Awaitable[T]]],
    concurrency: int,
    watch: Callable[[int, int], None] = lambda _done, _all: None,
) -> list[T]:
    """What comes of each part, in order, `concurrency` of them at a time.

    `watch` is called with how many are done, of how many. Raises what the first part that fails raises.
    """
    found: dict[int, T] = {}
    waiting = iter(enumerate(work))

    async def worker() -> None:
        for place, part in waiting:
            found[place] = await part()
            watch(len(found), len(work))
            await asyncio.sleep(0)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(worker())
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from errors
    return [found[place] for place in range(len(work))]


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Wait for asynchronous work, in a thread of its own if this one has an event loop already, as notebooks do."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, work).result()
