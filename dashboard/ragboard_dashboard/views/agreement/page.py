"""Agreement: can a metric be trusted? Scorers compared with human labels."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn, get_args

import streamlit as st

from ragboard.errors import NotFoundError, RagboardError, SettingError
from ragboard.human.agree import agree
from ragboard.human.grades import GradeLine, GradeReport
from ragboard.judges import EmbeddedJudge, Panel
from ragboard.readers.labels import read_labels
from ragboard.sample_files import sample_folder
from ragboard.stats.pairwise import Ties
from ragboard.store.queries.agreements import StoredAgreement
from ragboard_dashboard.controls import uploaded, without_folder
from ragboard_dashboard.data import (
    get_agreement,
    get_agreements,
    get_grades,
    get_preferences,
    store,
    writable,
)
from ragboard_dashboard.links import bound
from ragboard_dashboard.text import ago, plain
from ragboard_dashboard.views.agreement.items import list_grades, list_pairs, show_item
from ragboard_dashboard.views.agreement.tables import (
    contender_pictures,
    contender_table,
    grades_data,
    pairs_data,
    votes_data,
)

__all__ = ["draw"]

ENDINGS = ["jsonl", "json", "csv", "tsv", "parquet"]
SAMPLE = {"Sample pairs": "pairs.jsonl", "Sample statements": "statements.jsonl"}
FORMS = {"pairs": "Pairwise preferences", "grades": "Grades and labels"}
TIES: dict[Ties, str] = {
    "random": "A tie is a coin flip",
    "half": "A tie is half right",
    "loss": "A tie is wrong",
    "exclude": "Ties are left out",
}
CORRELATIONS = ("pearson", "spearman", "kendall")
BELONGS = {"contender": ("cut",), "dimension": ("cut", "at_least")}
"""What is reset with the scorer or the dimension."""


def draw() -> None:
    """Draw the page."""
    every = get_agreements()
    if not every:
        _empty()
        return
    stored = _chosen(every)
    if stored is None:
        return
    wanted = st.query_params.get("item")
    if wanted is not None:
        show_item(stored, wanted)
        return
    if stored.agreement.form == "pairs":
        _pairs(stored)
    else:
        _graded(stored)
    offer_deletion(stored)


def _graded(stored: StoredAgreement) -> None:
    try:
        _grades(stored)
    except SettingError as error:
        plain(str(error))
        if "at_least" in st.query_params and st.button("Reset to the middle of the scale", icon=":material/undo:"):
            del st.query_params["at_least"]
            st.rerun()


def _empty() -> None:
    st.header("Can a metric be trusted?", anchor=False)
    st.markdown(
        "Compare it with human labels: preferences between two answers, grades of answers, or labels of statements."
        " The table adds baselines (length, word overlap, a coin) and the agreement between annotators."
    )
    offer_files()


def _chosen(every: Sequence[StoredAgreement]) -> StoredAgreement | None:
    """The agreement of the address, else the newest."""
    wanted = st.query_params.get("agreement", "")
    try:
        stored = get_agreement(wanted) if wanted else every[0]
    except NotFoundError as error:
        st.error("The agreement in this link is not in the store.", icon=":material/search_off:")
        plain(str(error))
        stored = None
    form, choice, more = st.columns([3, 4, 2], vertical_alignment="bottom")
    names = {one.agreement.id: _called(one) for one in every}
    with form:
        _forms(every, stored)
    with choice:
        shown = [one.agreement.id for one in every if stored is None or _form(one) == _form(stored)]
        others = [name for name in st.query_params if name != "agreement"]
        st.selectbox(
            "Agreement",
            shown,
            format_func=lambda one: names[one],
            **bound("agreement", stored.agreement.id if stored else shown[0], key="agreement-agreement", drops=others),
        )
    if writable():
        with more, st.popover("Another file", icon=":material/add:", width="stretch"):
            offer_files()
    return stored


def _form(stored: StoredAgreement) -> str:
    return "pairs" if stored.agreement.form == "pairs" else "grades"


def _forms(every: Sequence[StoredAgreement], stored: StoredAgreement | None) -> None:
    there = [form for form in FORMS if any(_form(one) == form for one in every)]
    newest = {form: next(one.agreement.id for one in every if _form(one) == form) for form in there}
    st.session_state["agreement-form"] = _form(stored) if stored else there[0]

    def turn() -> None:
        st.query_params.clear()
        st.query_params["agreement"] = newest[st.session_state["agreement-form"]]

    st.segmented_control(
        "Kind of labels",
        there,
        format_func=lambda form: FORMS[form],
        required=True,
        key="agreement-form",
        on_change=turn,
    )


def _called(stored: StoredAgreement) -> str:
    made = stored.agreement
    when = ago(stored.made, datetime.now(UTC).replace(tzinfo=None))
    return f"{made.name} by {made.judge}, {stored.items:,} items, {when}"


def _select(label: str, key: str, options: Sequence[str], **more: Any) -> str:
    """A choice that the address has; what does not fit is the first."""
    wanted = st.query_params.get(key, "")
    chosen: str = st.selectbox(label, options, **_bound(key, wanted if wanted in options else options[0]), **more)
    return chosen


def _bound(key: str, value: Any) -> dict[str, Any]:
    return bound(key, value, key=f"agreement-{key}", drops=(*BELONGS.get(key, ()), "part"))


def _title(stored: StoredAgreement, said: str) -> None:
    st.header("Agreement", anchor=False)
    plain(said)
    lines = list(stored.agreement.notes)
    if stored.agreement.heuristic:
        lines.append("The embedded judge is rule-based: treat its scores as hints.")
    if lines:
        plain("\n".join(lines), "note")


def _pairs(stored: StoredAgreement) -> None:
    names = [one.name for one in stored.agreement.contenders]
    table = st.container()
    policy, against = st.columns(2)
    with policy:
        ties: Any = _select("Ties", "ties", get_args(Ties), format_func=lambda one: TIES[one])
    with against:
        reference = _select("Compared with", "against", names)
    found = get_preferences(stored.agreement.id, ties, reference)
    undecided = sum(people.undecided for people in found.people.values())
    left = f" Left out: {undecided:,} on which annotators prefer neither side." if undecided else ""
    with table:
        _title(
            stored, f"{stored.items:,} pairs of {stored.agreement.source}, judged by {stored.agreement.judge}.{left}"
        )
        plain(found.sentence)
        contender_table(pairs_data(found), key="pairs")
    if any(cell.votes for line in found.lines for cell in line.cells.values()):
        st.subheader("Correlation of score differences with votes", anchor=False)
        kind = _select("Correlation", "correlation", CORRELATIONS, format_func=str.capitalize)
        contender_table(votes_data(found, kind) or {}, key="votes")
    st.subheader("Disagreements", anchor=False)
    first, second = st.columns(2)
    with first:
        dimension = _select("Dimension", "dimension", stored.dimensions)
    with second:
        contender = _select("Scorer", "contender", names)
    list_pairs(stored, dimension, contender)


def _grades(stored: StoredAgreement) -> None:
    table = st.container()
    first, second, third = st.columns(3)
    with first:
        dimension = _select("Dimension", "dimension", stored.dimensions)
    names = [one.name for one in stored.agreement.contenders]
    with third:
        contender = _select("Scorer", "contender", names)
    found = get_grades(stored.agreement.id, dimension, _number("at_least"), _cuts(contender))
    with second:
        st.number_input("Lowest good grade", format="%g", **_bound("at_least", found.at_least))
    with table:
        _title(
            stored,
            f"{found.graded:,} items of {stored.agreement.source}, {dimension.replace('_', ' ')}, judged by"
            f" {stored.agreement.judge}. Annotators rated {found.good:,} of {found.graded:,} at least"
            f" {found.at_least:g}.",
        )
        contender_table(grades_data(found), key="grades")
        _alpha(found)
    line = next((one for one in found.lines if one.contender.name == contender), None)
    if line is None:
        plain(f"{contender} has no score for {dimension}.")
        return
    _one(found, line)
    st.subheader("Disagreements", anchor=False)
    list_grades(stored, dimension, contender)


def _alpha(found: GradeReport) -> None:
    alpha = found.people.alpha
    if alpha and alpha.value is not None:
        plain(f"Krippendorff's alpha of {found.people.raters} annotators: {alpha.value:.2f}", "note")


def _number(key: str) -> float | None:
    """A number of the address; None where there is none."""
    try:
        return float(st.query_params[key])
    except (KeyError, ValueError):
        return None


def _cuts(contender: str) -> dict[str, float]:
    cut = _number("cut")
    return {} if cut is None else {contender: cut}


def _one(found: GradeReport, line: GradeLine) -> None:
    st.subheader("One scorer in detail", anchor=False)
    contender_pictures(line, found.people, key="one")
    if line.cut:
        st.number_input(
            "Lowest good score",
            format="%.4g",
            step=0.05,
            help="Choose it before you look: a score fitted to these labels makes the metric look better than it is.",
            **_bound("cut", line.cut.threshold),
        )


def offer_files() -> None:
    """Draw where a file can be dropped or the sample's taken; what is handed in is judged at once and opened.

    Nothing where this server's pages may not change what is kept.
    """
    if not writable():
        return
    file = st.file_uploader(
        "A file of human labels: pairs, graded answers or labelled statements", type=ENDINGS, key="opinions"
    )
    row = st.container(horizontal=True)
    taken = [name for title, name in SAMPLE.items() if row.button(title, key=f"take-{name}")]
    st.markdown("The embedded judge (rule-based, no key needed) scores the file here. To use another judge:")
    st.code("ragboard agree FILE --judge openai:gpt-4o-mini", language=None, wrap_lines=True)
    if file is not None and file.file_id != st.session_state.get("opinions-taken"):
        with uploaded(file) as path:
            _judge(path, file.file_id)
    for name in taken:
        _judge(sample_folder() / "labels" / name, "")


def _judge(path: Path, taken: str) -> None:
    """Compare the embedded judge with the labels in the file, and show the result or why there is none."""
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


def offer_deletion(stored: StoredAgreement) -> None:
    """Draw where an agreement can be deleted, once a person has confirmed; an uploaded file goes with it."""
    if not writable():
        return
    with st.expander("Delete this agreement", icon=":material/delete:"):
        sure = st.checkbox("Delete permanently, with the answers of the judges", key=f"sure-{stored.agreement.id}")
        if st.button("Delete", icon=":material/delete_forever:", disabled=not sure):
            store().remove_agreement(stored.agreement.id)
            st.query_params.clear()
            st.rerun()
