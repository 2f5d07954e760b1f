"""Which samples of a run depend on each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ragboard.store.queries.query import Connection
from ragboard.store.queries.scores import Places

__all__ = ["Clusters", "SampleClusters", "run_clusters", "sample_clusters"]


class Clusters(NamedTuple):
    """In how many clusters samples are, and whether these are conversations; else questions."""

    number: int
    conversations: bool

    def __str__(self) -> str:
        """`12 conversations`."""
        return f"{self.number:,} {'conversations' if self.conversations else 'questions'}"


@dataclass(frozen=True, kw_only=True, eq=False)
class SampleClusters:
    """Which rows, samples or pairs, depend on each other."""

    of: Places
    """For each row a number that it shares with the rows of its cluster."""
    conversations: bool
    """Whether rows of a cluster are turns of one conversation; else answers to one question."""

    def __str__(self) -> str:
        """`12 conversations`."""
        return str(Clusters(np.unique(self.of).size, self.conversations))


def run_clusters(connection: Connection, run_ids: Sequence[str]) -> dict[str, Clusters]:
    """By what the samples of these runs are clustered; runs of independent samples are left out."""
    rows = connection.execute(
        "SELECT run_id, count(DISTINCT cluster) + count(*) - count(cluster),"
        " bool_or(starts_with(cluster, 'conversation:')) FROM samples"
        " WHERE run_id IN (SELECT run_id FROM samples WHERE cluster IS NOT NULL AND run_id IN (SELECT unnest(?)))"
        " GROUP BY run_id",
        [list(run_ids)],
    ).fetchall()
    return {run_id: Clusters(*found) for run_id, *found in rows}


def sample_clusters(connection: Connection, run_id: str) -> SampleClusters | None:
    """Of each sample, by its position; None where all are independent."""
    if not connection.execute(
        "SELECT 1 FROM samples WHERE run_id = ? AND cluster IS NOT NULL LIMIT 1", [run_id]
    ).fetchone():
        return None
    found = connection.execute(
        "SELECT position, min(position) OVER (PARTITION BY coalesce(cluster, position::VARCHAR)) AS first,"
        " coalesce(starts_with(cluster, 'conversation:'), false) AS turn"
        " FROM samples WHERE run_id = ? ORDER BY position",
        [run_id],
    ).fetchnumpy()
    return SampleClusters(of=np.asarray(found["first"], dtype=np.int64), conversations=bool(np.any(found["turn"])))
