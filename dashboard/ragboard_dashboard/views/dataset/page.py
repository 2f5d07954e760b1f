"""The Datasets page: the questions that runs share, how scores changed, and the nuggets of each question."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pandas as pd
import streamlit as st

from ragboard.answerability import ANSWERABILITY_CLASSES
from ragboard.datasets import DatasetQuestion, DatasetRuns, QuestionFilter, QuestionPage, save_nuggets
from ragboard.errors import RagboardError
from ragboard.evaluation.background import start_evaluation
from ragboard.evaluation.identity import Choice
from ragboard.human.questions import label_question
from ragboard.records import Answerability, Nugget
from ragboard.store.queries.nuggets import RunOfDataset
from ragboard_dashboard.controls import offer_upload, pager
from ragboard_dashboard.data import (
    evaluates,
    get_dataset_names,
    get_dataset_question,
    get_dataset_row,
    get_dataset_runs,
    get_datasets,
    get_nugget_table,
    get_question_label,
    get_traffic_datasets,
    get_trend,
    launch_context,
    resolve,
    store,
    writable,
)
from ragboard_dashboard.links import bound, link_to, number_in_url
from ragboard_dashboard.progress import draw_running_evaluations, secret_fields
from ragboard_dashboard.text import column_title, earlier_turns, facts, plain, shortened
from ragboard_dashboard.views.dataset.tables import datasets_html, nuggets_html, trend_html

__all__ = ["draw"]

STYLES = Path(__file__).with_name("dataset.css")
SHOWN: tuple[QuestionFilter, ...] = ("all", "to approve", "without nuggets")
EMPTY_ROWS = 2
"""Number of empty rows in the editor of a question without nuggets."""


def draw() -> None:
    """Draw the page."""
    st.html(STYLES)
    names = get_dataset_names()
    if not names:
        st.header("No dataset yet", anchor=False)
        st.markdown("A dataset is the set of questions that runs share. Upload a run to start.")
        offer_upload()
        return
    name = st.query_params.get("dataset") or (names[0] if len(names) == 1 else None)
    if name is None:
        plain("Datasets", "title")
        plain(
            "A dataset is the set of questions that runs share. Choose one to see its questions and their nuggets.",
            "note",
        )
        st.html(datasets_html(get_datasets()))
        return
    if name not in names:
        st.warning("The dataset in this link is not in the store.", icon=":material/search_off:")
        st.html(datasets_html(get_datasets()))
        return
    if len(names) > 1:
        st.selectbox("Dataset", names, **bound("dataset", name, drops=("question", "show")), width=420)
    _dataset(name)


def _dataset(name: str) -> None:
    row, dataset = get_dataset_row(name), get_dataset_runs(name)
    plain(f"Dataset: {shortened(dataset.name, 80)}", "title")
    names = ", ".join(shortened(run.name) for run in dataset.runs[:3])
    facts(
        [
            (f"{row.questions:,}", "questions" if row.questions > 1 else "question", _versions(dataset)),
            (f"{row.runs:,}", "runs" if row.runs > 1 else "run", names),
            (f"{row.references:,}", "with a reference", ""),
            (f"{row.nuggets:,}", "with nuggets", f"{row.approved:,} approved by annotators"),
            (f"{row.labels:,}", "human labels", ""),
        ]
    )
    draw_running_evaluations()
    _trend(dataset)
    _judge_again(dataset)
    _questions(dataset)


def _trend(dataset: DatasetRuns) -> None:
    """Draw how a metric changed from run to run and, for live traffic, a link to its trend over time."""
    if dataset.name in get_traffic_datasets():
        link_to("trend", "Trend over time", {"dataset": dataset.name}, ":material/timeline:")
    wanted = st.query_params.get("metric", "")
    try:
        trend = get_trend(dataset, wanted)
    except RagboardError:
        trend = get_trend(dataset)
    if not trend.metric:
        plain("No run of this dataset is evaluated.", "note")
        return
    with st.expander(f"{trend.label} from run to run", icon=":material/timeline:", expanded=True):
        if len(trend.metrics) > 1:
            st.selectbox("Metric", trend.metrics, format_func=column_title, width=420, **bound("metric", trend.metric))
        st.html(trend_html(trend))
        if trend.older:
            plain(f"The newest {len(trend.points)} runs; {trend.older:,} are older.", "note")


def _versions(dataset: DatasetRuns) -> str:
    """Describe the versions of the dataset; empty if all runs have the same questions."""
    versions = dataset.versions
    if len(versions) < 2:
        return ""
    return f"{len(versions)} versions: " + "; ".join(
        f"{version.key} ({', '.join(shortened(run) for run in version.runs[:3])})" for version in versions[:3]
    )


def _judge_again(dataset: DatasetRuns) -> None:
    """Draw a form that judges answers again whose nuggets have changed, and a link to evaluate runs never judged."""
    judged_earlier = [run for run in dataset.runs if run.evaluation_id and run.outdated]
    unjudged = [run for run in dataset.runs if not run.evaluation_id and run.outdated]
    if unjudged:
        names = ", ".join(shortened(run.name) for run in unjudged[:3])
        row = st.container(horizontal=True, vertical_alignment="center")
        with row:
            plain(f"The answers of {names} were not judged with these nuggets.", width="content")
            if evaluates():
                query = {"run": unjudged[0].name, "metrics": "nuggets.vital_strict,nuggets.all"}
                link_to("evaluate", "Evaluate", query, ":material/gavel:")
    if not judged_earlier:
        return
    count = sum(run.outdated for run in judged_earlier)
    plain(
        f"{count:,} answer{'s were' if count > 1 else ' was'} judged with earlier nuggets"
        f" ({', '.join(f'{shortened(run.name)}: {run.outdated:,}' for run in judged_earlier[:3])})."
    )
    options = [(run, store().judge_options(run.evaluation_id or "")) for run in judged_earlier]
    known = [(run, judge_options) for run, judge_options in options if judge_options]
    if not evaluates() or not known:
        return
    with st.form("judge-again", clear_on_submit=True, border=False):
        secrets = secret_fields(known[0][1], "nuggets")
        if not st.form_submit_button("Judge them again", icon=":material/refresh:"):
            return
    for run, judge_options in known:
        try:
            choice = Choice(metrics=_metrics(run), judge_options=judge_options)
            start_evaluation(store(), resolve(run.name), choice, launch_context(), **secrets)
        except RagboardError as error:
            st.error(f"The evaluation of {shortened(run.name)} did not start.", icon=":material/error:")
            plain(str(error))
            return
    st.rerun()


def _metrics(run: RunOfDataset) -> tuple[str, ...]:
    """Return the nugget metrics of the run's evaluation."""
    return tuple(one for one in store().evaluation_metrics(run.evaluation_id or "") if one.startswith("nuggets."))


def _questions(dataset: DatasetRuns) -> None:
    shown: QuestionFilter = st.segmented_control(
        "Show",
        SHOWN,
        default="all",
        required=True,
        key="show",
        bind="query-params",
        label_visibility="collapsed",
    )
    page = get_dataset_question(dataset.name, shown, number_in_url("question") or 1)
    if page is None:
        plain("There are no such questions.", "note")
        return
    if page.matching > 1:
        pager(page.matching, 1, page.place, "question") if shown == "all" else _steps(page)
    _question(dataset, page)


def _steps(page: QuestionPage) -> None:
    """Draw the links to the previous and next of the shown questions."""
    with st.container(horizontal=True, vertical_alignment="center"):
        for label, number in (("Previous", page.previous), ("Next", page.next)):
            if st.button(label, disabled=number is None, key=f"step-{label}"):
                st.query_params["question"] = str(number)
                st.rerun()
        plain(f"{page.place:,} of {page.matching:,}", "note", "content")


def _question(dataset: DatasetRuns, page: QuestionPage) -> None:
    question, number = page.question, page.number
    earlier_turns(question.history)
    st.subheader(f"Question {number:,} of {page.questions:,}", anchor=False)
    plain(question.question)
    if question.reference:
        plain(f"Reference: {question.reference}", "note")
    if question.different_references:
        plain(
            "Runs have different references. This one is from the newest run that has one; runs without a reference do"
            " not get it.",
            "note",
        )
    _answerability(question, number)
    table = get_nugget_table(dataset, question)
    if table.nuggets:
        st.html(nuggets_html(table))
        _draw_nugget_source(question)
    elif not writable():
        plain("This question has no nuggets.", "note")
    if writable():
        approved = question.nuggets is not None and question.nuggets.approved
        with st.expander("Edit the nuggets", icon=":material/edit:", expanded=not approved):
            _editor(question, number)


def _answerability(question: DatasetQuestion, number: int) -> None:
    """Draw the label that says whether the question can be answered, and the form that changes it."""
    found = get_question_label(question.question, question.history)
    if found:
        by = f"{found.annotator}, {found.labelled_at:%Y-%m-%d %H:%M} UTC"
        plain(f"Can it be answered? {found.answerability.capitalize()}, by {by}.", "note")
    if not writable():
        return
    title = "Change whether it can be answered" if found else "Label whether it can be answered"
    with st.expander(title, icon=":material/help:"), st.form(f"answerability-{number}", border=False):
        plain("The label applies to every run with this question, and replaces what the run file says.", "note")
        options: list[Answerability | None] = [None, *ANSWERABILITY_CLASSES]
        chosen = st.selectbox(
            "Can it be answered?",
            options,
            index=options.index(found.answerability) if found else 0,
            format_func=lambda one: one.capitalize() if one else "No label",
            width=320,
        )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            known = st.session_state.get("annotator") or ""
            name = st.text_input("Your name", known, key="labeller", persist_state="session", width=220)
            saves = st.form_submit_button("Save", icon=":material/check:", type="primary")
    if saves:
        try:
            label_question(store(), question.question, question.history, chosen, annotator=name)
        except RagboardError as error:
            st.error("The label was not saved.", icon=":material/error:")
            plain(str(error))
        else:
            st.rerun()


def _draw_nugget_source(question: DatasetQuestion) -> None:
    found = question.nuggets
    if found is None:
        return
    state = "approved" if found.approved else "not approved"
    versions = f", version {found.versions}" if found.versions > 1 else ""
    plain(f"Nuggets by {found.author}, {state}{versions}, {found.written:%Y-%m-%d %H:%M} UTC.", "note")


def _editor(question: DatasetQuestion, number: int) -> None:
    """Draw a table in which the nuggets can be edited, and buttons that save or approve them."""
    found = question.nuggets
    given = found.nuggets if found else ()
    if not given:
        plain(
            "This question has no nuggets. Write them here, or let a chat model write nuggets for all questions:"
            " ragboard nuggets write NAME --judge openai:MODEL",
            "note",
        )
    frame = pd.DataFrame(
        {
            "text": [nugget.text for nugget in given] or [""] * EMPTY_ROWS,
            "importance": [nugget.importance for nugget in given] or ["vital"] * EMPTY_ROWS,
        }
    )
    version = found.versions if found else 0
    with st.form(f"nuggets-{number}-{version}", border=False):
        edited = st.data_editor(
            frame,
            num_rows="dynamic",
            hide_index=True,
            key=f"edited-{number}-{version}",
            column_config={
                "text": st.column_config.TextColumn("Nugget", width="large", max_chars=500),
                "importance": st.column_config.SelectboxColumn("Importance", options=["vital", "okay"], width="small"),
            },
        )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            name = st.text_input("Your name", key="annotator", persist_state="session", width=220)
            approves = st.form_submit_button("Approve", icon=":material/check:", type="primary")
            saves = st.form_submit_button("Save without approving")
    if approves or saves:
        _save(question, edited, name, approved=approves)


def _save(question: DatasetQuestion, edited: pd.DataFrame, name: str, *, approved: bool) -> None:
    nuggets = [
        Nugget(text=str(text), importance=_importance(importance))
        for text, importance in zip(edited["text"], edited["importance"], strict=True)
        if isinstance(text, str) and text.strip()
    ]
    if not nuggets and question.nuggets is None:
        st.warning("Write at least one nugget.", icon=":material/edit:")
        return
    try:
        save_nuggets(store(), question, nuggets, author=name, approved=approved)
    except RagboardError as error:
        st.error("The nuggets were not saved.", icon=":material/error:")
        plain(str(error))
    else:
        st.rerun()


def _importance(given: object) -> Literal["vital", "okay"] | None:
    return "vital" if given == "vital" else "okay" if given == "okay" else None
