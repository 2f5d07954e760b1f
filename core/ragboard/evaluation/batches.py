"""Send an evaluation's requests in batches: the tasks and models concerned, their prices, and the queues."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ragboard.errors import StoreError
from ragboard.evaluation.budget import Budget
from ragboard.evaluation.journal import Journal
from ragboard.judges.base import ModelJudge
from ragboard.judges.llm.batches import BatchQueue, BatchRecord, batch_endpoint
from ragboard.judges.panel import Panel
from ragboard.prices import Prices
from ragboard.tasks import TASKS, Failure, Task

__all__ = ["batched_models", "batched_tasks", "open_queues", "prices_in_batches", "record_path"]


def batched_tasks(panel: Panel) -> frozenset[type[Task]]:
    """Return the task types that an evaluation by these judges sends in batches."""
    return frozenset(kind for kind in TASKS if (judge := panel.find_judge(kind)) and batch_endpoint(judge))


def batched_models(panel: Panel) -> tuple[str, ...]:
    """Return the models that get requests in batches from an evaluation by these judges."""
    judges = (judge for judge in panel.members if batch_endpoint(judge))
    return tuple(dict.fromkeys(judge.model for judge in judges if isinstance(judge, ModelJudge)))


def prices_in_batches(panel: Panel, prices: Prices) -> Prices:
    """Return the prices, with batch prices for the models that get requests in batches."""
    return {**prices, **{name: prices[name].in_batch for name in batched_models(panel) if name in prices}}


def record_path(journal: Path) -> Path:
    """Return the path of the file that records an evaluation's submitted batches. It is next to the journal."""
    return journal.with_suffix(".batches")


@dataclass(frozen=True)
class _IsAnswered:
    """Returns whether the journal has a reply to a task. In a retry, a failure is not a reply."""

    journal: Journal

    def __call__(self, key: str, retry: bool) -> bool:  # noqa: FBT001 - called by position
        reply = self.journal.get(key)
        return reply is not None and not (retry and isinstance(reply, Failure))


@contextmanager
def open_queues(panel: Panel, journal: Journal, path: Path, budget: Budget) -> Generator[tuple[BatchQueue, ...]]:
    """Context manager that makes judges send their requests in batches if their endpoint has `batch` set.

    At the end, the record of submitted batches is deleted, unless the evaluation was stopped.
    """
    record = BatchRecord(record_path(path), is_answered=_IsAnswered(journal), retry=budget.options.retry)
    endpoints = {id(endpoint): endpoint for judge in panel.members if (endpoint := batch_endpoint(judge))}
    queues = tuple(BatchQueue(endpoint, record, budget.count_at_server) for endpoint in endpoints.values())
    with ExitStack() as stack:
        for queue in queues:
            stack.enter_context(queue.endpoint.use_queue(queue))
        yield queues
    if queues and not budget.stopped:
        try:
            record.path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"{record.path}: {error.strerror or error}") from error
