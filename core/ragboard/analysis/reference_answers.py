"""Recognise runs whose answers are the references: metrics that compare the two say nothing about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ragboard.records import MetricDescription, Sample
from ragboard.store import Store
from ragboard.store.queries.query import Connection
from ragboard.store.queries.runs import listed_runs
from ragboard.store.queries.samples import MIN_COPY_LENGTH, answers_equal_to_references

__all__ = [
    "ANSWERS_ARE_REFERENCES",
    "answer_is_reference",
    "compares_with_reference",
    "read_reference_runs",
    "reference_runs",
    "self_comparison_warning",
]

ANSWERS_ARE_REFERENCES: Final = "answers are references"
"""Shown in place of better or worse for metrics that compare the references of a run with themselves."""

MIN_SHARE = 0.5
"""The answers of a run are the references if more than this share of its answers with a reference are copies."""


def read_reference_runs(connection: Connection, run_ids: Sequence[str]) -> frozenset[str]:
    """Return the ids of the runs in which more than half of the first 200 answers are copies of the references.

    Case and outer spaces are ignored.
    """
    counts = answers_equal_to_references(connection, run_ids)
    return frozenset(run_id for run_id, (copies, answers) in counts.items() if copies > MIN_SHARE * answers)


def reference_runs(store: Store) -> frozenset[str]:
    """Return the ids of the runs in the store whose answers are the references."""
    with store.database.read() as connection:
        return read_reference_runs(connection, [run.run_id for run in listed_runs(connection)])


def answer_is_reference(sample: Sample) -> bool:
    """Return whether the answer is a copy of the reference, ignoring case and outer spaces; see `MIN_COPY_LENGTH`."""
    answer = (sample.answer or "").strip().lower()
    return len(answer) >= MIN_COPY_LENGTH and answer == (sample.reference or "").strip().lower()


def compares_with_reference(metric: MetricDescription | None) -> bool:
    """Return whether a metric compares the answer with the reference."""
    return metric is not None and "answer" in metric.requires and "reference" in metric.requires


def self_comparison_warning(whose: str) -> str:
    """Return the warning for a metric and the owner of the answers: `B's`."""
    return f"{whose} answers are the references: the metric compares them with themselves"
