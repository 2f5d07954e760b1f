"""Compare the embedded judge with human labels from a file or from runs."""

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

__all__ = ["measure_agreement"]


def measure_agreement(labels: Path | LabelFile, *, keep: bool = False) -> str | None:
    """Compare the embedded judge with labels, show a progress bar, and return the id of the agreement.

    `labels` are the labels, or the path of a label file. If they cannot be used, show why and return None. With `keep`,
    the store keeps the file until the agreement is deleted.
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
