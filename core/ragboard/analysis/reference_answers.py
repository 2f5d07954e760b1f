"""Runs whose answers are the references. Metrics that compare answers with references say nothing about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ragboard.records import MetricDescription, Sample
from ragboard.store import Store
from ragboard.store.queries.query import Connection
from ragboard.store.queries.runs import listed_runs
from ragboard.store.queries.samples import answers_equal_to_references

__all__ = [
    "ANSWERS_ARE_REFERENCES",
    "answer_is_reference",
    "compares_with_reference",
    "reference_runs",
    "runs_of_references",
    "self_compared",
]

ANSWERS_ARE_REFERENCES: Final = "answers are references"
"""Shown in place of better or worse for metrics that compare the references of a run with themselves."""

MIN_LENGTH = 40
"""An answer that equals its reference counts as a copy if it has at least this many characters. A shorter answer, such
as a name or a year, can equal its reference because it is right."""
MAX_SAMPLES = 200
"""Maximum number of samples of a run to check: a page must not read all answers of a large run for this."""
MIN_SHARE = 0.5
"""The answers of a run are the references if more than this share of its answers with a reference are copies."""


def runs_of_references(connection: Connection, run_ids: Sequence[str]) -> frozenset[str]:
    """Return the runs whose answers are the references: more than half are copies, ignoring case and outer spaces.

    Looks at the first `MAX_SAMPLES` samples of each run.
    """
    counts = answers_equal_to_references(connection, run_ids, min_length=MIN_LENGTH, first=MAX_SAMPLES)
    return frozenset(run_id for run_id, (copies, answers) in counts.items() if copies > MIN_SHARE * answers)


def reference_runs(store: Store) -> frozenset[str]:
    """Return the ids of the runs in the store whose answers are the references."""
    with store.database.read() as connection:
        return runs_of_references(connection, [run.run_id for run in listed_runs(connection)])


def answer_is_reference(sample: Sample) -> bool:
    """Return whether the answer is a copy of the reference, ignoring case and outer spaces; see `MIN_LENGTH`."""
    answer = (sample.answer or "").strip().lower()
    return len(answer) >= MIN_LENGTH and answer == (sample.reference or "").strip().lower()


def compares_with_reference(metric: MetricDescription | None) -> bool:
    """Return whether a metric compares the answer with the reference."""
    return metric is not None and "answer" in metric.requires and "reference" in metric.requires


def self_compared(whose: str) -> str:
    """Return `B's answers are the references: the metric compares them with themselves`, for `whose` = `B's`."""
    return f"{whose} answers are the references: the metric compares them with themselves"
