"""Sample: one answer, statement by statement, beside the passages it had."""

from __future__ import annotations

import streamlit as st

from ragboard.analysis import SampleQuery, SampleReport
from ragboard.errors import NotFoundError
from ragboard.store import RunRef
from ragboard_dashboard.components.calls import call_list
from ragboard_dashboard.components.keys import safe_key
from ragboard_dashboard.components.reader import statement_reader
from ragboard_dashboard.data import get_calls, get_sample, get_sample_rows
from ragboard_dashboard.labelling import recounted_note, verdict_row
from ragboard_dashboard.navigation import open_run, open_sample
from ragboard_dashboard.shared import choose_run, config_line, facts, file_facts, number_named, outcome_fact, plain

__all__ = ["page"]


def page() -> None:
    """Draw the page."""
    run = choose_run("Sample")
    if run is None:
        return
    report = _report(run)
    if report is None:
        return
    _head(report, config_line(report))
    plain(report.sample.question, "title")
    facts([outcome_fact(spec, outcome, recounted_note(report, spec)) for spec, outcome in report.scores.items()])
    file_facts([outcome_fact(spec, outcome) for spec, outcome in report.file_scores.items()])
    _reader(report)
    _more(report)
    _calls(report)


def _report(run: RunRef) -> SampleReport | None:
    wanted = st.query_params.get("sample")
    if wanted is None:
        first = get_sample_rows(run, SampleQuery(order="worst", limit=1)).rows
        wanted = st.query_params["sample"] = first[0].sample_id
    try:
        return get_sample(run, wanted)
    except NotFoundError as error:
        st.error("This address names a sample that the run does not have.", icon=":material/search_off:")
        plain(str(error))
        return None


def _head(report: SampleReport, config: str) -> None:
    name = st.query_params["run"]  # it may name an evaluation
    row = st.container(horizontal=True, vertical_alignment="center")
    if row.button("Previous", icon=":material/chevron_left:", shortcut="k", disabled=report.previous is None):
        open_sample(name, str(report.previous))
    if row.button("Next", icon=":material/chevron_right:", shortcut="j", disabled=report.following is None):
        open_sample(name, str(report.following))
    if row.button("Run", icon=":material/bar_chart:"):
        open_run(name)
    judge = "not evaluated"
    if report.judged:
        judge = report.judged.judge + (" judge (heuristic)" if report.judged.heuristic else " judge")
    with row:
        plain(" · ".join(filter(None, [report.run.name, config, f"sample {report.sample.id}", judge])), "note")


def _reader(report: SampleReport) -> None:
    sample = report.sample
    key = safe_key("reader", report.run.run_id, sample.id)
    asked = number_named("statement")
    above = st.container()
    chosen = statement_reader(
        key=key,
        answer=sample.answer or "",
        statements=report.statements,
        passages=sample.contexts or (),
        chosen=None if asked is None else asked - 1,
        answer_note=_note(report),
        selected=report.chosen_sentences,
    )
    if chosen is None:
        st.query_params.pop("statement", None)
    else:
        st.query_params["statement"] = str(chosen + 1)
    with above:
        verdict_row(report, chosen)


def _note(report: SampleReport) -> str:
    if report.sample.answer is None:
        return "The run file has no answer for this question."
    if not report.sample.answer.strip():
        return "The answer is empty."
    return "The answer declines to answer, at least in part." if report.refuses else ""


def _more(report: SampleReport) -> None:
    sample = report.sample
    if sample.reference:
        st.subheader("Reference", anchor=False)
        plain(sample.reference)
    if report.questions:
        st.subheader("Questions this answer would answer", anchor=False)
        plain("Similarity to the question that was asked, from -1 to 1:", "note")
        for asked in report.questions:
            plain(f"{asked.similarity:.2f}  {asked.question}")
    if report.judgements:
        st.subheader("What else the judge said", anchor=False)
        for one in report.judgements:
            plain(f"{one}{f' – {one.reason}' if one.reason else ''}")
    if sample.history:
        st.subheader("Earlier in the conversation", anchor=False)
        for turn in sample.history:
            plain(f"{turn.role}: {turn.text}")
    if sample.metadata:
        with st.expander("Other columns of the file"):
            for key, given in sample.metadata.items():
                plain(f"{key}: {given}"[:2000], "note")


def _calls(report: SampleReport) -> None:
    """Draw what judges were asked for this sample, where a person wants to see it."""
    found = get_calls(report.run, report.sample.id)
    st.subheader("What the judges were asked", anchor=False)
    plain(f"Not shown: {found.missing}." if found.missing else str(found), "note")
    if found.tasks and st.toggle("Show each task, its prompt and raw reply", key="calls", bind="query-params"):
        call_list(found)
