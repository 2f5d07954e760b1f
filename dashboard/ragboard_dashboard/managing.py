"""The dialog that renames a run, tags it, keeps notes about it, and deletes it once a person has confirmed."""

from __future__ import annotations

import streamlit as st

from ragboard.analysis import RunSummary
from ragboard.errors import RagboardError
from ragboard_dashboard.data import store
from ragboard_dashboard.navigation import open_run, open_runs
from ragboard_dashboard.shared import plain

__all__ = ["edit_run"]


@st.dialog("Edit a run")
def edit_run(run: RunSummary, *, back: bool) -> None:
    """Draw the dialog; once it is done the run's page follows, or the leaderboard where `back`."""
    name = st.text_input("Name", run.name, key=f"name-{run.run_id}")
    tags = st.text_input("Tags, separated by commas", ", ".join(run.tags), key=f"tags-{run.run_id}")
    notes = st.text_area("Notes", run.notes, key=f"notes-{run.run_id}")
    if st.button("Save", type="primary", icon=":material/save:") and _saved(run, name, tags, notes):
        open_runs() if back else open_run(name)
    with st.expander("Delete this run", icon=":material/delete:"):
        _delete(run)


def _saved(run: RunSummary, name: str, tags: str, notes: str) -> bool:
    try:
        store().rename_run(run.run_id, name)
        store().set_tags(run.run_id, tags.split(","))
        store().set_notes(run.run_id, notes)
    except RagboardError as error:
        _refused(error)
        return False
    return True


def _delete(run: RunSummary) -> None:
    plain(f"{run.name}: {run.samples:,} samples, and all that was found about them. This cannot be undone.")
    sure = st.checkbox("Delete it for good", key=f"sure-{run.run_id}")
    if st.button("Delete", icon=":material/delete_forever:", disabled=not sure):
        try:
            store().remove_runs([run.run_id])
        except RagboardError as error:
            _refused(error)
        else:
            open_runs()


def _refused(error: RagboardError) -> None:
    st.error("That was not done.", icon=":material/error:")
    plain(str(error))
