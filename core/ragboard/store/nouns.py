"""What the store says of what it keeps."""

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
    "answer_places",
    "spending",
)
"""Tables that an evaluation fills, each with a column `evaluation_id`."""


@dataclass(frozen=True, kw_only=True)
class AddedRun:
    """What became of a run handed to the store."""

    id: str
    name: str
    """What it is called in the store: a run that was there already may have been renamed."""
    samples: int
    added: bool
    """False where the very same run was there already."""


@dataclass(frozen=True, kw_only=True)
class RunRef:
    """A run in the store, and where its verdicts and scores are taken from.

    A run's name means, for each metric, its newest evaluation of all samples that has it. `RUN@EVALUATION` means that
    evaluation alone.
    """

    run_id: str
    name: str
    evaluation_id: str | None
    """The evaluation whose statements and verdicts are meant; None where the run was never evaluated."""
    elsewhere: tuple[tuple[str, str], ...] = ()
    """Metrics, each with the evaluation that its scores are taken from, where that is not `evaluation_id`."""
    chosen: bool = True
    """Whether somebody named the evaluation; False where the run's name alone was given."""

    def evaluation_of(self, metric: str) -> str | None:
        """The evaluation that the scores of a metric are taken from."""
        return dict(self.elsewhere).get(metric, self.evaluation_id)

    @property
    def evaluations(self) -> tuple[str, ...]:
        """Every evaluation of our own that is meant, that of the statements first."""
        return tuple(dict.fromkeys(filter(None, (self.evaluation_id, *(one for _, one in self.elsewhere)))))
