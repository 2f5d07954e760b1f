"""The pages of the dashboard, in the order of the navigation bar.

To add a page, add a row here, and a folder in `views` with a `page.py` that has a function `draw()`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Literal

import streamlit as st

from ragboard_dashboard.settings import settings

__all__ = ["PAGES", "Page", "build_pages", "navigation_menus"]

Menu = Literal["", "Trust", "More"]
"""The menu of a page in the navigation bar; empty if the page is in the bar and not in a menu."""


@dataclass(frozen=True)
class Page:
    """One page: its name in URLs, and its entry in the navigation bar."""

    slug: str
    title: str
    icon: str
    menu: Menu | None
    """None if the page is not in the navigation bar. Other pages link to it."""
    only_writable: bool = False
    """Whether the page is hidden on a read-only server."""

    def draw(self) -> None:
        """Draw the page, whose module is named like the slug."""
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
    """Return {slug: Streamlit's page}."""
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


def navigation_menus(pages: Mapping[str, st.Page]) -> dict[str, list[st.Page]]:
    """Return the navigation bar: {menu: its pages}."""
    bar: dict[str, list[st.Page]] = {}
    for page in PAGES:
        bar.setdefault(page.menu or "", []).append(pages[page.slug])
    return bar
