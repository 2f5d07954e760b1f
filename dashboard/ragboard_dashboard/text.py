"""Text as pages show it: nothing that somebody else wrote is markup; numbers the same everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from typing import Literal

import streamlit as st

from ragboard.analysis import STANDINGS, MetricSummary, Overruled, RunSummary, SampleReport
from ragboard.records import Outcome, Score
from ragboard.spans import inert
from ragboard.stats import interval_text, range_text
from ragboard_dashboard.data import get_metrics

__all__ = [
    "ago",
    "column_label",
    "column_title",
    "config_line",
    "dollars",
    "escaped",
    "facts",
    "file_facts",
    "judged_line",
    "mean_shown",
    "outcome_fact",
    "plain",
    "safe",
    "summary_facts",
]

Style = Literal["title", "line", "note"]
_STYLES: dict[Style, str] = {
    "title": "font-family:'Source Serif',Georgia,serif;font-size:1.6rem;font-weight:600;line-height:1.3",
    "line": "line-height:1.5",
    "note": "line-height:1.4;font-size:0.9rem;opacity:0.75",
}


def safe(text: str) -> str:
    """Text of others inside HTML."""
    return escape(inert(text))


def plain(text: str, style: Style = "line") -> None:
    """Text that somebody else wrote, shown as it is: nothing in it is markup."""
    tag = "h1" if style == "title" else "div"
    bidi = "plaintext;text-align:start" if style == "title" else "isolate"  # a line may join texts of both directions
    css = f"{_STYLES[style]};overflow-wrap:anywhere;white-space:pre-wrap;unicode-bidi:{bidi};margin:0;padding:0"
    st.html(f'<{tag} style="{css}">{safe(text)}</{tag}>')


def facts(items: list[tuple[str, str, str]]) -> None:
    """A row of figures: number, what it is, what it was counted from."""
    pieces = "".join(
        '<div style="min-width:7rem"><div><b style="font-size:1.15rem">'
        f"{escape(number)}</b> {safe(title)}</div>"
        f'<div style="font-size:0.87rem;opacity:0.75">{safe(note)}</div></div>'
        for number, title, note in items
    )
    st.html(
        f'<div style="display:flex;flex-wrap:wrap;gap:0.5rem 1.8rem;font-variant-numeric:tabular-nums">{pieces}</div>'
    )


def file_facts(items: list[tuple[str, str, str]]) -> None:
    """The same for scores from the run file, set apart from ours."""
    if items:
        plain("Scores from the run file, not computed by ragboard:", "note")
        facts(items)


def column_title(column: str) -> str:
    """How pages call a metric or a metadata column; one that is called like a metric keeps its prefix."""
    metrics = get_metrics()
    if column in metrics:
        return metrics[column].label
    name = column.removeprefix("metadata.")
    return column if any(metric.label == name for metric in metrics.values()) else name


def column_label(column: str) -> str:
    """The same for a widget that reads Markdown in its options: nothing in it is read as markup."""
    return escaped(column_title(column))


def escaped(text: str) -> str:
    """Text of others for a widget that reads Markdown."""
    return inert(text).translate(_MARKUP)


_MARKUP = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_[]$<>~#|:"})


def outcome_fact(spec: str, outcome: Outcome, more: str = "") -> tuple[str, str, str]:
    """A sample's score as a fact, with what more there is to say of it; an unscored one says why."""
    if isinstance(outcome, Score):
        return f"{outcome.value:.2f}", column_title(spec), " · ".join(filter(None, (outcome.counted, more)))
    return "unscored", column_title(spec), f"{outcome.reason}: {outcome.detail}"


def summary_facts(
    metrics: Mapping[str, MetricSummary], people: Overruled | None = None, run: RunSummary | None = None
) -> list[tuple[str, str, str]]:
    """Metrics as facts: the mean, under it the interval, how many were scored, what people make of it.

    Of a `run` each metric says who judged it where that was another evaluation than the run's own.
    """
    return [
        _summary_fact(metric, _by_people(spec, people), run.judged_elsewhere(spec) if run else "")
        for spec, metric in metrics.items()
    ]


def _by_people(spec: str, people: Overruled | None) -> str:
    again = people.metrics.get(spec) if people else None
    return f"{again.mean:.2f} with {people.in_words}" if people and again and again.mean is not None else ""


def _summary_fact(metric: MetricSummary, more: str, judge: str) -> tuple[str, str, str]:
    said = [
        interval_text(metric.interval, ".2f"),
        f"{metric.scored:,} of {metric.total:,} scored",
        metric.note,
        more,
        judge,
        f"{STANDINGS[metric.standing]} ({metric.threshold})" if metric.standing else "",
    ]
    return mean_shown(metric), column_title(metric.metric), " · ".join(filter(None, said))


def mean_shown(summary: MetricSummary) -> str:
    """`0.74`; under worst-case bounds `0.62 to 0.81`; `unscored` where there is none."""
    if summary.bounds:
        return range_text(*summary.bounds, ".2f")
    return "unscored" if summary.mean is None else f"{summary.mean:.2f}"


def dollars(cost: float | None) -> str:
    """US dollars; one that is not known is said to be so."""
    return "cost unknown" if cost is None else f"${cost:,.4f}"


def config_line(of: RunSummary | SampleReport) -> str:
    """A run's configuration in one line."""
    return ", ".join(f"{key} {value}" for key, value in of.config.items())


def judged_line(summary: RunSummary) -> None:
    """Dataset, configuration, judge and when, in one line; under it by what the intervals are clustered."""
    config = config_line(summary)
    part = summary.judged.part if summary.judged else ""
    if summary.judged is None:
        judge = "not evaluated"
    else:
        kind = " judge (rule-based)" if summary.judged.heuristic else " judge"
        now = datetime.now(UTC).replace(tzinfo=None)
        judge = f"{summary.judged.judge}{kind}, {ago(summary.judged.finished, now)}"
    plain(" · ".join(filter(None, [f"{summary.samples:,} samples of {summary.dataset}", config, judge, part])), "note")
    if summary.clustered:
        plain(f"Intervals are clustered by {summary.clustered}.", "note")


def ago(then: datetime, now: datetime) -> str:
    """How long ago, in the largest unit that fits; both UTC."""
    seconds = max(0, int((now - then).total_seconds()))
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = seconds // size
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"
