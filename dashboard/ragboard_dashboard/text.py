"""Draw text and numbers on pages. Text from users and models is never interpreted as markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Literal, TypeAlias

import streamlit as st

from ragboard.analysis import (
    STATUS_LABELS,
    MetricSummary,
    OverruledVerdicts,
    RunSummary,
    SampleReport,
    dataset_label,
    headline,
)
from ragboard.metrics import find_metric
from ragboard.readers.labels import HumanGrades
from ragboard.records import Outcome, Score, Turn
from ragboard.spans import strip_bidi_controls
from ragboard.stats import interval_text, range_text
from ragboard_dashboard.data import get_metrics

__all__ = [
    "UNSCORED_REASONS",
    "Style",
    "ago",
    "column_label",
    "column_title",
    "config_line",
    "counted",
    "dollars",
    "earlier_turns",
    "facts",
    "file_facts",
    "folded_facts",
    "folded_facts_html",
    "grade_facts",
    "html_escaped",
    "judged_line",
    "markdown_escaped",
    "mean_shown",
    "outcome_fact",
    "paragraphs",
    "paragraphs_html",
    "plain",
    "shortened",
    "summary_facts",
]

UNSCORED_REASONS: Mapping[str, str] = {
    "undefined": "with nothing to judge",
    "refusal": "refused in full",
    "failed": "failed",
    "skipped": "without a column that the metric needs",
}
"""The words for each reason, for use after a number of samples, as in `3 failed`."""

MAX_OPEN_TURNS = 2
"""Maximum number of earlier turns that are shown without a click."""
MAX_OPEN_TURN_CHARS = 600
"""Maximum number of characters of earlier turns that are shown without a click, so that the question stays in view."""
Fact: TypeAlias = tuple[str, str, str]
"""A number as text, its name, and a note."""
Style = Literal["title", "heading", "line", "note"]
_HEADING = "font-family:'Source Serif',Georgia,serif;font-weight:600;line-height:1.3"
_STYLES: dict[Style, str] = {
    "title": f"{_HEADING};font-size:1.6rem",
    "heading": f"{_HEADING};font-size:1.1rem;padding:0.6rem 0 0",
    "line": "line-height:1.5",
    "note": "line-height:1.4;font-size:0.9rem;opacity:0.75",
}
_TAGS: dict[Style, str] = {"title": "h1", "heading": "h3"}


def html_escaped(text: str) -> str:
    """Escape text from users and models for HTML."""
    return escape(strip_bidi_controls(text))


def counted(count: int, noun: str) -> str:
    """Return `1 sample` or `2,000 samples`, for a noun with a plural in s."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def shortened(text: str, length: int = 40) -> str:
    """Shorten a text to at most `length` characters."""
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def plain(text: str, style: Style = "line", width: Literal["content", "stretch"] = "stretch") -> None:
    """Draw text from users or models: markup is not interpreted, and bidi control characters are removed."""
    st.html(_paragraph(text, style), width=width)


def paragraphs(texts: Iterable[tuple[str, Style]]) -> None:
    """Draw several texts as `plain` does, in one element: browsers draw it much faster than one for each text."""
    drawn = paragraphs_html(texts)
    if drawn:
        st.html(drawn)


def paragraphs_html(texts: Iterable[tuple[str, Style]]) -> str:
    """Return `paragraphs` as HTML; empty if there are no texts."""
    drawn = "".join(_paragraph(text, style) for text, style in texts)
    return f'<div style="display:grid;gap:0.7rem">{drawn}</div>' if drawn else ""


def _paragraph(text: str, style: Style) -> str:
    tag = _TAGS.get(style, "div")
    # A line can contain left-to-right and right-to-left texts.
    bidi = "plaintext;text-align:start" if style == "title" else "isolate"
    css = f"margin:0;padding:0;{_STYLES[style]};overflow-wrap:anywhere;white-space:pre-wrap;unicode-bidi:{bidi}"
    return f'<{tag} style="{css}">{html_escaped(text)}</{tag}>'


def earlier_turns(history: Sequence[Turn]) -> None:
    """Draw the earlier turns of a conversation; a long conversation is collapsed."""
    if not history:
        return
    count = f"{len(history):,} earlier turn{'s' if len(history) > 1 else ''} of the conversation"
    short = len(history) <= MAX_OPEN_TURNS and sum(len(turn.text) for turn in history) <= MAX_OPEN_TURN_CHARS
    with st.expander(count, icon=":material/forum:", expanded=short):
        paragraphs((f"{turn.role}: {turn.text}", "note") for turn in history)


def facts(items: Sequence[Fact]) -> None:
    """Draw a row of numbers, each with a name and a note."""
    st.html(_facts_html(items))


def _facts_html(items: Sequence[Fact]) -> str:
    pieces = "".join(
        '<div style="min-width:7rem;max-width:100%;overflow-wrap:anywhere"><div><b style="font-size:1.15rem">'
        f"{escape(number)}</b> {html_escaped(title)}</div>"
        f'<div style="font-size:0.87rem;opacity:0.75">{html_escaped(note)}</div></div>'
        for number, title, note in items
    )
    return (
        f'<div style="display:flex;flex-wrap:wrap;gap:0.5rem 1.8rem;font-variant-numeric:tabular-nums">{pieces}</div>'
    )


def folded_facts(by_metric: Mapping[str, Fact], note: str = "") -> None:
    """Draw the main metrics and, collapsed, the other metrics and a note."""
    st.html(folded_facts_html(by_metric, note))


def folded_facts_html(by_metric: Mapping[str, Fact], note: str = "") -> str:
    """Return `folded_facts` as HTML."""
    first = headline(list(by_metric))
    rest = [fact for spec, fact in by_metric.items() if spec not in first]
    shown = _facts_html([by_metric[spec] for spec in first])
    if rest:
        inner = _facts_html(rest) + (_paragraph(note, "note") if note else "")
        shown += f'<details class="folded"><summary>{counted(len(rest), "more metric")}</summary>{inner}</details>'
    return shown


def file_facts(items: Sequence[Fact]) -> None:
    """Draw scores from the run file."""
    if items:
        plain("Scores from the run file, not computed by ragboard:", "note")
        facts(items)


def column_title(column: str) -> str:
    """Return the name of a metric or metadata column on pages, without `metadata.` if that is unambiguous."""
    metrics = get_metrics()
    if column in metrics:
        return metrics[column].label
    if metric := find_metric(column):
        return metric.label
    name = column.removeprefix("metadata.")
    return column if any(metric.label == name for metric in metrics.values()) else name


def column_label(column: str) -> str:
    """Return the name of a column on pages, escaped for a widget with Markdown in its options."""
    return markdown_escaped(column_title(column))


def markdown_escaped(text: str) -> str:
    """Escape text from users and models for a widget that renders Markdown.

    A word joiner after each colon keeps Streamlit from replacing names of icons and emoji.
    """
    return _ICON_NAME.sub(":\N{WORD JOINER}", strip_bidi_controls(text)).translate(_MARKUP)


_MARKUP = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_[]$<>~#|:"})
_ICON_NAME = re.compile(r":(?=[\w+-])")


def outcome_fact(spec: str, outcome: Outcome, more: str = "") -> Fact:
    """Return a sample's score as a fact, with what was counted and the note `more`, or with why it is unscored."""
    if isinstance(outcome, Score):
        return f"{outcome.value:.2f}", column_title(spec), " · ".join(filter(None, (outcome.counted, more)))
    return "unscored", column_title(spec), f"{outcome.reason}: {outcome.detail}"


def grade_facts(grades: Mapping[str, HumanGrades]) -> list[Fact]:
    """Return the human grades of an answer as facts, one per dimension."""
    return [
        (
            f"{given.mean:.3g}",
            dimension.replace("_", " "),
            f"mean of {', '.join(f'{one:g}' for one in given.each)}" if len(given.each) > 1 else "",
        )
        for dimension, given in grades.items()
    ]


def summary_facts(
    metrics: Mapping[str, MetricSummary], overruled: OverruledVerdicts | None = None, run: RunSummary | None = None
) -> dict[str, Fact]:
    """Return metrics as facts: mean, interval, number of scored samples, and the mean with annotators' labels.

    With `run`, a metric that is not from the run's main evaluation names its judge.
    """
    return {
        spec: _summary_fact(metric, _overruled_note(spec, overruled), run.other_judge_note(spec) if run else "")
        for spec, metric in metrics.items()
    }


def _overruled_note(spec: str, overruled: OverruledVerdicts | None) -> str:
    recomputed = overruled.metrics.get(spec) if overruled else None
    if overruled is None or recomputed is None or recomputed.mean is None:
        return ""
    return f"{recomputed.mean:.2f} with {overruled.in_words}"


def _summary_fact(metric: MetricSummary, more: str, judge: str) -> Fact:
    notes = [
        interval_text(metric.interval, ".2f"),
        f"{metric.scored:,} of {metric.total:,} scored",
        metric.note,
        metric.caution,
        more,
        judge,
        f"{STATUS_LABELS[metric.threshold_status]} ({metric.threshold})" if metric.threshold_status else "",
    ]
    return mean_shown(metric), column_title(metric.metric), " · ".join(filter(None, notes))


def mean_shown(summary: MetricSummary) -> str:
    """Format a mean: `0.74`, `0.62 to 0.81` (worst-case bounds) or `unscored`."""
    if summary.bounds:
        return range_text(*summary.bounds, ".2f")
    return "unscored" if summary.mean is None else f"{summary.mean:.2f}"


def dollars(cost: float | None) -> str:
    """Format a cost in US dollars: `$0.0042`, or `cost unknown` for None."""
    return "cost unknown" if cost is None else f"${cost:,.4f}"


def config_line(run: RunSummary | SampleReport) -> str:
    """Return a run's configuration in one line."""
    return ", ".join(f"{shortened(key)} {shortened(str(value))}" for key, value in run.config.items())


def judged_line(summary: RunSummary) -> None:
    """Draw a line with dataset, configuration, judge and time, and notes on judge and intervals."""
    config = config_line(summary)
    part = summary.judged.part if summary.judged else ""
    if summary.judged is None:
        judge = "not evaluated"
    else:
        now = datetime.now(UTC).replace(tzinfo=None)
        judge = f"judged by {summary.judged.in_words}, {ago(summary.judged.finished, now)}"
    named = "" if dataset_label(summary.dataset) != summary.dataset else f" of {summary.dataset}"
    notes = [" · ".join(filter(None, [f"{counted(summary.samples, 'sample')}{named}", config, judge, part]))]
    if summary.judged and summary.judged.heuristic:
        notes.append(
            'The judge is rule-based: its verdicts are hints, even "likely" ones. Means count "possibly supported" as'
            " supported."
        )
    if summary.clustered:
        notes.append(f"Intervals are clustered by {summary.clustered}.")
    paragraphs((note, "note") for note in notes)


def ago(then: datetime, now: datetime) -> str:
    """Format the time since `then` in the largest unit that fits; both are UTC."""
    seconds = max(0, int((now - then).total_seconds()))
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = seconds // size
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"
