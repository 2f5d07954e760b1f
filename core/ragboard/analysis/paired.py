"""Pair the samples of two runs, read their values on each metric, and compute differences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragboard.analysis.means import UnscoredPolicy, finite_range, imputed_range
from ragboard.records import MetricDescription
from ragboard.stats import COMPARED_DECIMALS, PairedDifference, paired_difference, worst_case_difference
from ragboard.stats.checks import FloatArray
from ragboard.store import RunRef, Store
from ragboard.store.queries.clusters import SampleClusters, sample_clusters
from ragboard.store.queries.pairs import PairedRuns, paired_runs
from ragboard.store.queries.query import Connection
from ragboard.store.queries.samples import (
    RunPassages,
    passage_counts,
    passage_digests,
    passage_set_digests,
    refusals,
    run_passages,
    samples_with_passages,
)
from ragboard.store.queries.scores import Positions, Scored, metric_names, metric_scores, unscored_positions
from ragboard.store.queries.statements import answer_sizes
from ragboard.store.queries.values import META, column_query, grades_by_dimension, known_values, metadata_columns

__all__ = [
    "Difference",
    "Flags",
    "MetricColumn",
    "answers_with_statements",
    "compute_difference",
    "cost_columns",
    "grade_columns",
    "is_cost",
    "mean_statement_counts",
    "metric_columns",
    "pair_clusters",
    "pair_runs",
    "paired_refusals",
    "passages_per_question",
    "read_metric_column",
    "same_passage_sets",
    "same_passages",
    "same_scores",
    "shared_metrics",
    "unscored_reasons",
]

_COST = re.compile("costs?|price|usd|tokens?|latency|duration|elapsed|(run)?time|secs?|seconds|millis(econds)?|ms")
"""Matches a word that names the cost, time or tokens of an answer, as part of a column's name."""
_NOT_COST = re.compile("start(ed)?|end(ed)?|created|updated|date|max|min|limit|budget|id|per")
"""Matches a word that names a date, a limit, an id or a rate, which are not costs."""

COMPARED_FIRST = 1_000
"""Number of pairs in which scores are compared first. Only if they are equal, the other pairs are compared, too."""

Flags: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class MetricColumn:
    """The values of one metric over all pairs, as arrays with one entry per pair."""

    a: FloatArray
    """Values of A, meaningless unless `scored_a`."""
    b: FloatArray
    """Values of B, meaningless unless `scored_b`."""
    scored_a: Flags
    scored_b: Flags
    judged: Flags
    """Which pairs were evaluated in both runs, scored or not."""

    @property
    def both(self) -> Flags:
        """Which pairs are scored in both runs."""
        return self.scored_a & self.scored_b


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The difference B minus A, and how unscored samples count in it."""

    pairs: PairedDifference | None
    """The difference over the pairs that count; None if no pair counts."""
    bounds: tuple[float, float] | None = None
    """The smallest and the largest difference that unscored samples allow; None unless the policy is `bounds`."""
    note: str = ""
    """How unscored samples count; empty if there are none or they are excluded."""


def pair_runs(store: Store, a: RunRef, b: RunRef) -> PairedRuns:
    """Pair samples of two runs with the same id and question, then the others with the same question and history.

    If a question occurs several times in a run with the same history, its samples are paired only by id.
    """
    with store.database.read() as connection:
        return paired_runs(connection, a.run_id, b.run_id)


def shared_metrics(connection: Connection, a: RunRef, b: RunRef) -> list[str]:
    """Return the metrics that both runs have, sorted by name."""
    return sorted(metric_names(connection, a) & metric_names(connection, b))


def metric_columns(
    connection: Connection, a: RunRef, b: RunRef, paired: PairedRuns, metrics: Iterable[str]
) -> dict[str, MetricColumn]:
    """Return {metric: values in A and B} for metrics that both runs have."""
    return {spec: read_metric_column(connection, a, b, paired, spec) for spec in metrics}


def read_metric_column(connection: Connection, a: RunRef, b: RunRef, paired: PairedRuns, metric: str) -> MetricColumn:
    """Return the values of one metric in A and B."""
    first, judged_a = metric_scores(connection, a, metric).at(paired.a)
    second, judged_b = metric_scores(connection, b, metric).at(paired.b)
    return MetricColumn(
        a=first,
        b=second,
        scored_a=judged_a & ~np.isnan(first),
        scored_b=judged_b & ~np.isnan(second),
        judged=judged_a & judged_b,
    )


def cost_columns(connection: Connection, a: RunRef, b: RunRef, paired: PairedRuns) -> dict[str, MetricColumn]:
    """Return {column: values in A and B} for cost, time and token columns such as `metadata.latency_ms`."""
    both_columns = (metadata_columns(connection, run.run_id) for run in (a, b))
    keys_a, keys_b = (
        {column.key for column in columns if not column.not_numbers and is_cost(column.key)} for columns in both_columns
    )
    columns: dict[str, MetricColumn] = {}
    for name in sorted(f"{META}{key}" for key in keys_a & keys_b):
        (first, has_a), (second, has_b) = (
            known_values(connection, column_query(run, name)).at(positions)
            for run, positions in ((a, paired.a), (b, paired.b))
        )
        columns[name] = MetricColumn(a=first, b=second, scored_a=has_a, scored_b=has_b, judged=has_a & has_b)
    return columns


def grade_columns(connection: Connection, a: RunRef, b: RunRef, paired: PairedRuns) -> dict[str, MetricColumn]:
    """Return {dimension: mean grades by annotators in A and B} for dimensions in both run files."""
    grades_a, grades_b = (grades_by_dimension(connection, run.run_id) for run in (a, b))
    columns: dict[str, MetricColumn] = {}
    for name in (grade for grade in grades_a if grade in grades_b):
        (first, has_a), (second, has_b) = grades_a[name].at(paired.a), grades_b[name].at(paired.b)
        columns[name] = MetricColumn(a=first, b=second, scored_a=has_a, scored_b=has_b, judged=has_a & has_b)
    return columns


def same_scores(columns: Mapping[str, MetricColumn]) -> dict[str, str]:
    """Return {metric: first metric with the same scores in every pair}, which can be the metric itself."""
    starts = {spec: _score_key(column, slice(COMPARED_FIRST)) for spec, column in columns.items()}
    common = {start for start, count in Counter(starts.values()).items() if count > 1}
    first: dict[tuple[bytes, ...], str] = {}
    first_equal: dict[str, str] = {}
    for spec, column in columns.items():
        key = _score_key(column, slice(None)) if starts[spec] in common else starts[spec]
        first_equal[spec] = first.setdefault(key, spec)
    return first_equal


def _score_key(column: MetricColumn, pairs: slice) -> tuple[bytes, ...]:
    """Return a key that is equal for equal scores in these pairs."""
    values = (
        np.where(scored[pairs], scores[pairs].round(COMPARED_DECIMALS), np.nan)
        for scores, scored in ((column.a, column.scored_a), (column.b, column.scored_b))
    )
    return (*(scores.tobytes() for scores in values), column.judged[pairs].tobytes())


def same_passages(connection: Connection, a: RunRef, b: RunRef, paired: PairedRuns) -> bool:
    """Return whether every pair has the same passages in the same order in both runs."""
    of_runs = _passages_by_position(connection, a, b, paired)
    if of_runs:
        return of_runs[0] == of_runs[1] and of_runs[0].known == of_runs[0].samples
    digests_a, digests_b = (passage_digests(connection, run.run_id) for run in (a, b))
    in_a, in_b, both = _paired_values(digests_a, digests_b, paired)
    return bool(both.all() and (in_a == in_b).all())


def same_passage_sets(connection: Connection, a: RunRef, b: RunRef, paired: PairedRuns) -> Flags:
    """Return which pairs have the same passages in both runs, in any order, and at least one."""
    of_runs = _passages_by_position(connection, a, b, paired)
    if of_runs and of_runs[0].set_digest == of_runs[1].set_digest:
        return np.isin(paired.a, samples_with_passages(connection, a.run_id))
    (set_a, any_a), (set_b, any_b) = (
        passage_set_digests(connection, run.run_id).at(positions) for run, positions in ((a, paired.a), (b, paired.b))
    )
    same: Flags = any_a & any_b & (set_a == set_b)
    return same


def _passages_by_position(
    connection: Connection, a: RunRef, b: RunRef, paired: PairedRuns
) -> tuple[RunPassages, RunPassages] | None:
    """Return the digests of the passages of two runs, which are stored for large runs.

    None unless every sample is paired with the sample at the same position of the other run.
    """
    if not np.array_equal(paired.a, paired.b):
        return None
    found = run_passages(connection, (a.run_id, b.run_id))
    first, second = found[a.run_id], found[b.run_id]
    return (first, second) if first.samples == second.samples == paired.a.size else None


def is_cost(name: str) -> bool:
    """Return whether the name of a column suggests cost, time or tokens of an answer: `latency_ms`, `totalTokens`."""
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}
    return any(map(_COST.fullmatch, words)) and not any(map(_NOT_COST.fullmatch, words))


def unscored_reasons(
    connection: Connection, a: RunRef, b: RunRef, paired: PairedRuns
) -> tuple[Mapping[str, Mapping[str, int]], Mapping[str, Mapping[str, int]]]:
    """Return {metric: {reason: number of paired samples without a score}}, for A and for B."""
    by_run: list[dict[str, dict[str, int]]] = []
    for run, in_pairs in ((a, paired.a), (b, paired.b)):
        counts: dict[str, dict[str, int]] = {}
        for metric, reason, positions in unscored_positions(connection, run):
            if count := int(np.isin(positions, in_pairs).sum()):
                counts.setdefault(metric, {})[reason] = count
        by_run.append(counts)
    return by_run[0], by_run[1]


def paired_refusals(
    connection: Connection, a: RunRef, b: RunRef, paired: PairedRuns
) -> tuple[FloatArray, FloatArray, Flags]:
    """Return refusals (1 or 0) in A and in B for the pairs in which both are known, and a mask of these pairs."""
    return _paired_values(refusals(connection, a.evaluation_id), refusals(connection, b.evaluation_id), paired)


def answers_with_statements(connection: Connection, a: RunRef, b: RunRef, paired: PairedRuns) -> tuple[Flags, Flags]:
    """Return which answers of A and of B contain a statement. A refusal with a statement is a refusal in part."""
    stating_a, stating_b = (answer_sizes(connection, run.evaluation_id) for run in (a, b))
    return stating_a.at(paired.a)[1], stating_b.at(paired.b)[1]


def mean_statement_counts(
    connection: Connection, a: RunRef, b: RunRef, paired: PairedRuns
) -> tuple[float, float] | tuple[None, None]:
    """Return the mean number of statements per answer in A and B, over pairs in which both are known, or Nones."""
    sizes_a, sizes_b = (answer_sizes(connection, run.evaluation_id) for run in (a, b))
    in_a, in_b, _ = _paired_values(sizes_a, sizes_b, paired)
    return (float(in_a.mean()), float(in_b.mean())) if in_a.size else (None, None)


def passages_per_question(
    connection: Connection, a: RunRef, b: RunRef, paired: PairedRuns
) -> tuple[float, float] | tuple[None, None]:
    """Return the mean number of passages per question in A and B, over pairs in which both are known, or Nones."""
    in_a, in_b, _ = _paired_values(passage_counts(connection, a.run_id), passage_counts(connection, b.run_id), paired)
    return (float(in_a.mean()), float(in_b.mean())) if in_a.size else (None, None)


def _paired_values(a: Scored, b: Scored, paired: PairedRuns) -> tuple[FloatArray, FloatArray, Flags]:
    """Return the values of A and of B for the pairs that have both, and a mask of these pairs."""
    (values_a, has_a), (values_b, has_b) = a.at(paired.a), b.at(paired.b)
    return values_a[has_a & has_b], values_b[has_a & has_b], has_a & has_b


def pair_clusters(connection: Connection, a: RunRef, b: RunRef, paired: PairedRuns) -> SampleClusters | None:
    """Return the cluster of each pair; None if all pairs are independent.

    Two pairs are in one cluster if their samples are in one cluster in A or in B.
    """
    both = ((sample_clusters(connection, run.run_id), positions) for run, positions in ((a, paired.a), (b, paired.b)))
    clustered = [(clusters, positions) for clusters, positions in both if clusters]
    if not clustered:
        return None
    connected = _connected_clusters([clusters.ids[positions] for clusters, positions in clustered], paired.a.size)
    if np.unique(connected).size == connected.size:
        return None
    return SampleClusters(ids=connected, conversations=any(clusters.conversations for clusters, _ in clustered))


def _connected_clusters(partitions: Sequence[Positions], pairs: int) -> Positions:
    """Merge overlapping clusters of several partitions, and return a cluster number for each pair."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links: list[Positions] = []
    for partition in partitions:
        _, first, cluster = np.unique(partition, return_index=True, return_inverse=True)
        links.append(first[cluster])
    here, there = np.tile(np.arange(pairs), len(links)), np.concatenate(links)
    graph = coo_array((np.ones(here.size, dtype=np.int8), (here, there)), shape=(pairs, pairs))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def compute_difference(
    column: MetricColumn,
    metric: MetricDescription | None,
    policy: UnscoredPolicy,
    clusters: SampleClusters | None = None,
) -> Difference:
    """Compute the difference B minus A over the pairs; `policy` says how pairs with an unscored sample count.

    `clusters` are the clusters of the pairs; None if pairs are independent.
    """
    metric_range = finite_range(metric)
    bounds = None if metric_range is None else (metric_range[0] - metric_range[1], metric_range[1] - metric_range[0])

    def over_pairs(first: FloatArray, second: FloatArray, counted: Flags) -> PairedDifference | None:
        cluster_ids = clusters.ids[counted].tolist() if clusters else None
        return paired_difference(first, second, bounds=bounds, clusters=cluster_ids) if first.size else None

    scored = over_pairs(column.a[column.both], column.b[column.both], column.both)
    missing = int(np.sum(column.judged & ~column.both))
    fill = imputed_range(metric, policy)
    if fill is None or not missing:
        return Difference(pairs=scored)
    if isinstance(fill, str):
        return Difference(pairs=scored, note=f"{missing:,} pairs left out: {fill}")
    lowest, highest = fill
    lower = over_pairs(_filled(column, "a", highest), _filled(column, "b", lowest), column.judged)
    upper = over_pairs(_filled(column, "a", lowest), _filled(column, "b", highest), column.judged)
    if policy == "zero":
        return Difference(pairs=lower, note=f"unscored samples in {missing:,} pairs count as {lowest:g}")
    note = f"unscored samples in {missing:,} pairs count as anything from the worst to the best value"
    if scored is None or lower is None or upper is None:
        return Difference(pairs=None, note=note)
    return Difference(
        pairs=worst_case_difference(scored, lower, upper), bounds=(lower.difference, upper.difference), note=note
    )


def _filled(column: MetricColumn, run: str, fill: float) -> FloatArray:
    """Return the values of one run over all pairs that were evaluated in both runs, with `fill` for missing scores."""
    values = column.a if run == "a" else column.b
    return np.nan_to_num(values[column.judged], nan=fill)
