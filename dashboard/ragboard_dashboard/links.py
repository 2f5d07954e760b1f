"""Ways from page to page; each address carries what the page shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

import streamlit as st

__all__ = [
    "keep_pages",
    "link_to",
    "open_comparison",
    "open_diagnosis",
    "open_evaluate",
    "open_page",
    "open_query",
    "open_run",
    "open_runs",
    "open_sample",
    "open_upload",
]


def keep_pages(pages: Mapping[str, st.Page]) -> None:
    """Tell this session's pages by name, so that a page can lead to another without importing it."""
    st.session_state["pages"] = pages


def link_to(page: str, label: str, query: Mapping[str, str], icon: str | None = None) -> None:
    """Draw a link to a page; the label is read as Markdown."""
    st.page_link(st.session_state["pages"][page], label=label, icon=icon, query_params=dict(query))


def open_page(page: str, query: Mapping[str, str]) -> NoReturn:
    """Go to a page by its name in addresses."""
    _go(page, dict(query))


def open_upload() -> NoReturn:
    """Go to the upload page."""
    _go("upload", {})


def open_runs() -> NoReturn:
    """Go to the leaderboard."""
    _go("runs", {})


def open_diagnosis(run: str) -> NoReturn:
    """Go to what a run's numbers suggest."""
    _go("diagnosis", {"run": run})


def open_evaluate(run: str) -> NoReturn:
    """Go to where a run is evaluated."""
    _go("evaluate", {"run": run})


def open_run(run: str) -> NoReturn:
    """Go to a run."""
    _go("run", {"run": run})


def open_sample(run: str, sample_id: str, statement: int | None = None) -> NoReturn:
    """Go to a sample, at a statement where one is named (counted from 1)."""
    _go("sample", {"run": run, "sample": sample_id} | ({"statement": str(statement)} if statement else {}))


def open_query(sql: str) -> NoReturn:
    """Go to the console with a statement, which is not run yet."""
    _go("query", {"sql": sql})


def open_comparison(a: str, b: str) -> NoReturn:
    """Go to the comparison of run B against run A."""
    _go("compare", {"a": a, "b": b})


def _go(page: str, query: dict[str, str]) -> NoReturn:
    if chosen := st.query_params.get("unscored"):
        query = query | {"unscored": chosen}
    st.switch_page(st.session_state["pages"][page], query_params=query)
