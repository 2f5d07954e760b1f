"""Ways from page to page; each address carries what the page shows."""

from __future__ import annotations

from typing import NoReturn

import streamlit as st

from ragboard_dashboard.pages import pages

__all__ = ["open_run", "open_runs", "open_sample", "open_upload"]


def open_runs() -> NoReturn:
    """Go to the leaderboard."""
    _go("runs", {})


def open_upload() -> NoReturn:
    """Go to the upload page."""
    _go("upload", {})


def open_run(run: str) -> NoReturn:
    """Go to a run."""
    _go("run", {"run": run})


def open_sample(run: str, sample_id: str, statement: int | None = None) -> NoReturn:
    """Go to a sample, at a statement where one is named (counted from 1)."""
    _go("sample", {"run": run, "sample": sample_id} | ({"statement": str(statement)} if statement else {}))


def _go(page: str, query: dict[str, str]) -> NoReturn:
    st.switch_page(pages()[page], query_params=query)
