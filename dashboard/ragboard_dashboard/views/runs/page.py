"""The Runs page: the leaderboard, and the unsupported statements to check first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import streamlit as st

from ragboard.analysis import (
    STATUS_LABELS,
    ListedRun,
    MetricSummary,
    RunSummary,
    UnscoredPolicy,
    board_metrics,
    dataset_label,
    different_judges_note,
    headline,
    means_sql,
    runs_matching,
    sample_runs_last,
)
from ragboard.analysis.verdict_style import ARROWS, VERDICT_STYLES
from ragboard.export import runs_frame
from ragboard.records import MetricDescription
from ragboard.sample_files import SAMPLE_TAG
from ragboard.spans import strip_bidi_controls
from ragboard.stats import Interval, ci_text, interval_text
from ragboard_dashboard.components import widget
from ragboard_dashboard.components.link_lists import statement_list
from ragboard_dashboard.controls import (
    default_pair,
    edit_run,
    export_control,
    label_file_line,
    offer_sql,
    offer_upload,
    unscored_choice,
)
from ragboard_dashboard.data import (
    get_leaderboard,
    get_metrics,
    get_runs,
    get_traffic_datasets,
    get_unsupported_statements,
    writable,
)
from ragboard_dashboard.links import address, link_to, open_comparison
from ragboard_dashboard.progress import draw_running_evaluations
from ragboard_dashboard.text import UNSCORED_REASONS, ago, counted, mean_shown, plain
from ragboard_dashboard.updates import offer_refresh, redraw_when

__all__ = ["board_data", "draw"]

MIN_FILTERED_RUNS = 6
"""With at least this number of runs, the page has a filter."""
STATEMENTS = 6
"""Number of statements in the list of statements to check first."""
UNBOUNDED_END = 2.0
"""The upper end of the scale for a metric without an upper bound."""
CAPTIONS: dict[UnscoredPolicy, str] = {
    "excluded": "Mean of the scored samples with its 95% CI, and the number of scored samples.",
    "zero": "Mean with its 95% CI. Unscored samples count as 0, or as the worst value if lower is better.",
    "bounds": "Range of the mean, from all unscored samples at the worst value to all at the best value. Thin line:"
    " 95% CI of this range (Horowitz and Manski 2000).",
}
LEGEND = "Statements of all answers: " + ", ".join(f"{look.icon} {name}" for name, look in VERDICT_STYLES.items()) + "."

_HERE = Path(__file__).parent
_draw_board = widget("board", "board", _HERE / "board.js", _HERE / "board.css")


def draw() -> None:
    """Draw the page."""
    if not get_runs():
        _empty()
        redraw_when(lambda: bool(get_runs()))
        return
    offer_refresh()
    runs, shown, unscored = _head()
    draw_running_evaluations()
    chosen = _compare(get_runs())
    label_file_line([run for run in shown if run.name in chosen] or shown)
    if not shown:
        st.info("No run matches. The filter searches names, tags and datasets.", icon=":material/filter_alt_off:")
        return
    now = datetime.now(UTC).replace(tzinfo=None)
    specs, board = board_metrics(shown), st.container()
    with st.container(horizontal=True, vertical_alignment="center"):
        every = specs != headline(specs) and st.toggle(f"All {len(specs)} metrics", key="every", bind="query-params")
        offer_sql(means_sql(get_leaderboard()), "runs")
    with board:
        edited = run_board(
            shown,
            get_metrics(),
            specs if every else headline(specs),
            editable=writable(),
            key="board",
            now=now,
            unscored=unscored,
        )
    by_id = {run.run_id: run for run in runs}
    if writable() and edited in by_id:
        edit_run(by_id[edited], back=True)
    _statements()


def _compare(runs: tuple[ListedRun, ...]) -> list[str]:
    """Draw the choice of two runs to compare; the first run is the baseline. Return the chosen runs.

    If the store has a newer pair than when the page was last drawn, that pair replaces the choice.
    """
    names = [run.name for run in runs]
    if len(names) == 1:
        return names
    newest = default_pair(runs)
    if st.session_state.get("newest-pair", newest) != newest:
        st.session_state["two"] = list(newest)
    st.session_state["newest-pair"] = newest
    choice, action = st.columns([5, 1], vertical_alignment="bottom")
    chosen = choice.multiselect(
        "Compare two runs",
        names,
        label_visibility="collapsed",
        placeholder="Choose two runs to compare",
        default=newest,
        format_func=strip_bidi_controls,
        max_selections=2,
        key="two",
        bind="query-params",
    )
    if action.button("Compare", icon=":material/compare_arrows:", width="stretch", disabled=len(chosen) < 2):
        open_comparison(*chosen)
    return chosen


def _head() -> tuple[tuple[RunSummary, ...], tuple[RunSummary, ...], UnscoredPolicy]:
    """Draw the heading, the filter and options. Return all runs, the filtered runs, and how unscored samples count."""
    row = st.container(horizontal=True, vertical_alignment="center")
    row.header("Runs", anchor=False, width="stretch")
    words = ""
    if len(get_runs()) >= MIN_FILTERED_RUNS or "q" in st.query_params:
        words = row.text_input(
            "Filter runs",
            placeholder="Filter by name, tag or dataset",
            label_visibility="collapsed",
            key="q",
            bind="query-params",
            width=300,
        )
    with row:
        offer_upload()
        if get_traffic_datasets():
            link_to("trend", "Trends", {}, ":material/timeline:")
    with row.popover("Options", icon=":material/tune:"):
        unscored = unscored_choice()
        export = st.container()
    runs = sample_runs_last(get_leaderboard(unscored=unscored))
    are_sample_data = [SAMPLE_TAG in run.tags for run in runs]
    if any(are_sample_data) and not all(are_sample_data):
        plain('Runs with the tag "sample" are sample data. To delete them: ragboard demo --remove', "note")
    elif any(are_sample_data):
        st.markdown(
            "Sample data: the same questions, answered by two configurations of one retrieval pipeline. "
            "Click a run to see where it fails, or a statement below to see what its passages say. "
            "`ragboard demo --remove` deletes the sample data."
        )
    shown = runs_matching(runs, words)
    with export:
        export_control("runs", lambda: runs_frame(shown))
    return runs, shown, unscored


def _statements() -> None:
    found = get_unsupported_statements(STATEMENTS)
    if not found:
        return
    st.subheader("Unsupported statements to check first", anchor=False)
    statement_list(found, name="Unsupported statements", key="first")


def _empty() -> None:
    st.header("Which sentence did it make up?", anchor=False)
    st.markdown(
        "Upload a run file: questions, retrieved passages, and answers. ragboard splits each answer into statements, "
        "checks each statement against the passages, and shows the statements that no passage supports."
    )
    offer_upload()
    st.markdown("No file yet? `ragboard demo` loads two sample runs. On the command line:")
    st.code("ragboard evaluate answers.jsonl --name my-run --config k=5", language=None, wrap_lines=True)


def run_board(
    runs: Sequence[RunSummary],
    metrics: Mapping[str, MetricDescription],
    specs: Sequence[str],
    *,
    editable: bool,
    key: str,
    now: datetime,
    unscored: UnscoredPolicy = "excluded",
) -> str | None:
    """Draw the leaderboard with a column for each of `specs`. Return the id of the run to edit, or None."""
    data = board_data(runs, metrics, specs, now, unscored) | {"editable": editable}
    edited: str | None = _draw_board(key=key, data=data, on_edit_change=lambda: None).edit
    return edited


def board_data(
    runs: Sequence[RunSummary],
    metrics: Mapping[str, MetricDescription],
    specs: Sequence[str],
    now: datetime,
    unscored: UnscoredPolicy = "excluded",
) -> dict[str, Any]:
    """Return the leaderboard for the browser component."""
    labels = Counter(metrics[spec].label for spec in specs if spec in metrics)
    datasets = {run.dataset for run in runs}
    judges_note = strip_bidi_controls(different_judges_note(runs))
    query = {} if unscored == "excluded" else {"unscored": unscored}
    return {
        "caption": " ".join(filter(None, (CAPTIONS[unscored], LEGEND, judges_note))),
        "columns": [_column(spec, metrics.get(spec), labels) for spec in specs],
        "rows": [_row(run, specs, now, datasets, query, _differing(run, runs)) for run in runs],
    }


def _differing(run: RunSummary, runs: Sequence[RunSummary]) -> frozenset[str]:
    """Return the settings of a run that differ or are missing in another run over the same questions."""
    others = [other.config for other in runs if other.dataset_key == run.dataset_key]
    return frozenset(key for key, value in run.config.items() if any(config.get(key) != value for config in others))


def _column(spec: str, metric: MetricDescription | None, labels: Mapping[str, int]) -> dict[str, Any]:
    """Return the column of a metric, with its source if another metric has the same label."""
    if metric is None:
        return {"title": spec, "source": "", "arrow": "", "help": spec, "low": 0.0, "high": 1.0}
    return {
        "title": strip_bidi_controls(metric.label),
        "source": strip_bidi_controls(metric.source) if labels[metric.label] > 1 else "",
        "arrow": ARROWS[metric.direction],
        "help": strip_bidi_controls(f"{spec}: {metric.formula}"),
        "low": max(metric.low or 0.0, 0.0),
        "high": UNBOUNDED_END if metric.high is None else metric.high,
    }


def _row(
    run: RunSummary,
    specs: Sequence[str],
    now: datetime,
    datasets: Collection[str],
    query: Mapping[str, str],
    differing: Collection[str],
) -> dict[str, Any]:
    judged = run.judged
    settings = sorted(
        run.config, key=lambda key: key not in differing
    )  # differing settings first, because a long text is cut
    return {
        "key": run.run_id,
        "name": strip_bidi_controls(run.name),
        "href": address("run", {"run": run.name, **query}),
        "tags": [strip_bidi_controls(tag) for tag in run.tags],
        "config": strip_bidi_controls(" · ".join(f"{key} {run.config[key]}" for key in settings)),
        "metrics": [
            _cell(run.metrics.get(spec) or run.file_scores.get(spec), run.other_judge_note(spec)) for spec in specs
        ],
        "labels": [
            {"name": label, "icon": verdict.icon, "count": run.labels.get(label, 0)}
            for label, verdict in VERDICT_STYLES.items()
        ],
        "refusals": _refusals(run),
        "refused": "in full or in part" if run.refusals else "",
        "dataset": strip_bidi_controls(dataset_label(run.dataset, datasets)),
        "samples": (judged and judged.part) or counted(run.samples, "sample"),
        "judge": "not evaluated" if judged is None else judged.in_words,
        "when": "" if judged is None else ago(judged.finished, now),
    }


def _cell(summary: MetricSummary | None, judge: str) -> dict[str, Any] | None:
    if summary is None:
        return None
    interval = summary.interval if isinstance(summary.interval, Interval) else None
    count = f"{summary.scored:,} of {summary.total:,}"
    low, high = summary.bounds or (None, None)
    return {
        "mean": summary.mean,
        "least": low,
        "most": high,
        "shown": mean_shown(summary),
        "threshold": summary.threshold.value if summary.threshold else None,
        "standing": f"{STATUS_LABELS[summary.threshold_status]} ({summary.threshold})"
        if summary.threshold_status
        else "",
        "look": summary.threshold_status or "",
        "note": strip_bidi_controls(" · ".join(filter(None, (summary.note, summary.caution, judge)))),
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "interval": interval_text(interval, ".2f"),
        "count": f"{count} scored",
        "why": _why(summary, count),
    }


def _why(summary: MetricSummary, count: str) -> str:
    reasons = _reasons(summary.unscored)
    found = summary.interval
    if isinstance(found, Interval):
        method = f"95% CI: {'; '.join(filter(None, [found.method, found.warning]))}"
    else:
        method = ci_text(found)
    note = f"; {summary.note}" if summary.note else ""
    return f"{count} scored{f'; unscored: {reasons}' if reasons else ''}{note}. {method}."


def _reasons(unscored: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {UNSCORED_REASONS.get(reason, reason)}" for reason, count in unscored.items())


def _refusals(run: RunSummary) -> str:
    if run.refusals is None or run.judged is None or not run.judged.covered:
        return "–"
    return f"{run.refusals / run.judged.covered:.0%} ({run.refusals:,})"
