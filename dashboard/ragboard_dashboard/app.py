"""The script that Streamlit runs. It draws the page in the URL, or an error."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from ragboard.errors import RagboardError
from ragboard_dashboard.components.frame import page_frame
from ragboard_dashboard.garbage import freeze_imports
from ragboard_dashboard.links import store_pages
from ragboard_dashboard.pages import build_pages, navigation_menus
from ragboard_dashboard.text import plain
from ragboard_dashboard.theme import STYLE

ICON = str(Path(__file__).parent / "static" / "icon.svg")

freeze_imports()
st.set_page_config(page_title="ragboard", page_icon=ICON, layout="wide")
st.logo(ICON, size="small")
pages = build_pages()
store_pages(pages)
st.html(STYLE)
page = st.navigation(navigation_menus(pages), position="top")
page_frame(st.query_params.get("item", ""))
try:
    page.run()
except RagboardError as error:  # such as a busy or damaged store, or a broken plugin
    st.error("This page cannot be shown now.", icon=":material/error:")
    plain(str(error))
