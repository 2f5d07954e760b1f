"""Where a person hands in what people said, on the Agreement page."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import streamlit as st

from ragboard.errors import RagboardError
from ragboard.human.agree import agree
from ragboard.judges import EmbeddedJudge, Panel
from ragboard.readers.labels import read_labels
from ragboard.samples import sample_folder
from ragboard.store.queries.agreements import StoredAgreement
from ragboard_dashboard.data import store, writable
from ragboard_dashboard.shared import plain
from ragboard_dashboard.uploads import uploaded, without_folder

__all__ = ["offer_deletion", "offer_files"]

ENDINGS = ["jsonl", "json", "csv", "tsv", "parquet"]
SAMPLE = {"The sample's pairs": "pairs.jsonl", "The sample's statements": "statements.jsonl"}


def offer_files() -> None:
    """Draw where a file can be dropped or the sample's taken; what is handed in is judged at once and opened.

    Nothing where this server's pages may not change what is kept.
    """
    if not writable():
        return
    file = st.file_uploader(
        "A file of what people said: pairs, graded answers or labelled statements", type=ENDINGS, key="opinions"
    )
    row = st.container(horizontal=True)
    taken = [name for title, name in SAMPLE.items() if row.button(title, key=f"take-{name}")]
    st.markdown("Judged here by the embedded judge, which needs no key and is a heuristic. By another judge:")
    st.code("ragboard agree FILE --judge openai:gpt-4o-mini", language=None, wrap_lines=True)
    if file is not None and file.file_id != st.session_state.get("opinions-taken"):
        with uploaded(file) as path:
            _judge(path, file.file_id)
    for name in taken:
        _judge(sample_folder() / "labels" / name, "")


def _judge(path: Path, taken: str) -> None:
    """Hold the embedded judge against the file, and show what came of it; or say why that cannot be."""
    bar = st.progress(0.0, "Reading")

    def watch(done: int, total: int) -> None:
        bar.progress(done / total, f"{done:,} of {total:,} items")

    try:
        agreed = agree(store(), read_labels(str(path)), Panel(judge=EmbeddedJudge()), watch=watch)
    except RagboardError as error:
        bar.empty()
        st.error("This file cannot be used. Nothing was stored.", icon=":material/error:")
        plain(without_folder(str(error)))
        return
    if taken:
        st.session_state["opinions-taken"] = taken
        store().keep_upload(path, owners=[agreed.agreement.id])
    _open(agreed.agreement.id)


def _open(agreement_id: str) -> NoReturn:
    st.query_params.clear()
    st.query_params["agreement"] = agreement_id
    st.rerun()


def offer_deletion(kept: StoredAgreement) -> None:
    """Draw where an agreement can be deleted, once a person has confirmed; an uploaded file goes with it."""
    if not writable():
        return
    with st.expander("Delete this agreement", icon=":material/delete:"):
        sure = st.checkbox("Delete it for good, with what the judges answered", key=f"sure-{kept.agreement.id}")
        if st.button("Delete", icon=":material/delete_forever:", disabled=not sure):
            store().remove_agreement(kept.agreement.id)
            st.query_params.clear()
            st.rerun()
