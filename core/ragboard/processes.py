"""Pools of processes for parallel computation."""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from joblib.externals.loky import ProcessPoolExecutor

__all__ = ["ProcessPool", "available_cores", "map_in_order", "process_pool"]

T = TypeVar("T")
R = TypeVar("R")

IDLE_SECONDS = 60
"""Seconds after which an idle process ends, even if the command that started it was killed."""

MAX_SEND_SECONDS = 1.0
"""Maximum seconds to wait until calls are sent to processes; it usually takes less than a millisecond."""


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ProcessPool:
    """Processes that call functions. They start with the first call and end with `close`.

    The processes do not import the user's script, so it needs no `if __name__ == "__main__"`.
    """

    def __init__(self, count: int) -> None:
        self.count = count

    def submit(self, function: Callable[..., R], *arguments: Any) -> Future[R]:
        """Call a function in a process. The future raises TerminatedWorkerError if that process was killed."""
        future: Future[R] = self._processes.submit(function, *arguments)
        return future

    def close(self) -> None:
        """End the processes without waiting for running calls."""
        if "_processes" in self.__dict__:
            self._processes.shutdown(wait=True, kill_workers=True)
            del self.__dict__["_processes"]

    @cached_property
    def _processes(self) -> ProcessPoolExecutor:
        from joblib.externals.loky import ProcessPoolExecutor

        return ProcessPoolExecutor(self.count, timeout=IDLE_SECONDS, initializer=_leave_interrupts_to_parent)


@contextmanager
def process_pool(count: int) -> Generator[ProcessPool | None]:
    """Yield a pool of `count` processes, and close it at the end; yield None if `count` is 1."""
    pool = ProcessPool(count) if count > 1 else None
    try:
        yield pool
    finally:
        if pool:
            pool.close()


def map_in_order(function: Callable[[T], R], items: Iterable[T], pool: ProcessPool | None) -> Iterator[R]:
    """Yield `function(item)` for each item, in order; at most two calls per process are submitted in advance."""
    if pool is None:
        yield from map(function, items)
        return
    pending: deque[Future[R]] = deque()
    try:
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) > 2 * pool.count:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        _wait_until_sent(pending)


def _wait_until_sent(calls: Iterable[Future[R]]) -> None:
    """Wait until loky has sent calls to the processes. If the pool is closed before, loky prints a KeyError."""
    until = time.monotonic() + MAX_SEND_SECONDS
    while time.monotonic() < until and not all(call.running() or call.done() for call in calls):
        time.sleep(0.001)


def _leave_interrupts_to_parent() -> None:
    """Ignore Ctrl-C, which every process of a terminal receives; the parent ends the processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
