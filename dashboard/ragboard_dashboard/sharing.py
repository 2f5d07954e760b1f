"""What a page gives away: its tables as files, and a report to send. Both are made only once they are asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Literal

import pandas as pd
import streamlit as st

from ragboard.exporting import TABLE_FORMATS, table_bytes

__all__ = ["export_control", "report_button"]

_UNNAMED = re.compile(r"[^\w.-]+")
LONGEST = 80
"""Characters of a file's name."""


def export_control(name: str, frame: Callable[[], pd.DataFrame]) -> None:
    """Draw the export of a table; `name` is what its files are called, and stands for it on a page."""
    with st.popover("Export", icon=":material/download:", width="stretch"):
        for kind in TABLE_FORMATS:
            st.download_button(
                kind.upper(),
                partial(_written, frame, kind),
                file_name=_file_name(name, kind),
                key=f"export-{name}-{kind}",
                on_click="ignore",
                width="stretch",
            )


def _written(frame: Callable[[], pd.DataFrame], kind: str) -> bytes:
    return table_bytes(frame(), kind)


def report_button(name: str, written: Callable[[], str], width: Literal["content", "stretch"] = "content") -> None:
    """Draw the button that gives the page as one HTML file."""
    st.download_button(
        "Report",
        lambda: written().encode(),
        file_name=_file_name(name, "html"),
        mime="text/html",
        key="report",
        on_click="ignore",
        icon=":material/share:",
        help="One HTML file that opens anywhere, without a server or a network",
        width=width,
    )


def _file_name(name: str, ending: str) -> str:
    """A name that any file system takes."""
    return f"{_UNNAMED.sub('-', name).strip('-.')[:LONGEST] or 'ragboard'}.{ending}"
