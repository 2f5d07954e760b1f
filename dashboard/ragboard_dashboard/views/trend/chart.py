"""The chart of a metric over time. Shapes stretch with the page, labels keep their size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from ragboard.analysis import Period, TrafficTrend
from ragboard.stats import Interval
from ragboard_dashboard.components import widget

__all__ = ["chart_data", "shown_periods", "trend_chart"]

ChartElement: TypeAlias = dict[str, str]
"""A shape (tag, title and SVG attributes) or a label (class, place, title and text)."""

MAX_DAYS = 120
"""With more days than this, the chart shows weeks."""
WIDTH, HEIGHT = 1000.0, 300.0
MAX_LABELS = 6
"""Maximum number of steps of the vertical scale."""
GAP = 3.5
"""The line is interrupted between periods that are further apart than this, in periods."""


def shown_periods(trend: TrafficTrend, days: int) -> tuple[tuple[Period, ...], int]:
    """Return the scored periods of the last `days` days (0: all), and their length in days: 1 or, for many, 7."""
    scored = [period for period in trend.days if period.mean is not None]
    if not scored:
        return (), 1
    since = scored[-1].start - timedelta(days=days) if days else scored[0].start - timedelta(days=1)
    span = (scored[-1].start - max(since, scored[0].start)).days
    length = 1 if span <= MAX_DAYS else 7
    periods = trend.days if length == 1 else trend.weeks
    return tuple(period for period in periods if period.mean is not None and period.start > since), length


_FOLDER = Path(__file__).parent
_mount = widget("trend", "trend", _FOLDER / "chart.js", _FOLDER / "chart.css")


@dataclass(frozen=True)
class _Frame:
    """Maps times and values to places in the plot, as shares of its width and height."""

    first: datetime
    last: datetime
    low: float
    high: float

    def across(self, time: datetime) -> float:
        return min(max((time - self.first) / (self.last - self.first), 0.0), 1.0)

    def up(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)


def trend_chart(trend: TrafficTrend, days: int) -> None:
    """Draw the chart of the last `days` days, or of all with 0."""
    data = chart_data(trend, days)
    if data:
        _mount(data=data, key="trend-chart")


def chart_data(trend: TrafficTrend, days: int) -> dict[str, Any]:
    """Return the chart of the last `days` days (0: all) for the browser component; empty without scores."""
    periods, length = shown_periods(trend, days)
    if not periods:
        return {}
    first, last = periods[0].start, periods[-1].start + timedelta(days=length)
    low, high, step = _scale(trend, periods)
    frame = _Frame(first, last, low, high)
    shapes: list[ChartElement] = []
    labels: list[ChartElement] = []
    for tick in _ticks(low, high, step):
        shapes.append(_line(0, frame.up(tick), 1, frame.up(tick), "grid"))
        labels.append({"class": "y", "bottom": f"{frame.up(tick):.2%}", "text": f"{tick:.{_decimals(step)}f}"})
    shapes += _means(frame, periods, length)
    for more_shapes, more_labels in (_threshold(frame, trend), _configs(frame, trend), _changes(frame, trend)):
        shapes += more_shapes
        labels += more_labels
    by = "day" if length == 1 else "week"
    return {
        "name": f"{trend.state.label} by {by}, {first:%Y-%m-%d} to {last:%Y-%m-%d}",
        "width": WIDTH,
        "height": HEIGHT,
        "shapes": shapes + _hover(frame, periods, length),
        "labels": labels,
        "dates": [{"left": f"{frame.across(time):.2%}", "text": f"{time:%d %b}"} for time in _dates(first, last)],
    }


def _means(frame: _Frame, periods: Sequence[Period], length: int) -> list[ChartElement]:
    """Return the line of the means and the band of their intervals."""
    shapes: list[ChartElement] = []
    for part in _parts(periods, length):
        points = [(frame.across(one.start + timedelta(days=length) / 2), one) for one in part]
        shapes.append(_band([(x, frame.up(_low(one)), frame.up(_high(one))) for x, one in points]))
        means = [(x, frame.up(one.mean or 0.0)) for x, one in points]
        if len(means) == 1:
            ((x, y),) = means
            means = [(x - 0.004, y), (x + 0.004, y)]
        shapes.append(_path(means, "mean"))
    return shapes


def _threshold(frame: _Frame, trend: TrafficTrend) -> tuple[list[ChartElement], list[ChartElement]]:
    threshold = trend.state.threshold
    if not threshold:
        return [], []
    height = frame.up(threshold.value)
    label = {"class": "threshold", "bottom": f"{height:.2%}", "text": str(threshold)}
    return [_line(0, height, 1, height, "threshold")], [label]


def _configs(frame: _Frame, trend: TrafficTrend) -> tuple[list[ChartElement], list[ChartElement]]:
    """Return a line and a label at the start of each configuration. A label ends where the next one starts."""
    shown = [config for config in trend.configs if frame.first < config.time < frame.last]
    shapes: list[ChartElement] = []
    labels: list[ChartElement] = []
    for place, config in enumerate(shown):
        x = frame.across(config.time)
        end = frame.across(shown[place + 1].time) if place + 1 < len(shown) else 1.0
        shapes.append(_line(x, 0, x, 1, "config"))
        labels.append(_mark(x, "config", "◆", str(config), config.run, room=max(end - x, 0.0)))
    return shapes, labels


def _changes(frame: _Frame, trend: TrafficTrend) -> tuple[list[ChartElement], list[ChartElement]]:
    shapes: list[ChartElement] = []
    labels: list[ChartElement] = []
    for change in trend.changes:
        if frame.first < change.start < frame.last:
            end = frame.across(change.latest + timedelta(days=1))
            kind = "worse" if change.worse else "other"
            shapes.append(_rect(frame.across(change.earliest), end, f"when {kind}"))
            icon = "▲" if change.after > change.before else "▼"
            size = f"{change.after - change.before:+.2f}"
            labels.append(_mark(frame.across(change.start), f"change {kind}", icon, str(change), size))
    return shapes, labels


def _scale(trend: TrafficTrend, periods: Sequence[Period]) -> tuple[float, float, float]:
    """Return the ends of the vertical scale, and the distance of its ticks."""
    values = [end for period in periods for end in (_low(period), _high(period))]
    if trend.state.threshold:
        values.append(trend.state.threshold.value)
    low, high = min(values), max(values)
    span = max(high - low, 1e-9 * max(abs(low), abs(high)), 1e-9)
    unit = 10 ** math.floor(math.log10(span))
    step = next(tick * unit for tick in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0) if span / (tick * unit) <= MAX_LABELS)
    return math.floor(low / step + 1e-9) * step, (math.floor(high / step - 1e-9) + 1) * step, step


def _ticks(low: float, high: float, step: float) -> list[float]:
    return [low + place * step for place in range(round((high - low) / step) + 1)]


def _decimals(step: float) -> int:
    return max(0, -math.floor(math.log10(step) + 1e-9))


def _dates(first: datetime, last: datetime) -> list[datetime]:
    """Return up to five dates for the horizontal axis, including its ends."""
    count = min(4, max((last - first).days, 1))
    return [first + (last - first) * place / count for place in range(count + 1)]


def _parts(periods: Sequence[Period], length: int) -> list[list[Period]]:
    """Split the periods at long gaps."""
    parts = [[periods[0]]]
    for before, period in pairwise(periods):
        if (period.start - before.start) / timedelta(days=length) > GAP:
            parts.append([])
        parts[-1].append(period)
    return parts


def _low(period: Period) -> float:
    return period.interval.low if isinstance(period.interval, Interval) else period.mean or 0.0


def _high(period: Period) -> float:
    return period.interval.high if isinstance(period.interval, Interval) else period.mean or 0.0


def _point(x: float, y: float) -> str:
    return f"{x * WIDTH:.1f} {(1 - y) * HEIGHT:.1f}"


def _line(x: float, y: float, x2: float, y2: float, kind: str) -> ChartElement:
    return _path([(x, y), (x2, y2)], kind)


def _path(points: Sequence[tuple[float, float]], kind: str) -> ChartElement:
    return {"tag": "path", "class": kind, "d": f"M{'L'.join(_point(*point) for point in points)}"}


def _band(points: Sequence[tuple[float, float, float]]) -> ChartElement:
    outline = [(x, high) for x, _, high in points] + [(x, low) for x, low, _ in reversed(points)]
    return _path(outline, "band")


def _rect(x: float, x2: float, kind: str, title: str = "") -> ChartElement:
    return {
        "tag": "rect",
        "class": kind,
        "x": f"{x * WIDTH:.1f}",
        "y": "0",
        "width": f"{max(x2 - x, 0.002) * WIDTH:.1f}",
        "height": f"{HEIGHT:g}",
        "title": title,
    }


def _mark(x: float, kind: str, icon: str, title: str, text: str, room: float = 1.0) -> ChartElement:
    """Return a label to the right of `x` or, if there is little space, to the left."""
    place = {"right": f"{1 - x:.2%}"} if kind.startswith("change") and x > 0.9 else {"left": f"{x:.2%}"}
    return {"class": kind, **place, "maxWidth": f"{room:.2%}", "title": title, "text": f"{icon} {text}"}


def _hover(frame: _Frame, periods: Sequence[Period], length: int) -> list[ChartElement]:
    """Return invisible areas that show the figures of a period under the pointer."""
    return [
        _rect(
            frame.across(one.start),
            frame.across(one.start + timedelta(days=length)),
            "hover",
            f"{one.start:%Y-%m-%d}{' (week)' if length > 1 else ''}: {one.in_words}, n = {one.n:,}",
        )
        for one in periods
    ]
