"""Rewrite follow-up questions with a judge, so that they can be understood without the earlier turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ragboard.datasets.datasets import Dataset
from ragboard.datasets.judge_calls import ask_about_all
from ragboard.evaluation.options import EvaluationOptions
from ragboard.judges.panel import Panel
from ragboard.metrics.base import SendTask
from ragboard.problems import kind_of_problem
from ragboard.store import Store
from ragboard.store.queries.nuggets import DatasetQuestion, history_json
from ragboard.store.queries.rewritten import rewritten_questions, save_rewritten
from ragboard.tasks import Failure, NotSent, RewriteQuestion, WrittenText

__all__ = ["RewrittenQuestions", "rewrite_questions"]


@dataclass(frozen=True, kw_only=True)
class RewrittenQuestions:
    """How many questions of a dataset were rewritten, and how many were not."""

    questions: int
    """Number of questions rewritten in this call."""
    kept: int
    """Number of questions that were skipped because they were rewritten before."""
    without_history: int
    """Number of questions without earlier turns; they do not need to be rewritten."""
    calls: int
    """Number of calls to the judge."""
    failed: Mapping[str, int]
    """Number of questions without a usable reply, by kind of failure."""
    stopped: str = ""
    """The limit that stopped the call before all questions were sent; empty if none did."""


def rewrite_questions(
    store: Store, dataset: Dataset, panel: Panel, options: EvaluationOptions | None = None, *, again: bool = False
) -> RewrittenQuestions:
    """Let a judge rewrite the questions that have earlier turns, with one call per question.

    Questions that were rewritten before are skipped unless `again` is set. Results are stored immediately, and replies
    are stored in a journal: if the call is stopped, the same call resumes it. Raises JudgeError if the judge does not
    support this.
    """
    panel.for_task(RewriteQuestion)
    follow_ups = [question for question in dataset.questions if question.history]
    with store.database.read() as connection:
        known = set[tuple[str, str]]() if again else rewritten_questions(connection)
    work = [follow_up for follow_up in follow_ups if (follow_up.question, history_json(follow_up.history)) not in known]
    counts, failed = Counter[str](), Counter[str]()

    async def rewrite(question: DatasetQuestion, ask: SendTask) -> None:
        reply = await ask(RewriteQuestion(question=question.question, history=question.history))
        if isinstance(reply, WrittenText):
            with store.database.write() as connection:
                save_rewritten(connection, question.question, history_json(question.history), reply.text, panel.name)
            counts["questions"] += 1
        elif isinstance(reply, Failure) and not isinstance(reply, NotSent):
            failed[kind_of_problem(reply.detail)] += 1

    budget = ask_about_all(store, "rewritten", panel, options or EvaluationOptions(), work, rewrite)
    return RewrittenQuestions(
        questions=counts["questions"],
        kept=len(follow_ups) - len(work),
        without_history=len(dataset.questions) - len(follow_ups),
        calls=budget.calls,
        failed=dict(failed),
        stopped=budget.stopped,
    )
