"""Compute a metric's outcome with given judge replies, and list the tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ragboard import Passage, Sample
from ragboard.metrics import Metric, compute_outcome
from ragboard.metrics.base import resolve
from ragboard.records import Outcome
from ragboard.tasks import Failure, Reply, Task

SAMPLE = Sample(
    id="s",
    question="q?",
    answer="An answer.",
    reference="A reference.",
    contexts=(Passage(id="a", text="One is here. Two is here.", rank=1), Passage(id="b", text="Three is.", rank=2)),
)


def outcome_of(metric: Metric, sample: Sample, reply: Callable[[Task], Reply | Failure]) -> tuple[Outcome, list[Task]]:
    """The outcome, and the tasks in the order they were asked."""
    asked: list[Task] = []

    async def ask(task: Task) -> Reply | Failure:
        asked.append(task)
        return reply(task)

    results = asyncio.run(resolve(sample, metric.needs(), ask))
    return compute_outcome(metric, sample, results), asked
