"""The values of two runs side by side, one row a pair, and the difference of a metric over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragboard.analysis.means import UnscoredPolicy, fill_of, range_of
from ragboard.records import MetricDescription
from ragboard.stats import PairedDifference, outer_difference, paired_difference
from ragboard.store import RunRef, Store
from ragboard.store.queries.clusters import SampleClusters, sample_clusters
from ragboard.store.queries.pairs import PairedRuns, paired_runs
from ragboard.store.queries.query import Connection
from ragboard.store.queries.samples import refusals
from ragboard.store.queries.scores import Places, Scored, metric_names, scores_by_metric, unscored_places
from ragboard.store.queries.statements import answer_sizes

__all__ = [
    "Difference",
    "Flags",
    "Floats",
    "MetricColumn",
    "claim_counts",
    "difference_of",
    "metric_columns",
    "pair_clusters",
    "pair_runs",
    "paired_refusals",
    "unscored_reasons",
]

Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class MetricColumn:
    """One metric over all pairs; a value counts only where it is scored."""

    a: Floats
    b: Floats
    scored_a: Flags
    scored_b: Flags
    judged: Flags
    """The pairs that were evaluated on both sides, scored or not."""

    @property
    def both(self) -> Flags:
        """The pairs that are scored on both sides."""
        return self.scored_a & self.scored_b


@dataclass(frozen=True, kw_only=True)
class Difference:
    """B minus A, and how the unscored counted in it."""

    pairs: PairedDifference | None
    """None where no pair counts."""
    bounds: tuple[float, float] | None = None
    """The difference at the least and the greatest that the unscored allow; None but under `bounds`."""
    note: str = ""


def pair_runs(store: Store, a: RunRef, b: RunRef) -> PairedRuns:
    """Pair by id where both ask the same, else by question and history where each is there once; reads no passages."""
    with store.database.read() as connection:
        return paired_runs(connection, a.run_id, b.run_id)


def metric_columns(connection: Connection, a: RunRef, b: RunRef, paired: PairedRuns) -> dict[str, MetricColumn]:
    """The metrics that both sides have, by identity."""
    shared = sorted(metric_names(connection, a) & metric_names(connection, b))
    ours, theirs = (scores_by_metric(connection, run, shared) for run in (a, b))
    found: dict[str, MetricColumn] = {}
    for spec in shared:
        (first, judged_a), (second, judged_b) = _at(ours[spec], paired.a), _at(theirs[spec], paired.b)
        found[spec] = MetricColumn(
            a=first,
            b=second,
            scored_a=judged_a & ~np.isnan(first),
            scored_b=judged_b & ~np.isnan(second),
            judged=judged_a & judged_b,
        )
    return found


def unscored_reasons(
    connection: Connection, a: RunRef, b: RunRef, paired: PairedRuns
) -> tuple[Mapping[str, Mapping[str, int]], Mapping[str, Mapping[str, int]]]:
    """On either side by metric why paired samples have no score: how many, by reason."""
    sides: list[dict[str, dict[str, int]]] = []
    for run, places in ((a, paired.a), (b, paired.b)):
        found: dict[str, dict[str, int]] = {}
        for metric, reason, positions in unscored_places(connection, run):
            if count := int(np.isin(positions, places).sum()):
                found.setdefault(metric, {})[reason] = count
        sides.append(found)
    return sides[0], sides[1]


def paired_refusals(connection: Connection, a: RunRef, b: RunRef, paired: PairedRuns) -> tuple[Floats, Floats, Flags]:
    """1 where A's and B's answer refuses, of each pair where that is known of both; and which pairs those are."""
    return _both(refusals(connection, a.evaluation_id), refusals(connection, b.evaluation_id), paired)


def claim_counts(
    connection: Connection, a: RunRef, b: RunRef, paired: PairedRuns
) -> tuple[float, float] | tuple[None, None]:
    """The mean number of an answer's statements, over the pairs in which both answers have some."""
    sizes_a, sizes_b = (answer_sizes(connection, run.evaluation_id) for run in (a, b))
    ours, theirs, _ = _both(sizes_a, sizes_b, paired)
    return (float(ours.mean()), float(theirs.mean())) if ours.size else (None, None)


def _both(a: Scored, b: Scored, paired: PairedRuns) -> tuple[Floats, Floats, Flags]:
    """A value of the answers on either side, of the pairs that have it on both; and which pairs those are."""
    (ours, has_a), (theirs, has_b) = _at(a, paired.a), _at(b, paired.b)
    return ours[has_a & has_b], theirs[has_a & has_b], has_a & has_b


def _at(given: Scored, rows: Places) -> tuple[Floats, Flags]:
    """The values at these positions, and which of them there are."""
    size = 1 + max(int(given.positions.max(initial=0)), int(rows.max(initial=0)))
    values, there = np.zeros(size, dtype=np.float64), np.zeros(size, dtype=np.bool_)
    values[given.positions], there[given.positions] = given.values, True
    return values[rows], there[rows]


def pair_clusters(connection: Connection, a: RunRef, b: RunRef, paired: PairedRuns) -> SampleClusters | None:
    """Pairs depend on each other where their samples do, in either run. None where all pairs are independent."""
    sides = ((sample_clusters(connection, run.run_id), places) for run, places in ((a, paired.a), (b, paired.b)))
    found = [(clusters, places) for clusters, places in sides if clusters]
    joined = _joined([clusters.of[places] for clusters, places in found], paired.a.size)
    if np.unique(joined).size == joined.size:
        return None
    return SampleClusters(of=joined, conversations=any(clusters.conversations for clusters, _ in found))


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


def difference_of(
    column: MetricColumn,
    metric: MetricDescription | None,
    policy: UnscoredPolicy,
    clusters: SampleClusters | None = None,
) -> Difference:
    """The difference over the pairs scored on both sides, and with what stands for the unscored of the others.

    `clusters` says which pairs depend on each other.
    """
    ends = range_of(metric)
    limits = None if ends is None else (ends[0] - ends[1], ends[1] - ends[0])

    def paired(first: Floats, second: Floats, counted: Flags) -> PairedDifference | None:
        together = clusters.of[counted].tolist() if clusters else None
        return paired_difference(first, second, bounds=limits, clusters=together) if first.size else None

    seen = paired(column.a[column.both], column.b[column.both], column.both)
    missing = int(np.sum(column.judged & ~column.both))
    fill = fill_of(metric, policy)
    if fill is None or not missing:
        return Difference(pairs=seen)
    if isinstance(fill, str):
        return Difference(pairs=seen, note=f"{missing:,} pairs left out: {fill}")
    least, most = fill
    low = paired(_with(column, "a", most), _with(column, "b", least), column.judged)
    high = paired(_with(column, "a", least), _with(column, "b", most), column.judged)
    if policy == "zero":
        return Difference(pairs=low, note=f"unscored samples in {missing:,} pairs count as {least:g}")
    note = f"unscored samples in {missing:,} pairs from worst to best value"
    if seen is None or low is None or high is None:
        return Difference(pairs=None, note=note)
    return Difference(pairs=outer_difference(seen, low, high), bounds=(low.difference, high.difference), note=note)


def _with(column: MetricColumn, side: str, fill: float) -> Floats:
    """The values of a side over all pairs that were judged, with `fill` for the unscored."""
    values = column.a if side == "a" else column.b
    return np.nan_to_num(values[column.judged], nan=fill)
