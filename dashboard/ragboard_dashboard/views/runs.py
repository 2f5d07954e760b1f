"""Runs: the leaderboard, and what to look at first."""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from ragboard.analysis import ListedRun, RunSummary, UnscoredPolicy, runs_matching, runs_sql
from ragboard.exporting import runs_frame
from ragboard.spans import inert
from ragboard_dashboard.components.board import run_board
from ragboard_dashboard.components.findings import finding_list
from ragboard_dashboard.data import get_leaderboard, get_metrics, get_runs, get_unsupported_statements, writable
from ragboard_dashboard.managing import edit_run
from ragboard_dashboard.navigation import open_comparison, open_run, open_sample
from ragboard_dashboard.progress import live_lines
from ragboard_dashboard.shared import default_pair, offer_sql, offer_upload, unscored_choice
from ragboard_dashboard.sharing import export_control

__all__ = ["page"]

FIRST = 6
"""Statements to look at first."""
BOTH = 2


def page() -> None:
    """Draw the page."""
    if not get_runs():
        _empty()
        return
    runs, shown, unscored = _head()
    live_lines()
    if not shown:
        st.info("No run has all of these words in its name, tags or dataset.", icon=":material/filter_alt_off:")
        return
    now = datetime.now(UTC).replace(tzinfo=None)
    asked = run_board(shown, get_metrics(), editable=writable(), key="board", now=now, unscored=unscored)
    offer_sql(runs_sql(get_leaderboard()), "runs")
    by_id = {run.run_id: run for run in runs}
    if asked.open in by_id:
        open_run(by_id[asked.open].name)
    if writable() and asked.edit in by_id:
        edit_run(by_id[asked.edit], back=True)
    _compare(get_runs())
    _first()


def _compare(runs: tuple[ListedRun, ...]) -> None:
    """Draw the choice of two runs to compare; the first of them is the baseline."""
    names = [run.name for run in runs]
    if len(names) == 1:
        return
    choice, action = st.columns([5, 1], vertical_alignment="bottom")
    chosen = choice.multiselect(
        "Compare two runs",
        names,
        default=default_pair(runs),
        format_func=inert,
        max_selections=2,
        key="two",
        bind="query-params",
    )
    if action.button("Compare", icon=":material/compare_arrows:", width="stretch", disabled=len(chosen) != BOTH):
        open_comparison(*chosen)


def _head() -> tuple[tuple[RunSummary, ...], tuple[RunSummary, ...], UnscoredPolicy]:
    """Draw what is above the leaderboard; all runs, those that it is to show, and how unscored samples count."""
    title, count, search, export, action = st.columns([3, 2.4, 4, 1.6, 2], vertical_alignment="bottom")
    title.header("Runs", anchor=False)
    with count:
        unscored = unscored_choice()
    runs = get_leaderboard(unscored=unscored)
    words = search.text_input(
        "Filter runs",
        placeholder="Filter by name, tag or dataset",
        label_visibility="collapsed",
        key="q",
        bind="query-params",
    )
    with action:
        offer_upload("stretch")
    if any("sample" in run.tags for run in runs):
        st.markdown(
            "The sample: one question set, answered by two configurations of the same retrieval pipeline. "
            "Open a run to see where it fails, or a statement below to see what its passages say. "
            "`ragboard demo --remove` takes it out."
        )
    shown = runs_matching(runs, words)
    with export:
        export_control("runs", lambda: runs_frame(shown))
    return runs, shown, unscored


def _first() -> None:
    found = get_unsupported_statements(FIRST)
    if not found:
        return
    st.subheader("Statements no passage supports, to look at first", anchor=False)
    opened = finding_list(found, name="Unsupported statements", key="first")
    if opened:
        open_sample(opened.run, opened.sample_id, opened.number)


def _empty() -> None:
    st.header("Which sentence did it make up?", anchor=False)
    st.markdown(
        "Upload a run file: questions, the passages that were retrieved, the answers. ragboard splits each answer "
        "into statements, holds every one against the passages and shows which none of them supports."
    )
    offer_upload()
    st.markdown("Nothing at hand? `ragboard demo` brings two sample runs. From the command line:")
    st.code("ragboard evaluate answers.jsonl --name my-run --config k=5", language=None, wrap_lines=True)
