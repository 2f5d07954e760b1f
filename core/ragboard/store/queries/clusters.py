"""Clusters: samples of a run that are not independent, because they share a conversation or a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ragboard.store.queries.query import Connection
from ragboard.store.queries.scores import Positions

__all__ = ["Clusters", "SampleClusters", "run_clusters", "sample_clusters"]


class Clusters(NamedTuple):
    """The number of clusters, and whether they are conversations or repeated questions."""

    number: int
    conversations: bool
    """True for conversations, False for repeated questions."""

    def __str__(self) -> str:
        """Return number and kind: `12 conversations`."""
        return (
            f"{self.number:,} {'conversation' if self.conversations else 'question'}{'' if self.number == 1 else 's'}"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class SampleClusters:
    """The cluster of each sample of a run, or of each pair of samples."""

    ids: Positions
    """The id of each sample's cluster."""
    conversations: bool
    """True for conversations, False for repeated questions."""

    def __str__(self) -> str:
        """Return number and kind: `12 conversations`."""
        return str(Clusters(np.unique(self.ids).size, self.conversations))


def run_clusters(connection: Connection, whole: Sequence[str], parts: Sequence[tuple[str, str]]) -> dict[str, Clusters]:
    """Return the clusters of runs, by run, without runs whose samples are all independent.

    - `whole`: runs of which all samples count.
    - `parts`: (run, evaluation) for runs of which only the evaluated samples count.
    """
    rows = connection.execute(
        "WITH part AS (SELECT unnest($runs) AS run_id, unnest($evaluations) AS evaluation_id),"
        " clustered AS (SELECT DISTINCT run_id FROM samples WHERE cluster IS NOT NULL"
        " AND (run_id IN (SELECT unnest($whole)) OR run_id IN (SELECT run_id FROM part)))"
        " SELECT run_id, count(DISTINCT cluster) + count(*) - count(cluster) AS clusters,"
        " coalesce(bool_or(starts_with(cluster, 'conversation:')), false)"
        " FROM samples SEMI JOIN clustered USING (run_id)"
        " WHERE run_id IN (SELECT unnest($whole)) OR (run_id, position) IN (SELECT (run_id, position)"
        " FROM part SEMI JOIN clustered USING (run_id) JOIN scores USING (evaluation_id))"
        " GROUP BY run_id HAVING clusters < count(*)",
        {"whole": list(whole), "runs": [run for run, _ in parts], "evaluations": [one for _, one in parts]},
    ).fetchall()
    return {run_id: Clusters(number, conversations) for run_id, number, conversations in rows}


def sample_clusters(connection: Connection, run_id: str) -> SampleClusters | None:
    """Return the clusters of a run's samples; None if all are independent.

    Positions without a sample (after pruning) have an arbitrary cluster.
    """
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
    positions, clusters = (np.asarray(found[name], dtype=np.int64) for name in ("position", "first"))
    ids = np.full(positions[-1] + 1, clusters[0])
    ids[positions] = clusters
    return SampleClusters(ids=ids, conversations=bool(np.any(found["turn"])))
