"""References to runs in the store, and results of adding runs."""

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
"""Tables that an evaluation fills; each has a column `evaluation_id`."""


@dataclass(frozen=True, kw_only=True)
class AddedRun:
    """The result of adding a run to the store."""

    id: str
    name: str
    """Its name in the store: if the store already had the run, it may have been renamed."""
    samples: int
    added: bool
    """False if the store already had the same run."""


@dataclass(frozen=True, kw_only=True)
class RunRef:
    """A run in the store, and the evaluations that its verdicts and scores are taken from.

    A run's name alone stands for its newest results: each metric is taken from the newest evaluation of all samples
    that computed it. `RUN@EVALUATION` stands for one evaluation.
    """

    run_id: str
    name: str
    evaluation_id: str | None
    """The evaluation of the statements and verdicts; None if the run was never evaluated."""
    other_evaluations: tuple[tuple[str, str], ...] = ()
    """(metric, evaluation) pairs for the metrics whose scores are not taken from `evaluation_id`."""
    chosen: bool = True
    """Whether the user named the evaluation (`RUN@EVALUATION`)."""

    def evaluation_of(self, metric: str) -> str | None:
        """Return the evaluation that the scores of a metric are taken from."""
        return dict(self.other_evaluations).get(metric, self.evaluation_id)

    @property
    def evaluations(self) -> tuple[str, ...]:
        """All evaluations referred to, the one with the statements first."""
        return tuple(dict.fromkeys(filter(None, (self.evaluation_id, *(one for _, one in self.other_evaluations)))))
