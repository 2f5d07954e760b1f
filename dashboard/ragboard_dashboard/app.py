"""Navigation, nothing else."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from ragboard_dashboard.pages import pages

st.set_page_config(page_title="ragboard", page_icon=str(Path(__file__).parent / "static" / "icon.svg"), layout="wide")
st.navigation(list(pages().values()), position="top").run()
