"""Draw a chart of judges on labelled sets: AUROC with 95% CI, one row for each judge and baseline on each set."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ragboard.export.html import render
from ragboard.human.judge_bench import BenchFigures, BenchLine, JudgeBench
from ragboard.stats import Interval, estimate_text

__all__ = ["judge_chart"]

AXIS_LEFT, AXIS_RIGHT, ROW_HEIGHT = 250, 590, 22
"""Left and right end of the axis and the height of a row, in pixels."""

JUDGE_COLOURS = 6
"""Number of colours for judges in the template. With more judges, colours are repeated."""

MAX_NAME_CHARACTERS = 32
"""Maximum number of characters of a name; longer names are cut."""


@dataclass(frozen=True, kw_only=True)
class _Row:
    """A row of the chart: the heading of a set, or a judge or baseline on this set. Positions are in pixels."""

    y: int
    label: str
    """The full name, shown as a tooltip."""
    style: str = ""
    """CSS classes: `judge jN` or `baseline`; empty for a heading."""
    text: str = ""
    """The estimate in words."""
    x: float | None = None
    """Position of the dot, at the AUROC; None without a value."""
    x_low: float = 0.0
    """Start of the whisker, at the lower end of the CI."""
    x_high: float = 0.0
    """End of the whisker, at the upper end of the CI."""

    @property
    def name(self) -> str:
        """The label, shortened to fit."""
        return self.label if len(self.label) <= MAX_NAME_CHARACTERS else f"{self.label[: MAX_NAME_CHARACTERS - 1]}…"


def judge_chart(bench: JudgeBench) -> str:
    """Return the chart as SVG with a light and a dark style. It has no scripts and needs no other files."""
    figures = [bench_figures for line in bench.lines for bench_figures in (*line.by_set.values(), line.mean)]
    lowest = min([0.5, *(value for figure in figures for value in _bounds(figure))])
    start = max(math.floor(lowest * 10), 0) / 10
    rows = list(_rows(bench, start))
    return render(
        "judges.svg",
        "AUROC of judges and baselines",
        rows=rows,
        ticks=[(_x(tick / 10, start), f"{tick / 10:.1f}") for tick in range(round(start * 10), 11)],
        coin_x=_x(0.5, start),
        height=rows[-1].y + 3 * ROW_HEIGHT,
        bottom=rows[-1].y + ROW_HEIGHT,
        right=AXIS_RIGHT,
        left=AXIS_LEFT,
    )


def _bounds(figures: BenchFigures) -> Iterator[float]:
    measured = figures.auroc
    if measured.value is not None:
        yield measured.value
    if isinstance(measured.interval, Interval):
        yield measured.interval.low


def _x(value: float, start: float) -> float:
    return round(AXIS_LEFT + (AXIS_RIGHT - AXIS_LEFT) * (value - start) / (1 - start), 1)


def _rows(bench: JudgeBench, start: float) -> Iterator[_Row]:
    groups = [
        (bench_set.name, [(line, line.by_set[bench_set.name]) for line in bench.lines if bench_set.name in line.by_set])
        for bench_set in bench.sets
    ]
    if len(bench.sets) > 1:
        groups.append(("mean over sets", [(line, line.mean) for line in bench.lines]))
    styles = {
        line.name: f"judge j{number % JUDGE_COLOURS}" if line.kind == "judge" else "baseline"
        for number, line in enumerate(bench.lines)
    }
    y = 2 * ROW_HEIGHT
    for heading, lines in groups:
        yield _Row(y=y, label=heading)
        for line, figures in lines:
            y += ROW_HEIGHT
            yield _scorer_row(y, line, figures, styles[line.name], start)
        y += 2 * ROW_HEIGHT - 6


def _scorer_row(y: int, line: BenchLine, figures: BenchFigures, style: str, start: float) -> _Row:
    value, interval = figures.auroc.value, figures.auroc.interval
    if value is None:
        return _Row(y=y, label=line.name, style=style, text="no AUROC")
    low, high = (interval.low, interval.high) if isinstance(interval, Interval) else (value, value)
    return _Row(
        y=y,
        label=line.name,
        style=style,
        text=estimate_text(value, interval, ".2f"),
        x=_x(value, start),
        x_low=_x(low, start),
        x_high=_x(high, start),
    )
