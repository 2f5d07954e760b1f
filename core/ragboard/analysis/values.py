"""The values of one column of a run in SQL, as they are and with what stands for the unscored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from ragboard.analysis.moments import Known, moments_by
from ragboard.analysis.thresholds import Share, Threshold
from ragboard.analysis.unscored import Fill, UnscoredPolicy, fill_of
from ragboard.records import MetricDescription
from ragboard.stats import ClusterMoments, Interval, NoInterval, mean_interval, outer_interval, wilson_interval
from ragboard.store import RunRef

__all__ = [
    "META",
    "OF_FILE",
    "Values",
    "column_fill",
    "column_values",
    "filled_values",
    "own_scores",
    "pointer",
    "share_of",
    "shown_scores",
]

META = "metadata."

OF_FILE = "evaluation_id IN (SELECT evaluation_id FROM evaluations WHERE run_id = $run AND imported)"
"""A condition on rows of `scores`: those that the run file brought."""


def own_scores(run: RunRef) -> tuple[str, dict[str, Any]]:
    """A condition on rows of `scores`, and what is bound in it: those of our own that a run's reference means."""
    if not run.elsewhere:
        return "evaluation_id = $evaluation", {"evaluation": run.evaluation_id}
    condition = (
        "(evaluation_id = $evaluation AND NOT list_contains($moved, metric)"
        " OR evaluation_id IN (SELECT unnest($others)) AND list_contains($places, evaluation_id || ' ' || metric))"
    )
    given = {
        "evaluation": run.evaluation_id,
        "moved": [metric for metric, _ in run.elsewhere],
        "others": [evaluation for _, evaluation in run.elsewhere],
        "places": [f"{evaluation} {metric}" for metric, evaluation in run.elsewhere],
    }
    return condition, given


def shown_scores(run: RunRef) -> tuple[str, dict[str, Any]]:
    """The same, and beside them the scores that the run file brought, whose names tell whose they are."""
    own, given = own_scores(run)
    return f"({own} OR {OF_FILE})", given | {"run": run.run_id}


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
        f" (evaluation_id = $evaluation_{name} OR {OF_FILE}) AND metric = $metric_{name}) c USING (position)"
        " WHERE m.run_id = $run"
    )
    given = {"run": run.run_id, f"evaluation_{name}": run.evaluation_of(column), f"metric_{name}": column}
    return sql, given | ({} if fill is None else {f"fill_{name}": fill})


def pointer(column: str) -> str:
    """The JSON pointer of a metadata column."""
    return "/" + column.removeprefix(META).replace("~", "~0").replace("/", "~1")


@dataclass(frozen=True, kw_only=True)
class Values:
    """SQL for the values of a column, in the unscored of which something may stand, and their moments."""

    sql: str
    given: dict[str, Any]
    moments: Known | None


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


def _moments(connection: duckdb.DuckDBPyConnection, values: str, given: Mapping[str, Any]) -> Known | None:
    of_run = f"SELECT 'all' AS part, $run AS run_id, position, value FROM ({values})"
    return next(iter(moments_by(connection, of_run, given, ("part",)).values()), None)


def share_of(connection: duckdb.DuckDBPyConnection, filled: Sequence[Values], limit: Threshold) -> Share | None:
    """How many reach a threshold: of the scored, or of all where the same stands for each unscored.

    The interval holds whatever the unscored allow.
    """
    good = [_good(connection, each, limit) for each in filled]
    ends = sorted((one for one in good[1:] or good if one), key=lambda one: one.mean)
    if not ends:
        return None
    low, high = (_share_interval(one) for one in (ends[0], ends[-1]))
    counted = good[1] if len(good) > 1 and good[1] == good[2] else good[0]
    share, n = (counted.mean, counted.n) if counted else (ends[0].mean, 0)
    interval = low if low == high else outer_interval(low, high, estimate=share)
    return Share(threshold=limit, good=round(share * n), n=n, interval=interval)


def _good(connection: duckdb.DuckDBPyConnection, values: Values, limit: Threshold) -> Known | None:
    """Of 1 for each value that reaches the threshold, and 0 for each that does not."""
    sign = ">=" if limit.fail == "below" else "<="
    reached = f"SELECT position, (value {sign} $limit)::DOUBLE AS value FROM ({values.sql})"
    return _moments(connection, reached, values.given | {"limit": limit.value})


def _share_interval(known: Known) -> Interval | NoInterval:
    if isinstance(known, ClusterMoments):
        return mean_interval(known, bounds=(0.0, 1.0))
    return wilson_interval(known.mean, known.n)
