"""From a sample and the needs of the chosen metrics to findings."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from ragboard.evaluation.asker import Ask
from ragboard.evaluation.claims import Claims, Known
from ragboard.evaluation.meeting import MEETINGS, leads_to
from ragboard.metrics.needs import CellVerdicts, Findings, JointVerdicts, Need, Statements
from ragboard.records import Sample
from ragboard.tasks import Failure, Reply, Task

__all__ = ["gather", "tasks_for"]


def tasks_for(needs: Iterable[Need[Any]]) -> frozenset[type[Task]]:
    """The types of task that meeting these needs can lead to."""
    return frozenset(task for need in needs for task in leads_to(need))


async def gather(sample: Sample, needs: Iterable[Need[Any]], ask: Ask, known: Known = lambda _: False) -> Findings:
    """Meet every need of one sample; one that cannot be met is an Unscored that says why.

    `known` says whether a task was answered before: an answer that is there decides how the rest is asked.
    """
    wanted = tuple(dict.fromkeys(needs))
    claims = Claims.of(sample, wanted, _once(ask), known)
    found = await asyncio.gather(*(_meet(need, claims) for need in wanted))
    return Findings(dict(zip(wanted, found, strict=True)))


def _once(ask: Ask) -> Ask:
    """Asks each task once, however many needs lead to it."""
    asked: dict[Task, asyncio.Future[Reply | Failure]] = {}

    async def once(task: Task) -> Reply | Failure:
        if task not in asked:
            asked[task] = asyncio.ensure_future(ask(task))
        return await asked[task]

    return once


async def _meet(need: Need[Any], claims: Claims) -> object:
    match need:
        case Statements():
            return await claims.statements(need)
        case JointVerdicts():
            return await claims.joint(need)
        case CellVerdicts():
            return await claims.cells(need)
        case _:
            return await MEETINGS[type(need)](need, claims.sample, claims.ask)
