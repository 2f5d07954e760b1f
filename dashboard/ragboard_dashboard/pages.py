"""The pages of the dashboard, in the order of the navigation bar.

To add a page, add a folder in `views` with a `page.py` that has a function `draw()`, and a row here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Literal

import streamlit as st

from ragboard_dashboard.settings import settings

__all__ = ["PAGES", "Page", "bar_of", "build_pages"]

Menu = Literal["", "Trust", "More"]
"""The menu that contains a page in the navigation bar; empty: the page is in the bar itself."""


@dataclass(frozen=True)
class Page:
    """One page: its name in URLs, and its entry in the navigation bar."""

    slug: str
    title: str
    icon: str
    menu: Menu | None
    """None: the page is not in the navigation bar; other pages link to it."""
    only_writable: bool = False
    """Whether the page is hidden on a read-only server."""

    def draw(self) -> None:
        """Draw the page; its module has the name of the slug."""
        import_module(f"ragboard_dashboard.views.{self.slug}.page").draw()


PAGES = (
    Page("runs", "Runs", "", ""),
    Page("run", "Run", "", None),
    Page("sample", "Sample", "", None),
    Page("evaluate", "Evaluate", "", None),
    Page("compare", "Compare", "", ""),
    Page("diagnosis", "Diagnosis", "", ""),
    Page("hallucinations", "Hallucinations", "", ""),
    Page("agreement", "Agreement", "handshake", "Trust"),
    Page("annotate", "Annotate", "rate_review", "Trust", only_writable=True),
    Page("estimate", "Estimate", "straighten", "Trust"),
    Page("upload", "Upload", "upload_file", "More", only_writable=True),
    Page("dataset", "Datasets", "quiz", "More"),
    Page("trend", "Trends", "timeline", "More"),
    Page("query", "Query", "database", "More"),
    Page("metrics", "Metrics", "functions", "More"),
)
"""All pages; the first is the start page."""


def build_pages() -> dict[str, st.Page]:
    """Build Streamlit's pages, by slug."""
    return {
        page.slug: st.Page(
            page.draw,
            title=page.title,
            icon=f":material/{page.icon}:" if page.icon else None,
            url_path=page.slug,
            default=page is PAGES[0],
            visibility="hidden" if page.menu is None or (page.only_writable and settings().read_only) else "visible",
        )
        for page in PAGES
    }


def bar_of(pages: Mapping[str, st.Page]) -> dict[str, list[st.Page]]:
    """Group the pages by menu, for the navigation bar."""
    bar: dict[str, list[st.Page]] = {}
    for page in PAGES:
        bar.setdefault(page.menu or "", []).append(pages[page.slug])
    return bar
