"""Diagnosis: what the numbers of a run suggest, the evidence one click away, and where the loss sits."""

from __future__ import annotations

from importlib.resources import files

import streamlit as st

from ragboard.analysis import (
    Breakdown,
    Diagnosis,
    Finding,
    HallucinationQuery,
    Look,
    PassageLoss,
    SampleQuery,
    caution_of,
    command_for,
    topic_in_words,
)
from ragboard_dashboard.components.diagnosis import figure_html, finding_html, rules_html
from ragboard_dashboard.components.findings import Way, way_list
from ragboard_dashboard.components.keys import safe_key
from ragboard_dashboard.data import evaluates, get_diagnosis, get_run, get_runs
from ragboard_dashboard.navigation import link_to, open_page
from ragboard_dashboard.shared import choose_run, column_label, column_title, judged_line, plain
from ragboard_dashboard.views.run import ONLY, ORDERS

__all__ = ["page"]

SHOWN = 120
"""Characters of a passage."""
STYLE = (files("ragboard_dashboard") / "components" / "diagnosis.css").read_text("utf-8")


def page() -> None:
    """Draw the page."""
    run = choose_run("Diagnosis")
    if run is None:
        return
    found = get_diagnosis(run)
    name = st.query_params["run"]
    st.html(f"<style>{STYLE}</style>")
    _head(found, name)
    judged_line(get_run(run))
    _split(found, name)
    _findings(found, name)
    _losses(found, name)
    _rules(found)


def _head(found: Diagnosis, name: str) -> None:
    title, link = st.columns([6, 1], vertical_alignment="bottom")
    with title:
        plain(f"Diagnosis of {found.run}", "title")
    with link:
        link_to("run", "The run", {"run": name}, ":material/bar_chart:")


def _split(found: Diagnosis, name: str) -> None:
    """Who judged, and what is missing to tell retriever from generator."""
    caution = caution_of(found)
    if caution:
        plain(caution, "note")
    if found.split:
        plain(found.split)
    if found.missing:
        row = st.container(horizontal=True, vertical_alignment="center")
        with row:
            waiting = sum(bool(one.missing) for one in found.silent)
            plain(f"{waiting} rules wait for metrics: {command_for(found)}", "note")
            if evaluates():
                link_to("evaluate", "Evaluate", {"run": name}, ":material/gavel:")


def _findings(found: Diagnosis, name: str) -> None:
    if not found.findings:
        st.subheader("No rule speaks", anchor=False)
        plain("No interval lies wholly beyond the limit of its rule: these numbers alone suggest nothing to change.")
    for one in found.findings:
        says, figure = st.columns([3, 2], gap="medium")
        says.html(finding_html(one))
        with says:
            _link(one, name)
        figure.html(figure_html(one))


def _link(one: Finding, name: str) -> None:
    page, query, label = _address(one.look, name)
    link_to(page, label, query, ":material/arrow_forward:")


def _address(look: Look, name: str) -> tuple[str, dict[str, str], str]:
    """The page with the evidence, its query, and what stands there.

    Statements are listed of a run's newest evaluation; of another, its samples with such statements are.
    """
    if isinstance(look, HallucinationQuery) and all(run.name != name for run in get_runs()):
        look = SampleQuery(order="worst", only="loose", search=look.question)
    if isinstance(look, HallucinationQuery):
        query = {"runs": name, "verdict": look.verdict or "all", "question": look.question, "passage": look.passage}
        return "hallucinations", {key: value for key, value in query.items() if value}, "Read the statements"
    if isinstance(look, Breakdown):
        return "run", {"run": name, "column": look.column, "group": column_title(look.by)}, "See it drawn"
    query = {"run": name, "order": ORDERS[look.order], "only": ONLY[look.only]}
    if look.search:
        query |= {"q": look.search}
    if not look.column:
        return "run", query, "Read the samples"
    way = ", highest first" if look.order == "highest" else ", lowest first"
    label = f"Read the samples: {column_label(look.column)}{way}"
    return "run", query | {"column": look.column}, label


def _losses(found: Diagnosis, name: str) -> None:
    """Questions, passages and topics that carry the loss."""
    questions, passages, topics = st.columns(3, gap="large")
    with questions:
        _questions(found, name)
    with passages:
        _passages(found, name)
    with topics:
        _topics(found, name)


def _questions(found: Diagnosis, name: str) -> None:
    st.subheader("Questions", anchor=False)
    if found.carried is None:
        plain("No statement is unsupported.", "note")
        return
    plain(
        f"{len(found.questions)} of {found.samples:,} carry {found.carried:.0%} of the {found.loose:,} statements that"
        " are not supported. Counted, not estimated: this is about these questions.",
        "note",
    )
    _open(
        [
            Way(mark=f"{one.statements:,}", text=one.question, where="", page=page, query=query)
            for one in found.questions
            for page, query, _ in [_address(one.look, name)]
        ],
        "Questions that carry most of the unsupported statements",
    )


def _passages(found: Diagnosis, name: str) -> None:
    st.subheader("Passages", anchor=False)
    if not found.passages:
        plain("No passage is known to supply a wrong statement or to contradict one.", "note")
        return
    supplies = found.passages[0].wrong > 0
    plain(
        "Those that say most of what answers say wrongly."
        if supplies
        else "Those that contradict most of what answers say.",
        "note",
    )
    _open([_passage(one, name) for one in found.passages], "Passages behind most of what is wrong")


def _passage(one: PassageLoss, name: str) -> Way:
    mark = f"{one.wrong:,} wrong" if one.wrong else f"✕ {one.contradicted:,}"
    page, query = _passage_address(one, name)
    return Way(mark=mark, text=_short(one.text), where=one.passage_id, page=page, query=query)


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _passage_address(one: PassageLoss, name: str) -> tuple[str, dict[str, str]]:
    if one.look is None:
        return "sample", {"run": name, "sample": one.sample_id}
    return _address(one.look, name)[:2]


def _topics(found: Diagnosis, name: str) -> None:
    st.subheader("Topics", anchor=False)
    looked = found.looked_at
    if not looked.groups:
        plain("No column of the file has groups of at least 5 scored samples.", "note")
        return
    columns = ", ".join(one.removeprefix("metadata.") for one in looked.columns)
    metrics = ", ".join(map(column_title, looked.metrics))
    none = "" if found.topics else "None is worse than the rest beyond chance. "
    plain(
        f"{none}Looked at: {looked.groups} groups ({columns}) by {metrics}; p adjusted for all of them (Holm).", "note"
    )
    for one in found.topics:
        plain(topic_in_words(one, column_title(one.metric)))
        page, query, label = _address(one.look, name)
        link_to(page, label, query, ":material/arrow_forward:")


def _open(ways: list[Way], name: str) -> None:
    opened = way_list(ways, name=name, key=safe_key("ways", name))
    if opened:
        open_page(opened.page, opened.query)


def _rules(found: Diagnosis) -> None:
    st.subheader("Every rule", anchor=False)
    plain(
        "A rule speaks only where the 95% interval lies wholly beyond its limit. The limits are our rules of thumb."
        " Samples without a score are left out here, whatever is chosen on other pages.",
        "note",
    )
    st.html(rules_html(found))
