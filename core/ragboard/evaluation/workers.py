"""Worker processes for judges that compute in Python, which would otherwise use only one core."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ragboard.errors import JudgeError
from ragboard.judges.base import Judge
from ragboard.tasks import Failure, Reply, Task

if TYPE_CHECKING:
    from joblib.externals.loky import ProcessPoolExecutor

__all__ = ["MIN_SAMPLES", "WORKER_BATCH", "WorkerPool", "available_cores"]

MIN_SAMPLES = 1000
"""By default, workers are started from this number of samples; for fewer, starting them takes longer than it saves."""

WORKER_BATCH = 128
"""Maximum number of tasks that a worker gets at a time."""

IDLE_SECONDS = 60
"""An idle worker ends after this many seconds, also if the evaluation was killed."""


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class WorkerPool:
    """Answers batches of tasks in other processes. They start with the first batch, and end with `close`.

    A script needs no `if __name__ == "__main__"`: the processes do not import it.
    """

    def __init__(self, count: int) -> None:
        self.count = count

    async def answer(self, judge: Judge, tasks: Sequence[Task]) -> Sequence[Reply | Failure]:
        """Return what `judge.answer` returns in a worker. Raises JudgeError if a worker ended early."""
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        try:
            return await asyncio.wrap_future(self._processes.submit(_answer, judge, tasks))
        except TerminatedWorkerError as error:
            raise JudgeError(
                "a worker process was killed, perhaps because memory ran out; run the same command with fewer --workers"
            ) from error

    def close(self) -> None:
        """End the processes, without waiting for tasks that they still work on."""
        if "_processes" in self.__dict__:
            self._processes.shutdown(wait=True, kill_workers=True)
            del self.__dict__["_processes"]

    @cached_property
    def _processes(self) -> ProcessPoolExecutor:
        from joblib.externals.loky import ProcessPoolExecutor

        return ProcessPoolExecutor(self.count, timeout=IDLE_SECONDS, initializer=_leave_interrupts_to_parent)


def _leave_interrupts_to_parent() -> None:
    """Ignore Ctrl-C, which reaches every process of a terminal; the parent ends the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _answer(judge: Judge, tasks: Sequence[Task]) -> Sequence[Reply | Failure]:
    return asyncio.run(judge.answer(tasks))
