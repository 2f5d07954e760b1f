"""Count correct, missing and wrong answers, which the mean of CRAG's truthfulness does not show."""

from __future__ import annotations

from dataclasses import dataclass

from ragboard.analysis.metrics import in_order, read_descriptions
from ragboard.metrics.crag import Truthfulness
from ragboard.store import RunRef, Store
from ragboard.store.queries.scores import value_counts

__all__ = ["TruthfulnessShares", "truthfulness_shares"]


@dataclass(frozen=True, kw_only=True)
class TruthfulnessShares:
    """How many answers are correct, missing and wrong, by one setting of the metric."""

    metric: str
    """Full name of the metric, with its settings."""
    label: str
    """The name of the metric on pages."""
    correct: int
    missing: int
    wrong: int

    @property
    def n(self) -> int:
        """Number of scored answers."""
        return self.correct + self.missing + self.wrong

    @property
    def accuracy(self) -> float:
        """Share of correct answers."""
        return self.correct / self.n

    @property
    def hallucination(self) -> float:
        """Share of wrong answers."""
        return self.wrong / self.n

    @property
    def score(self) -> float:
        """The mean: the share of correct answers minus the share of wrong ones."""
        return (2 * self.correct + self.missing) / self.n - 1

    def __str__(self) -> str:
        """`Truthfulness 0.25: of 8 answers 5 correct (62%), 0 missing (0%), 3 wrong (38%)`."""
        counts = {"correct": self.correct, "missing": self.missing, "wrong": self.wrong}
        shares = ", ".join(f"{count:,} {name} ({count / self.n:.0%})" for name, count in counts.items())
        return f"{self.label} {self.score:.2f}: of {self.n:,} answers {shares}"


def truthfulness_shares(store: Store, run: RunRef) -> tuple[TruthfulnessShares, ...]:
    """Count correct, missing and wrong answers of a run, for each setting of `crag.truthfulness` that it has."""
    name = f"{Truthfulness.source}.{Truthfulness.name}"
    with store.database.read() as connection:
        counts = value_counts(connection, run, name)
        known = read_descriptions(connection)
    return tuple(
        TruthfulnessShares(
            metric=spec,
            label=known[spec].label if spec in known else spec,
            correct=counts[spec].get(1.0, 0),
            missing=counts[spec].get(0.0, 0),
            wrong=counts[spec].get(-1.0, 0),
        )
        for spec in in_order(counts)
    )
