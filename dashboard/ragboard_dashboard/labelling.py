"""The row by which a person overrules or confirms the verdict on the chosen statement, or takes that back."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ragboard.analysis import SampleReport
from ragboard.analysis.verdict_style import VERDICTS
from ragboard.errors import RagboardError
from ragboard.human.labels import label_statement, withdraw_statement
from ragboard.records import Label, Score
from ragboard_dashboard.components.keys import safe_key
from ragboard_dashboard.data import store, writable
from ragboard_dashboard.shared import plain

__all__ = ["recounted_note", "verdict_row"]


def verdict_row(report: SampleReport, chosen: int | None) -> None:
    """Draw the keys for the chosen statement (from 0); what a person says is kept at once, and the page drawn anew."""
    if not (report.statements and writable()):
        return
    row = st.container(horizontal=True, vertical_alignment="center", key="verdict-row")
    with row:
        plain(f"Your verdict on statement {chosen + 1}" if chosen is not None else "Choose a statement to judge it")
    name = _name(row)
    idle = chosen is None or not name
    said: Label | None = None
    for key, (label, look) in enumerate(VERDICTS.items(), 1):
        if row.button(f"{look.icon} {look.word}", key=f"say-{label}", shortcut=str(key), disabled=idle):
            said = label
    mine = chosen is not None and any(
        one.annotator == name and one.queue == "browsing" for one in report.statements[chosen].people
    )
    back = row.button("Take back", key="say-nothing", shortcut="0", disabled=not mine, icon=":material/undo:")
    note = row.text_input(
        "Note",
        key=safe_key("note", report.run.run_id, report.sample.id, str(chosen)),
        placeholder="Note: why",
        label_visibility="collapsed",
        disabled=idle,
        width=220,
    )
    if chosen is not None and (said or back):
        _say(report, chosen + 1, said, name, note)


def _name(row: DeltaGenerator) -> str:
    """Draw the field for a person's name, which this session keeps; what it holds."""
    return row.text_input(
        "Your name",
        key="annotator",
        placeholder="Your name, to judge",
        label_visibility="collapsed",
        persist_state="session",
        width=170,
    ).strip()


def _say(report: SampleReport, number: int, verdict: Label | None, name: str, note: str) -> None:
    try:
        if verdict:
            label_statement(store(), report.run, report.sample.id, number, verdict, annotator=name, note=note)
        else:
            withdraw_statement(store(), report.run, report.sample.id, number, annotator=name)
    except RagboardError as error:
        st.error("That was not kept.", icon=":material/error:")
        plain(str(error))
    else:
        st.rerun()


def recounted_note(report: SampleReport, spec: str) -> str:
    """What a score is with people's verdicts in place of the judge's; empty where that changes nothing."""
    again = report.recounted.get(spec)
    if not isinstance(again, Score):
        return ""
    count = sum(one.overruled for one in report.statements)
    return f"{again.value:.2f} with {count} overruled verdict{'' if count == 1 else 's'}"
