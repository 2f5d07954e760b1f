"""The frame around every page: corrections of Streamlit's frame, and links in HTML."""

from __future__ import annotations

import streamlit as st

from ragboard_dashboard.components import COMPONENTS, widget
from ragboard_dashboard.links import open_address

__all__ = ["page_frame"]

_mount = widget("frame", "frame", COMPONENTS / "frame.js")


def page_frame(shown: str) -> None:
    """Correct Streamlit's frame: close the narrow menu after a choice, and say how to restart the server.

    If `shown`, the item in the URL, changes, the page is scrolled to its top. Links with the class
    `in-session` open in this session.
    """
    _mount(data={"shown": shown}, key="frame", on_open_change=_open)


def _open() -> None:
    """Open the link that was clicked, before anything is drawn."""
    open_address(st.session_state["frame"].open)
