"""How the values of a run are distributed, one column against another, and what they break down into.

A column is a metric by its spec, or a numeric metadata column by its name behind `metadata.`. Binning
and sampling happen in the database, so that a page costs the same over a hundred samples or a million.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragboard.analysis.means import UnscoredPolicy, fill_of, mean_of
from ragboard.analysis.metrics import described, in_order
from ragboard.analysis.thresholds import Share, Threshold, read_thresholds
from ragboard.records import MetricDescription
from ragboard.stats import ClusterMoments, Interval, NoInterval, mean_interval, outer_interval, wilson_interval
from ragboard.store import RunRef, Store
from ragboard.store.queries.query import Connection, Query
from ragboard.store.queries.scores import Known, metric_names
from ragboard.store.queries.values import (
    META,
    bin_counts,
    column_values,
    extent,
    group_moments,
    group_sizes,
    metadata_columns,
    plotted_samples,
    quantiles,
    unscored_reasons,
    value_moments,
)

__all__ = [
    "Bin",
    "Columns",
    "Distribution",
    "Group",
    "Point",
    "Scatter",
    "breakdown",
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
    with store.database.read() as connection:
        metrics, metadata = metric_names(connection, run), metadata_columns(connection, run.run_id)
    return Columns(
        metrics=in_order(metrics),
        numeric=tuple(f"{META}{one.key}" for one in metadata if not one.not_numbers),
        categories=tuple(
            f"{META}{one.key}"
            for one in metadata
            if not one.nested and 1 < one.distinct <= CATEGORIES and one.distinct < one.samples
        ),
    )


def distribution(store: Store, run: RunRef, column: str, *, unscored: UnscoredPolicy = "excluded") -> Distribution:
    """The spread of one column's values, binned in the database; `unscored` says how the others count in its mean."""
    policy: UnscoredPolicy = "excluded" if column.startswith(META) else unscored
    with store.database.read() as connection:
        metrics = described(connection)
        metric, limit = metrics.get(column), read_thresholds(connection, metrics).get(column)
        values = column_values(run, column)
        there = extent(connection, values)
        missing = unscored_reasons(connection, run, column)
        if column.startswith(META) and there.total > there.scored:
            missing = {"not in the file": there.total - there.scored}
        fill = fill_of(metric, policy) if missing else None
        ends = fill if isinstance(fill, tuple) else ()
        every = (values, *(column_values(run, column, fill=end) for end in ends))
        known = [value_moments(connection, each) for each in every]
        mean = mean_of(metric, known[0], policy, sum(missing.values()), known[1:])
        low, high = _bounds(metric, there.least, there.most)
        counts = bin_counts(connection, values, low, (high - low) / BINS, BINS)
        steps = quantiles(connection, values, [step / QUANTILES for step in range(QUANTILES + 1)])
        share = _share(connection, every, limit) if limit else None
    return Distribution(
        column=column,
        bins=tuple(
            Bin(low=low + at * (high - low) / BINS, high=low + (at + 1) * (high - low) / BINS, count=counts.get(at, 0))
            for at in range(BINS)
        ),
        quantiles=steps,
        scored=there.scored,
        total=there.total,
        unscored=missing,
        mean=mean.mean,
        interval=mean.interval,
        note=mean.note,
        share=share,
    )


def scatter(store: Store, run: RunRef, x: str, y: str) -> Scatter:
    """One column against another."""
    with store.database.read() as connection:
        found = plotted_samples(connection, run, x, y, POINTS)
    points = tuple(Point(sample_id=one.sample_id, question=one.question, x=one.x, y=one.y) for one in found)
    return Scatter(points=points, both=found[0].both if found else 0, total=store.sample_count(run.run_id))


def breakdown(
    store: Store, run: RunRef, column: str, by: str, *, unscored: UnscoredPolicy = "excluded"
) -> tuple[Group, ...]:
    """A column's mean for each value of a metadata column, most samples first."""
    with store.database.read() as connection:
        metric = described(connection).get(column)
        fill = None if column.startswith(META) else fill_of(metric, unscored)
        ends = fill if isinstance(fill, tuple) else ()
        sizes = group_sizes(connection, run, by, CATEGORIES)
        plain, *filled = (group_moments(connection, column_values(run, column, fill=end), by) for end in (None, *ends))
    found: list[Group] = []
    for value, total in sizes:
        known, others = plain.get(value), [each.get(value) for each in filled]
        n = known.n if known else 0
        missing = (others[0].n if others and others[0] else n) - n
        mean = mean_of(metric, known, unscored if ends else "excluded", missing, others)
        found.append(Group(value=value, scored=n, total=total, mean=mean.mean, interval=mean.interval))
    return tuple(found)


def _bounds(metric: MetricDescription | None, least: float | None, most: float | None) -> tuple[float, float]:
    """The range to draw: a metric's own from 0 up where no value is below, else that of the values."""
    if metric and metric.low is not None and metric.high is not None:
        low, high = metric.low, metric.high
        return (max(low, 0.0) if least is None or least >= 0 else low, high)
    low, high = (0.0, 1.0) if least is None or most is None else (least, most)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _share(connection: Connection, every: Sequence[Query], limit: Threshold) -> Share | None:
    """How many reach a threshold: of the scored, or of all where the same stands for each unscored.

    `every` has the values as they are, and with what stands for the unscored at their least and at their greatest.
    The interval holds whatever the unscored allow.
    """
    good = [value_moments(connection, each, fail=limit.fail, limit=limit.value) for each in every]
    ends = sorted((one for one in good[1:] or good if one), key=lambda one: one.mean)
    if not ends:
        return None
    low, high = (_share_interval(one) for one in (ends[0], ends[-1]))
    counted = good[1] if len(good) > 1 and good[1] == good[2] else good[0]
    share, n = (counted.mean, counted.n) if counted else (ends[0].mean, 0)
    interval = low if low == high else outer_interval(low, high, estimate=share)
    return Share(threshold=limit, good=round(share * n), n=n, interval=interval)


def _share_interval(known: Known) -> Interval | NoInterval:
    if isinstance(known, ClusterMoments):
        return mean_interval(known, bounds=(0.0, 1.0))
    return wilson_interval(known.mean, known.n)
