"""Find a run that gave more faithful answers to the same questions from the same passages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from ragboard.analysis.comparability import choose_evaluations, different_judges
from ragboard.analysis.paired import pair_clusters, same_passage_sets
from ragboard.analysis.reference_answers import read_reference_runs
from ragboard.stats import Interval, PairedDifference, ci_text, holm, paired_difference
from ragboard.store import RunRef, Store
from ragboard.store.queries.pairs import paired_runs
from ragboard.store.queries.quantities import sample_values
from ragboard.store.queries.runs import ListedRun

__all__ = ["MoreFaithfulRun", "more_faithful_run", "runs_to_compare"]

FAITHFULNESS = "ragas.faithfulness"
MAX_RUNS = 10
"""Maximum number of other runs to compare, newest first."""
MIN_SHARE = 0.5
"""A run is compared if at least this share of samples has the same passages, and a score, in both runs."""
MIN_DIFFERENCE = 0.1
"""Minimum difference in faithfulness that is evidence about the generator."""
ALPHA = 0.05
"""Significance level, after Holm's correction for the compared runs."""


@dataclass(frozen=True, kw_only=True)
class MoreFaithfulRun:
    """A run with more faithful answers to the same questions from the same passages."""

    run: str
    answers_are_references: bool
    """Whether the answers of this run are the references."""
    samples: int
    """Number of samples of the diagnosed run."""
    pairs: PairedDifference
    """Faithfulness of the other run minus faithfulness of the diagnosed run, over samples with the same passages."""

    def __str__(self) -> str:
        """`The generator is probably at fault: over all 60 answers (...), b reaches a faithfulness of 0.91, ...`."""
        pairs = self.pairs
        which = f"{pairs.n:,} of {self.samples:,} answers" if pairs.n < self.samples else f"all {pairs.n:,} answers"
        run = f"{self.run} (the reference answers)" if self.answers_are_references else self.run
        return (
            f"The generator is probably at fault: over {which} (scored in both runs, with the same passages),"
            f" {run} reaches a faithfulness of {pairs.second:.2f}, this run {pairs.first:.2f}"
            f" (difference {pairs.difference:+.2f}, {ci_text(pairs.interval, '+.2f')})."
        )


def runs_to_compare(runs: Iterable[ListedRun], run: RunRef) -> tuple[ListedRun, ...]:
    """Return the newest other evaluated runs with the same questions as `run`, at most `MAX_RUNS`.

    `runs` are all runs of the store, newest first.
    """
    listed = tuple(runs)
    dataset = next((one.dataset_key for one in listed if one.run_id == run.run_id), None)
    others = (one for one in listed if one.dataset_key == dataset and one.run_id != run.run_id and one.evaluated)
    return tuple(islice(others, MAX_RUNS))


def more_faithful_run(store: Store, run: RunRef, others: Sequence[ListedRun], samples: int) -> MoreFaithfulRun | None:
    """Return the run with the largest gain in faithfulness over `run`, on samples with the same passages in both.

    The gain must be significant and at least `MIN_DIFFERENCE`, else return None. `others` is the result of
    `runs_to_compare`; those that another judge evaluated are not compared. `samples` is the number of samples of `run`.
    """
    differences: list[tuple[ListedRun, PairedDifference]] = []
    for other in others:
        pairs = _compare_faithfulness(store, run, store.resolve(other.name), samples)
        if pairs is not None:
            differences.append((other, pairs))
    adjusted = holm([pairs.p for _, pairs in differences])
    with store.database.read() as connection:
        reference_runs = read_reference_runs(connection, [other.run_id for other, _ in differences])
    better = [
        MoreFaithfulRun(
            run=other.name, answers_are_references=other.run_id in reference_runs, samples=samples, pairs=pairs
        )
        for (other, pairs), p in zip(differences, adjusted, strict=True)
        if pairs.difference >= MIN_DIFFERENCE
        and isinstance(pairs.interval, Interval)
        and pairs.interval.low > 0
        and p < ALPHA
    ]
    return max(better, key=lambda run: run.pairs.difference, default=None)


def _compare_faithfulness(store: Store, run: RunRef, other: RunRef, samples: int) -> PairedDifference | None:
    """Compare the faithfulness of two runs on samples with the same passages; None if that is not possible."""
    first, second = choose_evaluations(store, run, other)
    if first.evaluation_of(FAITHFULNESS) != run.evaluation_of(FAITHFULNESS):
        return None
    with store.database.read() as connection:
        if different_judges(connection, first, second, [FAITHFULNESS]):
            return None
        paired = paired_runs(connection, first.run_id, second.run_id)
        a = sample_values(connection, first, first.evaluation_of(FAITHFULNESS), FAITHFULNESS)[paired.a]
        b = sample_values(connection, second, second.evaluation_of(FAITHFULNESS), FAITHFULNESS)[paired.b]
        same = same_passage_sets(connection, first, second, paired)
        clusters = pair_clusters(connection, first, second, paired)
    compared = same & ~np.isnan(a + b)
    if compared.sum() < MIN_SHARE * samples:
        return None
    return paired_difference(
        a[compared], b[compared], bounds=(-1.0, 1.0), clusters=clusters.ids[compared].tolist() if clusters else None
    )
