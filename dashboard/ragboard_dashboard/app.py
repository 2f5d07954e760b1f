"""The script that Streamlit runs: it draws the page in the URL, or an error."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from ragboard.errors import RagboardError
from ragboard_dashboard.components.frame import page_frame
from ragboard_dashboard.links import keep_pages
from ragboard_dashboard.pages import bar_of, build_pages
from ragboard_dashboard.text import plain
from ragboard_dashboard.theme import STYLE

ICON = str(Path(__file__).parent / "static" / "icon.svg")

st.set_page_config(page_title="ragboard", page_icon=ICON, layout="wide")
st.logo(ICON, size="small")
pages = build_pages()
keep_pages(pages)
st.html(STYLE)
page = st.navigation(bar_of(pages), position="top")
page_frame(st.query_params.get("item", ""))
try:
    page.run()
except RagboardError as error:  # a busy, damaged or newer store, or a broken plugin, fails on every page
    st.error("This page cannot be shown now.", icon=":material/error:")
    plain(str(error))
