"""Worker processes for judges that compute in Python; without them, such a judge uses only one core."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Sequence

from ragboard.errors import JudgeError
from ragboard.judges.base import Judge
from ragboard.processes import ProcessPool
from ragboard.tasks import Failure, Reply, Task

__all__ = ["MIN_SAMPLES", "WORKER_BATCH", "WorkerPool"]

MIN_SAMPLES = 1000
"""Minimum number of samples for which workers are used by default. For fewer, starting them takes longer than it
saves."""

WORKER_BATCH = 128
"""Maximum number of tasks that a worker gets at a time."""


class WorkerPool:
    """Answers batches of tasks in other processes, which start with the first batch and end with `close`."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._processes = ProcessPool(count)

    async def answer(self, judge: Judge, tasks: Sequence[Task]) -> Sequence[Reply | Failure]:
        """Run `judge.answer` in a worker and return its result. Raises JudgeError if the worker was killed."""
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        try:
            return await asyncio.wrap_future(self._processes.submit(_answer, judge, tasks))
        except TerminatedWorkerError as error:
            raise JudgeError(
                "a worker process was killed, perhaps because memory ran out; run the same command with fewer --workers"
            ) from error

    def close(self) -> None:
        """End the processes without waiting for their tasks."""
        self._processes.close()


def _answer(judge: Judge, tasks: Sequence[Task]) -> Sequence[Reply | Failure]:
    if not gc.get_freeze_count():
        gc.freeze()  # loky collects garbage every second; now it does not examine the modules each time
    return asyncio.run(judge.answer(tasks))
