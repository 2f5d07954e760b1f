"""From a sample and the needs of the chosen metrics to findings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from ragboard.metrics.base import AnswerTask, Ask, Findings, Need
from ragboard.records import Sample
from ragboard.tasks import Task

__all__ = ["gather", "tasks_for"]


def tasks_for(needs: Iterable[Need[Any]]) -> frozenset[type[Task]]:
    """The types of task that resolving these needs can lead to."""
    return frozenset(task for need in needs for task in need.tasks())


async def gather(
    sample: Sample,
    needs: Iterable[Need[Any]],
    answer: AnswerTask,
    known: Callable[[Task], bool] = lambda _: False,
) -> Findings:
    """Resolve every need of one sample; one that cannot be resolved is an Unscored that says why.

    `known` says whether a task was answered before: an answer that is there decides how the rest is asked.
    """
    wanted = tuple(dict.fromkeys(needs))
    ask = Ask(sample, answer, known, wanted)
    found = await asyncio.gather(*(need.resolve(sample, ask) for need in wanted))
    return Findings(dict(zip(wanted, found, strict=True)))
