"""Human grades in the run files of imported runs, as labels to compare metrics with."""

from __future__ import annotations

from collections.abc import Sequence

from ragboard.readers.labels import GRADE_COLUMNS, LabelFile, LabelledItem, human_grades
from ragboard.store import RunRef, Store
from ragboard.store.queries.values import runs_with_objects

__all__ = ["graded_runs", "load_run_grades"]

SEARCHED = 1_000
"""Number of samples of each run that `graded_runs` looks at."""


def graded_runs(store: Store) -> frozenset[str]:
    """Return the ids of the runs with human grades of answers among their first 1,000 samples."""
    with store.database.read() as connection:
        return frozenset(runs_with_objects(connection, GRADE_COLUMNS, SEARCHED))


def load_run_grades(store: Store, runs: Sequence[RunRef]) -> LabelFile | None:
    """Load the human grades of the answers of runs as a label file; None if there are none.

    The turns of a conversation form a cluster, as do the answers to one question.
    """
    items: list[LabelledItem] = []
    for run in runs:
        clusters = store.clusters(run.run_id)
        for _, sample in store.samples(run.run_id):
            grades = human_grades(sample.metadata)
            if grades and sample.answer is not None:
                items.append(
                    LabelledItem(
                        id=sample.id if len(runs) == 1 else f"{run.name}:{sample.id}",
                        cluster=clusters.get(sample.id, sample.question),
                        samples=(sample,),
                        human_labels={dimension: ratings.each for dimension, ratings in grades.items()},
                    )
                )
    if not items:
        return None
    name = f"grades of {', '.join(run.name for run in runs)}"
    return LabelFile(form="answers", name=name, source=name, items=tuple(items))
