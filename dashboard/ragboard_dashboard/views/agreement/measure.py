"""Compares the embedded judge with human labels: those of a file, or the grades of runs."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from ragboard.errors import RagboardError
from ragboard.human.agree import agree
from ragboard.judges import EmbeddedJudge, Panel
from ragboard.readers.labels import LabelFile, read_labels
from ragboard_dashboard.controls import without_folder
from ragboard_dashboard.data import store
from ragboard_dashboard.text import plain

__all__ = ["measure"]


def measure(labels: Path | LabelFile, *, keep: bool = False) -> str | None:
    """Measure the agreement with labels, or those in a file, with a progress bar; return its id, or None and say why.

    `keep`: keep the file in the store, as an upload that is deleted with the agreement.
    """
    bar = st.progress(0.0, "Reading")

    def watch(done: int, total: int) -> None:
        bar.progress(done / total, f"{done:,} of {total:,} items")

    try:
        given = read_labels(str(labels)) if isinstance(labels, Path) else labels
        agreed = agree(store(), given, Panel(judge=EmbeddedJudge()), watch=watch)
    except RagboardError as error:
        bar.empty()
        st.error("These labels cannot be used. Nothing was stored.", icon=":material/error:")
        plain(without_folder(str(error)))
        return None
    if keep and isinstance(labels, Path):
        store().keep_upload(labels, owners=[agreed.agreement.id])
    return agreed.agreement.id
