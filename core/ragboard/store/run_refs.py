"""References to runs and evaluations in the store."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RESULT_TABLES", "AddedRun", "RunRef"]

RESULT_TABLES = (
    "scores",
    "sides",
    "statements",
    "verdicts",
    "questions",
    "sentences",
    "judgements",
    "assignments",
    "citations",
    "cited_statements",
    "score_draws",
    "verdict_draws",
    "answer_places",
    "spending",
)
"""Tables with results of evaluations. Each has a column `evaluation_id`."""


@dataclass(frozen=True, kw_only=True)
class AddedRun:
    """The result of adding a run to the store."""

    id: str
    name: str
    """Name in the store, which may differ from the name in the file if the run was added before and renamed."""
    samples: int
    added: bool
    """False if the store already had the same run."""


@dataclass(frozen=True, kw_only=True)
class RunRef:
    """A run in the store, and the evaluations whose verdicts and scores are used.

    `RUN` means the newest results: each metric from the newest evaluation of all samples that computed it.
    `RUN@EVALUATION` means one evaluation.
    """

    run_id: str
    name: str
    evaluation_id: str | None
    """The evaluation with the statements and verdicts; None if the run was never evaluated."""
    other_evaluations: tuple[tuple[str, str], ...] = ()
    """(metric, evaluation) for each metric whose scores are in another evaluation than `evaluation_id`."""
    chosen: bool = True
    """Whether the user named the evaluation (`RUN@EVALUATION`)."""

    def evaluation_of(self, metric: str) -> str | None:
        """Return the evaluation with the scores of a metric."""
        return dict(self.other_evaluations).get(metric, self.evaluation_id)

    @property
    def evaluations(self) -> tuple[str, ...]:
        """All evaluations, the one with the statements first."""
        return tuple(dict.fromkeys(filter(None, (self.evaluation_id, *(one for _, one in self.other_evaluations)))))
