"""The chart of a metric over time, as HTML: the plot stretches to the page, and its labels keep their size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from ragboard.analysis import Period, TrafficTrend
from ragboard.stats import Interval
from ragboard_dashboard.text import html_escaped, shortened

__all__ = ["chart_html", "shown_periods"]

MAX_DAYS = 120
"""With more days, weeks are drawn."""
WIDTH, HEIGHT = 1000.0, 300.0
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0)
MAX_LABELS = 6
MAX_NAME = 28
GAP = 3.5
"""The line is interrupted if so many periods are without samples."""


def shown_periods(trend: TrafficTrend, days: int) -> tuple[tuple[Period, ...], int]:
    """Return the periods of the last `days` days (0: all) that have scores, and the days of each: 1, or 7 for many."""
    scored = [period for period in trend.days if period.mean is not None]
    if not scored:
        return (), 1
    since = scored[-1].start - timedelta(days=days) if days else scored[0].start - timedelta(days=1)
    span = (scored[-1].start - max(since, scored[0].start)).days
    length = 1 if span <= MAX_DAYS else 7
    of = trend.days if length == 1 else trend.weeks
    return tuple(period for period in of if period.mean is not None and period.start > since), length


def chart_html(trend: TrafficTrend, days: int) -> str:
    """Return the chart of the last `days` days; 0: all."""
    periods, length = shown_periods(trend, days)
    if not periods:
        return ""
    first, last = periods[0].start, periods[-1].start + timedelta(days=length)
    low, high, step = _scale(trend, periods)

    def across(time: datetime) -> float:
        return min(max((time - first) / (last - first), 0.0), 1.0)

    def up(value: float) -> float:
        return (value - low) / (high - low)

    def at(period: Period) -> float:
        return across(period.start + timedelta(days=length) / 2)

    shapes: list[str] = []
    labels: list[str] = []
    for tick in _ticks(low, high, step):
        shapes.append(_line(0, up(tick), 1, up(tick), "grid"))
        labels.append(f'<span class="y" style="bottom:{up(tick):.2%}">{tick:.{_decimals(step)}f}</span>')
    for part in _parts(periods, length):
        shapes.append(_band([(at(one), up(_low(one)), up(_high(one))) for one in part]))
        shapes.append(_path([(at(one), up(one.mean or 0.0)) for one in part], "mean"))
        if len(part) == 1:
            x, y = at(part[0]), up(part[0].mean or 0.0)
            shapes.append(_line(x - 0.004, y, x + 0.004, y, "mean"))
    threshold = trend.state.threshold
    if threshold:
        shapes.append(_line(0, up(threshold.value), 1, up(threshold.value), "threshold"))
        labels.append(f'<span class="threshold" style="bottom:{up(threshold.value):.2%}">{threshold}</span>')
    for config in trend.configs:
        if first < config.time < last:
            shapes.append(_line(across(config.time), 0, across(config.time), 1, "config"))
            labels.append(_mark(across(config.time), "config", "◆", str(config), shortened(config.run, MAX_NAME)))
    for change in trend.changes:
        if first < change.start < last:
            shapes.append(_rect(across(change.earliest), across(change.latest + timedelta(days=1)), "when"))
            icon = "▲" if change.after > change.before else "▼"
            size = f"{change.after - change.before:+.2f}"
            labels.append(_mark(across(change.start), "change", icon, str(change), size))
    shapes.extend(_hover(periods, length, across))
    dates = "".join(
        f'<span style="left:{across(time):.2%}"{" class=last" if place == 1 else ""}>{time:%d %b}</span>'
        for place, time in _dates(first, last)
    )
    name = html_escaped(
        f"{trend.state.label} by {'day' if length == 1 else 'week'}, {first:%Y-%m-%d} to {last:%Y-%m-%d}"
    )
    return (
        f'<div class="rb-trend-chart" role="img" aria-label="{name}">'
        f'<div class="plot"><svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" preserveAspectRatio="none">{"".join(shapes)}</svg>'
        f'{"".join(labels)}</div><div class="dates">{dates}</div></div>'
    )


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


def _dates(first: datetime, last: datetime) -> list[tuple[int, datetime]]:
    """Return some dates for the horizontal axis; 1 for the last one."""
    days = max((last - first).days, 1)
    count = min(4, days)
    return [(int(place == count), first + (last - first) * place / count) for place in range(count + 1)]


def _parts(periods: Sequence[Period], length: int) -> list[list[Period]]:
    """Return the periods in parts without a long gap."""
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


def _line(x: float, y: float, x2: float, y2: float, kind: str) -> str:
    return f'<path class="{kind}" d="M{_point(x, y)}L{_point(x2, y2)}"></path>'


def _path(points: Sequence[tuple[float, float]], kind: str) -> str:
    return f'<path class="{kind}" d="M{"L".join(_point(*point) for point in points)}"></path>'


def _band(points: Sequence[tuple[float, float, float]]) -> str:
    outline = [(x, high) for x, _, high in points] + [(x, low) for x, low, _ in reversed(points)]
    return f'<path class="band" d="M{"L".join(_point(*point) for point in outline)}Z"></path>'


def _rect(x: float, x2: float, kind: str, title: str = "") -> str:
    inside = f"<title>{html_escaped(title)}</title>" if title else ""
    return (
        f'<rect class="{kind}" x="{x * WIDTH:.1f}" y="0" width="{max(x2 - x, 0.002) * WIDTH:.1f}" height="{HEIGHT:g}">'
        f"{inside}</rect>"
    )


def _mark(x: float, kind: str, icon: str, title: str, text: str) -> str:
    side = "right" if x > 0.7 else "left"
    place = f"right:{1 - x:.2%}" if side == "right" else f"left:{x:.2%}"
    return (
        f'<span class="{kind} {side}" style="{place}" title="{html_escaped(title)}">{icon} {html_escaped(text)}</span>'
    )


def _hover(periods: Sequence[Period], length: int, across: object) -> list[str]:
    """Return invisible areas that show the figures of a period under the pointer."""
    assert callable(across)
    return [
        _rect(
            across(one.start),
            across(one.start + timedelta(days=length)),
            "hover",
            f"{one.start:%Y-%m-%d}{' (week)' if length > 1 else ''}: {one.in_words}, n = {one.n:,}",
        )
        for one in periods
    ]
