"""The values that quantities are counted from, one for each sample of a run."""

from __future__ import annotations

from collections.abc import Iterable

import duckdb
import numpy as np

from ragboard.analysis.diagnosis.quantities import FAITHFULNESS, NOISE, Columns
from ragboard.stats.intervals import Floats
from ragboard.store import RunRef

__all__ = ["metric_for", "read_columns"]

_HALF = (
    "SELECT position, (max(rank) + 1) // 2 AS half FROM passages WHERE run_id = $run GROUP BY 1 HAVING max(rank) > 1"
)
_SUPPORTED = (
    "SELECT DISTINCT position, split_part(target, ':', 2)::INTEGER AS rank FROM verdicts WHERE"
    " evaluation_id = $evaluation AND starts_with(target, 'passage:') AND label = 'supported' AND side = "
)
_LATE = (
    "WITH said AS (SELECT position, list_min(list_transform(list_filter("
    """from_json(evidence, '[{"rank": "INTEGER", "stance": "VARCHAR"}]'), lambda e: e.stance = 'for'),"""
    " lambda e: e.rank)) AS first FROM verdicts WHERE evaluation_id = $evaluation AND side = 'response'"
    " AND target = 'joint' AND label = 'supported')"
    f" SELECT position, avg((first > half)::INTEGER) AS value FROM said JOIN ({_HALF}) USING (position)"
    " WHERE first IS NOT NULL GROUP BY 1"
)
_USE = (
    f"WITH relevant AS ({_SUPPORTED} 'reference'), used AS ({_SUPPORTED} 'response'),"
    " seen AS (SELECT r.position, r.rank <= h.half AS early, (u.rank IS NOT NULL)::INTEGER AS used FROM relevant r"
    f" JOIN ({_HALF}) h USING (position) LEFT JOIN used u ON u.position = r.position AND u.rank = r.rank)"
    " SELECT position, avg(used) FILTER (early) - avg(used) FILTER (NOT early) AS value FROM seen GROUP BY 1"
    " HAVING bool_or(early) AND NOT bool_and(early)"
)
_JOINT = "FROM verdicts WHERE evaluation_id = $evaluation AND side = 'response' AND target = 'joint' GROUP BY 1"

_COUNTED: dict[str, tuple[str, str]] = {
    "refuses": (
        FAITHFULNESS,
        "SELECT position, refuses::DOUBLE AS value FROM sides WHERE evaluation_id = $evaluation AND side = 'response'",
    ),
    "statements": (FAITHFULNESS, f"SELECT position, count(*)::DOUBLE AS value {_JOINT}"),
    "contradicted": (FAITHFULNESS, f"SELECT position, avg((label = 'contradicted')::INTEGER) AS value {_JOINT}"),
    "late evidence": (FAITHFULNESS, _LATE),
    "early less late use": (NOISE[0], _USE),
}
"""Columns that are no metric: one that brings them about, and SQL for (position, value)."""

_METRIC = (
    "SELECT position, value FROM scores WHERE evaluation_id = $evaluation AND metric = $metric AND value IS NOT NULL"
)


def read_columns(connection: duckdb.DuckDBPyConnection, run: RunRef, samples: int, names: Iterable[str]) -> Columns:
    """The columns of these names that were evaluated, be it without any value."""
    rows = connection.execute(
        "SELECT unnest(metrics) FROM evaluations WHERE list_contains($evaluations, evaluation_id)",
        {"evaluations": list(run.evaluations)},
    ).fetchall()
    evaluated: set[str] = {row[0] for row in rows}
    found = {name: _values(connection, run, samples, name) for name in names}
    return {
        name: values for name, values in found.items() if metric_for(name) in evaluated or not np.isnan(values).all()
    }


def metric_for(name: str) -> str:
    """What to evaluate for a column: the metric itself, or one for which it is found out."""
    return _COUNTED[name][0] if name in _COUNTED else name


def _values(connection: duckdb.DuckDBPyConnection, run: RunRef, samples: int, name: str) -> Floats:
    sql = _COUNTED[name][1] if name in _COUNTED else _METRIC
    given = {"run": run.run_id, "evaluation": run.evaluation_of(metric_for(name)), "metric": name}
    got = connection.execute(sql, {key: value for key, value in given.items() if f"${key}" in sql}).fetchnumpy()
    values = np.full(samples, np.nan)
    values[np.asarray(got["position"], dtype=np.int64)] = np.asarray(got["value"], dtype=np.float64)
    return values
