"""Answer each task once: from the journal, from the cache, or by a judge."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from ragboard.evaluation.budget import Budget, TaskMeter
from ragboard.evaluation.cache import ReplyCache
from ragboard.evaluation.journal import Journal
from ragboard.evaluation.workers import WORKER_BATCH, WorkerPool
from ragboard.judges.base import (
    BatchJudge,
    ComputingJudge,
    Judge,
    LimitReachedError,
    MeteredJudge,
    ModelJudge,
    RequestMeter,
    RequestSize,
    as_meter,
)
from ragboard.judges.panel import Panel
from ragboard.metrics.base import SendTask
from ragboard.problems import kind_of_problem
from ragboard.tasks import (
    Exchange,
    Failure,
    NotSent,
    OnCall,
    Reply,
    Task,
    encode,
    is_valid_reply,
    reply_or_failure,
    task_key,
)

__all__ = ["Batcher", "Tally", "TaskRunner", "run_all", "wait_for"]

T = TypeVar("T")

CLAIM_POLL_SECONDS = 0.2
"""Seconds between two cache lookups while another evaluation waits for the reply to the task."""

GC_THRESHOLDS = (100_000, 20, 50)
"""Thresholds of the garbage collector during an evaluation. With Python's default thresholds, garbage collection takes
a fifth of the CPU time, because hundreds of concurrent requests keep many objects alive."""


@dataclass
class Tally:
    """Numbers of tasks by the source of their answer, and of failed tasks."""

    asked: int = 0
    """Answered by a judge."""
    replayed: int = 0
    """Answered from the journal of this evaluation."""
    cached: int = 0
    """Answered from the cache, which all evaluations share."""
    failed: int = 0
    problems: Counter[str] = field(default_factory=Counter[str])
    """Number of failures by kind."""

    def add(self, other: Tally) -> None:
        """Add the counts of other tasks."""
        self.asked += other.asked
        self.replayed += other.replayed
        self.cached += other.cached
        self.failed += other.failed
        self.problems += other.problems

    def fail(self, failure: Failure) -> None:
        """Count a failure."""
        self.failed += 1
        self.problems[kind_of_problem(failure.detail)] += 1


@dataclass(frozen=True)
class _Route:
    """The judge for one task type, and its identity, which is part of task keys."""

    judge: Judge
    identity: str
    cache: ReplyCache | None
    unmetered: ModelJudge | None
    """The judge if it is a model that does not admit its own requests; the runner then admits its first request."""

    def key(self, task: Task) -> str:
        return task_key(task, self.identity)


@dataclass
class _PendingTask:
    task: Task
    on_call: OnCall
    answer: asyncio.Future[Reply | Failure]


@dataclass
class _Queue:
    """The tasks that wait for a judge while it answers other tasks."""

    answers: Callable[[Sequence[Task], OnCall], Awaitable[Sequence[Reply | Failure]]]
    """Returns one reply per task, as `Judge.answer` does."""
    batch_size: int
    """Maximum number of tasks per batch."""
    batches: int = 1
    """Maximum number of batches at a time."""
    waiting: list[_PendingTask] = field(default_factory=list[_PendingTask])
    working: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    async def answer(self, task: Task, on_call: OnCall) -> Reply | Failure:
        answer: asyncio.Future[Reply | Failure] = asyncio.get_running_loop().create_future()
        self.waiting.append(_PendingTask(task, on_call, answer))
        if len(self.working) < self.batches:
            self.working.add(asyncio.ensure_future(self._work()))
        return await answer

    async def _work(self) -> None:
        """Answer batches until no task waits.

        At the end, the worker leaves `working` immediately: a done callback would run after the callers that the last
        batch woke, and their next tasks would wait forever for a worker that has ended.
        """
        try:
            await asyncio.sleep(0)
            while self.waiting:
                batch, self.waiting = self.waiting[: self.batch_size], self.waiting[self.batch_size :]
                try:
                    await self._serve(batch)
                except Exception as error:  # noqa: BLE001 - every waiting task raises it
                    for pending in (*batch, *self.waiting):
                        if not pending.answer.done():
                            pending.answer.set_exception(error)
                    self.waiting.clear()
        finally:
            self.working.discard(cast("asyncio.Task[None]", asyncio.current_task()))

    async def _serve(self, batch: Sequence[_PendingTask]) -> None:
        calls = _BatchMeter({id(pending.task): pending.on_call for pending in batch})
        replies = await self.answers([pending.task for pending in batch], calls)
        for pending, reply in zip(batch, replies, strict=True):
            if not pending.answer.done():
                pending.answer.set_result(reply)


@dataclass(frozen=True)
class _BatchMeter:
    """Passes the calls, admissions and unanswered requests of a batch to the meter of each task."""

    meters: Mapping[int, OnCall]
    """The meters by `id()` of the task object."""

    def __call__(self, task: Task, exchange: Exchange) -> None:
        self.meters[id(task)](task, exchange)

    async def admit(self, task: Task, size: RequestSize) -> None:
        await RequestMeter(task, self.meters[id(task)], size).admit()

    def unanswered(self, task: Task, *, may_be_billed: bool) -> None:
        if meter := as_meter(self.meters[id(task)]):
            meter.unanswered(task, may_be_billed=may_be_billed)


@dataclass
class Batcher:
    """Passes tasks to judges: in batches to a `BatchJudge`, else one by one.

    If there are `workers`, a `ComputingJudge` answers in these processes.
    """

    workers: WorkerPool | None = None
    _queues: dict[int, _Queue | None] = field(default_factory=dict[int, "_Queue | None"])

    async def answer(self, judge: Judge, task: Task, on_call: OnCall) -> Reply | Failure:
        """Return the judge's reply to the task."""
        if id(judge) not in self._queues:
            self._queues[id(judge)] = self._queue_for(judge)
        queue = self._queues[id(judge)]
        if queue:
            return await queue.answer(task, on_call)
        (reply,) = await judge.answer([task], on_call)
        return reply

    def _queue_for(self, judge: Judge) -> _Queue | None:
        workers = self.workers
        if workers and isinstance(judge, ComputingJudge):
            return _Queue(lambda tasks, _: workers.answer(judge, tasks), WORKER_BATCH, batches=2 * workers.count)
        return _Queue(judge.answer, judge.batch_size) if isinstance(judge, BatchJudge) else None


@dataclass
class TaskRunner:
    """Answers tasks. If several samples need the same task at the same time, it is sent once."""

    panel: Panel
    journal: Journal
    budget: Budget
    cache: ReplyCache | None = None
    retry: bool = False
    """Whether tasks that failed earlier are sent again."""
    tally: Tally = field(default_factory=Tally)
    batcher: Batcher = field(default_factory=Batcher)
    _routes: dict[type[Task], _Route] = field(default_factory=dict[type[Task], _Route])
    _under_way: dict[str, asyncio.Future[Reply | Failure]] = field(
        default_factory=dict[str, "asyncio.Future[Reply | Failure]"]
    )

    def for_sample(self, sample_id: str, offsets: list[int] | None = None) -> SendTask:
        """Return a function that answers tasks for a sample. The journal records them under the sample's id.

        The journal offset of each answer is appended to `offsets`.
        """

        async def ask(task: Task) -> Reply | Failure:
            key = self._route(type(task)).key(task)
            reply = await self._answer(key, task, sample_id)
            offset = self.journal.offset(key)
            if offsets is not None and offset is not None:
                offsets.append(offset)
            return reply

        return ask

    def knows(self, task: Task) -> bool:
        """Return whether the journal has a usable reply to the task."""
        return self._from_journal(self._route(type(task)).key(task), task) is not None

    def _route(self, kind: type[Task]) -> _Route:
        if kind not in self._routes:
            judge = self.panel.for_task(kind)
            cached = self.cache if isinstance(judge, ModelJudge) else None
            metered = isinstance(judge, MeteredJudge) and judge.is_metered
            unmetered = judge if isinstance(judge, ModelJudge) and not metered else None
            self._routes[kind] = _Route(judge, judge.identity(kind), cached, unmetered)
        return self._routes[kind]

    def _from_journal(self, key: str, task: Task) -> Reply | Failure | None:
        reply = self.journal.get(key)
        if reply is None or not is_valid_reply(task, reply) or (self.retry and isinstance(reply, Failure)):
            return None
        return reply

    async def _answer(self, key: str, task: Task, sample_id: str) -> Reply | Failure:
        route = self._route(type(task))
        recorded = self._from_journal(key, task)
        if recorded is not None:
            return self._replay(key, route, task, recorded)
        if key in self._under_way:
            return await self._under_way[key]
        future = self._under_way[key] = asyncio.get_running_loop().create_future()
        try:
            reply = await self._ask_once(key, route, task, sample_id)
        except BaseException as error:
            future.cancel(str(error))
            raise
        finally:
            del self._under_way[key]
        future.set_result(reply)
        return reply

    def _replay(self, key: str, route: _Route, task: Task, reply: Reply | Failure) -> Reply | Failure:
        """Count a reply from the journal, and cache it if it is not in the cache."""
        self.tally.replayed += 1
        if isinstance(reply, Failure):
            self.tally.fail(reply)
        elif route.cache and not route.cache.has(key):
            route.cache.put(key, route.judge.name, task, reply)
        return reply

    def _from_cache(self, key: str, route: _Route, task: Task, sample_id: str) -> Reply | None:
        reply = route.cache.get(key) if route.cache else None
        if reply is None or route.cache is None:
            return None
        if not is_valid_reply(task, reply):
            route.cache.discard(key)
            return None
        self.journal.put(key, sample_id, task, reply)
        self.tally.cached += 1
        return reply

    async def _ask_once(self, key: str, route: _Route, task: Task, sample_id: str) -> Reply | Failure:
        """Return the reply in the cache, or ask the judge if there is none.

        If another evaluation of the store has sent the same task, wait for its reply. The key is claimed before the
        cache is read, because a claim succeeds only if the cache has no reply; one statement is enough for a new task.
        """
        cache = route.cache
        if cache is None:
            return await self._ask(key, route, task, sample_id)
        while not cache.claim(key):
            reply = self._from_cache(key, route, task, sample_id)
            if reply is not None:
                return reply
            if cache.claim(key):  # the reply in the cache was unusable, and was deleted
                break
            if not self.budget.allows():
                return self.journal.get(key) or NotSent(detail=self.budget.stopped)
            await asyncio.sleep(CLAIM_POLL_SECONDS)
        try:
            return await self._ask(key, route, task, sample_id)
        finally:
            cache.release(key)

    async def _ask(self, key: str, route: _Route, task: Task, sample_id: str) -> Reply | Failure:
        meter = TaskMeter(self.budget)
        try:
            reply = await self._reply(route, task, meter)
        except LimitReachedError as error:
            reply = NotSent(detail=str(error))
        finally:
            meter.close(task)
        if isinstance(reply, NotSent):
            self.journal.put_calls(key, sample_id, task, meter.exchanges)
            return self.journal.get(key) or reply
        encoded = None if isinstance(reply, Failure) else encode(reply)
        self.journal.put(key, sample_id, task, reply, meter.exchanges, encoded)
        self.budget.record(task, reply)
        self.tally.asked += 1
        if isinstance(reply, Failure):
            self.tally.fail(reply)
        elif route.cache:
            route.cache.put(key, route.judge.name, task, reply, encoded)
        return reply

    async def _reply(self, route: _Route, task: Task, meter: TaskMeter) -> Reply | Failure:
        """Return the judge's reply. If the judge is not metered, its first request is admitted here."""
        if not self.budget.allows():
            return NotSent(detail=self.budget.stopped)
        request = route.unmetered.request(task) if route.unmetered else None
        if request is not None:
            size = RequestSize(prompt_bytes=len(request.text.encode(errors="replace")), reply_tokens=None)
            await meter.admit(task, size)
        return reply_or_failure(task, await self.batcher.answer(route.judge, task, meter))


async def run_all(
    jobs: Sequence[Callable[[], Awaitable[T]]],
    concurrency: int,
    watch: Callable[[int, int], None] = lambda _done, _all: None,
) -> list[T]:
    """Run all jobs, at most `concurrency` at a time, and return their results in order.

    `watch` is called with the number of jobs that are done and the total. Raises the exception of the first failed job.
    """
    results: dict[int, T] = {}
    waiting = iter(enumerate(jobs))

    async def worker() -> None:
        for number, job in waiting:
            results[number] = await job()
            watch(len(results), len(jobs))
            await asyncio.sleep(0)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(worker())
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from errors
    return [results[number] for number in range(len(jobs))]


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine and return its result. In a notebook, whose thread runs an event loop, use another thread.

    Meanwhile, the garbage collector does not search the objects that exist already, unless the caller has frozen some.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(*GC_THRESHOLDS)
    freezes = not gc.get_freeze_count()
    if freezes:
        gc.freeze()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    else:
        with ThreadPoolExecutor(max_workers=1) as thread:
            return thread.submit(asyncio.run, work).result()
    finally:
        if freezes:
            gc.unfreeze()
        gc.set_threshold(*thresholds)
