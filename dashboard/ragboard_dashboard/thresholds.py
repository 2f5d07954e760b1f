"""The threshold of a metric: what was set, how many samples reach it, and the form that sets it."""

from __future__ import annotations

import streamlit as st

from ragboard.analysis import Share
from ragboard.errors import RagboardError
from ragboard.stats import Interval
from ragboard_dashboard.data import get_metrics, keep_threshold, writable
from ragboard_dashboard.shared import plain

__all__ = ["share_line", "threshold_editor"]


def share_line(share: Share) -> str:
    """`47 of 60 at least 0.8: 78% (66% to 87%)`."""
    bounds = share.interval
    interval = f" ({bounds.low:.0%} to {bounds.high:.0%})" if isinstance(bounds, Interval) else ""
    percent = f": {share.good / share.n:.0%}" if share.n else ""
    return f"{share.good:,} of {share.n:,} {share.threshold}{percent}{interval}"


def threshold_editor(column: str, share: Share | None) -> None:
    """Draw what opens the form, of a metric that is better one way, where pages may change what is kept."""
    metric = get_metrics().get(column)
    if metric is None or metric.direction == "neutral" or not writable():
        return
    threshold = share.threshold if share else None
    label = f"Threshold: {threshold}" if threshold else "Set a threshold"
    with st.popover(label, icon=":material/flag:", width="content"):
        good = "at least" if metric.direction == "higher" else "at most"
        plain(f"{metric.label} is to be {good} this, in every run. It is kept in the store.", "note")
        _form(column, threshold.value if threshold else None)


def _form(column: str, now: float | None) -> None:
    with st.form(f"threshold-{column}", border=False):
        value = st.number_input("Threshold", value=now, step=0.05, format="%.3f", placeholder="none")
        if not st.form_submit_button("Keep", icon=":material/save:", help="An empty field takes it away."):
            return
    try:
        keep_threshold(column, value)
    except RagboardError as error:
        st.error("That is no threshold.", icon=":material/error:")
        plain(str(error))
        return
    st.rerun()
