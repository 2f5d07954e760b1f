"""Compare the embedded judge with a file of human labels."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from ragboard.errors import RagboardError
from ragboard.human.agree import agree
from ragboard.judges import EmbeddedJudge, Panel
from ragboard.readers.labels import read_labels
from ragboard_dashboard.controls import without_folder
from ragboard_dashboard.data import store
from ragboard_dashboard.text import plain

__all__ = ["measure"]


def measure(path: Path, *, keep: bool = False) -> str | None:
    """Measure agreement with the labels in a file, with a progress bar. Return the id of the agreement.

    If the file cannot be used, show why and return None. With `keep`, the store keeps the file as an upload and
    deletes it with the agreement.
    """
    bar = st.progress(0.0, "Reading")

    def watch(done: int, total: int) -> None:
        bar.progress(done / total, f"{done:,} of {total:,} items")

    try:
        agreed = agree(store(), read_labels(str(path)), Panel(judge=EmbeddedJudge()), watch=watch)
    except RagboardError as error:
        bar.empty()
        st.error("This file cannot be used. Nothing was stored.", icon=":material/error:")
        plain(without_folder(str(error)))
        return None
    if keep:
        store().keep_upload(path, owners=[agreed.agreement.id])
    return agreed.agreement.id
