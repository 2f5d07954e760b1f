"""The Hallucinations page: the statements of runs that no passage supports."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import streamlit as st

from ragboard.analysis import (
    Grouping,
    HallucinationPage,
    HallucinationQuery,
    Human,
    hallucination_table,
)
from ragboard.analysis.verdict_style import VERDICT_STYLES
from ragboard.errors import NotFoundError
from ragboard.records import Label
from ragboard.sample_files import SAMPLE_TAG
from ragboard.store import RunRef
from ragboard_dashboard.components.link_lists import group_list, hallucination_list
from ragboard_dashboard.controls import (
    evaluations_help,
    export_control,
    first_page,
    offer_sql,
    offer_upload,
    page_number,
    pager,
    run_choices,
)
from ragboard_dashboard.data import (
    evaluates,
    get_hallucination_groups,
    get_hallucinations,
    get_hallucinations_sql,
    get_judges,
    get_runs,
    resolve,
    store,
)
from ragboard_dashboard.links import STETHOSCOPE, link_to, open_page
from ragboard_dashboard.text import markdown_escaped, plain, shortened
from ragboard_dashboard.updates import offer_refresh, redraw_when

__all__ = ["draw"]

PAGE_SIZE = 25
MAX_NAMED_RUNS = 6
"""With more chosen runs, the page does not count the statements of each run."""
SHOWN: dict[str, Label | None] = {"all": None, "contradicted": "contradicted", "unsupported": "unsupported"}
GROUPS: dict[str, Grouping | None] = {
    "one by one": None,
    "by question": "question",
    "by passage": "passage",
    "by judge": "judge",
}
HUMAN: dict[str, Human | None] = {
    "labelled or not": None,
    "no human label": "none",
    "annotators agree": "agrees",
    "overruled": "overruled",
}
RENAMED = {"no label by people": "no human label", "people agree": "annotators agree"}
"""{name of a `HUMAN` choice in older links: current name}."""
FILTERS = ("by", "judge", "people", "passage", "miscited")
"""URL parameters of the collapsed filters."""
RUNS_CLEARED = "hallucinations-all"
"""Session key, true once the user has cleared the run selection; the page then no longer preselects runs."""


def draw() -> None:
    """Draw the page."""
    if not get_runs():
        _empty()
        redraw_when(lambda: bool(get_runs()))
        return
    offer_refresh()
    if _missing_runs():
        return
    _choose_newest_runs()
    title = st.container()
    query, by = _query()
    found = get_hallucinations(query)
    if not found.labels and not _has_filters(query):
        with title:
            _nothing_judged(query)
        return
    title.header(found.sentence, anchor=False)
    _counts(found)
    _runs_line(query)
    if not found.total:
        st.info("No statement matches these filters.", icon=":material/filter_alt_off:")
    elif by:
        _groups(query, by)
    else:
        _statements(found, query.offset // PAGE_SIZE + 1)
    with st.container(horizontal=True, vertical_alignment="center"):
        export_control("hallucinations", lambda: hallucination_table(store(), query), "content")
        offer_sql(get_hallucinations_sql(query), "hallucinations")


def _choose_newest_runs() -> None:
    """By default, choose the evaluated runs of the user's newest dataset.

    Statements of different datasets have little in common. The user can still choose all runs.
    """
    evaluated = [run for run in get_runs() if run.evaluated]
    own = [run for run in evaluated if SAMPLE_TAG not in run.tags]
    newest = [run.name for run in own if run.dataset_key == own[0].dataset_key]
    if own and len(evaluated) > len(newest) and not st.query_params and not st.session_state.get(RUNS_CLEARED):
        st.session_state["runs"] = newest


def _has_filters(query: HallucinationQuery) -> bool:
    """Return whether a filter is set, apart from runs and verdict."""
    return replace(query, runs=(), verdict=None, limit=0, offset=0) != HallucinationQuery(limit=0)


def _nothing_judged(query: HallucinationQuery) -> None:
    """Say that no statement of the chosen runs was judged."""
    st.header("No statement was judged yet", anchor=False)
    names = [run.name for run in query.runs]
    plain(f"{', '.join(names) or 'The runs'}: evaluate faithfulness to see which statements no passage supports.")
    for name in names if evaluates() else ():
        if st.button(f"Evaluate {markdown_escaped(shortened(name))}", key=f"evaluate-{name}", icon=":material/gavel:"):
            open_page("evaluate", {"run": name})


def _runs_line(query: HallucinationQuery) -> None:
    """Draw links to the chosen run or, if there are several, a link with the count of each, highest first."""
    names = list(st.session_state["runs"])
    if len(names) == 1:
        with st.container(horizontal=True, vertical_alignment="center"):
            link_to("run", f"Run {markdown_escaped(shortened(names[0]))}", {"run": names[0]}, ":material/bar_chart:")
            link_to("diagnosis", "Diagnosis", {"run": names[0]}, STETHOSCOPE)
        return
    if not 1 < len(names) <= MAX_NAMED_RUNS:
        return
    counted = [
        (get_hallucinations(replace(query, runs=(ref,), offset=0, limit=1)), name)
        for name, ref in zip(names, query.runs, strict=False)
    ]
    with st.container(horizontal=True, vertical_alignment="center"):
        for page, name in sorted(counted, key=lambda one: -one[0].total):
            count = f"{page.total:,} of {sum(page.labels.values()):,}" if page.labels else "not evaluated"
            link_to(
                "hallucinations",
                f"{markdown_escaped(shortened(name))}: {count}",
                {"runs": name},
                ":material/filter_alt:",
            )


def _with_evaluation(name: str) -> str:
    """Return a name like `RUN@JUDGE` as `RUN@EVALUATION`, as in the choice of runs."""
    with suppress(NotFoundError):
        run = resolve(name)
        return f"{run.name}@{run.evaluation_id}"
    return name


def _missing_runs() -> bool:
    """Return whether runs in the URL are not in the store. If so, draw an error with their names."""
    choices = run_choices(get_runs())
    named = {name: name if name in choices else _with_evaluation(name) for name in st.query_params.get_all("runs")}
    missing = [name for name, choice in named.items() if choice not in choices]
    if not missing and any(name != choice for name, choice in named.items()):
        st.session_state["runs"] = list(named.values())
    if missing:
        st.error("This link names runs that are not in the store:", icon=":material/search_off:")
        plain(", ".join(missing))
        if st.button("All runs", icon=":material/close:"):
            del st.query_params["runs"]
            st.rerun()
    return bool(missing)


def _query() -> tuple[HallucinationQuery, Grouping | None]:
    """Draw the choice of runs and the filters. Return the query and the grouping."""
    row = st.container(horizontal=True, vertical_alignment="center")
    in_url: dict[str, Any] = {"bind": "query-params", "on_change": first_page}
    without_label: dict[str, Any] = in_url | {"label_visibility": "collapsed"}
    choices = run_choices(get_runs())
    chosen = row.multiselect(
        "Runs",
        list(choices),
        help=evaluations_help(choices),
        placeholder="All runs",
        key="runs",
        width=340,
        bind="query-params",
        on_change=_runs_chosen,
        label_visibility="collapsed",
    )
    shown = row.segmented_control("Verdict", list(SHOWN), default="all", required=True, key="verdict", **without_label)
    text = row.text_input(
        "Search", placeholder="Search statements, questions, reasons", key="q", width=260, **without_label
    )
    filters = sum(name in st.query_params for name in FILTERS)
    with row.popover(f"Filters ({filters})" if filters else "Filters", icon=":material/filter_list:", key="filters"):
        by = st.segmented_control("Group by", list(GROUPS), default="one by one", required=True, key="by", **in_url)
        judged_by = st.selectbox("Judge", ["", *get_judges()], format_func=_judge_title, key="judge", **in_url)
        if st.query_params.get("people") in RENAMED:
            st.session_state["people"] = RENAMED[st.query_params["people"]]
        human = st.selectbox("Human labels", list(HUMAN), key="people", **in_url)
        miscited = st.toggle("Cites a passage that does not support it", key="miscited", **in_url)
        retrieved = st.text_input("Passage", placeholder="Passage id", key="passage", **in_url)
    query = HallucinationQuery(
        runs=_refs(chosen),
        verdict=SHOWN[shown],
        judge=judged_by,
        human=HUMAN[human],
        text=text or "",
        passage=retrieved or "",
        miscited=miscited,
        question=_question(),
        limit=PAGE_SIZE,
        offset=(page_number() - 1) * PAGE_SIZE,
    )
    return _on_existing_page(query), GROUPS[by]


def _runs_chosen() -> None:
    st.session_state[RUNS_CLEARED] = not st.session_state["runs"]
    first_page()


def _judge_title(judge: str) -> str:
    return judge or "Any judge"


def _refs(names: list[str]) -> tuple[RunRef, ...]:
    try:
        return tuple(map(resolve, names))
    except NotFoundError as error:
        plain(str(error))
        return ()


def _question() -> str:
    """Return the question in the URL. If there is one, draw it, with a button that shows all questions."""
    question = st.query_params.get("question", "")
    if question:
        row = st.container(horizontal=True, vertical_alignment="center")
        if row.button("All questions", icon=":material/close:"):
            del st.query_params["question"]
            st.rerun()
        with row:
            plain(f"Question: {question}", "note")
    return question


def _on_existing_page(query: HallucinationQuery) -> HallucinationQuery:
    """Return the query, at its first page if the page in the URL does not exist."""
    if query.offset and query.offset >= get_hallucinations(replace(query, offset=0)).total:
        return replace(query, offset=0)
    return query


def _counts(found: HallucinationPage) -> None:
    counts = [f"{look.icon} {found.labels.get(label, 0):,} {look.word}" for label, look in VERDICT_STYLES.items()]
    judges = {row.judged.in_words for row in found.rows}
    plain(" · ".join([*counts, *(f"judged by {judge}" for judge in judges if len(judges) == 1)]), "note")


def _statements(found: HallucinationPage, at: int) -> None:
    hallucination_list(found.rows, name="Unsupported statements", key="statements")
    pager(found.total, PAGE_SIZE, at)


def _groups(query: HallucinationQuery, by: Grouping) -> None:
    found = get_hallucination_groups(query, by)
    if query.offset and not found.groups:
        query = replace(query, offset=0)
        found = get_hallucination_groups(query, by)
    if by == "passage":
        plain(
            "Each row counts the unsupported statements in the answers for which its passage was retrieved "
            "and, after ✕, the statements that the passage contradicts.",
            "note",
        )
    filters = {name: st.query_params.get_all(name) for name in st.query_params if name not in ("by", "page")}
    group_list(found.groups, by=by, query=filters, name=f"Statements by {by}", key=f"groups-{by}")
    pager(found.total, PAGE_SIZE, query.offset // PAGE_SIZE + 1)


def _empty() -> None:
    st.header("No run yet", anchor=False)
    st.markdown("Evaluate a run to list the statements that no passage supports.")
    offer_upload()
