"""The values of two evaluations side by side, one row a pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import duckdb
import numpy as np
from numpy.typing import NDArray

from ragboard.pairing import Pairing
from ragboard.store import RunRef

__all__ = ["Floats", "MetricColumn", "claim_counts", "metric_columns", "paired_flags", "unscored_reasons"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]
Column = tuple[Floats, Flags]

SHOWN = (
    "evaluation_id IN (SELECT evaluation_id FROM evaluations WHERE run_id = $run"
    " AND (imported OR evaluation_id = $evaluation))"
)
"""The scores of the evaluation that is meant, and those that the run file brought."""


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
    connection: duckdb.DuckDBPyConnection, a: RunRef, b: RunRef, pairing: Pairing
) -> dict[str, MetricColumn]:
    """The metrics that both sides have, by identity."""
    shared = sorted(_specs(connection, a) & _specs(connection, b))
    places = _places(pairing)
    found: dict[str, MetricColumn] = {}
    for spec in shared:
        (ours, judged_a), (theirs, judged_b) = (
            _at(_values(connection, run, spec), rows) for run, rows in zip((a, b), places, strict=True)
        )
        scored_a, scored_b = ~np.isnan(ours), ~np.isnan(theirs)
        found[spec] = MetricColumn(a=ours, b=theirs, scored_a=scored_a, scored_b=scored_b, judged=judged_a & judged_b)
    return found


def unscored_reasons(
    connection: duckdb.DuckDBPyConnection, a: RunRef, b: RunRef, pairing: Pairing
) -> Mapping[str, tuple[Mapping[str, int], Mapping[str, int]]]:
    """For each shared metric why paired samples have no score, on either side."""
    shared = _specs(connection, a) & _specs(connection, b)
    sides = [
        _reasons(connection, run, {pair[side] for pair in pairing.pairs}, shared) for side, run in enumerate((a, b))
    ]
    return {spec: (sides[0][spec], sides[1][spec]) for spec in shared}


def paired_flags(
    connection: duckdb.DuckDBPyConnection, a: RunRef, b: RunRef, pairing: Pairing
) -> list[tuple[bool, bool]]:
    """Of each pair whether A's and B's answer refuses, where that is known of both."""
    ours, theirs = (
        dict(
            connection.execute(
                "SELECT position, refuses FROM sides WHERE evaluation_id = ? AND side = 'response'",
                [run.evaluation_id],
            ).fetchall()
        )
        for run in (a, b)
    )
    return [(ours[one], theirs[other]) for one, other in pairing.pairs if one in ours and other in theirs]


def claim_counts(
    connection: duckdb.DuckDBPyConnection, a: RunRef, b: RunRef, pairing: Pairing
) -> tuple[float, float] | tuple[None, None]:
    """The mean number of an answer's statements, over the pairs in which both answers have some."""
    ours, theirs = (
        dict(
            connection.execute(
                "SELECT position, count(*) FROM statements WHERE evaluation_id = ? AND side = 'response' GROUP BY 1",
                [run.evaluation_id],
            ).fetchall()
        )
        for run in (a, b)
    )
    both = [(ours[one], theirs[other]) for one, other in pairing.pairs if one in ours and other in theirs]
    if not both:
        return None, None
    return sum(one for one, _ in both) / len(both), sum(other for _, other in both) / len(both)


def _specs(connection: duckdb.DuckDBPyConnection, run: RunRef) -> set[str]:
    rows = connection.execute(f"SELECT DISTINCT metric FROM scores WHERE {SHOWN}", _of(run)).fetchall()
    return {row[0] for row in rows}


def _of(run: RunRef) -> dict[str, object]:
    return {"run": run.run_id, "evaluation": run.evaluation_id}


def _places(pairing: Pairing) -> tuple[Places, Places]:
    pairs = np.array(pairing.pairs, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _values(connection: duckdb.DuckDBPyConnection, run: RunRef, spec: str) -> tuple[Places, Floats]:
    got = connection.execute(
        f"SELECT position, coalesce(value, 'nan'::DOUBLE) AS value FROM scores WHERE {SHOWN} AND metric = $metric",
        _of(run) | {"metric": spec},
    ).fetchnumpy()
    return np.asarray(got["position"], dtype=np.int64), np.asarray(got["value"], dtype=np.float64)


def _at(given: tuple[Places, Floats], rows: Places) -> Column:
    """The values at these positions, nan where there is none, and which positions were evaluated."""
    positions, values = given
    size = 1 + max(int(positions.max(initial=0)), int(rows.max(initial=0)))
    by_position, there = np.full(size, np.nan), np.zeros(size, dtype=np.bool_)
    by_position[positions], there[positions] = values, True
    return by_position[rows], there[rows]


def _reasons(
    connection: duckdb.DuckDBPyConnection, run: RunRef, positions: set[int], specs: set[str]
) -> dict[str, Mapping[str, int]]:
    rows = connection.execute(
        f"SELECT metric, position, reason FROM scores WHERE {SHOWN} AND value IS NULL", _of(run)
    ).fetchall()
    counts = {spec: Counter[str]() for spec in specs}
    for metric, position, reason in rows:
        if metric in counts and position in positions:
            counts[metric][reason] += 1
    return {spec: dict(count) for spec, count in counts.items()}
