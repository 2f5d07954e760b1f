"""Call a judge for many questions of a dataset, concurrently and with a journal to resume from."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from ragboard.evaluation.budget import Budget
from ragboard.evaluation.journal import open_journal
from ragboard.evaluation.options import EvaluationOptions
from ragboard.evaluation.runner import TaskRunner, wait_for
from ragboard.judges.panel import Panel
from ragboard.metrics.base import SendTask
from ragboard.store import Store

__all__ = ["ask_about_all"]

T = TypeVar("T")

CONCURRENCY = 32
"""Maximum number of questions in progress. The judge may have a lower limit for concurrent calls."""


def ask_about_all(
    store: Store,
    journal: str,
    panel: Panel,
    options: EvaluationOptions,
    items: Sequence[T],
    ask_about: Callable[[T, SendTask], Awaitable[None]],
) -> Budget:
    """Call `ask_about(item, ask)` for each item, and return the used budget. `ask` sends a task to the judge.

    Replies are stored in the journal with the name `journal`, so a repeated call resumes a stopped one.
    """

    async def ask_all(runner: TaskRunner) -> None:
        slots = asyncio.Semaphore(CONCURRENCY)

        async def ask_about_one(number: int, item: T) -> None:
            async with slots:
                await ask_about(item, runner.for_sample(str(number)))

        await asyncio.gather(*(ask_about_one(number, item) for number, item in enumerate(items, 1)))

    budget = Budget.for_panel(options, panel)
    with open_journal(store.journal_path(journal), {"kind": journal}) as opened:
        wait_for(ask_all(TaskRunner(panel, opened, budget, retry=options.retry)))
    return budget
