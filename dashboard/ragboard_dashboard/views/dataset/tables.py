"""The tables of the Dataset page as HTML."""

from __future__ import annotations

from collections.abc import Sequence

from ragboard.analysis import MetricSummary, Trend, TrendPoint
from ragboard.analysis.verdict_style import NUGGET_STYLES
from ragboard.datasets import NuggetTable, RunNuggets
from ragboard.records import Nugget, Score
from ragboard.stats import Interval
from ragboard.store.queries.nuggets import DatasetRow
from ragboard_dashboard.links import address
from ragboard_dashboard.text import html_escaped, shortened

__all__ = ["datasets_html", "nuggets_html", "trend_html"]

SHOWN_SCORES = {"nuggets.vital_strict": "Vital, strict", "nuggets.all": "All"}
MAX_NAME = 28
"""Maximum number of characters of a run name in a heading."""


def datasets_html(rows: Sequence[DatasetRow]) -> str:
    """Return a table of the datasets and their sizes. Each name is a link to the dataset."""
    body = "".join(
        f'<tr><th scope="row"><a href="{html_escaped(address("dataset", {"dataset": row.name}))}" target="_self">'
        f"{html_escaped(row.name)}</a></th><td>{row.questions:,}</td><td>{row.runs:,}</td><td>{row.references:,}</td>"
        f"<td>{row.nuggets:,}</td><td>{row.approved:,}</td><td>{row.labels:,}</td></tr>"
        for row in rows
    )
    titles = ("Dataset", "Questions", "Runs", "With reference", "With nuggets", "Approved", "Human labels")
    head = "".join(f'<th scope="col">{title}</th>' for title in titles)
    return f'<table class="rb-dataset"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def trend_html(trend: Trend) -> str:
    """Return a table with the mean of each run, its 95% CI on one scale, and the difference from the run before."""
    low, high = _scale(trend.points)
    body = "".join(_trend_row(point, low, high) for point in trend.points)
    scale = f"{low:.2f} to {high:.2f}"
    return (
        '<table class="rb-dataset rb-trend"><thead><tr><th scope="col">Run</th>'
        f'<th scope="col">{html_escaped(trend.label)}</th><th scope="col">{scale}</th>'
        '<th scope="col">Difference from the run before</th></tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def _scale(points: Sequence[TrendPoint]) -> tuple[float, float]:
    """Return the ends of a scale that has room for every mean and interval."""
    ends = [0.0, 1.0]
    for point in points:
        if point.summary and point.summary.mean is not None:
            interval = point.summary.interval
            ends += [interval.low, interval.high] if isinstance(interval, Interval) else [point.summary.mean]
    return min(ends), max(ends)


def _trend_row(point: TrendPoint, low: float, high: float) -> str:
    run, summary = point.run, point.summary
    link = html_escaped(address("run", {"run": run.name}))
    judge = f", judged by {summary.judged.in_words}" if summary and summary.judged else ""
    about = html_escaped(f"{run.imported:%Y-%m-%d}{judge}")
    difference = html_escaped(point.difference_in_words)
    if point.difference:
        compared = html_escaped(address("compare", {"a": point.previous, "b": run.name}))
        difference = f'<a href="{compared}" target="_self">{difference}</a>'
    return (
        f'<tr><th scope="row"><a href="{link}" target="_self">{html_escaped(shortened(run.name, MAX_NAME))}</a>'
        f'<span class="rb-quiet">{about}</span></th><td>{html_escaped(point.mean_in_words)}</td>'
        f"<td>{_dot(summary, low, high)}</td><td>{difference}</td></tr>"
    )


def _dot(summary: MetricSummary | None, low: float, high: float) -> str:
    """Return the mean as a dot and its interval as a line. The cell next to it has both as numbers."""
    if summary is None or summary.mean is None:
        return ""

    def percent(value: float) -> float:
        return 100 * (value - low) / (high - low)

    line = ""
    if isinstance(summary.interval, Interval):
        start, end = percent(summary.interval.low), percent(summary.interval.high)
        line = f'<span class="rb-line" style="left:{start:.1f}%;width:{end - start:.1f}%"></span>'
    dot = f'<span class="rb-dot" style="left:{percent(summary.mean):.1f}%"></span>'
    return f'<span class="rb-track" aria-hidden="true">{line}{dot}</span>'


def nuggets_html(table: NuggetTable) -> str:
    """Return a table of the nuggets in each run's answer to one question, and the score of each answer."""
    head = "".join(f'<th scope="col">{_run(run)}</th>' for run in table.runs)
    body = "".join(_row(nugget, table.runs) for nugget in table.nuggets)
    scores = "".join(_scores(spec, title, table) for spec, title in SHOWN_SCORES.items())
    return (
        '<table class="rb-dataset rb-nuggets"><thead><tr><th scope="col">Nugget</th><th scope="col">Importance</th>'
        f"{head}</tr></thead><tbody>{body}</tbody><tfoot>{scores}</tfoot></table>"
    )


def _run(run: RunNuggets) -> str:
    name = html_escaped(shortened(run.run, MAX_NAME))
    if run.sample_id is None:
        return name
    link = html_escaped(address("sample", {"run": run.run, "sample": run.sample_id}))
    judge = (
        f'<span class="rb-quiet">judged by {html_escaped(shortened(run.judge, MAX_NAME))}</span>' if run.judge else ""
    )
    return f'<a href="{link}" target="_self">{name}</a>{judge}'


def _row(nugget: Nugget, runs: Sequence[RunNuggets]) -> str:
    cells = "".join(_cell(run, nugget) for run in runs)
    importance = nugget.importance or "not set"
    return f'<tr><th scope="row">{html_escaped(nugget.text)}</th><td>{importance}</td>{cells}</tr>'


def _cell(run: RunNuggets, nugget: Nugget) -> str:
    found = run.labels.get(nugget.text)
    name = html_escaped(shortened(run.run, MAX_NAME))
    if found is None:
        return f'<td data-run="{name}"><span class="rb-quiet">not judged</span></td>'
    icon, word = NUGGET_STYLES[found.label]
    reason = f'<span class="rb-quiet">{html_escaped(found.reason)}</span>' if found.reason else ""
    return f'<td data-run="{name}"><b>{icon} {word}</b>{reason}</td>'


def _scores(spec: str, title: str, table: NuggetTable) -> str:
    cells = ""
    for run in table.runs:
        outcome = run.scores(table.nuggets)[spec]
        name = html_escaped(shortened(run.run, MAX_NAME))
        shown = (
            f'<b>{outcome.value:.2f}</b><span class="rb-quiet">{html_escaped(outcome.counted)}</span>'
            if isinstance(outcome, Score)
            else f'<span class="rb-quiet">{html_escaped(outcome.detail)}</span>'
        )
        cells += f'<td data-run="{name}">{shown}</td>'
    return f'<tr><th scope="row">Score: {title}</th><td></td>{cells}</tr>'
