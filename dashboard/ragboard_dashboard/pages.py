"""The pages: a row each. A new page is a folder in `views` whose `page.py` has a function `draw()`, and a row here."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Literal

import streamlit as st

from ragboard_dashboard.data import writable

__all__ = ["PAGES", "Page", "build_pages"]

Shown = Literal["always", "writable", "never"]


@dataclass(frozen=True)
class Page:
    """One page: its name in addresses, its title and icon in the bar at the top, and when it is named there."""

    slug: str
    title: str
    icon: str
    shown: Shown = "always"
    """`writable`: where pages may change what is kept; `never`: other pages lead to it."""

    def draw(self) -> None:
        """Draw it: the module is named after the address."""
        import_module(f"ragboard_dashboard.views.{self.slug}.page").draw()


PAGES = (
    Page("runs", "Runs", "leaderboard"),
    Page("run", "Run", "bar_chart"),
    Page("sample", "Sample", "find_in_page"),
    Page("hallucinations", "Hallucinations", "error"),
    Page("compare", "Compare", "compare_arrows"),
    Page("diagnosis", "Diagnosis", "stethoscope"),
    Page("annotate", "Annotate", "rate_review", "writable"),
    Page("agreement", "Agreement", "handshake"),
    Page("estimate", "Estimate", "straighten"),
    Page("upload", "Upload", "upload_file", "writable"),
    Page("evaluate", "Evaluate", "", "never"),
    Page("query", "Query", "database"),
    Page("metrics", "Metrics", "functions"),
)
"""In the order of the bar; the first is the one that opens."""


def build_pages() -> dict[str, st.Page]:
    """The pages as Streamlit takes them, by their names in addresses."""
    return {
        page.slug: st.Page(
            page.draw,
            title=page.title,
            icon=f":material/{page.icon}:" if page.icon else None,
            url_path=page.slug,
            default=page is PAGES[0],
            visibility="visible" if page.shown == "always" or (page.shown == "writable" and writable()) else "hidden",
        )
        for page in PAGES
    }
