"""The frame around every page: corrections of Streamlit's frame, and links in HTML."""

from __future__ import annotations

from ragboard_dashboard.components import COMPONENTS, widget

__all__ = ["page_frame"]

_mount = widget("frame", "frame", COMPONENTS / "frame.js")


def page_frame(shown: str) -> None:
    """Correct Streamlit's frame: close the narrow menu after a choice, and say how to restart the server.

    If `shown`, the item in the URL, changes, the page is scrolled to its top. Links with the class `in-session` open in
    this session.
    """
    _mount(data={"shown": shown}, key="frame")
