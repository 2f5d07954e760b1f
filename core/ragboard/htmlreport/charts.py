"""Small pictures as inline SVG. What they show stands in words beside them, so that they are hidden from readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragboard.analysis import Bin
from ragboard.analysis.verdict_style import VERDICTS
from ragboard.htmlreport.elements import Element, element
from ragboard.metrics.partition import CORRECT, FROM_PASSAGES, ORIGINS, Origin
from ragboard.records import Label
from ragboard.stats import Interval, NoInterval

__all__ = ["difference_chart", "histogram", "interval_chart", "origins_bar", "verdict_bar"]

WIDTH, HEIGHT = 240, 18
PAD = 6
TALL = 34
"""Height of a histogram."""


def interval_chart(mean: float | None, interval: Interval | NoInterval, low: float, high: float) -> Element:
    """A mean, unless it is None, and its interval on the scale from `low` to `high`."""
    return _whisker(mean, interval, low, high, class_="chart data")


def difference_chart(difference: float, interval: Interval | NoInterval, reach: float, look: str) -> Element:
    """A difference and its interval on the scale from `-reach` to `reach`, with a line at none."""
    return _whisker(difference, interval, -reach, reach, class_=f"chart {look}", zero=True)


def histogram(bins: Sequence[Bin]) -> Element:
    """How many values fall into each bin."""
    most = max((part.count for part in bins), default=0) or 1
    wide = (WIDTH - 2 * PAD) / len(bins)
    bars = [
        element(
            "rect",
            x=_at(PAD + place * wide + 0.5),
            y=_at(TALL - tall),
            width=_at(wide - 1),
            height=_at(tall),
            class_="bin",
        )
        for place, part in enumerate(bins)
        if (tall := (TALL - 2) * part.count / most)
    ]
    ground = element("line", x1=PAD, x2=WIDTH - PAD, y1=TALL, y2=TALL, class_="axis")
    return _picture(ground, *bars, height=TALL, class_="chart data")


def verdict_bar(labels: Mapping[Label, int]) -> Element:
    """The share of each verdict, side by side."""
    return _bar([(count, look.css) for label, look in VERDICTS.items() if (count := labels.get(label, 0))])


def origins_bar(counts: Mapping[Origin, int]) -> Element:
    """The share of each class of the six-way partition, side by side."""
    return _bar([(count, origin_look(origin)) for origin in ORIGINS if (count := counts.get(origin, 0))])


def origin_look(origin: Origin) -> str:
    """Solid: from a relevant passage; paler: from an irrelevant one; only framed: from none."""
    right = "right" if origin in CORRECT else "wrong"
    if origin not in FROM_PASSAGES:
        return f"{right} framed"
    return f"{right} solid" if origin in ("right_relevant", "wrong_relevant") else f"{right} pale"


def _bar(parts: Sequence[tuple[int, str]]) -> Element:
    total, start = sum(count for count, _ in parts) or 1, 0.0
    pieces: list[Element] = []
    for count, look in parts:
        wide = 1000 * count / total
        pieces.append(
            element("rect", x=_at(start + 1), y=1, width=_at(max(wide - 2, 1)), height=14, class_=f"part {look}")
        )
        start += wide
    return element("svg", *pieces, viewBox="0 0 1000 16", preserveAspectRatio="none", class_="bar", aria_hidden="true")


def _whisker(
    value: float | None, interval: Interval | NoInterval, low: float, high: float, *, class_: str, zero: bool = False
) -> Element:
    def at(place: float) -> str:
        share = (min(max(place, low), high) - low) / ((high - low) or 1)
        return _at(PAD + share * (WIDTH - 2 * PAD))

    middle = HEIGHT / 2
    parts = [element("line", x1=PAD, x2=WIDTH - PAD, y1=middle, y2=middle, class_="axis")]
    if zero:
        parts.append(element("line", x1=at(0), x2=at(0), y1=0, y2=HEIGHT, class_="zero"))
    if isinstance(interval, Interval):
        parts.append(element("line", x1=at(interval.low), x2=at(interval.high), y1=middle, y2=middle, class_="whisker"))
    if value is not None:
        parts.append(element("circle", cx=at(value), cy=middle, r=4, class_="dot"))
    return _picture(*parts, height=HEIGHT, class_=class_)


def _picture(*parts: Element, height: int, class_: str) -> Element:
    return element("svg", *parts, viewBox=f"0 0 {WIDTH} {height}", class_=class_, aria_hidden="true")


def _at(place: float) -> str:
    return f"{place:.1f}"
