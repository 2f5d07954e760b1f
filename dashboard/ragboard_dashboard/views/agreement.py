"""Agreement: can a metric be trusted? Contenders held against what people said."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, get_args

import streamlit as st

from ragboard.errors import NotFoundError, SettingError
from ragboard.human.grades import GradeLine, GradeReport
from ragboard.stats.pairwise import Ties
from ragboard.store.queries.agreements import StoredAgreement
from ragboard_dashboard.agreed import list_grades, list_pairs, show_item
from ragboard_dashboard.agreeing import offer_deletion, offer_files
from ragboard_dashboard.components.agreement import (
    contender_pictures,
    contender_table,
    grades_data,
    pairs_data,
    votes_data,
)
from ragboard_dashboard.components.board import ago
from ragboard_dashboard.data import get_agreement, get_agreements, get_grades, get_preferences, writable
from ragboard_dashboard.shared import plain

__all__ = ["page"]

FORMS = {"pairs": "Preferences of two", "grades": "Grades and labels"}
TIES: dict[Ties, str] = {
    "random": "A tie is a coin",
    "half": "A tie is half right",
    "loss": "A tie is wrong",
    "exclude": "Ties are left out",
}
CORRELATIONS = ("pearson", "spearman", "kendall")
BELONGS = {"contender": ("cut",), "dimension": ("cut", "at_least")}
"""What was chosen for one contender or dimension and means nothing for another."""


def page() -> None:
    """Draw the page."""
    every = get_agreements()
    if not every:
        _empty()
        return
    kept = _chosen(every)
    if kept is None:
        return
    wanted = st.query_params.get("item")
    if wanted is not None:
        show_item(kept, wanted)
        return
    if kept.agreement.form == "pairs":
        _pairs(kept)
    else:
        _graded(kept)
    offer_deletion(kept)


def _graded(kept: StoredAgreement) -> None:
    try:
        _grades(kept)
    except SettingError as error:
        plain(str(error))
        if "at_least" in st.query_params and st.button("Good from halfway up the scale", icon=":material/undo:"):
            del st.query_params["at_least"]
            st.rerun()


def _empty() -> None:
    st.header("Can a metric be trusted?", anchor=False)
    st.markdown(
        "Hold it against what people said: preferences of two, grades of answers, or labels of statements. Beside it"
        " stand length, shared words, a coin, and people with each other."
    )
    offer_files()


def _chosen(every: Sequence[StoredAgreement]) -> StoredAgreement | None:
    """The agreement of the address, else the newest."""
    wanted = st.query_params.get("agreement", "")
    try:
        kept = get_agreement(wanted) if wanted else every[0]
    except NotFoundError as error:
        st.error("The address names an agreement that is not in the store.", icon=":material/search_off:")
        plain(str(error))
        kept = None
    form, choice, more = st.columns([3, 4, 2], vertical_alignment="bottom")
    names = {one.agreement.id: _called(one) for one in every}
    with form:
        _forms(every, kept)
    with choice:
        shown = [one.agreement.id for one in every if kept is None or _form(one) == _form(kept)]
        now_at = kept.agreement.id if kept else shown[0]
        _bound("agreement", now_at)
        st.selectbox(
            "Agreement",
            shown,
            format_func=lambda one: names[one],
            key="agreement-agreement",
            on_change=_chose,
            args=("agreement",),
        )
    if writable():
        with more, st.popover("Another file", icon=":material/add:", width="stretch"):
            offer_files()
    return kept


def _form(kept: StoredAgreement) -> str:
    return "pairs" if kept.agreement.form == "pairs" else "grades"


def _forms(every: Sequence[StoredAgreement], kept: StoredAgreement | None) -> None:
    there = [form for form in FORMS if any(_form(one) == form for one in every)]
    newest = {form: next(one.agreement.id for one in every if _form(one) == form) for form in there}
    _bound("form", _form(kept) if kept else there[0])

    def turn() -> None:
        st.query_params.clear()
        st.query_params["agreement"] = newest[st.session_state["agreement-form"]]

    st.segmented_control(
        "What people said",
        there,
        format_func=lambda form: FORMS[form],
        required=True,
        key="agreement-form",
        on_change=turn,
    )


def _called(kept: StoredAgreement) -> str:
    made = kept.agreement
    return (
        f"{made.name} by {made.judge}, {kept.items:,} items, {ago(kept.made, datetime.now(UTC).replace(tzinfo=None))}"
    )


def _bound(key: str, value: Any) -> Any:
    """Have a widget show a value of the address; the name that the widget is to have."""
    st.session_state[f"agreement-{key}"] = value
    return value


def _chose(key: str) -> None:
    """Put what was just chosen into the address, which is what the page is drawn from."""
    st.query_params[key] = str(st.session_state[f"agreement-{key}"])
    if key == "agreement":
        for other in [name for name in st.query_params if name != key]:
            del st.query_params[other]
    for other in (*BELONGS.get(key, ()), "part"):
        st.query_params.pop(other, None)


def _select(label: str, key: str, options: Sequence[str], **more: Any) -> str:
    """A choice that stands in the address; what does not fit is the first."""
    wanted = st.query_params.get(key, "")
    _bound(key, wanted if wanted in options else options[0])
    chosen: str = st.selectbox(label, options, key=f"agreement-{key}", on_change=_chose, args=(key,), **more)
    return chosen


def _title(kept: StoredAgreement, said: str) -> None:
    st.header("Agreement", anchor=False)
    plain(said)
    lines = list(kept.agreement.notes)
    if kept.agreement.heuristic:
        lines.append("The embedded judge is a heuristic: rules of thumb on shared words.")
    if lines:
        plain("\n".join(lines), "note")


def _pairs(kept: StoredAgreement) -> None:
    names = [one.name for one in kept.agreement.contenders]
    table = st.container()
    policy, against = st.columns(2)
    with policy:
        ties: Any = _select("Ties", "ties", get_args(Ties), format_func=lambda one: TIES[one])
    with against:
        reference = _select("Tested against", "against", names)
    found = get_preferences(kept.agreement.id, ties, reference)
    undecided = sum(people.undecided for people in found.people.values())
    left = f" {undecided:,} times people prefer neither side; these are left out." if undecided else ""
    with table:
        _title(kept, f"{kept.items:,} pairs of {kept.agreement.source}, judged by {kept.agreement.judge}.{left}")
        plain(found.sentence)
        contender_table(pairs_data(found), key="pairs")
    if any(cell.votes for line in found.lines for cell in line.cells.values()):
        st.subheader("How much better, against how much better by votes", anchor=False)
        kind = _select("Correlation", "correlation", CORRELATIONS, format_func=str.capitalize)
        contender_table(votes_data(found, kind) or {}, key="votes")
    st.subheader("Disagreements", anchor=False)
    first, second = st.columns(2)
    with first:
        dimension = _select("Dimension", "dimension", kept.dimensions)
    with second:
        contender = _select("Contender", "contender", names)
    list_pairs(kept, dimension, contender)


def _grades(kept: StoredAgreement) -> None:
    table = st.container()
    first, second, third = st.columns(3)
    with first:
        dimension = _select("Dimension", "dimension", kept.dimensions)
    names = [one.name for one in kept.agreement.contenders]
    with third:
        contender = _select("Contender", "contender", names)
    found = get_grades(kept.agreement.id, dimension, _number("at_least"), _cuts(contender))
    with second:
        _bound("at_least", found.at_least)
        st.number_input("Good from grade", key="agreement-at_least", on_change=_chose, args=("at_least",), format="%g")
    with table:
        _title(
            kept,
            f"{found.graded:,} items of {kept.agreement.source}, {dimension.replace('_', ' ')}, judged by"
            f" {kept.agreement.judge}; {found.good:,} are good.",
        )
        contender_table(grades_data(found), key="grades")
        _alpha(found)
    line = next((one for one in found.lines if one.contender.name == contender), None)
    if line is None:
        plain(f"{contender} has no score in {dimension}.")
        return
    _one(found, line)
    st.subheader("Disagreements", anchor=False)
    list_grades(kept, dimension, contender)


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
    st.subheader("One contender", anchor=False)
    contender_pictures(line, found.people, key="one")
    if line.cut:
        _bound("cut", line.cut.threshold)
        st.number_input(
            "It says good from score",
            key="agreement-cut",
            on_change=_chose,
            args=("cut",),
            format="%.4g",
            step=0.05,
            help="Chosen beforehand, it tells how the metric does; fitted, it looks better than it is.",
        )
