"""Navigation, and what is said where a page cannot be shown."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import streamlit as st

from ragboard.errors import RagboardError
from ragboard_dashboard.data import writable
from ragboard_dashboard.navigation import keep_pages
from ragboard_dashboard.shared import plain
from ragboard_dashboard.theme import STYLE
from ragboard_dashboard.views import (
    agreement,
    annotate,
    compare,
    diagnosis,
    estimate,
    evaluate,
    hallucinations,
    metrics,
    query,
    run,
    runs,
    sample,
    upload,
)

st.set_page_config(page_title="ragboard", page_icon=str(Path(__file__).parent / "static" / "icon.svg"), layout="wide")
can_write: Literal["visible", "hidden"] = "visible" if writable() else "hidden"
pages = {
    "runs": st.Page(runs.page, title="Runs", icon=":material/leaderboard:", url_path="runs", default=True),
    "run": st.Page(run.page, title="Run", icon=":material/bar_chart:", url_path="run"),
    "sample": st.Page(sample.page, title="Sample", icon=":material/find_in_page:", url_path="sample"),
    "hallucinations": st.Page(
        hallucinations.page, title="Hallucinations", icon=":material/error:", url_path="hallucinations"
    ),
    "compare": st.Page(compare.page, title="Compare", icon=":material/compare_arrows:", url_path="compare"),
    "diagnosis": st.Page(diagnosis.page, title="Diagnosis", icon=":material/stethoscope:", url_path="diagnosis"),
    "annotate": st.Page(
        annotate.page, title="Annotate", icon=":material/rate_review:", url_path="annotate", visibility=can_write
    ),
    "agreement": st.Page(agreement.page, title="Agreement", icon=":material/handshake:", url_path="agreement"),
    "estimate": st.Page(estimate.page, title="Estimate", icon=":material/straighten:", url_path="estimate"),
    "upload": st.Page(
        upload.page, title="Upload", icon=":material/upload_file:", url_path="upload", visibility=can_write
    ),
    "evaluate": st.Page(evaluate.page, title="Evaluate", url_path="evaluate", visibility="hidden"),
    "query": st.Page(query.page, title="Query", icon=":material/database:", url_path="query"),
    "metrics": st.Page(metrics.page, title="Metrics", icon=":material/functions:", url_path="metrics"),
}
keep_pages(pages)
st.html(STYLE)
page = st.navigation(list(pages.values()), position="top")
try:
    page.run()
except RagboardError as error:  # a store that is busy, damaged or newer, a spoiled plugin: on every page
    st.error("This page cannot be shown now.", icon=":material/error:")
    plain(str(error))
