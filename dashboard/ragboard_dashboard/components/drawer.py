"""The menu of a narrow page, a drawer that closes once a page is chosen in it."""

from __future__ import annotations

from ragboard_dashboard.components import COMPONENTS, widget

__all__ = ["closing_drawer"]

_mount = widget("drawer", "drawer", COMPONENTS / "drawer.js")


def closing_drawer() -> None:
    """Have the menu close after a choice: Streamlit leaves it open over the page that was chosen."""
    _mount(key="drawer")
