"""Distributions, scatter plots and breakdowns of a run's values.

A column is the name of a metric, or `metadata.NAME` for a numeric metadata column. The database bins and subsamples the
values, so that large runs are fast, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragboard.analysis.means import UnscoredPolicy, compute_mean, imputed_range
from ragboard.analysis.metrics import in_order, read_descriptions
from ragboard.analysis.thresholds import ShareMeetingThreshold, Threshold, read_thresholds
from ragboard.records import MetricDescription
from ragboard.stats import ClusterMoments, Interval, NoInterval, mean_interval, wilson_interval, worst_case_interval
from ragboard.store import RunRef, Store
from ragboard.store.queries.query import Connection, Query
from ragboard.store.queries.scores import AnyMoments, metric_names
from ragboard.store.queries.values import (
    META,
    TURN,
    bin_counts,
    column_query,
    extent,
    group_moments,
    group_sizes,
    has_conversations,
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
MAX_POINTS = 4000
"""Maximum number of points of a scatter plot. Larger runs plot a random subset that is always the same."""
MAX_CATEGORIES = 30
"""Maximum number of values of a metadata column to group by."""


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns of a run that can be plotted or grouped by."""

    metrics: tuple[str, ...]
    """Metrics computed by ragboard, then scores in the run file."""
    numeric: tuple[str, ...]
    """Numeric metadata columns, with the prefix `metadata.`."""
    categories: tuple[str, ...]
    """Metadata columns with 2 to 30 values, with the prefix `metadata.`; `turn` if the run has conversations."""


@dataclass(frozen=True, kw_only=True)
class Bin:
    """Number of values in [`low`, `high`); the last bin includes its upper bound."""

    low: float
    high: float
    count: int


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """The distribution of one column's values."""

    column: str
    bins: tuple[Bin, ...]
    quantiles: tuple[float, ...]
    """201 quantiles, at probabilities 0, 0.005, ..., 1 (inverse ECDF); empty without values."""
    scored: int
    total: int
    unscored: Mapping[str, int]
    """{reason: number of samples without a value}."""
    mean: float | None
    interval: Interval | NoInterval
    note: str = ""
    """How unscored samples count in the mean; empty if there are none or they are excluded."""
    meeting_threshold: ShareMeetingThreshold | None = None
    """How many samples meet the metric's threshold; None without a threshold or without values."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """One sample in a scatter plot."""

    sample_id: str
    question: str
    x: float
    y: float


@dataclass(frozen=True, kw_only=True)
class Scatter:
    """A scatter plot of the samples that have both values."""

    points: tuple[Point, ...]
    both: int
    """Number of samples with both values; larger than the number of points if only a subset is plotted."""
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
    """List the columns of a run that can be plotted or grouped by."""
    with store.database.read() as connection:
        metrics, metadata = metric_names(connection, run), metadata_columns(connection, run.run_id)
        turns = (TURN,) if has_conversations(connection, run.run_id) else ()
    names = tuple(
        f"{META}{column.key}"
        for column in metadata
        if not column.nested and 1 < column.distinct <= MAX_CATEGORIES and column.distinct < column.samples
    )
    return Columns(
        metrics=in_order(metrics),
        numeric=tuple(f"{META}{column.key}" for column in metadata if not column.not_numbers),
        categories=names if f"{META}{TURN}" in names else (*names, *turns),
    )


def distribution(store: Store, run: RunRef, column: str, *, unscored: UnscoredPolicy = "excluded") -> Distribution:
    """Compute the distribution of a column. `unscored` is how unscored samples count in the mean of a metric."""
    policy: UnscoredPolicy = "excluded" if column.startswith(META) else unscored
    with store.database.read() as connection:
        metrics = read_descriptions(connection)
        metric, threshold = metrics.get(column), read_thresholds(connection, metrics).get(column)
        values = column_query(run, column)
        extremes = extent(connection, values)
        missing = unscored_reasons(connection, run, column)
        if column.startswith(META) and extremes.total > extremes.scored:
            missing = {"not in the file": extremes.total - extremes.scored}
        imputed = imputed_range(metric, policy) if missing else None
        imputed_values = imputed if isinstance(imputed, tuple) else ()
        variants = (values, *(column_query(run, column, fill=value) for value in imputed_values))
        scored, *filled = [value_moments(connection, variant) for variant in variants]
        mean = compute_mean(metric, scored, policy, sum(missing.values()), filled)
        low, high = _bounds(metric, extremes.least, extremes.most)
        counts = bin_counts(connection, values, low, (high - low) / BINS, BINS)
        steps = quantiles(connection, values, [step / QUANTILES for step in range(QUANTILES + 1)])
        meeting_threshold = _share(connection, variants, threshold) if threshold else None
    return Distribution(
        column=column,
        bins=tuple(
            Bin(low=low + i * (high - low) / BINS, high=low + (i + 1) * (high - low) / BINS, count=counts.get(i, 0))
            for i in range(BINS)
        ),
        quantiles=steps,
        scored=extremes.scored,
        total=extremes.total,
        unscored=missing,
        mean=mean.mean,
        interval=mean.interval,
        note=mean.note,
        meeting_threshold=meeting_threshold,
    )


def scatter(store: Store, run: RunRef, x: str, y: str) -> Scatter:
    """Return the points of a scatter plot of one column against another, for samples that have both values."""
    with store.database.read() as connection:
        plotted = plotted_samples(connection, run, x, y, MAX_POINTS)
    points = tuple(
        Point(sample_id=sample.sample_id, question=sample.question, x=sample.x, y=sample.y) for sample in plotted
    )
    return Scatter(points=points, both=plotted[0].both if plotted else 0, total=store.sample_count(run.run_id))


def breakdown(
    store: Store, run: RunRef, column: str, by: str, *, unscored: UnscoredPolicy = "excluded"
) -> tuple[Group, ...]:
    """Compute a column's mean for each value of `by`, largest group first; for `turn`, in order of turns."""
    with store.database.read() as connection:
        metric = read_descriptions(connection).get(column)
        imputed = None if column.startswith(META) else imputed_range(metric, unscored)
        imputed_values = imputed if isinstance(imputed, tuple) else ()
        sizes = group_sizes(connection, run, by, MAX_CATEGORIES)
        plain, *filled = (
            group_moments(connection, column_query(run, column, fill=value), by) for value in (None, *imputed_values)
        )
    groups: list[Group] = []
    for value, total in sizes:
        scored, others = plain.get(value), [each.get(value) for each in filled]
        n = scored.n if scored else 0
        missing = (others[0].n if others and others[0] else n) - n
        mean = compute_mean(metric, scored, unscored if imputed_values else "excluded", missing, others)
        groups.append(Group(value=value, scored=n, total=total, mean=mean.mean, interval=mean.interval))
    return tuple(groups)


def _bounds(metric: MetricDescription | None, least: float | None, most: float | None) -> tuple[float, float]:
    """Return the range of the histogram: the metric's (from 0 if no value is negative), else that of the values."""
    if metric and metric.low is not None and metric.high is not None:
        low, high = metric.low, metric.high
        return (max(low, 0.0) if least is None or least >= 0 else low, high)
    low, high = (0.0, 1.0) if least is None or most is None else (least, most)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _share(connection: Connection, variants: Sequence[Query], threshold: Threshold) -> ShareMeetingThreshold | None:
    """Return the share of samples that meet a threshold.

    `variants` are the values and, if unscored samples count, the values with all unscored samples at the metric's
    lowest value and at its highest. The interval then covers every share that unscored samples allow.
    """
    good = [value_moments(connection, values, fail=threshold.fail, threshold=threshold.value) for values in variants]
    extremes = sorted((moments for moments in good[1:] or good if moments), key=lambda moments: moments.mean)
    if not extremes:
        return None
    low, high = (_share_interval(moments) for moments in (extremes[0], extremes[-1]))
    # Unscored samples count in the share only if the share is the same at the lowest and at the highest value.
    counted = good[1] if len(good) > 1 and good[1] == good[2] else good[0]
    share, n = (counted.mean, counted.n) if counted else (extremes[0].mean, 0)
    interval = low if low == high else worst_case_interval(low, high, estimate=share)
    return ShareMeetingThreshold(threshold=threshold, good=round(share * n), n=n, interval=interval)


def _share_interval(moments: AnyMoments) -> Interval | NoInterval:
    if isinstance(moments, ClusterMoments):
        return mean_interval(moments, bounds=(0.0, 1.0))
    return wilson_interval(moments.mean, moments.n)
