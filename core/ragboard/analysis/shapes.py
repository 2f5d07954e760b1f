"""How the values of a run are distributed, one column against another, and what they break down into.

A column is a metric by its spec, or a numeric metadata column by its name behind `metadata.`. Binning
and sampling happen in the database, so that a page costs the same over a hundred samples or a million.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from ragboard.analysis.metrics import described, in_order
from ragboard.analysis.moments import Known, moments_by
from ragboard.analysis.thresholds import Share, thresholds_read
from ragboard.analysis.unscored import UnscoredPolicy, mean_of
from ragboard.analysis.values import (
    META,
    column_fill,
    column_values,
    filled_values,
    pointer,
    share_of,
    shown_scores,
)
from ragboard.records import MetricDescription
from ragboard.stats import Interval, NoInterval
from ragboard.store import RunRef, Store

__all__ = [
    "Bin",
    "Columns",
    "Distribution",
    "Group",
    "Point",
    "Scatter",
    "breakdown",
    "category_values",
    "columns",
    "distribution",
    "scatter",
]

BINS = 20
QUANTILES = 200
POINTS = 4000
"""Points of a scatter; of more samples a fixed random choice is drawn."""
CATEGORIES = 30
"""A metadata column with more values than this is not one to break down by."""


@dataclass(frozen=True, kw_only=True)
class Columns:
    """What there is to draw and to break down by, in a run."""

    metrics: tuple[str, ...]
    """Those evaluated, then those that the run file brought."""
    numeric: tuple[str, ...]
    """Metadata columns that hold numbers, behind `metadata.`."""
    categories: tuple[str, ...]
    """Metadata columns with at most 30 values, behind `metadata.`."""


@dataclass(frozen=True, kw_only=True)
class Bin:
    """Values from `low` up to `high`; the last bin holds its upper bound too."""

    low: float
    high: float
    count: int


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """How one column's values are spread."""

    column: str
    bins: tuple[Bin, ...]
    quantiles: tuple[float, ...]
    """201 values at equal steps of probability from 0 to 1: the inverse of the ECDF; none without values."""
    scored: int
    total: int
    unscored: Mapping[str, int]
    mean: float | None
    interval: Interval | NoInterval
    note: str = ""
    """How the unscored counted in the mean; empty where none is or they are left out as asked."""
    share: Share | None = None
    """How many samples are on the good side of the metric's threshold; None without one, and without a value."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """One sample in a scatter."""

    sample_id: str
    question: str
    x: float
    y: float


@dataclass(frozen=True, kw_only=True)
class Scatter:
    """Samples that have both values."""

    points: tuple[Point, ...]
    both: int
    """How many have both; more than there are points where some were left out at random."""
    total: int


@dataclass(frozen=True, kw_only=True)
class Group:
    """The samples that share a value of a metadata column."""

    value: str
    scored: int
    total: int
    mean: float | None
    interval: Interval | NoInterval


def columns(store: Store, run: RunRef) -> Columns:
    """What can be drawn of a run."""
    shown, given = shown_scores(run)
    with store.database.read() as connection:
        metrics = connection.execute(f"SELECT DISTINCT metric FROM scores WHERE {shown}", given).fetchall()
        found = connection.execute(
            "WITH pairs AS (SELECT unnest(json_keys(metadata)) AS key, metadata FROM samples WHERE run_id = ?),"
            " cells AS (SELECT key, json_extract(metadata, '/' || replace(replace(key, '~', '~0'), '/', '~1')) AS v"
            " FROM pairs)"
            " SELECT key, count(*) FILTER (json_type(v) NOT IN ('UBIGINT', 'BIGINT', 'DOUBLE', 'NULL')),"
            " count(*) FILTER (json_type(v) IN ('ARRAY', 'OBJECT')), approx_count_distinct(v::VARCHAR),"
            " count(*) FROM cells GROUP BY key ORDER BY key",
            [run.run_id],
        ).fetchall()
    return Columns(
        metrics=in_order(row[0] for row in metrics),
        numeric=tuple(f"{META}{key}" for key, other, _, _, _ in found if not other),
        categories=tuple(
            f"{META}{key}"
            for key, _, nested, distinct, count in found
            if not nested and 1 < distinct <= CATEGORIES and distinct < count
        ),
    )


def distribution(store: Store, run: RunRef, column: str, *, unscored: UnscoredPolicy = "excluded") -> Distribution:
    """The spread of one column's values, binned in the database; `unscored` says how the others count in its mean."""
    with store.database.read() as connection:
        metrics = described(connection)
        metric, limit = metrics.get(column), thresholds_read(connection, metrics).get(column)
        values, given = column_values(run, column, "v")
        scored, total, least, most = _extent(connection, values, given)
        missing = _unscored(connection, run, column, total - scored)
        filled = filled_values(connection, run, column, column_fill(metric, column, unscored) if missing else None)
        mean = mean_of(
            metric,
            filled[0].moments,
            "excluded" if column.startswith(META) else unscored,
            sum(missing.values()),
            [each.moments for each in filled[1:]],
        )
        bins = _bins(connection, values, given, *_bounds(metric, least, most))
        quantiles = connection.execute(
            f"WITH v AS ({values}) SELECT quantile_cont(value, $steps) FROM v WHERE value IS NOT NULL",
            given | {"steps": [step / QUANTILES for step in range(QUANTILES + 1)]},
        ).fetchone()
        share = share_of(connection, filled, limit) if limit else None
    return Distribution(
        column=column,
        bins=bins,
        quantiles=tuple(quantiles[0]) if quantiles and quantiles[0] else (),
        scored=scored,
        total=total,
        unscored=missing,
        mean=mean.mean,
        interval=mean.interval,
        note=mean.note,
        share=share,
    )


def _extent(
    connection: duckdb.DuckDBPyConnection, values: str, given: Mapping[str, Any]
) -> tuple[int, int, float | None, float | None]:
    row = connection.execute(
        f"WITH v AS ({values}) SELECT count(value), count(*), min(value), max(value) FROM v", dict(given)
    ).fetchone()
    return row or (0, 0, None, None)


def scatter(store: Store, run: RunRef, x: str, y: str) -> Scatter:
    """One column against another."""
    xs, of_x = column_values(run, x, "x")
    ys, of_y = column_values(run, y, "y")
    with store.database.read() as connection:
        rows = connection.execute(
            f"SELECT s.sample_id, s.question[:200], a.value, b.value, count(*) OVER () FROM samples s"
            f" JOIN ({xs}) a USING (position) JOIN ({ys}) b USING (position)"
            " WHERE s.run_id = $run AND a.value IS NOT NULL AND b.value IS NOT NULL"
            " ORDER BY hash(s.position) LIMIT $points",
            of_x | of_y | {"points": POINTS},
        ).fetchall()
    points = tuple(Point(sample_id=name, question=asked, x=a, y=b) for name, asked, a, b, _ in rows)
    return Scatter(points=points, both=rows[0][4] if rows else 0, total=store.sample_count(run.run_id))


def breakdown(
    store: Store, run: RunRef, column: str, by: str, *, unscored: UnscoredPolicy = "excluded"
) -> tuple[Group, ...]:
    """A column's mean for each value of a metadata column, most samples first."""
    with store.database.read() as connection:
        metric = described(connection).get(column)
        fill = column_fill(metric, column, unscored)
        plain, *filled = (_groups(connection, run, column, by, one) for one in (None, *(fill or ())))
    policy: UnscoredPolicy = unscored if fill else "excluded"
    found: list[Group] = []
    for key, (total, scored) in plain.items():
        others = [each[key][1] for each in filled]
        n = scored.n if scored else 0
        missing = (others[0].n if others and others[0] else n) - n
        mean = mean_of(metric, scored, policy, missing, others)
        found.append(Group(value=key, scored=n, total=total, mean=mean.mean, interval=mean.interval))
    return tuple(found)


def category_values(connection: duckdb.DuckDBPyConnection, run: RunRef, by: str) -> NDArray[np.object_]:
    """The value of a metadata column of each sample, in order, as text; None where there is none."""
    rows = connection.execute(
        "SELECT json_extract_string(metadata, $by) FROM samples WHERE run_id = $run ORDER BY position",
        {"run": run.run_id, "by": pointer(by)},
    ).fetchall()
    return np.array([row[0] for row in rows], dtype=np.object_)


def _groups(
    connection: duckdb.DuckDBPyConnection, run: RunRef, column: str, by: str, fill: float | None
) -> dict[str, tuple[int, Known | None]]:
    """For each value of a metadata column how many samples have it, and the moments of theirs."""
    values, given = column_values(run, column, "v", fill)
    keyed = (
        "SELECT json_extract_string(s.metadata, $by) AS key, s.run_id, s.position, v.value FROM samples s"
        f" LEFT JOIN ({values}) v USING (position) WHERE s.run_id = $run AND key IS NOT NULL"
    )
    given |= {"by": pointer(by)}
    totals = connection.execute(
        f"SELECT key, count(*) FROM ({keyed}) GROUP BY key ORDER BY count(*) DESC, key LIMIT {CATEGORIES}", given
    ).fetchall()
    known = moments_by(connection, keyed, given, ("key",))
    return {key: (total, known.get((key,))) for key, total in totals}


def _bounds(metric: MetricDescription | None, least: float | None, most: float | None) -> tuple[float, float]:
    """The range to draw: a metric's own from 0 up where no value is below, else that of the values."""
    if metric and metric.low is not None and metric.high is not None:
        low, high = metric.low, metric.high
        return (max(low, 0.0) if least is None or least >= 0 else low, high)
    low, high = (0.0, 1.0) if least is None or most is None else (least, most)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _bins(
    connection: duckdb.DuckDBPyConnection, values: str, given: Mapping[str, Any], low: float, high: float
) -> tuple[Bin, ...]:
    width = (high - low) / BINS
    counts = dict(
        connection.execute(
            f"WITH v AS ({values}) SELECT least(greatest(floor((value - $low) / $width), 0), $last)::INTEGER,"
            " count(*) FROM v WHERE value IS NOT NULL GROUP BY 1",
            dict(given) | {"low": low, "width": width, "last": BINS - 1},
        ).fetchall()
    )
    return tuple(
        Bin(low=low + place * width, high=low + (place + 1) * width, count=counts.get(place, 0))
        for place in range(BINS)
    )


def _unscored(connection: duckdb.DuckDBPyConnection, run: RunRef, column: str, missing: int) -> dict[str, int]:
    if column.startswith(META):
        return {"not in the file": missing} if missing else {}
    shown, given = shown_scores(run)
    rows = connection.execute(
        f"SELECT reason, count(*) FROM scores WHERE {shown} AND metric = $metric AND reason IS NOT NULL"
        " GROUP BY 1 ORDER BY 2 DESC",
        given | {"metric": column},
    ).fetchall()
    return dict(rows)
