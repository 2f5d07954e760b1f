"""Every page with its title, icon and address, in the order of the navigation."""

from __future__ import annotations

import streamlit as st

__all__ = ["pages"]


def pages() -> dict[str, st.Page]:
    """The pages by name; the views are imported here, for they lead to each other through this."""
    from ragboard_dashboard.views import run, runs, sample, upload

    return {
        "runs": st.Page(runs.page, title="Runs", icon=":material/leaderboard:", url_path="runs", default=True),
        "run": st.Page(run.page, title="Run", icon=":material/bar_chart:", url_path="run"),
        "sample": st.Page(sample.page, title="Sample", icon=":material/find_in_page:", url_path="sample"),
        "upload": st.Page(upload.page, title="Upload", icon=":material/upload_file:", url_path="upload"),
    }
