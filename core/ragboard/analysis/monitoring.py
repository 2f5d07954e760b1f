"""Monitor live traffic: states and changes of metrics, the last week compared with the week before, new statements.

A series is one metric of one dataset by one judge, over all samples with a time in the dataset's runs. Times are UTC.
Numbers are computed from hourly sums, so that a year of traffic is fast.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragboard.analysis.compare import ConfigDifference, config_differences
from ragboard.analysis.gates import resolve_spec
from ragboard.analysis.means import finite_range
from ragboard.analysis.metrics import in_order, read_descriptions
from ragboard.analysis.thresholds import Threshold, read_thresholds
from ragboard.errors import NotFoundError
from ragboard.records import Direction, MetricDescription
from ragboard.stats import (
    Batches,
    Change,
    GroupDifference,
    Interval,
    Moments,
    NoInterval,
    difference_of_moments,
    estimate_text,
    find_changes,
    gate,
    holm,
    interval_text,
    mean_interval,
)
from ragboard.store import Store
from ragboard.store.queries.query import Connection
from ragboard.store.queries.scores import AnyMoments
from ragboard.store.queries.traffic import (
    Hours,
    NewStatement,
    ScoredRun,
    group_columns,
    moments_by_group,
    moments_by_period,
    new_unsupported,
    scored_runs,
    shown_evaluations,
    sums_by_hour,
)

__all__ = [
    "STATE_LABELS",
    "ConfigChange",
    "GroupTrend",
    "NewStatements",
    "Period",
    "SeriesState",
    "State",
    "TrafficTrend",
    "TrendChange",
    "WeekComparison",
    "new_statements",
    "series_states",
    "traffic_columns",
    "traffic_datasets",
    "traffic_groups",
    "traffic_trend",
]

State = Literal["ok", "below threshold", "dropped", "too few"]
"""How a series is doing.

- `below threshold`: the mean of the last 7 days misses the threshold (is above it, if lower is better).
- `dropped`: a change for the worse was detected in the last 28 days, and the metric has not recovered.
- `too few`: fewer than 20 scored samples in the last 7 days.
"""

STATE_LABELS: dict[State, str] = {
    "ok": "✓ ok",
    "below threshold": "✗ misses threshold",
    "dropped": "▼ got worse",
    "too few": "… too few samples",
}
"""Icon and word for each state."""

WEEK = timedelta(days=7)
RECENT = timedelta(days=28)
"""How long a detected change affects the state."""
MIN_WEEK = 20
"""Minimum number of scored samples in 7 days for a state."""
DROP = 0.05
"""The size of change that is detected fastest, as a share of the metric's range."""
ALPHA = 0.05
"""Probability of a false alarm within a year over all series, for changes and for missed thresholds."""
BATCHES = ((200, 6), (0, 24))
"""Pairs (minimum mean number of samples a day, hours per batch); the first that applies is used."""
HOURS_OF_WEEK = 7 * 24
HOURS_OF_YEAR = 365 * 24
FIRST_MONDAY = 4 * 24
"""Start of the first Monday after 1970-01-01, in hours since 1970."""
WORSE: dict[Direction, Literal["lower", "higher", "neither"]] = {
    "higher": "lower",
    "lower": "higher",
    "neutral": "neither",
}
"""The direction of a change for the worse, by the direction of the metric."""
MAX_GROUPS = 12
"""Maximum number of groups to compare."""
MAX_VALUES = 50
"""Maximum number of different values of a column to group by."""


@dataclass(frozen=True, kw_only=True)
class TrendChange:
    """A detected change of a series."""

    start: datetime
    """When the mean changed, most probably."""
    earliest: datetime
    """Start of the 95% credible interval of `start`."""
    latest: datetime
    """End of this interval."""
    seen: datetime
    """When the evidence became sufficient."""
    before: float
    """Mean between the previous change and this one."""
    after: float
    """Mean from `start` to the next change, or to the newest sample."""
    worse: bool
    """Whether the metric got worse; False for a metric without a better direction."""

    @property
    def in_short(self) -> str:
        """For example `fell by 0.06 (0.87 to 0.81) around 2026-11-20`."""
        verb = "fell" if self.after < self.before else "rose"
        size = f"{abs(self.after - self.before):.2f} ({self.before:.2f} to {self.after:.2f})"
        return f"{verb} by {size} around {self.start:%Y-%m-%d}"

    def __str__(self) -> str:
        """For example `fell by 0.06 (0.87 to 0.81) around 2026-11-20, detected 2026-11-22`."""
        return f"{self.in_short}, detected {self.seen:%Y-%m-%d}"


@dataclass(frozen=True, kw_only=True)
class SeriesState:
    """The state of a series, and what it is based on."""

    key: str
    """Identifies the series: dataset, metric and judge as JSON."""
    dataset: str
    metric: str
    judge: str
    heuristic: bool
    """Whether the judge is rule-based."""
    label: str
    """The metric's name on pages."""
    state: State
    summary: str
    """The state in one sentence."""
    mean: float | None
    """Mean of the last 7 days, to the newest sample; None if no sample is scored."""
    interval: Interval | NoInterval
    """The 95% CI of `mean`."""
    samples: int
    """Number of scored samples in these 7 days."""
    until: date
    """The last day with samples, UTC."""
    since: datetime
    """Start of these 7 days."""
    change: TrendChange | None
    """The last change, if it was seen in the last 28 days."""
    threshold: Threshold | None

    @property
    def mean_in_words(self) -> str:
        """`0.88 (0.80 to 0.94)`, or a dash without a scored sample."""
        return _mean_in_words(self.mean, self.interval)

    @property
    def judge_in_words(self) -> str:
        """`embedded (rule-based)`."""
        return f"{self.judge}{' (rule-based)' if self.heuristic else ''}"


@dataclass(frozen=True, kw_only=True)
class Period:
    """A day or a week of a series."""

    start: datetime
    n: int
    """Number of scored samples."""
    unscored: int
    """Number of unscored samples."""
    mean: float | None
    interval: Interval | NoInterval

    @property
    def in_words(self) -> str:
        """`0.88 (0.80 to 0.94)`, or a dash without a scored sample."""
        return _mean_in_words(self.mean, self.interval)


@dataclass(frozen=True, kw_only=True)
class ConfigChange:
    """The start of a run after another one, usually with another configuration."""

    time: datetime
    """Time of the run's first sample."""
    run: str
    differences: tuple[ConfigDifference, ...]
    """Settings that differ from those of the previous run."""

    def __str__(self) -> str:
        """For example `chat 1.4 (production): version 1.3 to 1.4`."""
        settings = ", ".join(
            f"{setting.key} {_format_setting(setting.a)} to {_format_setting(setting.b)}"
            for setting in self.differences
        )
        return f"{self.run}: {settings}" if settings else self.run


@dataclass(frozen=True, kw_only=True)
class WeekComparison:
    """The last 7 days compared with the 7 days before. The questions differ, so they are not paired."""

    start: datetime
    """Start of the later 7 days."""
    difference: GroupDifference | None
    """The mean of the last 7 days minus that of the 7 days before; None if one has no scored sample."""
    p: float | None
    """The p value, adjusted for the number of groups (Holm 1979) if this is one of several."""
    change: Literal["better", "worse", "differs", "no significant difference", "not compared"]

    @property
    def in_words(self) -> str:
        """For example `-0.03, 95% CI -0.05 to -0.01, worse (p = 0.004)`."""
        if self.difference is None:
            return "not compared: one week has no scored sample"
        interval = interval_text(self.difference.interval, "+.2f")
        bounds = f", 95% CI {interval}" if interval else ""
        return f"{self.difference.difference:+.2f}{bounds}, {self.change} (p = {self.p:.2g})"


@dataclass(frozen=True, kw_only=True)
class GroupTrend:
    """A group of samples in the last 7 days, compared with the 7 days before."""

    group: str
    n: int
    mean: float | None
    interval: Interval | NoInterval
    week: WeekComparison

    @property
    def in_words(self) -> str:
        """`0.88 (0.80 to 0.94)`, or a dash without a scored sample."""
        return _mean_in_words(self.mean, self.interval)


@dataclass(frozen=True, kw_only=True)
class NewStatements:
    """Statements that are unsupported in the last 7 days, and that were not unsupported in the 28 days before."""

    statements: tuple[NewStatement, ...]
    """The new statements, up to a limit; those in most answers first."""
    new: int
    """Number of new statements, without the limit."""
    total: int
    """Number of different unsupported statements in the last 7 days."""
    start: datetime
    """Start of these 7 days."""
    heuristic: bool
    """Whether a rule-based judge judged some of these statements."""

    @property
    def in_words(self) -> str:
        """For example `2 of 9 unsupported statements since 2026-11-20 are new compared with ...`."""
        judge = " (rule-based)" if self.heuristic else ""
        return (
            f"{self.new:,} of {self.total:,} unsupported statements{judge} since {self.start:%Y-%m-%d} are new"
            " compared with the 28 days before"
        )


@dataclass(frozen=True, kw_only=True)
class TrafficTrend:
    """A metric of a dataset over time."""

    state: SeriesState
    direction: Direction
    range: tuple[float, float] | None
    metrics: tuple[str, ...]
    """All metrics of the dataset."""
    judges: tuple[str, ...]
    """All judges of the metric."""
    days: tuple[Period, ...]
    """The days with samples, oldest first."""
    weeks: tuple[Period, ...]
    """The weeks with samples, from Monday, oldest first."""
    changes: tuple[TrendChange, ...]
    configs: tuple[ConfigChange, ...]
    week: WeekComparison
    series: int
    """Number of series in the store, which share the probability of a false alarm."""


@dataclass(frozen=True)
class _Series:
    """A series with its hourly sums."""

    dataset: str
    metric: str
    judge: str
    runs: tuple[ScoredRun, ...]
    hours: Hours
    description: MetricDescription | None
    threshold: Threshold | None
    series_count: int
    """Number of series in the store."""

    @property
    def key(self) -> str:
        return json.dumps([self.dataset, self.metric, self.judge], ensure_ascii=False)

    @property
    def heuristic(self) -> bool:
        return any(run.heuristic for run in self.runs)

    @property
    def label(self) -> str:
        return self.description.label if self.description else self.metric

    @property
    def direction(self) -> Direction:
        return self.description.direction if self.description else "neutral"

    @property
    def range(self) -> tuple[float, float] | None:
        return finite_range(self.description)

    @property
    def end(self) -> int:
        """The hour after the newest sample, in hours since 1970."""
        return int(self.hours.hour[-1]) + 1

    @property
    def week_start(self) -> datetime:
        return _time(self.end) - WEEK

    def between(self, first: int, stop: int) -> slice:
        """Return the indices in `hours` from the hour `first` to before `stop`."""
        low, high = np.searchsorted(self.hours.hour, [first, stop])
        return slice(int(low), int(high))

    def period(self, first: int, stop: int, level: float = 0.95) -> Period:
        """Summarise the samples from the hour `first` to before `stop`."""
        part = self.between(first, stop)
        summary = _moments(self.hours, part, self.range)
        return Period(
            start=_time(first),
            n=int(self.hours.n[part].sum()),
            unscored=int(self.hours.unscored[part].sum()),
            mean=summary.mean if summary else None,
            interval=_interval(summary, self.range, level),
        )

    @cached_property
    def changes(self) -> tuple[TrendChange, ...]:
        """The detected changes, oldest first."""
        scored = self.hours.n > 0
        days = (self.hours.hour[-1] - self.hours.hour[0]) / 24 + 1
        length = next(hours for samples, hours in BATCHES if self.hours.n.sum() / days >= samples)
        starts, batches = _batches(self.hours, scored, length)
        low, high = self.range or (0.0, 0.0)
        detected = find_changes(
            batches,
            size=DROP * (high - low) or None,
            worse=WORSE[self.direction],
            per_year=HOURS_OF_YEAR / length,
            series=self.series_count,
            alpha=ALPHA,
        )
        ends = [*(int(starts[change.start]) for change in detected[1:]), self.end]
        return tuple(self._change(change, starts, length, end) for change, end in zip(detected, ends, strict=False))

    def _change(self, change: Change, starts: NDArray[np.int64], length: int, end: int) -> TrendChange:
        since = _moments(self.hours, self.between(int(starts[change.start]), end), self.range)
        return TrendChange(
            start=_time(starts[change.start]),
            earliest=_time(starts[change.earliest]),
            latest=_time(starts[change.latest]),
            seen=_time(min(int(starts[change.seen]) + length, self.end)),
            before=change.before,
            after=since.mean if since else change.after,
            worse=(change.difference < 0) == (self.direction == "higher") and self.direction != "neutral",
        )

    @cached_property
    def state(self) -> SeriesState:
        week = self.period(self.end - HOURS_OF_WEEK, self.end)
        last = self.changes[-1] if self.changes and self.changes[-1].seen > _time(self.end) - RECENT else None
        missed = self._misses_threshold()
        state: State = "ok"
        if week.n < MIN_WEEK or week.mean is None:
            state = "too few"
        elif missed:
            state = "below threshold"
        elif last and last.worse and self._still_worse(last):
            state = "dropped"
        return SeriesState(
            key=self.key,
            dataset=self.dataset,
            metric=self.metric,
            judge=self.judge,
            heuristic=self.heuristic,
            label=self.label,
            state=state,
            summary=self._summary(state, week, last),
            mean=week.mean,
            interval=week.interval,
            samples=week.n,
            until=_time(self.end - 1).date(),
            since=self.week_start,
            change=last,
            threshold=self.threshold,
        )

    def _misses_threshold(self) -> bool:
        """Return whether the mean of the last 7 days misses the threshold (Bonferroni for daily checks)."""
        if self.threshold is None:
            return False
        interval = self.period(self.end - HOURS_OF_WEEK, self.end, 1 - 2 * ALPHA / (365 * self.series_count)).interval
        return gate(interval, threshold=self.threshold.value, fail=self.threshold.fail) == "fail"

    def _still_worse(self, change: TrendChange) -> bool:
        """Return whether the mean since the change is still significantly worse than the mean before it.

        If the change was more than 7 days ago, only the last 7 days count. True if there is no interval.
        """
        start = max(int(change.start.replace(tzinfo=UTC).timestamp()) // 3600, self.end - HOURS_OF_WEEK)
        interval = self.period(start, self.end).interval
        if isinstance(interval, NoInterval):
            return True
        return interval.high < change.before if self.direction == "higher" else interval.low > change.before

    def _summary(self, state: State, week: Period, change: TrendChange | None) -> str:
        name = f"{self.label} of {self.dataset}"
        when = f"in the 7 days to {_time(self.end - 1):%Y-%m-%d}{' (rule-based)' if self.heuristic else ''}"
        if state == "too few" or week.mean is None:
            return f"{name}: too few samples to judge, {week.n} scored {when}."
        mean = f"mean {week.in_words}, n = {week.n:,}, {when}"
        moved = f"; it {change}" if change and (state != "ok" or change.worse) else ""
        match state:
            case "below threshold":
                side = "below" if self.direction != "lower" else "above"
                return f"{name} is {side} the threshold ({self.threshold}): {mean}{moved}."
            case "dropped":
                return f"{name} {change}: {mean}."
            case _:
                recovered = f"{moved}, and is back" if moved else ""
                return f"{name} is ok: {mean}{recovered}."


def series_states(store: Store) -> tuple[SeriesState, ...]:
    """Return the state of every series in the store, by dataset and metric.

    Datasets whose runs all ask the same questions are left out; `dataset_trend` compares their runs.
    """
    with store.database.read() as connection:
        return tuple(series.state for series in _read_series(connection))


def traffic_datasets(store: Store) -> tuple[str, ...]:
    """Return the names of the datasets that have series."""
    with store.database.read() as connection:
        return tuple(dict.fromkeys(run.dataset for run in _traffic_runs(connection)))


def traffic_trend(store: Store, dataset: str, metric: str = "", judge: str = "") -> TrafficTrend:
    """Return a metric of a dataset over time, by default the first metric by the judge with the newest samples.

    Raises NotFoundError if the dataset has no such series, SettingError if the name of the metric is ambiguous.
    """
    with store.database.read() as connection:
        runs = _traffic_runs(connection)
        series = _find_series(connection, runs, dataset, metric, judge)
        dataset_runs = [run for run in runs if run.dataset == dataset]
        return TrafficTrend(
            state=series.state,
            direction=series.direction,
            range=series.range,
            metrics=in_order({run.metric for run in dataset_runs}),
            judges=tuple(sorted({run.judge for run in dataset_runs if run.metric == series.metric})),
            days=_periods(series, 24, 0),
            weeks=_periods(series, HOURS_OF_WEEK, FIRST_MONDAY),
            changes=series.changes,
            configs=tuple(_config_changes(series.runs)),
            week=_compare_weeks(connection, series),
            series=series.series_count,
        )


def traffic_columns(store: Store, dataset: str, metric: str = "", judge: str = "") -> tuple[str, ...]:
    """Return the metadata columns to group a dataset's traffic by: those with 2 to 50 values in the last 14 days."""
    with store.database.read() as connection:
        series = _find_series(connection, _traffic_runs(connection), dataset, metric, judge)
        columns = group_columns(connection, series.runs, series.week_start - WEEK, MAX_VALUES)
    first = ("topic", "model", "language")
    return tuple(
        sorted((key for key, _ in columns), key=lambda key: (first.index(key) if key in first else len(first), key))
    )


def traffic_groups(
    store: Store, dataset: str, column: str, metric: str = "", judge: str = ""
) -> tuple[GroupTrend, ...]:
    """Compare the last 7 days with the 7 days before, for each value of a metadata column.

    The 12 largest groups are returned, largest first. Raises NotFoundError if no sample of these days has the column.
    """
    with store.database.read() as connection:
        series = _find_series(connection, _traffic_runs(connection), dataset, metric, judge)
        start = series.week_start
        moments = moments_by_group(connection, series.runs, column, start - WEEK, start)
    if not moments:
        raise NotFoundError(f"no scored sample of the last 14 days has a value in the metadata column {column!r}")
    sizes: dict[str, int] = {}
    for (group, _), summary in moments.items():
        sizes[group] = sizes.get(group, 0) + summary.n
    groups = sorted(sizes, key=lambda group: (-sizes[group], group))[:MAX_GROUPS]
    compared = {
        group: _difference(moments.get((group, True)), moments.get((group, False)), series.range) for group in groups
    }
    tested = [group for group, difference in compared.items() if difference]
    p_values = [difference.p for difference in compared.values() if difference]
    adjusted = dict(zip(tested, holm(p_values), strict=True))
    return tuple(
        GroupTrend(
            group=group,
            n=last_week.n if (last_week := moments.get((group, True))) else 0,
            mean=last_week.mean if last_week else None,
            interval=_interval(last_week, series.range),
            week=_week_comparison(start, compared[group], series.direction, adjusted.get(group)),
        )
        for group in groups
    )


def new_statements(store: Store, dataset: str, *, limit: int = 20) -> NewStatements:
    """Return the statements that are unsupported in the last 7 days, and were not unsupported in the 28 days before.

    The comparison ignores case, white space and punctuation. Raises NotFoundError if the dataset has no series.
    """
    with store.database.read() as connection:
        runs = [run for run in _traffic_runs(connection) if run.dataset == dataset]
        if not runs:
            raise _no_traffic(dataset)
        middle = max(run.last for run in runs) + timedelta(hours=1) - WEEK
        shown = shown_evaluations(connection, [run.run_id for run in runs])
        heuristic = any(run.heuristic for run in runs if run.evaluation_id in shown.values())
        if not shown:
            return NewStatements(statements=(), new=0, total=0, start=middle, heuristic=heuristic)
        statements, new, total = new_unsupported(connection, shown, middle, middle - RECENT, limit)
    return NewStatements(statements=tuple(statements), new=new, total=total, start=middle, heuristic=heuristic)


def _no_traffic(dataset: str) -> NotFoundError:
    return NotFoundError(
        f"dataset {dataset!r} has no evaluated samples with a time: collect traffic with `ragboard collect`,"
        " log samples with ragboard.log(time=...), or import a file with a column time, and evaluate them"
    )


def _traffic_runs(connection: Connection) -> list[ScoredRun]:
    """Return the scored runs of all datasets, except datasets whose runs all ask the same questions."""
    runs = scored_runs(connection)
    keys: dict[str, dict[str, str]] = {}
    for run in runs:
        keys.setdefault(run.dataset, {})[run.run_id] = run.dataset_key
    fixed = {dataset for dataset, by_run in keys.items() if len(by_run) > 1 and len(set(by_run.values())) == 1}
    return [run for run in runs if run.dataset not in fixed]


def _read_series(connection: Connection, only: Sequence[ScoredRun] | None = None, count: int = 0) -> list[_Series]:
    """Read the series of the runs in `only`, by default of all traffic, sorted by dataset and metric.

    `count` is the number of series in the store; 0 if `only` is None.
    """
    runs = _traffic_runs(connection) if only is None else only
    if not runs:
        return []
    descriptions = read_descriptions(connection)
    thresholds = read_thresholds(connection, descriptions)
    by_name: dict[tuple[str, str, str], list[ScoredRun]] = {}
    for run in runs:
        by_name.setdefault((run.dataset, run.metric, run.judge), []).append(run)
    sums = sums_by_hour(connection, runs)
    order = {metric: place for place, metric in enumerate(in_order({run.metric for run in runs}))}
    return [
        _Series(
            *name,
            runs=tuple(by_name[name]),
            hours=sums[name],
            description=descriptions.get(name[1]),
            threshold=thresholds.get(name[1]),
            series_count=count or len(by_name),
        )
        for name in sorted(by_name, key=lambda name: (name[0], order[name[1]], name[2]))
    ]


def _find_series(connection: Connection, runs: Sequence[ScoredRun], dataset: str, metric: str, judge: str) -> _Series:
    """Return one series; see `traffic_trend` for defaults and errors."""
    dataset_runs = [run for run in runs if run.dataset == dataset]
    if not dataset_runs:
        raise _no_traffic(dataset)
    specs = in_order({run.metric for run in dataset_runs})
    metric = resolve_spec(metric, specs) if metric else specs[0]
    metric_runs = [run for run in dataset_runs if run.metric == metric]
    judge = judge or max(metric_runs, key=lambda run: run.last).judge
    chosen = [run for run in metric_runs if run.judge == judge]
    if not chosen:
        judges = ", ".join(sorted({run.judge for run in metric_runs}))
        raise NotFoundError(f"no judge {judge!r} of {metric}; available: {judges}")
    count = len({(run.dataset, run.metric, run.judge) for run in runs})
    return _read_series(connection, chosen, count)[0]


def _time(hour: int | np.integer) -> datetime:
    """Return the start of an hour since 1970, UTC."""
    return datetime(1970, 1, 1) + timedelta(hours=int(hour))  # noqa: DTZ001 - times of the store are naive UTC


def _moments(hours: Hours, part: slice, bounds: tuple[float, float] | None) -> Moments | None:
    """Return the weighted moments of some hours, with the effective number as n; None without a scored sample."""
    weight = float(hours.weight[part].sum())
    if not weight:
        return None
    n = max(1, round(weight**2 / float(hours.square_weight[part].sum())))
    mean = float(hours.total[part].sum()) / weight
    variance = max(float(hours.squares[part].sum()) / weight - mean**2, 0.0)
    if variance < 1e-12 * max(mean**2, 1e-12):
        variance = 0.0
    if bounds:
        mean = min(max(mean, bounds[0]), bounds[1])
    deviation = math.sqrt(variance * n / (n - 1)) if n > 1 else 0.0
    return Moments(n=n, mean=mean, deviation=deviation, untied=n if variance else 0)


def _interval(
    summary: AnyMoments | None, bounds: tuple[float, float] | None, level: float = 0.95
) -> Interval | NoInterval:
    if summary is None:
        return NoInterval(reason="no sample is scored", n=0)
    return mean_interval(summary, bounds=bounds, level=level)


def _batches(hours: Hours, scored: NDArray[np.bool_], length: int) -> tuple[NDArray[np.int64], Batches]:
    """Return the first hour and the moments of batches of `length` hours."""
    starts, number = np.unique(hours.hour[scored] // length, return_inverse=True)

    def summed(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(number, weights=values[scored], minlength=starts.size).astype(np.float64)

    weight, square_weight = summed(hours.weight), summed(hours.square_weight)
    mean, square, cube = (summed(sums) / weight for sums in (hours.total, hours.squares, hours.cubes))
    variance = square - mean**2
    variance = np.where(variance < 1e-12 * np.maximum(square, 1e-300), 0.0, variance)
    third = np.where(variance > 0, cube - 3 * mean * square + 2 * mean**3, 0.0)
    return starts * length, Batches(n=weight**2 / square_weight, mean=mean, variance=variance, third=third)


def _periods(series: _Series, length: int, offset: int) -> tuple[Period, ...]:
    """Return the periods of `length` hours that have samples. One starts `offset` hours after 1970-01-01."""
    numbers = np.unique((series.hours.hour - offset) // length)
    return tuple(series.period(int(number) * length + offset, int(number + 1) * length + offset) for number in numbers)


def _config_changes(runs: Sequence[ScoredRun]) -> list[ConfigChange]:
    """Return the start of each run after the first one, in order."""
    changes: list[ConfigChange] = []
    for earlier, run in pairwise(runs):
        before, after = json.loads(earlier.config), json.loads(run.config)
        changes.append(ConfigChange(time=run.first, run=run.run, differences=tuple(config_differences(before, after))))
    return changes


def _compare_weeks(connection: Connection, series: _Series) -> WeekComparison:
    """Compare the last 7 days with the 7 days before, with clusters if the sampling rate is constant, else weighted."""
    start, end = series.week_start, series.end
    weeks = [series.between(end - 2 * HOURS_OF_WEEK, end - HOURS_OF_WEEK), series.between(end - HOURS_OF_WEEK, end)]
    earlier, later = (_moments(series.hours, week, series.range) for week in weeks)
    constant = all(
        summary is None or summary.n >= 0.99 * series.hours.n[week].sum()
        for summary, week in zip((earlier, later), weeks, strict=True)
    )
    if constant:
        moments = moments_by_period(connection, series.runs, start - WEEK, start)
        return _week_comparison(
            start, _difference(moments.get(True), moments.get(False), series.range), series.direction
        )
    return _week_comparison(start, _difference(later, earlier, series.range), series.direction)


def _mean_in_words(mean: float | None, interval: Interval | NoInterval) -> str:
    return "-" if mean is None else estimate_text(mean, interval, ".2f")


def _difference(
    later: AnyMoments | None, earlier: AnyMoments | None, bounds: tuple[float, float] | None
) -> GroupDifference | None:
    return difference_of_moments(later, earlier, bounds=bounds) if later and earlier else None


def _week_comparison(
    start: datetime, difference: GroupDifference | None, direction: Direction, adjusted: float | None = None
) -> WeekComparison:
    if difference is None:
        return WeekComparison(start=start, difference=None, p=None, change="not compared")
    p = difference.p if adjusted is None else adjusted
    interval = difference.interval
    significant = p < 0.05 and isinstance(interval, Interval) and not interval.low <= 0 <= interval.high
    if not significant:
        change: Literal["better", "worse", "differs", "no significant difference"] = "no significant difference"
    elif direction == "neutral":
        change = "differs"
    else:
        change = "better" if (difference.difference > 0) == (direction == "higher") else "worse"
    return WeekComparison(start=start, difference=difference, p=p, change=change)


def _format_setting(value: object) -> str:
    return "(not set)" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
