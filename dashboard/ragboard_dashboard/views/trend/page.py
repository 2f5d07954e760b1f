"""The Trends page: metrics of live traffic over time, their changes, and new unsupported statements."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from ragboard.analysis import STATE_LABELS, GroupTrend, NewStatements, SeriesState, TrafficTrend
from ragboard.analysis.verdict_style import VERDICT_STYLES
from ragboard.errors import RagboardError
from ragboard.records import Label
from ragboard_dashboard.controls import offer_upload
from ragboard_dashboard.data import (
    get_new_statements,
    get_series_states,
    get_traffic_columns,
    get_traffic_groups,
    get_traffic_trend,
)
from ragboard_dashboard.links import address, bound, link_to
from ragboard_dashboard.text import column_title, html_escaped, markdown_escaped, plain, shortened
from ragboard_dashboard.updates import offer_refresh, redraw_when
from ragboard_dashboard.views.trend.chart import shown_periods, trend_chart

__all__ = ["draw"]

STYLES = Path(__file__).with_name("trend.css")
RANGES = {"30": "30 days", "90": "90 days", "365": "1 year", "0": "All"}
"""{number of days in the URL: text}; 0 is all."""
BAD = ("below threshold", "dropped")
ORDER = ("below threshold", "dropped", "ok", "too few")
MAX_PERIODS = 60
EMPTY = """
A trend shows how metrics change over time. It needs evaluated samples with the time of their question, from your
service or from a run file with a column `time`:

- `ragboard collect` makes a sample of each OpenTelemetry trace of your service.
- `ragboard.log("chat", ...)` in Python adds one sample.
- `ragboard watch chat` evaluates new samples as they come.
"""


def draw() -> None:
    """Draw the page."""
    st.html(STYLES)
    states = get_series_states()
    if not states:
        _empty()
        redraw_when(lambda: bool(get_series_states()))
        return
    offer_refresh()
    datasets = list(dict.fromkeys(state.dataset for state in sorted(states, key=_rank)))
    wanted = st.query_params.get("dataset", datasets[0])
    if wanted not in datasets:
        st.warning("No traffic of this dataset is evaluated.", icon=":material/search_off:")
        wanted = datasets[0]
    dataset_states = sorted((state for state in states if state.dataset == wanted), key=_rank)
    chosen = _chosen(dataset_states)
    title = st.container()
    if len(datasets) > 1:
        in_url = bound("dataset", wanted, drops=("metric", "judge", "by"))
        st.selectbox("Dataset", datasets, width=420, format_func=shortened, **in_url)
    st.html(_states_html(dataset_states, chosen))
    try:
        trend = get_traffic_trend(chosen.dataset, chosen.metric, chosen.judge)
    except RagboardError as error:
        plain(str(error))
        return
    with title:
        plain(_headline(dataset_states), "title")
    _chart(trend)
    _week(trend)
    _groups(trend)
    _new_statements(chosen.dataset)
    _table(trend)
    with st.container(horizontal=True):
        link_to("dataset", "Runs of this dataset", {"dataset": chosen.dataset}, ":material/quiz:")
        link_to("runs", "All runs", {}, ":material/leaderboard:")


def _empty() -> None:
    st.header("No traffic yet", anchor=False)
    st.markdown(EMPTY)
    offer_upload()


def _rank(state: SeriesState) -> int:
    return ORDER.index(state.state)


def _chosen(states: Sequence[SeriesState]) -> SeriesState:
    """Return the series in the URL, or the one in the worst state."""
    metric, judge = st.query_params.get("metric", ""), st.query_params.get("judge", "")
    named = [state for state in states if state.metric == metric]
    return next((state for state in named if state.judge == judge), (named or states)[0])


def _headline(states: Sequence[SeriesState]) -> str:
    """Return the worst state in one sentence."""
    worst = states[0]
    if worst.state == "dropped" and worst.change:
        return f"{worst.label} of {worst.dataset} {worst.change.in_short}"
    if worst.state in BAD or len(states) == 1:
        return worst.summary
    judged = [state for state in states if state.state == "ok"]
    if not judged:
        return f"{worst.dataset}: too few samples to judge"
    return f"{worst.dataset}: no metric got worse ({len(judged)} watched)"


def _states_html(states: Sequence[SeriesState], chosen: SeriesState) -> str:
    """Return an HTML list of series with their states. Each links to its chart."""
    judges = len({state.judge for state in states}) > 1
    rows: list[str] = []
    for state in states:
        query = {"dataset": state.dataset, "metric": state.metric, "judge": state.judge}
        name = html_escaped(state.label + (f" ({state.judge_in_words})" if judges else ""))
        link = f'<a href="{html_escaped(address("trend", query))}" target="_self">{name}</a>'
        bad = " data-bad" if state.state in BAD else ""
        here = ' aria-current="true"' if state is chosen else ""
        figures = html_escaped(_figures(state))
        rows.append(f"<li{bad}{here}><b>{STATE_LABELS[state.state]}</b> {link}: {figures}</li>")
    return f'<ul class="rb-states rb-trend-page">{"".join(rows)}</ul>'


def _figures(state: SeriesState) -> str:
    """Return the figures of a series: `mean 0.81 (0.79 to 0.84), n = 420 in 7 days; fell by 0.07 ...`."""
    mean = "no score" if state.mean is None else f"mean {state.mean_in_words}, n = {state.samples:,} in 7 days"
    threshold = f", threshold {state.threshold}" if state.threshold else ""
    return mean + threshold + (f"; {state.change}" if state.change else "")


def _chart(trend: TrafficTrend) -> None:
    days = st.query_params.get("days", "90")
    days = days if days in RANGES else "90"
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.subheader(f"{markdown_escaped(trend.state.label)} over time", anchor=False, width="content")
        st.segmented_control(
            "Shown",
            list(RANGES),
            format_func=lambda key: RANGES[key],
            label_visibility="collapsed",
            required=True,
            **bound("days", days),
        )
    trend_chart(trend, int(days))
    _, length = shown_periods(trend, int(days))
    by = "day" if length == 1 else "week"
    notes = [f"Mean by {by} with its 95% CI; judge: {trend.state.judge_in_words}."]
    if trend.configs:
        notes.append("◆ is the first sample of another configuration.")
    if trend.changes:
        notes.append("▲ ▼ is a detected change; it started in the shaded days with 95% probability.")
    else:
        notes.append("No change is detected.")
    others = f" over all {trend.series} series" if trend.series > 1 else ""
    notes.append(f"If nothing changes, at most 5% of years have a false alarm{others}.")
    plain(" ".join(notes), "note")


def _week(trend: TrafficTrend) -> None:
    st.subheader("Last 7 days vs the 7 days before", anchor=False)
    plain(trend.week.in_words.capitalize() if trend.week.difference is None else trend.week.in_words)
    found = trend.week.difference
    if found:
        plain(
            f"Mean {found.mean:.2f} (n = {found.n:,}) from {trend.week.start:%Y-%m-%d}, {found.mean_others:.2f}"
            f" (n = {found.others:,}) in the 7 days before. The questions differ, so the test is unpaired"
            f" ({found.p_method}).",
            "note",
        )


def _groups(trend: TrafficTrend) -> None:
    state = trend.state
    columns = get_traffic_columns(state.dataset, state.metric, state.judge)
    if not columns:
        return
    st.subheader("By group", anchor=False)
    wanted = st.query_params.get("by", columns[0])
    column = wanted if wanted in columns else columns[0]
    if len(columns) > 1:
        st.selectbox("Group by", columns, format_func=column_title, width=320, **bound("by", column))
    try:
        groups = get_traffic_groups(state.dataset, column, state.metric, state.judge)
    except RagboardError as error:
        plain(str(error), "note")
        return
    st.html(_groups_html(column, groups))


def _groups_html(column: str, groups: Sequence[GroupTrend]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{html_escaped(shortened(group.group, 60))}</th>'
        f'<td data-name="Last 7 days">{html_escaped(group.in_words)}</td>'
        f'<td data-name="n">{group.n:,}</td>'
        f'<td data-name="Difference from the 7 days before"{" class=worse" if group.week.change == "worse" else ""}>'
        f"{html_escaped(group.week.in_words)}</td></tr>"
        for group in groups
    )
    return (
        f'<table class="rb-weeks"><thead><tr><th scope="col">{html_escaped(column)}</th>'
        '<th scope="col">Last 7 days</th>'
        '<th scope="col">n</th><th scope="col">Difference from the 7 days before (p: Holm)</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _new_statements(dataset: str) -> None:
    found = get_new_statements(dataset)
    st.subheader("New unsupported statements", anchor=False)
    if not found.total:
        plain(f"No unsupported statement since {found.start:%Y-%m-%d}.", "note")
        return
    plain(f"{found.in_words}.")
    if found.statements:
        st.html(_statements_html(found))
    if found.new > len(found.statements):
        plain(f"The first {len(found.statements)}; those in most answers come first.", "note")


def _statements_html(found: NewStatements) -> str:
    rows: list[str] = []
    for one in found.statements:
        link = html_escaped(address("sample", {"run": one.run, "sample": one.sample_id, "statement": str(one.number)}))
        verdict: Label = "contradicted" if one.verdict == "contradicted" else "unsupported"
        times = f"in {one.times:,} answers, " if one.times > 1 else ""
        where = html_escaped(f"{times}{one.time:%Y-%m-%d %H:%M} UTC, {one.run}: {shortened(one.question, 120)}")
        rows.append(
            f'<li>{VERDICT_STYLES[verdict].icon} <a href="{link}" target="_self">'
            f'{html_escaped(shortened(one.statement, 240))}</a><span class="rb-quiet">{where}</span></li>'
        )
    return f'<ul class="rb-new">{"".join(rows)}</ul>'


def _table(trend: TrafficTrend) -> None:
    with st.expander("Figures by week", icon=":material/table:"):
        rows = "".join(
            f'<tr><th scope="row">{week.start:%Y-%m-%d}</th><td data-name="Mean (95% CI)">'
            f'{html_escaped(week.in_words)}</td><td data-name="n">{week.n:,}</td>'
            f'<td data-name="Unscored">{week.unscored:,}</td></tr>'
            for week in reversed(trend.weeks[-MAX_PERIODS:])
        )
        st.html(
            '<table class="rb-weeks"><thead><tr><th scope="col">Week from</th><th scope="col">Mean (95% CI)</th>'
            f'<th scope="col">n</th><th scope="col">Unscored</th></tr></thead><tbody>{rows}</tbody></table>'
        )
