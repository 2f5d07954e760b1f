"""The nuggets of a dataset's questions, and which nuggets the answers of its runs state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ragboard.datasets.datasets import DatasetRuns
from ragboard.errors import SettingError
from ragboard.metrics import METRICS, compute_outcome
from ragboard.metrics.base import NeedResults
from ragboard.metrics.nuggets import AssignedLabel, AssignedNugget, NuggetAssignments, NuggetMetric
from ragboard.records import Nugget, Outcome, Sample, Unscored
from ragboard.store import Store
from ragboard.store.queries.nuggets import DatasetQuestion, append_nuggets, assigned_rows, history_json

__all__ = [
    "AnswerNugget",
    "NuggetTable",
    "RunNuggets",
    "approve_nuggets",
    "check_nuggets",
    "nugget_table",
    "save_nuggets",
]

MAX_NUGGETS = 100
"""Maximum number of nuggets of a question."""
MAX_LENGTH = 500
"""Maximum number of characters of a nugget."""


def save_nuggets(
    store: Store, question: DatasetQuestion, nuggets: Iterable[Nugget], *, author: str, approved: bool
) -> None:
    """Store a new version of a question's nuggets; earlier versions stay in the store.

    Raises SettingError for a blank author, for a blank, repeated or very long nugget, and for too many nuggets.
    """
    checked = check_nuggets(nuggets)
    if not author.strip():
        raise SettingError("nuggets need the name of their author; enter your name")
    with store.database.write() as connection:
        append_nuggets(
            connection,
            question.question,
            history_json(question.history),
            checked,
            author=author.strip(),
            approved=approved,
        )


def approve_nuggets(store: Store, question: DatasetQuestion, *, author: str) -> None:
    """Approve a question's nuggets unchanged. Raises SettingError if it has no nuggets, and for a blank author."""
    if question.nuggets is None:
        raise SettingError("this question has no nuggets to approve")
    save_nuggets(store, question, question.nuggets.nuggets, author=author, approved=True)


def check_nuggets(nuggets: Iterable[Nugget]) -> tuple[Nugget, ...]:
    """Return the nuggets with white space normalised. Raises SettingError for nuggets that cannot be stored."""
    checked = tuple(replace(nugget, text=" ".join(nugget.text.split())) for nugget in nuggets)
    seen: set[str] = set()
    for number, nugget in enumerate(checked, 1):
        if not nugget.text:
            raise SettingError(f"nugget {number} has no text")
        if len(nugget.text) > MAX_LENGTH:
            raise SettingError(f"nugget {number} has {len(nugget.text):,} characters, expected at most {MAX_LENGTH}")
        if nugget.text.casefold() in seen:
            raise SettingError(f"nugget {number} repeats an earlier nugget: {nugget.text:.60}")
        seen.add(nugget.text.casefold())
    if len(checked) > MAX_NUGGETS:
        raise SettingError(f"there are {len(checked)} nuggets, expected at most {MAX_NUGGETS}")
    return checked


@dataclass(frozen=True, kw_only=True)
class AnswerNugget:
    """Whether an answer states a nugget."""

    label: AssignedLabel
    reason: str


@dataclass(frozen=True, kw_only=True)
class RunNuggets:
    """Which nuggets one run's answer to a question states."""

    run: str
    sample_id: str | None
    """None if the nuggets of the run's answer were not judged."""
    judge: str | None
    labels: dict[str, AnswerNugget]
    """The judge's label for each nugget, by its text. Nuggets that were not judged are missing."""

    def scores(self, nuggets: Sequence[Nugget]) -> Mapping[str, Outcome]:
        """Return the score of the answer for each nugget metric; unscored if a nugget was not judged."""
        if any(nugget.text not in self.labels for nugget in nuggets):
            return dict.fromkeys(NUGGET_METRICS, Unscored(reason="skipped", detail="not judged with these nuggets"))
        assigned = tuple(
            AssignedNugget(
                text=nugget.text,
                importance=nugget.importance,
                label=self.labels[nugget.text].label,
                reason=self.labels[nugget.text].reason,
            )
            for nugget in nuggets
        )
        results = NeedResults({NuggetAssignments(): assigned})
        sample = Sample(id="", question="", answer="", nuggets=tuple(nuggets))
        return {spec: compute_outcome(metric, sample, results) for spec, metric in NUGGET_METRICS.items()}


NUGGET_METRICS = {spec: metric for spec, metric in METRICS.items() if isinstance(metric, NuggetMetric)}


@dataclass(frozen=True, kw_only=True)
class NuggetTable:
    """The nuggets of one question, and which nuggets the answer of each run states."""

    nuggets: Sequence[Nugget]
    runs: Sequence[RunNuggets]


def nugget_table(store: Store, dataset: DatasetRuns, question: DatasetQuestion) -> NuggetTable:
    """Return which nuggets of a question the answers of a dataset's runs state, according to each run's newest labels.

    If a run has the question more than once, its first answer is used.
    """
    judged = [run.evaluation_id for run in dataset.runs if run.evaluation_id]
    with store.database.read() as connection:
        rows = assigned_rows(connection, judged, question.question, history_json(question.history))
    by_run: dict[str, RunNuggets] = {}
    runs = {run.run_id: run for run in dataset.runs}
    for row in rows:
        run = runs[row.run_id]
        run_nuggets = by_run.setdefault(
            row.run_id, RunNuggets(run=run.name, sample_id=row.sample_id, judge=run.judge, labels={})
        )
        if run_nuggets.sample_id == row.sample_id:
            run_nuggets.labels[row.nugget] = AnswerNugget(label=row.label, reason=row.reason)
    return NuggetTable(
        nuggets=question.nuggets.nuggets if question.nuggets else (),
        runs=[
            by_run.get(run.run_id, RunNuggets(run=run.name, sample_id=None, judge=None, labels={}))
            for run in dataset.runs
        ],
    )
