"""The values of two evaluations side by side, one row a pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from ragboard.analysis.pairing import PairedRuns, Places
from ragboard.analysis.values import shown_scores
from ragboard.store import RunRef

__all__ = ["Flags", "Floats", "MetricColumn", "claim_counts", "metric_columns", "paired_flags", "unscored_reasons"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


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


def metric_columns(
    connection: duckdb.DuckDBPyConnection, a: RunRef, b: RunRef, paired: PairedRuns, only: str = ""
) -> dict[str, MetricColumn]:
    """The metrics that both sides have, by identity; of these the one named where one is."""
    shared = [spec for spec in sorted(_specs(connection, a) & _specs(connection, b)) if only in ("", spec)]
    ours, theirs = (_columns(connection, run, shared) for run in (a, b))
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
    connection: duckdb.DuckDBPyConnection, a: RunRef, b: RunRef, paired: PairedRuns
) -> Mapping[str, tuple[Mapping[str, int], Mapping[str, int]]]:
    """For each shared metric why paired samples have no score, on either side."""
    shared = _specs(connection, a) & _specs(connection, b)
    ours, theirs = (_reasons(connection, run, places) for run, places in ((a, paired.a), (b, paired.b)))
    return {spec: (ours.get(spec, {}), theirs.get(spec, {})) for spec in shared}


def paired_flags(
    connection: duckdb.DuckDBPyConnection, a: RunRef, b: RunRef, paired: PairedRuns
) -> tuple[Flags, Flags, Flags]:
    """Whether A's and B's answer refuses, of each pair where that is known of both; and which pairs those are."""
    return _both(connection, "SELECT position, refuses AS value FROM sides", "", a, b, paired, np.dtype(np.bool_))


def claim_counts(
    connection: duckdb.DuckDBPyConnection, a: RunRef, b: RunRef, paired: PairedRuns
) -> tuple[float, float] | tuple[None, None]:
    """The mean number of an answer's statements, over the pairs in which both answers have some."""
    ours, theirs, _ = _both(
        connection,
        "SELECT position, count(*) AS value FROM statements",
        " GROUP BY position",
        a,
        b,
        paired,
        np.dtype(np.int64),
    )
    return (float(ours.mean()), float(theirs.mean())) if ours.size else (None, None)


def _both(
    connection: duckdb.DuckDBPyConnection,
    select: str,
    end: str,
    a: RunRef,
    b: RunRef,
    paired: PairedRuns,
    kind: np.dtype[Any],
) -> tuple[NDArray[Any], NDArray[Any], Flags]:
    """A value of the answers on either side, of the pairs that have it on both; and which pairs those are."""
    sql = f"{select} WHERE evaluation_id = ? AND side = 'response'{end}"
    (ours, has_a), (theirs, has_b) = (
        _at(_numbers(connection.execute(sql, [run.evaluation_id]).fetchnumpy(), kind), places)
        for run, places in ((a, paired.a), (b, paired.b))
    )
    return ours[has_a & has_b], theirs[has_a & has_b], has_a & has_b


def _specs(connection: duckdb.DuckDBPyConnection, run: RunRef) -> set[str]:
    shown, given = shown_scores(run)
    rows = connection.execute(f"SELECT DISTINCT metric FROM scores WHERE {shown}", given).fetchall()
    return {row[0] for row in rows}


def _columns(
    connection: duckdb.DuckDBPyConnection, run: RunRef, specs: list[str]
) -> dict[str, tuple[Places, NDArray[Any]]]:
    """The values of these metrics with their positions, read at once; nan where a sample is unscored."""
    shown, given = shown_scores(run)
    got = connection.execute(
        "SELECT list_position($specs, metric) AS place, position, coalesce(value, 'nan'::DOUBLE) AS value FROM scores"
        f" WHERE {shown} AND list_contains($specs, metric)",
        given | {"specs": specs},
    ).fetchnumpy()
    positions, values = _numbers(got, np.dtype(np.float64))
    metric = np.asarray(got["place"])
    return {spec: (positions[metric == place], values[metric == place]) for place, spec in enumerate(specs, 1)}


def _numbers(got: Mapping[str, Any], kind: np.dtype[Any]) -> tuple[Places, NDArray[Any]]:
    return np.asarray(got["position"], dtype=np.int64), np.asarray(got["value"], dtype=kind)


def _at(given: tuple[Places, NDArray[Any]], rows: Places) -> tuple[NDArray[Any], Flags]:
    """The values at these positions, and which of them there are."""
    positions, values = given
    size = 1 + max(int(positions.max(initial=0)), int(rows.max(initial=0)))
    by_position, there = np.zeros(size, dtype=values.dtype), np.zeros(size, dtype=np.bool_)
    by_position[positions], there[positions] = values, True
    return by_position[rows], there[rows]


def _reasons(connection: duckdb.DuckDBPyConnection, run: RunRef, places: Places) -> dict[str, dict[str, int]]:
    """For each metric how many of the samples at these places have no score, by reason."""
    shown, given = shown_scores(run)
    got = connection.execute(
        f"SELECT metric, reason, list(position) FROM scores WHERE {shown} AND value IS NULL"
        " GROUP BY metric, reason ORDER BY metric, min(position)",
        given,
    ).fetchall()
    found: dict[str, dict[str, int]] = {}
    for metric, reason, positions in got:
        count = int(np.isin(np.asarray(positions, dtype=np.int64), places).sum())
        if count:
            found.setdefault(metric, {})[reason] = count
    return found
