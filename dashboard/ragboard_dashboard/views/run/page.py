"""The Run page: the scores of one run, their distribution, and its samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from ragboard.analysis import (
    BEHAVIOURS,
    Bin,
    Columns,
    Distribution,
    RunSummary,
    ShareMeetingThreshold,
    UnscoredPolicy,
    headline,
    ragas_score,
)
from ragboard.errors import RagboardError, SettingError
from ragboard.evaluation.background import start_retry
from ragboard.export.run_report import run_report
from ragboard.metrics.claim_classes import CORRECT, ClaimClass
from ragboard.records import Score
from ragboard.spans import strip_bidi_controls
from ragboard.stats import estimate_text
from ragboard.store import RunRef
from ragboard_dashboard.components import safe_key
from ragboard_dashboard.controls import (
    breadcrumb,
    choose_run,
    edit_run,
    report_button,
    trust_line,
    unscored_choice,
)
from ragboard_dashboard.data import (
    evaluates,
    get_breakdown,
    get_bundling,
    get_columns,
    get_distribution,
    get_failed_evaluations,
    get_failures,
    get_grows,
    get_judge_options,
    get_metrics,
    get_overruled_verdicts,
    get_refusals,
    get_run,
    get_scatter,
    get_self_agreement,
    get_truthfulness,
    launch_context,
    resolve,
    save_threshold,
    store,
    writable,
)
from ragboard_dashboard.links import bound, open_page, open_sample
from ragboard_dashboard.progress import run_panels, secret_fields
from ragboard_dashboard.text import (
    UNSCORED_REASONS,
    column_label,
    column_title,
    file_facts,
    folded_facts,
    judged_line,
    markdown_escaped,
    plain,
    shortened,
    summary_facts,
)
from ragboard_dashboard.theme import palette
from ragboard_dashboard.updates import offer_refresh, redraw_when
from ragboard_dashboard.views.run.charts import (
    SHAPES,
    Range,
    Shape,
    claim_classes_bar,
    decimals,
    groups_chart,
    scatter_figure,
    spread_chart,
)
from ragboard_dashboard.views.run.samples import list_samples

__all__ = ["draw", "share_line"]

MAX_LISTED = 20
"""Maximum number of listed errors, and of listed wrong refusals."""
MAX_BUTTONS = 7
"""With more columns than this, a list replaces the buttons."""
REFUSAL_SOURCES = {
    "labels": "human labels",
    "file": "the run file",
    "judge": "the judge, which looks for a helpful sentence in the passages",
}
MAX_QUESTION = 100
"""Maximum number of characters of a question in a list."""
MAX_NAME = 40
"""A run name with more characters has its own row, above the buttons."""
OVERVIEW = ("column", "shape", "group")
"""URL parameters that expand the distribution."""
CHART = {"displayModeBar": False}


def draw() -> None:
    """Draw the page."""
    run = choose_run("Run")
    if run is None:
        return
    breadcrumb(run, "run")
    offer_refresh(run)
    summary, unscored = _title(run)
    judged_line(summary)
    if summary.notes:
        plain(summary.notes)
    run_panels(run)
    folded_facts(summary_facts(summary.metrics, get_overruled_verdicts(run, unscored), summary), _ragas_score(summary))
    for spec in headline(list(summary.metrics)):
        trust_line(run, spec, column_title(spec))
    file_facts(list(summary_facts(summary.file_scores).values()))
    if summary.usage:
        plain(f"Cost: {summary.usage}", "note")
    _draw_failures(run)
    columns = get_columns(run)
    if not columns.metrics:  # other numeric columns, such as the turn, do not describe quality
        st.info("This run is not evaluated yet. Evaluate it to see verdicts.", icon=":material/info:")
        name = st.query_params["run"]
        if get_grows(run.run_id):
            redraw_when(lambda: resolve(name).evaluation_id is not None)
        list_samples(run, summary, "", None)
        return
    column, between = _draw_overview(run, columns, unscored)
    list_samples(run, summary, column, between)
    _refusals(run)
    _origins(summary)
    _self_agreement(run)
    _bundling(run)
    _scatter_plot(run, columns, column)


def _title(run: RunRef) -> tuple[RunSummary, UnscoredPolicy]:
    """Draw the run's name and buttons. Return its summary, and how unscored samples count."""
    above = st.container()
    row = st.container(horizontal=True, vertical_alignment="center")
    title = row.container() if len(run.name) <= MAX_NAME else above
    if evaluates() and row.button("Evaluate", icon=":material/gavel:"):
        open_page("evaluate", {"run": run.name})
    with row.popover("Options", icon=":material/tune:"):
        unscored = unscored_choice()
        summary = get_run(run, unscored=unscored)
        report_button(summary.name, lambda: run_report(store(), run, unscored=unscored), "stretch")
        if writable() and st.button("Edit", icon=":material/edit:", width="stretch"):
            edit_run(summary, back=False)
    with title:
        plain(summary.name, "title")
    return summary, unscored


def _ragas_score(summary: RunSummary) -> str:
    score = ragas_score(summary.metrics)
    return f"ragas score {score.value:.3f}: {score.counted}" if isinstance(score, Score) else ""


def _draw_failures(run: RunRef) -> None:
    """Draw the errors that left scores missing, with an example of each, and a form that retries them."""
    kinds = get_failures(run)
    if not kinds:
        return
    title = f"{sum(kind.count for kind in kinds):,} scores failed ({len(kinds):,} error{'s' if len(kinds) > 1 else ''})"
    with st.expander(title, icon=":material/error:"):
        for number, kind in enumerate(kinds[:MAX_LISTED]):
            plain(f"{kind.count:,} scores of {kind.samples:,} samples: {kind.message}")
            plain(f"{', '.join(map(column_title, kind.metrics))}. For example: {kind.example}", "note")
            if st.button("Open an example", key=f"failed-{number}", type="tertiary", icon=":material/find_in_page:"):
                open_sample(st.query_params["run"], kind.sample_id)
        if len(kinds) > MAX_LISTED:
            plain(f"and {len(kinds) - MAX_LISTED:,} more errors: ragboard evaluate --json lists them all", "note")
        if evaluates():
            _retry(get_failed_evaluations(run)[0])


def _retry(run: RunRef) -> None:
    judge_options = get_judge_options(run)
    if judge_options is None:
        plain("The judges of this evaluation were Python objects: retry it in Python.", "note")
        return
    with st.form("retry", clear_on_submit=True, border=False):
        secrets = secret_fields(judge_options, "retry")
        if not st.form_submit_button("Retry failed tasks", icon=":material/refresh:"):
            return
    try:
        start_retry(store(), run, launch_context(), **secrets)
    except RagboardError as error:
        st.error("The retry did not start.", icon=":material/error:")
        plain(str(error))
        return
    st.rerun()


def _origins(summary: RunSummary) -> None:
    """Draw how many statements are in the reference and in passages, if this was judged."""
    if not summary.origins:
        return
    placed, judged = sum(summary.origins.values()), sum(summary.labels.values())
    right = sum(count for origin, count in summary.origins.items() if origin in CORRECT)
    missing = judged - placed
    left_out = f"; {missing:,} more {'has' if missing == 1 else 'have'} no result" if missing else ""
    with st.expander(f"{right:,} of {placed:,} statements are in the reference{left_out}", icon=":material/rule:"):
        _draw_origins(summary.origins, placed, judged)


def _draw_origins(origins: Mapping[ClaimClass, int], placed: int, judged: int) -> None:
    st.html(claim_classes_bar(origins, palette(st.context.theme.type)))
    left_out = (
        f" {placed:,} of {judged:,} statements are counted here. A statement is left out if the reference of its sample"
        " has no statements, or if it was not judged in full."
        if placed < judged
        else ""
    )
    plain(
        "In the reference: the reference supports the statement. Statements that are not in the reference may still be"
        f" true. Relevant: the passage supports a statement of the reference.{left_out}",
        "note",
    )


def _refusals(run: RunRef) -> None:
    """Draw the counts of truthfulness and, if answerability is known, which refusals are right."""
    for shares in get_truthfulness(run):
        plain(str(shares), "note")
    try:
        found = get_refusals(run)
    except SettingError as error:
        plain(f"Refusals cannot be checked: {error}.", "note")
        return
    if found is None:
        return
    by_judge = "Refusals: the judge decides which questions can be answered, because the file does not say"
    title = by_judge if "judge" in found.sources else found.wrong_in_words
    with st.expander(title, icon=":material/block:"):
        table = {name.capitalize(): dict(row) for name, row in found.counts.items()}
        st.table(pd.DataFrame.from_dict(table, orient="index", columns=list(BEHAVIOURS)).rename(columns=str.capitalize))
        sources = " and ".join(f"{REFUSAL_SOURCES[name]} ({count:,})" for name, count in found.sources.items())
        plain(
            f"Rows: whether the question can be answered, by {sources}. Columns: what the answer does, by"
            f" {found.judge}. {found.counted_as_answerable}".rstrip(),
            "note",
        )
        if found.unknown:
            plain(
                f"Not counted, because it is unknown whether the question can be answered: {found.unknown:,}.", "note"
            )
        plain("\n".join(map(str, found.rates)))
        for number, one in enumerate(found.wrong[:MAX_LISTED]):
            question = markdown_escaped(strip_bidi_controls(shortened(one.question, MAX_QUESTION)))
            label = f"{one.answerability}, {one.behaviour}: {question}"
            if st.button(label, key=f"refusal-{number}", type="tertiary", icon=":material/find_in_page:"):
                open_sample(st.query_params["run"], one.sample_id)
        if len(found.wrong) > MAX_LISTED:
            plain(f"and {len(found.wrong) - MAX_LISTED:,} more: ragboard refusals --json lists them", "note")


def _self_agreement(run: RunRef) -> None:
    """Draw how often the judge agrees with itself, if it made the same judgements several times."""
    found = get_self_agreement(run)
    if found is None:
        return
    flips, items = sum(reply.flips for reply in found.replies), sum(one.items for one in found.replies)
    title = f": {flips:,} of {items:,} judgements differ between draws" if items else ""
    with st.expander(f"Judge consistency{title}", icon=":material/casino:"):
        _lines((*found.replies, *found.metrics))
        plain(
            "The same prompt was sent several times. All pages show the scores and verdicts of the first draw. The"
            " other draws have temperature 1, unless another temperature was set.",
            "note",
        )


def _lines(figures: Iterable[object]) -> None:
    """Draw each figure as text in its own paragraph."""
    with st.container(gap="xsmall"):
        for text in map(str, figures):
            plain(f"{text[:1].upper()}{text[1:]}")


def _bundling(run: RunRef) -> None:
    """Draw how often bundled calls and the calls of `compat=True` give the same judgements, if both were made."""
    found = get_bundling(run)
    if found is None:
        return
    same, items = sum(one.equal for one in found.replies), sum(one.items for one in found.replies)
    title = f": {same:,} of {items:,} judgements are the same" if items else ""
    with st.expander(f"Bundled calls compared with compat=True{title}", icon=":material/call_split:"):
        _lines((*found.replies, *found.scores))
        plain(
            "A bundled call judges all nuggets or passages of an answer at once; citation metrics use the verdicts on"
            " its statements. With compat=True, metrics make the same calls as the original implementation.",
            "note",
        )


def _draw_overview(run: RunRef, columns: Columns, unscored: UnscoredPolicy) -> tuple[str, Range | None]:
    """Draw the charts of one column, once somebody opens them. Return the column and the chosen range."""
    options = [*columns.metrics, *columns.numeric]
    chosen = any(name in OVERVIEW or name.startswith("range-") for name in st.query_params)
    overview = st.expander(
        "Distribution, groups, range of scores",
        icon=":material/bar_chart:",
        expanded=chosen,
        key="overview",
        on_change="rerun",
    )
    if not overview.open and not chosen:  # a range that was chosen holds when the charts are closed again
        return options[0], None
    with overview:
        return _overview(run, columns, options, unscored)


def _overview(
    run: RunRef, columns: Columns, options: Sequence[str], unscored: UnscoredPolicy
) -> tuple[str, Range | None]:
    """Draw the distribution of one column, and its means by group. Return the column and the chosen range."""
    if not columns.categories:
        column = _choose_column(options)
        return column, _distribution(run, column, unscored)
    chart, groups = st.columns([3, 2], gap="large")
    with chart:
        column = _choose_column(options)
        between = _distribution(run, column, unscored)
    with groups:
        _groups(run, columns, column, unscored)
    return column, between


def _choose_column(options: Sequence[str]) -> str:
    """Draw the choice of the column, as buttons or, for many columns, as a list."""
    wanted = st.query_params.get("column", "")
    shared = bound("column", wanted if wanted in options else options[0], drops=("page",))
    shared |= {"label_visibility": "collapsed"}
    if len(options) > MAX_BUTTONS:
        return str(st.selectbox("Column", options, format_func=column_title, **shared))
    column: str = st.segmented_control("Column", options, format_func=column_label, required=True, **shared)
    return column


def _distribution(run: RunRef, column: str, unscored: UnscoredPolicy) -> Range | None:
    """Draw the distribution of a column. Return the chosen range, or None for the whole range."""
    found = get_distribution(run, column, unscored=unscored)
    row = st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute")
    with row:
        plain(_distribution_note(found), "note")
    shape: Shape = row.segmented_control(
        "Shape",
        SHAPES,
        key="shape",
        default=SHAPES[0],
        bind="query-params",
        required=True,
        label_visibility="collapsed",
    )
    with row:
        threshold_editor(column, found.meeting_threshold)
    chart, key = st.container(), f"range-{column}"
    chosen = _choose_range((found.bins[0].low, found.bins[-1].high), key)
    with chart:
        spread_chart(
            found,
            shape,
            column_title(column),
            chosen,
            partial(_set_range, key, found.bins),
            key=safe_key("spread", run.run_id, column, shape),
        )
    return chosen


def _choose_range(whole: Range, key: str) -> Range | None:
    """Draw the slider that limits the samples to a range. Return the range, or None for the whole range."""
    initial: dict[str, Any] = {} if key in st.session_state else {"value": whole}
    places = decimals(*whole)
    step, shown = 10.0**-places, f"%.{places}f"
    between: Range = st.slider(
        "Only samples in this range", *whole, **initial, step=step, key=key, bind="query-params", format=shown
    )
    return None if between == whole else between


def _set_range(key: str, bins: tuple[Bin, ...], marked: Range) -> None:
    """Set the slider to the bins whose middle is within the range that was marked in the chart."""
    within = [part for part in bins if marked[0] <= (part.low + part.high) / 2 <= marked[1]]
    if within:
        st.session_state[key] = within[0].low, within[-1].high


def _distribution_note(found: Distribution) -> str:
    """Return how many samples have a value, and why the others have none; with the mean and the threshold."""
    left_out = "; ".join(
        f"{count:,} {UNSCORED_REASONS.get(reason, reason)}" for reason, count in found.unscored.items()
    )
    sentences = [
        f"{found.scored:,} of {found.total:,} samples have a value",
        f"Unscored: {left_out}" if left_out else "",
        f"Mean: {found.note}" if found.note else "",
        share_line(found.meeting_threshold) if found.meeting_threshold else "",
    ]
    return ". ".join(filter(None, sentences))


def share_line(share: ShareMeetingThreshold) -> str:
    """Return how many samples meet the threshold: "47 of 60 at least 0.8: 78% (66% to 87%)"."""
    percent = f": {estimate_text(share.good / share.n, share.interval, '.0%')}" if share.n else ""
    return f"{share.good:,} of {share.n:,} {share.threshold}{percent}"


def threshold_editor(column: str, share: ShareMeetingThreshold | None) -> None:
    """Draw the threshold and its form, if the metric has a better direction and pages may write to the store."""
    metric = get_metrics().get(column)
    if metric is None or metric.direction == "neutral" or not writable():
        return
    threshold = share.threshold if share else None
    label = f"Threshold: {threshold}" if threshold else "Set threshold"
    with st.popover(label, icon=":material/flag:", width="content"):
        good = "at least" if metric.direction == "higher" else "at most"
        plain(f"{metric.label} should be {good} this in every run.", "note")
        _threshold_form(column, threshold.value if threshold else None)


def _threshold_form(column: str, now: float | None) -> None:
    with st.form(f"threshold-{column}", border=False):
        value = st.number_input("Threshold", value=now, step=0.05, format="%.3f", placeholder="none")
        if not st.form_submit_button(
            "Save", icon=":material/save:", help="Leave the field empty to remove the threshold."
        ):
            return
    try:
        save_threshold(column, value)
    except RagboardError as error:
        st.error("This is not a valid threshold.", icon=":material/error:")
        plain(str(error))
        return
    st.rerun()


def _groups(run: RunRef, columns: Columns, column: str, unscored: UnscoredPolicy) -> None:
    by = st.selectbox("Group by", columns.categories, format_func=column_title, key="group", bind="query-params")
    found = get_breakdown(run, column, by, unscored=unscored)
    groups_chart(found, column_title(column), key=safe_key("groups", run.run_id, column, by))


def _scatter_plot(run: RunRef, columns: Columns, column: str) -> None:
    others = [name for name in (*columns.metrics, *columns.numeric) if name != column]
    if not others:
        return
    st.subheader("Scatter plot", anchor=False)
    other = st.selectbox(
        "Against",
        others,
        index=None,
        placeholder="Choose a second column",
        format_func=column_title,
        key="against",
        bind="query-params",
    )
    if other is None:
        return
    found = get_scatter(run, column, other)
    picked = st.plotly_chart(
        scatter_figure(found, column_title(column), column_title(other), palette(st.context.theme.type)),
        key=safe_key("scatter", run.run_id, column, other),
        on_select="rerun",
        selection_mode="points",
        config=CHART,
    )
    shown = f"; {len(found.points):,} of them are shown" if found.both > len(found.points) else ""
    plain(f"{found.both:,} of {found.total:,} samples have both{shown}. Click a point to open its sample.", "note")
    points = picked["selection"]["points"]
    if points:
        open_sample(st.query_params["run"], points[0]["customdata"][0])
