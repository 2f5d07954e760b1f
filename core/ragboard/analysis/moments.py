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


def clustered_runs(connection: duckdb.DuckDBPyConnection, run_ids: Sequence[str]) -> dict[str, str]:
    """By what the samples of these runs are clustered, `12 conversations`; runs of independent samples are left out."""
    rows = connection.execute(
        "SELECT run_id, count(DISTINCT cluster) + count(*) - count(cluster),"
        " bool_or(starts_with(cluster, 'conversation:')) FROM samples"
        " WHERE run_id IN (SELECT run_id FROM samples WHERE cluster IS NOT NULL AND run_id IN (SELECT unnest(?)))"
        " GROUP BY run_id",
        [list(run_ids)],
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
    """Of each pair: those of the run whose samples are in fewer clusters. None where all pairs are independent."""
    sides = ((clusters_of(connection, run.run_id), places) for run, places in ((a, paired.a), (b, paired.b)))
    found = [Clusters(of=one.of[places], conversations=one.conversations) for one, places in sides if one]
    fewest = min(found, key=_coarseness, default=None)
    return fewest if fewest and np.unique(fewest.of).size < fewest.of.size else None


def _coarseness(clusters: Clusters) -> tuple[int, tuple[int, ...]]:
    """How many clusters there are; of equally many the order is that of their members, whichever side they are of."""
    _, numbers = np.unique(clusters.of, return_inverse=True)
    first: dict[int, int] = {}
    return len(set(numbers.tolist())), tuple(first.setdefault(number, len(first)) for number in numbers.tolist())


def _in_words(count: int, *, conversations: bool) -> str:
    return f"{count:,} {'conversations' if conversations else 'questions'}"
