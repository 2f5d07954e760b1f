"""Nuggets written by a judge, from the passages that the runs of a dataset retrieved or from the reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from ragboard.datasets.asking import ask_about_all
from ragboard.datasets.datasets import Dataset
from ragboard.datasets.nuggets import MAX_LENGTH, MAX_NUGGETS
from ragboard.errors import JudgeError
from ragboard.evaluation.options import EvaluationOptions
from ragboard.judges.panel import Panel
from ragboard.metrics.base import AnswerTask
from ragboard.problems import kind_of_problem
from ragboard.records import Nugget
from ragboard.store import Store
from ragboard.store.queries.nuggets import DatasetQuestion, append_nuggets, history_json, pooled_passages
from ragboard.tasks import Failure, Nuggets, WeighNuggets, WriteNuggets

__all__ = ["NuggetSource", "WrittenNuggets", "write_nuggets"]

NuggetSource = Literal["passages", "reference"]

WINDOW = 10
"""Passages per call, and nuggets per call, of AutoNuggetizer."""


@dataclass(frozen=True, kw_only=True)
class WrittenNuggets:
    """What a judge wrote for the questions of a dataset."""

    questions: int
    """Questions with new nuggets."""
    nuggets: int
    kept: int
    """Questions that had nuggets already."""
    without_texts: int
    """Questions without passages or without a reference to write from."""
    empty: int
    """Questions for which the judge found nothing to write."""
    calls: int
    failed: Mapping[str, int]
    """Questions without a usable reply, by kind of failure."""
    stopped: str = ""
    """Why not all questions were asked; empty if all were."""


@dataclass(frozen=True, kw_only=True)
class _Work:
    question: DatasetQuestion
    texts: tuple[str, ...]


def write_nuggets(
    store: Store,
    dataset: Dataset,
    panel: Panel,
    options: EvaluationOptions | None = None,
    *,
    source: NuggetSource = "passages",
    again: bool = False,
    compat: bool = False,
    watch: Callable[[int, int], None] = lambda _done, _of: None,
) -> WrittenNuggets:
    """Let a judge write the nuggets of every question that has none; with `again`, of every one not yet approved.

    It takes one call per question; with `compat`, ten passages per call and the importance in calls of ten nuggets, as
    in AutoNuggetizer. Each list is stored as soon as it is written, and replies are kept in a journal, so the same call
    resumes a stopped one. `watch` gets the numbers of questions done and in all. Raises JudgeError if the judge cannot
    write nuggets.
    """
    for kind in (WriteNuggets, *((WeighNuggets,) if compat else ())):
        panel.for_task(kind)
    chosen = [one for one in dataset.questions if one.nuggets is None or (again and not one.nuggets.approved)]
    work: list[_Work] = []
    for question in chosen:
        texts = _texts(store, dataset, question, source)
        if any(text.strip() for text in texts):
            work.append(_Work(question=question, texts=texts))
    counts, failed = Counter[str](), Counter[str]()

    async def write(one: _Work, ask: AnswerTask) -> None:
        reply = await _written(one, ask, compat=compat)
        counts["done"] += 1
        watch(counts["done"], len(work))
        if isinstance(reply, Failure):
            failed[kind_of_problem(reply.detail)] += 1
        elif not reply:
            counts["empty"] += 1
        else:
            with store.database.write() as connection:
                append_nuggets(
                    connection,
                    one.question.question,
                    history_json(one.question.history),
                    reply,
                    author=panel.name,
                    approved=False,
                )
            counts["questions"] += 1
            counts["nuggets"] += len(reply)

    budget = ask_about_all(store, "nuggets", panel, options or EvaluationOptions(), work, write)
    return WrittenNuggets(
        questions=counts["questions"],
        nuggets=counts["nuggets"],
        kept=len(dataset.questions) - len(chosen),
        without_texts=len(chosen) - len(work),
        empty=counts["empty"],
        calls=budget.calls,
        failed=dict(failed),
        stopped=budget.stopped,
    )


def _texts(store: Store, dataset: Dataset, question: DatasetQuestion, source: NuggetSource) -> tuple[str, ...]:
    if source == "reference":
        return (question.reference,) if question.reference else ()
    with store.database.read() as connection:
        return pooled_passages(connection, dataset.name, question.question, history_json(question.history))


async def _written(work: _Work, ask: AnswerTask, *, compat: bool) -> tuple[Nugget, ...] | Failure:
    asked = work.question
    task = WriteNuggets(question=asked.question, passages=(), history=asked.history)
    nuggets: tuple[Nugget, ...] = ()
    size = WINDOW if compat else len(work.texts)
    for start in range(0, len(work.texts), size):
        known = tuple(nugget.text for nugget in nuggets)
        reply = await ask(replace(task, passages=work.texts[start : start + size], nuggets=known))
        if isinstance(reply, Failure):
            return reply
        nuggets = _nuggets(reply)
    if not compat:
        return nuggets
    weighed: list[Nugget] = []
    for start in range(0, len(nuggets), WINDOW):
        texts = tuple(nugget.text for nugget in nuggets[start : start + WINDOW])
        reply = await ask(WeighNuggets(question=asked.question, nuggets=texts, history=asked.history))
        if isinstance(reply, Failure):
            return reply
        weighed += _nuggets(reply)
    return tuple(weighed)


def _nuggets(reply: object) -> tuple[Nugget, ...]:
    if not isinstance(reply, Nuggets):
        raise JudgeError(f"the judge answered with {type(reply).__name__}, expected nuggets")
    return tuple(replace(nugget, text=nugget.text[:MAX_LENGTH]) for nugget in reply.nuggets[:MAX_NUGGETS])
