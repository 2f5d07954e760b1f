"""What surrounds every page: the menu of a narrow page, and what is said when the server stops."""

from __future__ import annotations

from ragboard_dashboard.components import COMPONENTS, widget

__all__ = ["page_frame"]

_mount = widget("frame", "frame", COMPONENTS / "frame.js")


def page_frame(shown: str) -> None:
    """Mend Streamlit's frame: its narrow menu stays open after a choice, and its errors name commands of its own.

    If `shown`, what the address opens, changes, the page is shown from its top.
    """
    _mount(data={"shown": shown}, key="frame")
