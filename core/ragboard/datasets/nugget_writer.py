"""Write nuggets with a judge, from the passages that a dataset's runs retrieved or from the reference answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from ragboard.datasets.datasets import Dataset
from ragboard.datasets.judge_calls import ask_about_all
from ragboard.datasets.nuggets import MAX_LENGTH, MAX_NUGGETS
from ragboard.errors import JudgeError
from ragboard.evaluation.options import EvaluationOptions
from ragboard.judges.panel import Panel
from ragboard.metrics.base import SendTask
from ragboard.problems import kind_of_problem
from ragboard.records import Nugget
from ragboard.store import Store
from ragboard.store.queries.nuggets import DatasetQuestion, append_nuggets, history_json, pooled_passages
from ragboard.tasks import Failure, Nuggets, WeighNuggets, WriteNuggets

__all__ = ["NuggetSource", "WrittenNuggets", "write_nuggets"]

NuggetSource = Literal["passages", "reference"]

WINDOW = 10
"""Number of passages or nuggets per call in AutoNuggetizer."""


@dataclass(frozen=True, kw_only=True)
class WrittenNuggets:
    """How many questions of a dataset got nuggets, and how many did not."""

    questions: int
    """Number of questions with new nuggets."""
    nuggets: int
    """Number of new nuggets."""
    kept: int
    """Number of questions that were skipped because they already have nuggets."""
    without_texts: int
    """Number of questions that were skipped because they have no passages (or reference) to write from."""
    empty: int
    """Number of questions for which the judge found no nugget."""
    calls: int
    """Number of calls to the judge."""
    failed: Mapping[str, int]
    """Number of questions without a usable reply, by kind of failure."""
    stopped: str = ""
    """The limit that stopped the call before all questions were sent; empty if none did."""


@dataclass(frozen=True, kw_only=True)
class _QuestionTexts:
    """A question, and the texts to write its nuggets from."""

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
    watch: Callable[[int, int], None] = lambda _done, _total: None,
) -> WrittenNuggets:
    """Let a judge write nuggets for each question without nuggets; with `again`, also replace nuggets not yet approved.

    By default, the judge is called once per question. With `compat`, it is called once per ten passages and once per
    ten nuggets (for their importance), as in AutoNuggetizer. Nuggets are stored immediately, and replies are stored in
    a journal: if the call is stopped, the same call resumes it. `watch` is called with the number of finished questions
    and their total. Raises JudgeError if the judge does not support this.
    """
    for kind in (WriteNuggets, *((WeighNuggets,) if compat else ())):
        panel.for_task(kind)
    chosen = [
        question
        for question in dataset.questions
        if question.nuggets is None or (again and not question.nuggets.approved)
    ]
    jobs: list[_QuestionTexts] = []
    for question in chosen:
        texts = _texts(store, dataset, question, source)
        if any(text.strip() for text in texts):
            jobs.append(_QuestionTexts(question=question, texts=texts))
    counts, failed = Counter[str](), Counter[str]()

    async def write(job: _QuestionTexts, ask: SendTask) -> None:
        reply = await _write_for_question(job, ask, compat=compat)
        counts["done"] += 1
        watch(counts["done"], len(jobs))
        if isinstance(reply, Failure):
            failed[kind_of_problem(reply.detail)] += 1
        elif not reply:
            counts["empty"] += 1
        else:
            with store.database.write() as connection:
                append_nuggets(
                    connection,
                    job.question.question,
                    history_json(job.question.history),
                    reply,
                    author=panel.name,
                    approved=False,
                )
            counts["questions"] += 1
            counts["nuggets"] += len(reply)

    budget = ask_about_all(store, "nuggets", panel, options or EvaluationOptions(), jobs, write)
    return WrittenNuggets(
        questions=counts["questions"],
        nuggets=counts["nuggets"],
        kept=len(dataset.questions) - len(chosen),
        without_texts=len(chosen) - len(jobs),
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


async def _write_for_question(job: _QuestionTexts, ask: SendTask, *, compat: bool) -> tuple[Nugget, ...] | Failure:
    """Let the judge write the nuggets of a question. Return them, or the first failure."""
    question = job.question
    task = WriteNuggets(question=question.question, passages=(), history=question.history)
    nuggets: tuple[Nugget, ...] = ()
    size = WINDOW if compat else len(job.texts)
    for start in range(0, len(job.texts), size):
        known = tuple(nugget.text for nugget in nuggets)
        reply = await ask(replace(task, passages=job.texts[start : start + size], nuggets=known))
        if isinstance(reply, Failure):
            return reply
        nuggets = _nuggets(reply)
    if not compat:
        return nuggets
    weighed: list[Nugget] = []
    for start in range(0, len(nuggets), WINDOW):
        texts = tuple(nugget.text for nugget in nuggets[start : start + WINDOW])
        reply = await ask(WeighNuggets(question=question.question, nuggets=texts, history=question.history))
        if isinstance(reply, Failure):
            return reply
        weighed += _nuggets(reply)
    return tuple(weighed)


def _nuggets(reply: object) -> tuple[Nugget, ...]:
    if not isinstance(reply, Nuggets):
        raise JudgeError(f"the judge answered with {type(reply).__name__}, expected nuggets")
    return tuple(replace(nugget, text=nugget.text[:MAX_LENGTH]) for nugget in reply.nuggets[:MAX_NUGGETS])
