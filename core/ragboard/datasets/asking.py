"""Asks a judge about questions of a dataset; replies are kept in a journal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from ragboard.evaluation.budget import Budget
from ragboard.evaluation.journal import open_journal
from ragboard.evaluation.options import EvaluationOptions
from ragboard.evaluation.runner import TaskRunner, wait_for
from ragboard.judges.panel import Panel
from ragboard.metrics.base import AnswerTask
from ragboard.store import Store

__all__ = ["ask_about_all"]

T = TypeVar("T")

CONCURRENT = 32
"""Maximum number of questions that the judge works on at a time; the judge's own limit on calls holds as well."""


def ask_about_all(
    store: Store,
    journal: str,
    panel: Panel,
    options: EvaluationOptions,
    work: Sequence[T],
    ask_about: Callable[[T, AnswerTask], Awaitable[None]],
) -> Budget:
    """Call `ask_about` for each item with a function that sends tasks to the judge; return what was spent.

    Replies are kept in the journal of this name, so the same call resumes a stopped one.
    """

    async def ask_all(runner: TaskRunner) -> None:
        free = asyncio.Semaphore(CONCURRENT)

        async def guarded(number: int, item: T) -> None:
            async with free:
                await ask_about(item, runner.for_sample(str(number)))

        await asyncio.gather(*(guarded(number, item) for number, item in enumerate(work, 1)))

    budget = Budget.for_panel(options, panel)
    with open_journal(store.journal_path(journal), {"kind": journal}) as opened:
        wait_for(ask_all(TaskRunner(panel, opened, budget, retry=options.retry)))
    return budget
