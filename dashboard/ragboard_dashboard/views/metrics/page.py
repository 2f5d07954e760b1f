"""The Metrics page: what each metric means, how it is computed, and what it needs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from ragboard.analysis import (
    BETTER,
    MORE_PASSAGES,
    metric_groups,
    metric_judge,
    metric_needs,
    metric_range,
    metric_settings,
    metric_source_label,
    metric_summary,
)
from ragboard.analysis.verdict_style import ARROWS
from ragboard.export import metrics_frame
from ragboard.records import MetricDescription
from ragboard_dashboard.controls import export_control
from ragboard_dashboard.data import get_metrics, known_metrics
from ragboard_dashboard.text import html_escaped, plain

__all__ = ["draw"]

STYLES = Path(__file__).with_name("metrics.css")
FEW = 3
"""If a search finds at most this many metrics, they are shown in full."""


def draw() -> None:
    """Draw the page."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header("Metrics", anchor=False, width="content")
        search = st.text_input(
            "Search",
            placeholder="Search names, meanings, formulas",
            label_visibility="collapsed",
            key="q",
            bind="query-params",
            width=300,
        )
    groups = metric_groups(get_metrics().values(), search, known_metrics())
    if not groups:
        st.info("No metric matches these words.", icon=":material/search_off:")
        return
    count = sum(map(len, groups.values()))
    st.html(STYLES)
    st.html(_catalogue(groups, opened=bool(search) and count <= FEW))
    plain(
        f"{count} metric{'' if count == 1 else 's'}. The same name can mean different things in different tools, "
        "so each metric is shown with its source. Click a metric to see its formula and settings.",
        "note",
    )
    with st.container(width=130):
        export_control("metrics", lambda: metrics_frame(one for group in groups.values() for one in group))


def _catalogue(groups: Mapping[str, tuple[MetricDescription, ...]], *, opened: bool) -> str:
    """Return a section for each group, with an article for each metric."""
    return "".join(
        f'<section class="rb-question"><h2>{html_escaped(question)}</h2>'
        f"{''.join(_article(metric, opened=opened) for metric in metrics)}</section>"
        for question, metrics in groups.items()
    )


def _article(metric: MetricDescription, *, opened: bool) -> str:
    """Return a line with name, summary, direction, range, needs and source. A click expands the details."""
    known = known_metrics()
    judge = metric_judge(metric, known)
    needs = ", ".join(filter(None, (metric_needs(metric, known), judge if judge == "a chat model" else "")))
    facts = {
        "Judge": judge,
        "Judge calls": metric.calls,
        "Passages": MORE_PASSAGES.get(metric.more_passages, ""),
        "Settings": metric_settings(metric),
        "Source": metric.paper,
    }
    rows = "".join(f"<dt>{what}</dt><dd>{html_escaped(text)}</dd>" for what, text in facts.items() if text)
    better = f"{ARROWS[metric.direction]} {BETTER[metric.direction]}".strip()
    rest = metric.text.partition("\n\n")[2]
    return (
        f"<article><details{' open' if opened else ''}><summary>"
        f'<h3>{html_escaped(metric.label)}</h3><span class="rb-said">{_code(metric_summary(metric, known))}</span>'
        f'<span class="rb-better"><b>{better}</b> {metric_range(metric)}</span>'
        f'<span class="rb-needs">{html_escaped(needs)}</span>'
        f'<span class="rb-origin">{html_escaped(metric_source_label(metric, known))}</span></summary>'
        f'<div class="rb-more"><code class="rb-spec">{html_escaped(metric.spec)}</code>'
        f'<p class="rb-formula">{html_escaped(metric.formula)}</p>'
        f"{_paragraphs(rest)}<dl>{rows}</dl></div></details></article>"
    )


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{_code(' '.join(part.split()))}</p>" for part in re.split(r"\n\s*\n", text) if part.strip())


def _code(text: str) -> str:
    """Return HTML in which words between backticks are code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html_escaped(text))
