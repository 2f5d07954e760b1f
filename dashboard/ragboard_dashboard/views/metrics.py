"""Metrics: what each of them means, counts, needs and costs."""

from __future__ import annotations

from importlib.resources import files

import streamlit as st

from ragboard.analysis import metric_groups
from ragboard.exporting import metrics_frame
from ragboard_dashboard.components.catalogue import catalogue_html
from ragboard_dashboard.data import get_metrics
from ragboard_dashboard.shared import plain
from ragboard_dashboard.sharing import export_control

__all__ = ["page"]

STYLE = (files("ragboard_dashboard") / "components" / "catalogue.css").read_text("utf-8")


def page() -> None:
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
        f"{count} metric{'' if count == 1 else 's'}. The same word means different things in different systems, "
        "so each is known by its source and name.",
        "note",
    )
    if not groups:
        st.info("No metric has all of these words.", icon=":material/search_off:")
        return
    st.html(f"<style>{STYLE}</style>")
    st.html(catalogue_html(groups))
