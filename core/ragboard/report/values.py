"""The values of one column of a run in SQL, as they are and with what stands for the unscored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from ragboard.records import MetricDescription
from ragboard.report.means import FEW_VALUES, moments_read
from ragboard.report.thresholds import Share, Threshold
from ragboard.report.unscored import Fill, UnscoredPolicy, fill_of
from ragboard.stats import Moments, outer_interval, wilson_interval
from ragboard.stats.intervals import SAME
from ragboard.store import RunRef

__all__ = ["META", "SHOWN", "Values", "column_fill", "column_values", "filled_values", "pointer", "share_of"]

META = "metadata."

SHOWN = (
    "(evaluation_id = $evaluation OR evaluation_id IN"
    " (SELECT evaluation_id FROM evaluations WHERE run_id = $run AND imported))"
)
"""The scores of an evaluation, and beside them those that the run file brought, whose names tell whose they are."""


def column_values(run: RunRef, column: str, name: str, fill: float | None = None) -> tuple[str, dict[str, Any]]:
    """SQL for (position, value), one row a sample, and what is bound in it; `name` keeps two apart.

    `fill` stands for the score of a sample that was evaluated and has none.
    """
    if column.startswith(META):
        sql = (
            "SELECT position, CASE WHEN isfinite(number) THEN number END AS value FROM (SELECT position,"
            f" TRY_CAST(json_extract_string(metadata, $at_{name}) AS DOUBLE) AS number FROM samples"
            " WHERE run_id = $run)"
        )
        return sql, {"run": run.run_id, f"at_{name}": pointer(column)}
    value = "value" if fill is None else f"coalesce(value, $fill_{name}) AS value"
    sql = (
        f"SELECT m.position, c.value FROM samples m LEFT JOIN (SELECT position, {value} FROM scores WHERE"
        f" {SHOWN} AND metric = $metric_{name}) c USING (position) WHERE m.run_id = $run"
    )
    given = {"run": run.run_id, "evaluation": run.evaluation_id, f"metric_{name}": column}
    return sql, given | ({} if fill is None else {f"fill_{name}": fill})


def pointer(column: str) -> str:
    """The JSON pointer of a metadata column."""
    return "/" + column.removeprefix(META).replace("~", "~0").replace("/", "~1")


@dataclass(frozen=True, kw_only=True)
class Values:
    """SQL for the values of a column, in the unscored of which something may stand, and their moments."""

    sql: str
    given: dict[str, Any]
    moments: Moments | None


def column_fill(metric: MetricDescription | None, column: str, policy: UnscoredPolicy) -> Fill | None:
    """What stands for the unscored of a column; None where nothing does, as in a column of metadata."""
    fill = None if column.startswith(META) else fill_of(metric, policy)
    return fill if isinstance(fill, tuple) else None


def filled_values(
    connection: duckdb.DuckDBPyConnection, run: RunRef, column: str, fill: Fill | None
) -> tuple[Values, ...]:
    """The values as they are, and with what stands for the unscored at their least and at their greatest."""
    kinds = [column_values(run, column, "v", one) for one in (None, *(fill or ()))]
    return tuple(Values(sql=sql, given=given, moments=_moments(connection, sql, given)) for sql, given in kinds)


def _moments(connection: duckdb.DuckDBPyConnection, values: str, given: Mapping[str, Any]) -> Moments | None:
    row = connection.execute(
        f"WITH v AS ({values}) SELECT count(value), avg(value), stddev_samp(value), count(value) - (SELECT max(n) FROM"
        f" (SELECT count(*) AS n FROM v WHERE value IS NOT NULL GROUP BY round(value, {SAME}))), {FEW_VALUES} FROM v",
        dict(given),
    ).fetchone()
    return moments_read(*row) if row else None


def share_of(connection: duckdb.DuckDBPyConnection, filled: Sequence[Values], limit: Threshold) -> Share | None:
    """How many reach a threshold: of the scored, or of all where the same stands for each unscored.

    The interval holds whatever the unscored allow.
    """
    good = [_good(connection, each, limit) for each in filled]
    ends = sorted(good[1:] or good)
    if not ends[0][1]:
        return None
    low, high = (wilson_interval(count / n, n) for count, n in (ends[0], ends[-1]))
    count, n = good[1] if len(good) > 1 and good[1] == good[2] else good[0]
    interval = low if low == high else outer_interval(low, high, estimate=count / n if n else low.estimate)
    return Share(threshold=limit, good=count, n=n, interval=interval)


def _good(connection: duckdb.DuckDBPyConnection, values: Values, limit: Threshold) -> tuple[int, int]:
    sign = ">=" if limit.fail == "below" else "<="
    row = connection.execute(
        f"WITH v AS ({values.sql}) SELECT count(*) FILTER (value {sign} $limit), count(value) FROM v",
        values.given | {"limit": limit.value},
    ).fetchone()
    return row or (0, 0)
