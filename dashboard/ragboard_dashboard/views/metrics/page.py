"""Metrics: what each of them means, counts, needs and costs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from ragboard.analysis import BETTER, metric_groups, metric_range, metric_settings
from ragboard.analysis.verdict_style import ARROWS
from ragboard.export import metrics_frame
from ragboard.records import MetricDescription
from ragboard_dashboard.controls import export_control
from ragboard_dashboard.data import get_metrics
from ragboard_dashboard.text import plain, safe

__all__ = ["draw"]

STYLES = Path(__file__).with_name("metrics.css")


def draw() -> None:
    """Draw the page."""
    title, box, action = st.columns([5, 3, 1], vertical_alignment="bottom")
    title.header("Metrics", anchor=False)
    search = box.text_input(
        "Search",
        placeholder="Search names, meanings, formulas",
        label_visibility="collapsed",
        key="q",
        bind="query-params",
    )
    groups = metric_groups(get_metrics().values(), search)
    with action:
        export_control("metrics", lambda: metrics_frame(one for group in groups.values() for one in group))
    count = sum(map(len, groups.values()))
    plain(
        f"{count} metric{'' if count == 1 else 's'}. The same name means different things in different tools, "
        "so each metric is named by its source too.",
        "note",
    )
    if not groups:
        st.info("No metric matches these words.", icon=":material/search_off:")
        return
    st.html(STYLES)
    st.html(_catalogue(groups))


def _catalogue(groups: Mapping[str, tuple[MetricDescription, ...]]) -> str:
    """A section for each source, an article for each metric."""
    return "".join(
        f'<section class="rb-source"><h2>{safe(source)}</h2>'
        f'<div class="rb-metrics">{"".join(map(_article, metrics))}</div></section>'
        for source, metrics in groups.items()
    )


def _article(metric: MetricDescription) -> str:
    facts = {
        "Needs": ", ".join(metric.requires) or "the question only",
        "Judge calls": metric.calls,
        "Settings": metric_settings(metric),
        "Source": metric.paper,
    }
    rows = "".join(f"<dt>{what}</dt><dd>{safe(text)}</dd>" for what, text in facts.items() if text)
    better = f"{ARROWS[metric.direction]} {BETTER[metric.direction]}".strip()
    return (
        f'<article><header><h3>{safe(metric.label)}</h3><code class="rb-spec">{safe(metric.spec)}</code></header>'
        f'<p class="rb-better"><b>{better}</b> {metric_range(metric)}</p>'
        f'<p class="rb-formula">{safe(metric.formula)}</p>{_paragraphs(metric.text)}<dl>{rows}</dl></article>'
    )


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{_code(' '.join(part.split()))}</p>" for part in re.split(r"\n\s*\n", text) if part.strip())


def _code(text: str) -> str:
    """Words between backticks set as code, as docstrings have them."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", safe(text))
