"""Moments of values in the database, clustered where samples of a run depend on each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import duckdb
import numpy as np

from ragboard.analysis.pairing import PairedRuns, Places
from ragboard.stats import ClusterMoments, Moments, cluster_moments
from ragboard.stats.intervals import LARGE, SAME
from ragboard.store import RunRef

__all__ = ["Clusters", "Known", "clustered_runs", "clusters_of", "moments_by", "pair_clusters"]

Known: TypeAlias = Moments | ClusterMoments


@dataclass(frozen=True, kw_only=True, eq=False)
class Clusters:
    """Which rows, samples or pairs, depend on each other."""

    of: Places
    """For each row a number that it shares with the rows of its cluster."""
    conversations: bool
    """Whether rows of a cluster are turns of one conversation; else answers to one question."""

    def __str__(self) -> str:
        """`12 conversations`."""
        return _in_words(np.unique(self.of).size, conversations=self.conversations)


def moments_by(
    connection: duckdb.DuckDBPyConnection, values: str, given: Mapping[str, Any], keys: Sequence[str]
) -> dict[tuple[Any, ...], Known]:
    """For each key the moments of its values; `values` is SQL for the keys, run_id, position and value.

    Keys without a value are left out. The values themselves are read where they are few or clustered.
    """
    by = ", ".join(keys)
    rows = connection.execute(
        f"WITH v AS MATERIALIZED (SELECT {by}, position, value, cluster FROM ({values}) LEFT JOIN"
        " (SELECT run_id, position, cluster FROM samples WHERE cluster IS NOT NULL) USING (run_id, position)"
        " WHERE value IS NOT NULL),"
        f" sizes AS (SELECT {by}, count(*) AS n, avg(value) AS mean, stddev_samp(value) AS deviation,"
        f" count(cluster) AS shared FROM v GROUP BY {by}),"
        f" common AS (SELECT {by}, max(times) AS times FROM (SELECT {by}, count(*) AS times FROM v"
        f" GROUP BY {by}, round(value, {SAME})) GROUP BY {by}),"
        f" units AS (SELECT {by}, count(*) AS size, sum(value) AS total FROM v"
        f" SEMI JOIN (SELECT {by} FROM sizes WHERE n <= {LARGE} OR shared > 0) USING ({by})"
        f" GROUP BY {by}, coalesce(cluster, position::VARCHAR)),"
        f" lists AS (SELECT {by}, list(size) AS counts, list(total) AS sums FROM units GROUP BY {by})"
        f" SELECT n, mean, deviation, n - times, counts, sums, {by} FROM sizes JOIN common USING ({by})"
        f" LEFT JOIN lists USING ({by})",
        dict(given),
    ).fetchall()
    return {tuple(key): _known(*row) for *row, key in ((*row[:6], row[6:]) for row in rows)}


def _known(
    n: int,
    mean: float,
    deviation: float | None,
    varying: int,
    counts: Sequence[int] | None,
    sums: Sequence[float] | None,
) -> Known:
    if counts is not None and sums is not None:
        return cluster_moments(counts, sums)
    return Moments(n=n, mean=mean, deviation=deviation or 0.0, varying=varying)


def clustered_runs(
    connection: duckdb.DuckDBPyConnection, whole: Sequence[str], parts: Sequence[tuple[str, str]]
) -> dict[str, str]:
    """By what the evaluated samples of runs are clustered, `12 conversations`; without runs of independent samples.

    All samples of the runs `whole`; of the others those that these evaluations cover, as pairs of a run and one of
    its evaluations.
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
    return {run_id: _in_words(count, conversations=conversations) for run_id, count, conversations in rows}


def clusters_of(connection: duckdb.DuckDBPyConnection, run_id: str) -> Clusters | None:
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
    return Clusters(of=np.asarray(found["first"], dtype=np.int64), conversations=bool(np.any(found["turn"])))


def pair_clusters(connection: duckdb.DuckDBPyConnection, a: RunRef, b: RunRef, paired: PairedRuns) -> Clusters | None:
    """Pairs depend on each other where their samples do, in either run. None where all pairs are independent."""
    sides = ((clusters_of(connection, run.run_id), places) for run, places in ((a, paired.a), (b, paired.b)))
    found = [(clusters, places) for clusters, places in sides if clusters]
    joined = _joined([clusters.of[places] for clusters, places in found], paired.a.size)
    if np.unique(joined).size == joined.size:
        return None
    return Clusters(of=joined, conversations=any(clusters.conversations for clusters, _ in found))


def _joined(partitions: Sequence[Places], rows: int) -> Places:
    """For each row a number that it shares with every row it is connected to through clusters of any partition."""
    above = list(range(rows))

    def top(row: int) -> int:
        while above[row] != row:
            above[row] = above[above[row]]
            row = above[row]
        return row

    for partition in partitions:
        first: dict[int, int] = {}
        for row, number in enumerate(partition.tolist()):
            above[top(row)] = top(first.setdefault(number, row))
    return np.array([top(row) for row in range(rows)], dtype=np.int64)


def _in_words(count: int, *, conversations: bool) -> str:
    return f"{count:,} {'conversation' if conversations else 'question'}{'' if count == 1 else 's'}"
