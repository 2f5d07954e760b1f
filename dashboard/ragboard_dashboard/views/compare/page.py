"""Compare: which of two configurations is better, by how much, and on which questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from ragboard.analysis import (
    Comparison,
    JudgeNoise,
    ListedRun,
    MetricComparison,
    PairQuery,
    Unpaired,
    UnscoredPolicy,
    Which,
    pair_rows,
    pair_runs,
)
from ragboard.errors import NotFoundError
from ragboard.export import comparison_frame, pairs_frame
from ragboard.export.comparison_report import comparison_report
from ragboard.spans import inert
from ragboard.store import RunRef
from ragboard_dashboard.components import safe_key
from ragboard_dashboard.components.pairs import pair_list, pair_view
from ragboard_dashboard.controls import (
    choose_evaluation,
    default_pair,
    export_control,
    last_page,
    offer_sql,
    offer_upload,
    page_number,
    pager,
    report_button,
    unscored_choice,
)
from ragboard_dashboard.data import (
    get_comparable,
    get_comparison,
    get_noise,
    get_pair,
    get_pair_place,
    get_pair_rows,
    get_pairs_sql,
    get_runs,
    resolve,
    store,
)
from ragboard_dashboard.links import bound, open_sample
from ragboard_dashboard.text import column_title, facts, outcome_fact, plain
from ragboard_dashboard.views.compare.tables import forest, pair_data, pairs_data

__all__ = ["draw"]

PAGE_SIZE = 20
WHICH: dict[Which, str] = {
    "all": "All",
    "worse": "▼ Worse",
    "better": "▲ Better",
    "same": "= Same",
    "unscored": "Unscored",
}
DIFFERS: dict[Which, str] = {"all": "All", "worse": "≠ Differs", "same": "= Same", "unscored": "Unscored"}
"""The same of a metric that is better neither way, or that different judges scored."""


def draw() -> None:
    """Draw the page."""
    runs = get_runs()
    if len(runs) < 2:
        _empty()
        return
    chosen = _choose(runs)
    if chosen is None:
        return
    a, b, unscored = chosen
    compared = get_comparison(a, b, unscored)
    wanted = st.query_params.get("pair")
    if wanted is None:
        _result(a, b, compared, (*get_noise(a), *(get_noise(b) if b.run_id != a.run_id else ())))
    else:
        _pair(a, b, compared, wanted)
    _pairs(a, b, compared)


def _empty() -> None:
    st.header("Nothing to compare yet", anchor=False)
    st.markdown("A comparison needs two runs over the same questions.")
    offer_upload()


def _choose(runs: tuple[ListedRun, ...]) -> tuple[RunRef, RunRef, UnscoredPolicy] | None:
    """The two runs of the address, else the newest two over the same questions, and how the unscored count."""
    first, second = default_pair(runs)
    left, right, count = st.columns([3, 3, 1.6], vertical_alignment="bottom")
    with left:
        a = _select("A (baseline)", "a", runs, first)
    with right:
        b = _select("B (candidate)", "b", runs, second)
    with count:
        unscored = unscored_choice()
    return (*get_comparable(a, b), unscored) if a and b else None


def _select(label: str, key: str, runs: tuple[ListedRun, ...], default: str) -> RunRef | None:
    names = [run.name for run in runs]
    wanted = st.query_params.get(key) or default
    st.query_params[key] = wanted
    try:
        resolve(wanted)
    except NotFoundError as error:
        st.error(f"Run {key.upper()} in this link is not in the store.", icon=":material/search_off:")
        plain(str(error))
        return None
    run = resolve(wanted)
    st.selectbox(label, names, format_func=inert, **_bound(key, run.name, "pair", "page"))
    choose_evaluation(run, key)
    return run


def _run_name(run: RunRef) -> str:
    """How an address names a run whose statements are compared: by its name alone where that means the same."""
    return run.name if resolve(run.name).evaluation_id == run.evaluation_id else f"{run.name}@{run.evaluation_id}"


def _bound(name: str, value: str, *drops: str) -> dict[str, Any]:
    return bound(name, value, key=f"compare-{name}", drops=drops)


def _result(a: RunRef, b: RunRef, compared: Comparison, noise: tuple[JudgeNoise, ...]) -> None:
    title, copy, report, export = st.columns([5, 1.2, 1.2, 1.2], vertical_alignment="bottom")
    title.header("Compare", anchor=False)
    name = f"{b.name} vs {a.name}"
    asked = _pair_query(compared)
    with copy.popover("Copy", icon=":material/content_copy:", width="stretch"):
        st.code(inert(compared.sentence), language=None, wrap_lines=True)
    with report:
        metric = asked.metric if asked else ""
        report_button(
            name, lambda: comparison_report(store(), a, b, metric=metric, unscored=compared.policy), width="stretch"
        )
    with export:
        export_control(name, lambda: comparison_frame(compared))
    plain(compared.sentence)
    _notes(compared)
    if compared.metrics:
        forest(compared, noise, key="forest")
    plain(_pairing(compared), "note")


def _notes(compared: Comparison) -> None:
    """Who judged, what differs in configuration, and what else a difference may come from."""
    said = [f"{one.key}: {_given(one.a)} → {_given(one.b)}" for one in compared.config]
    lines = [f"Judge: {compared.judged_by}"] if compared.judged_by else []
    lines.append(f"Configuration (A → B): {'; '.join(said) or 'no difference'}")
    refusals = compared.refusals
    if refusals:
        lines.append(
            f"Refusals: {refusals.a / refusals.n:.0%} of A, {refusals.b / refusals.n:.0%} of B"
            f" ({refusals.a:,} and {refusals.b:,} of {refusals.n:,} pairs; McNemar p = {refusals.test.p:.2g})"
        )
    if compared.claims_a is not None:
        lines.append(f"Statements per answer: mean {compared.claims_a:.1f} in A, {compared.claims_b:.1f} in B")
    plain("\n".join(lines), "note")
    for caution in compared.cautions:
        plain(f"⚠ {caution}")
    if refusals and refusals.warning:
        plain(f"⚠ {refusals.warning}.")


def _given(value: object) -> str:
    return "not set" if value is None else str(value)


def _pairing(compared: Comparison) -> str:
    by_question = f", {compared.by_question:,} by question text" if compared.by_question else ""
    said = [f"{compared.paired - compared.by_question:,} questions paired by sample id{by_question}"]
    for side, left in (("A", compared.unpaired_a), ("B", compared.unpaired_b)):
        said.append(f"unpaired in {side}: {_left(left)}")
    return "; ".join(said) + ". Smallest detectable: the smallest true difference found with 80% power."


def _left(left: Unpaired) -> str:
    count = left.only + left.ambiguous
    if not count:
        return "none"
    unsure = f", {left.ambiguous:,} of them with several possible matches" if left.ambiguous else ""
    return f"{count:,}{unsure} ({', '.join(left.ids)}{', …' if count > len(left.ids) else ''})"


def _pair_query(compared: Comparison) -> PairQuery | None:
    """The metric and the pairs that the address names, else the first; None where no metric has a pair."""
    there = {metric.metric: metric for metric in compared.metrics if metric.pairs}
    if not there:
        return None
    metric, wanted = (st.query_params.get(key, "") for key in ("metric", "which"))
    shown = there.get(metric) or next(iter(there.values()))
    known: dict[str, Which] = {which: which for which in _titles(shown)}
    return PairQuery(metric=shown.metric, which=known.get(wanted, "all"))


def _titles(metric: MetricComparison) -> Mapping[Which, str]:
    return DIFFERS if metric.better == "neutral" else WHICH


def _pairs(a: RunRef, b: RunRef, compared: Comparison) -> None:
    """Draw the pairs by one metric, the largest losses first."""
    asked = _pair_query(compared)
    if asked is None:
        return
    specs = [metric.metric for metric in compared.metrics if metric.pairs]
    shown = next(one for one in compared.metrics if one.metric == asked.metric)
    st.subheader(f"Questions, largest {'differences' if shown.better == 'neutral' else 'losses'} first", anchor=False)
    choice, kind, export = st.columns([3, 7, 1.2], vertical_alignment="bottom")
    metric = choice.selectbox("Metric", specs, format_func=column_title, **_bound("metric", asked.metric, "page"))
    counts = get_pair_rows(a, b, PairQuery(metric=metric, limit=0)).counts
    which: Which = kind.segmented_control(
        "Which",
        list(_titles(shown)),
        format_func=lambda one: f"{_titles(shown)[one]} {counts[one]:,}",
        required=True,
        label_visibility="collapsed",
        **_bound("which", asked.which, "page"),
    )
    at = min(page_number(), last_page(counts[which], PAGE_SIZE))
    query = PairQuery(metric=metric, which=which, limit=PAGE_SIZE, offset=(at - 1) * PAGE_SIZE)
    page = get_pair_rows(a, b, query)
    with export:
        export_control(f"{b.name} vs {a.name} pairs", lambda: _table(a, b, replace(query, limit=page.total, offset=0)))
    shown_by = {"a": st.query_params["a"], "b": st.query_params["b"], "metric": metric, "which": which}
    if compared.policy != "excluded":
        shown_by["unscored"] = compared.policy
    caption = f"{page.total:,} of {compared.paired:,} pairs. Click a question to see both answers."
    opened = pair_list(pairs_data(page.rows, compared, shown_by, caption), key="pairs")
    offer_sql(get_pairs_sql(a, b, query), "pairs")
    pager(page.total, PAGE_SIZE, at)
    if opened:
        st.query_params["pair"] = opened
        st.rerun()


def _table(a: RunRef, b: RunRef, query: PairQuery) -> pd.DataFrame:
    """The pairs of a query as a table; read anew, for a download is made outside the page."""
    return pairs_frame({query.metric: pair_rows(store(), a, b, pair_runs(store(), a, b), query).rows})


def _pair(a: RunRef, b: RunRef, compared: Comparison, sample_id: str) -> None:
    try:
        found = get_pair(a, b, sample_id)
    except NotFoundError as error:
        st.error("The question in this link is not in both runs.", icon=":material/search_off:")
        plain(str(error))
        return
    row = st.container(horizontal=True, vertical_alignment="center")
    if row.button("Back to the comparison", icon=":material/arrow_back:"):
        del st.query_params["pair"]
        st.rerun()
    if row.button("Open sample in A", icon=":material/find_in_page:"):
        open_sample(_run_name(found.a.run), found.a.sample.id)
    if row.button("Open sample in B", icon=":material/find_in_page:"):
        open_sample(_run_name(found.b.run), found.b.sample.id)
    with row:
        _step(a, b, compared, sample_id)
    plain(found.a.sample.question, "title")
    for side, report in (("A", found.a), ("B", found.b)):
        facts([(f"{side}", "", ""), *(outcome_fact(spec, outcome) for spec, outcome in report.scores.items())])
    plain("Struck through: only in A. Bold and underlined: only in B.", "note")
    pair_view(pair_data(found), key=safe_key("pair", a.run_id, b.run_id, sample_id))


def _step(a: RunRef, b: RunRef, compared: Comparison, sample_id: str) -> None:
    """Ways to the pairs before and after, in the order of the list below."""
    query = _pair_query(compared)
    if query is None:
        return
    at = get_pair_place(a, b, query, sample_id)
    for label, icon, key, to in (
        ("Previous", "chevron_left", "k", at.previous),
        ("Next", "chevron_right", "j", at.following),
    ):
        if st.button(label, icon=f":material/{icon}:", shortcut=key, disabled=to is None):
            st.query_params["pair"] = str(to)
            st.rerun()
    place = f"{at.place:,} of {at.total:,}" if at.place else f"not among these {at.total:,}"
    shown = next(one for one in compared.metrics if one.metric == query.metric)
    plain(f"{place} pairs ({_titles(shown)[query.which]}, by {column_title(query.metric)})", "note")
