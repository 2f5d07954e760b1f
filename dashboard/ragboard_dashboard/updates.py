"""Keep pages up to date while samples arrive and are evaluated.

A page that waits for its content is redrawn as soon as the content is in the store. A page with content does not change
while the user reads it: a line says what is new, with a button that redraws the page.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from ragboard.analysis import StoreContents
from ragboard.errors import RagboardError
from ragboard.store import RunRef
from ragboard_dashboard.data import get_grows, get_store_contents
from ragboard_dashboard.text import plain

__all__ = ["offer_refresh", "redraw_when"]

TICK_SECONDS = 1.0
WAITING_TICK_SECONDS = 0.5


def offer_refresh(run: RunRef | None = None) -> None:
    """Show what is new in a growing run, or in a store with growing runs. Call this before the page reads the store."""
    if get_grows(run.run_id if run else None):
        st.fragment(_offer, run_every=TICK_SECONDS)(run, get_store_contents(run))


def redraw_when(ready: Callable[[], bool]) -> None:
    """Redraw the page as soon as `ready`, which reads the store, returns True."""
    st.fragment(_redraw, run_every=WAITING_TICK_SECONDS)(ready)


def _offer(run: RunRef | None, drawn: StoreContents) -> None:
    try:
        now = get_store_contents(run)
    except RagboardError:  # for example, the store is busy: the next call may succeed
        return
    if now == drawn:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        plain(now.added_since(drawn).capitalize(), "note", "content")
        if st.button("Refresh", key="refresh", type="tertiary", icon=":material/refresh:"):
            st.rerun()


def _redraw(ready: Callable[[], bool]) -> None:
    try:
        if not ready():
            return
    except RagboardError:  # for example, the run does not exist yet
        return
    st.rerun()
