"""Questions of conversations, rewritten by a judge to be understood alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ragboard.datasets.asking import ask_about_all
from ragboard.datasets.datasets import Dataset
from ragboard.evaluation.options import EvaluationOptions
from ragboard.judges.panel import Panel
from ragboard.metrics.base import AnswerTask
from ragboard.problems import kind_of_problem
from ragboard.store import Store
from ragboard.store.queries.nuggets import DatasetQuestion, history_json
from ragboard.store.queries.rewritten import rewritten_questions, save_rewritten
from ragboard.tasks import Failure, NotAsked, RewriteQuestion, WrittenText

__all__ = ["RewrittenQuestions", "rewrite_questions"]


@dataclass(frozen=True, kw_only=True)
class RewrittenQuestions:
    """What a judge rewrote of the questions of a dataset."""

    questions: int
    """Questions rewritten now."""
    kept: int
    """Questions that were rewritten already."""
    alone: int
    """Questions without earlier turns, which need no rewriting."""
    calls: int
    failed: Mapping[str, int]
    """Questions without a usable reply, by kind of failure."""
    stopped: str = ""
    """Why not all questions were asked; empty if all were."""


def rewrite_questions(
    store: Store, dataset: Dataset, panel: Panel, options: EvaluationOptions | None = None, *, again: bool = False
) -> RewrittenQuestions:
    """Let a judge rewrite each question that follows earlier turns, with one call each.

    Questions that were rewritten before are kept, unless `again`. Each is stored as soon as it is written; replies are
    kept in a journal, so the same call resumes a stopped one. Raises JudgeError if the judge cannot rewrite questions.
    """
    panel.for_task(RewriteQuestion)
    follow_ups = [one for one in dataset.questions if one.history]
    with store.database.read() as connection:
        known = set[tuple[str, str]]() if again else rewritten_questions(connection)
    work = [follow_up for follow_up in follow_ups if (follow_up.question, history_json(follow_up.history)) not in known]
    counts, failed = Counter[str](), Counter[str]()

    async def rewrite(one: DatasetQuestion, ask: AnswerTask) -> None:
        reply = await ask(RewriteQuestion(question=one.question, history=one.history))
        if isinstance(reply, WrittenText):
            with store.database.write() as connection:
                save_rewritten(connection, one.question, history_json(one.history), reply.text, panel.name)
            counts["questions"] += 1
        elif isinstance(reply, Failure) and not isinstance(reply, NotAsked):
            failed[kind_of_problem(reply.detail)] += 1

    budget = ask_about_all(store, "rewritten", panel, options or EvaluationOptions(), work, rewrite)
    return RewrittenQuestions(
        questions=counts["questions"],
        kept=len(follow_ups) - len(work),
        alone=len(dataset.questions) - len(follow_ups),
        calls=budget.calls,
        failed=dict(failed),
        stopped=budget.stopped,
    )
