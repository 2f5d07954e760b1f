"""The Estimate page: estimate the mean label of runs from a few human labels and a judge's scores of all samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import get_args

import streamlit as st

from ragboard.analysis import ListedRun
from ragboard.errors import NotFoundError, SettingError
from ragboard.human.annotation import LabelledQuantity
from ragboard.human.estimates import EstimateInputs, Estimates, predict_labels_needed
from ragboard.human.systems import SystemDifference, SystemEstimate, SystemsReport, compare_with_order
from ragboard.stats import Interval, MeanEstimate, NoInterval, Ranked, estimate_text, range_text
from ragboard.store import RunRef
from ragboard_dashboard.controls import evaluations_help, offer_upload, run_choices, trust_line
from ragboard_dashboard.data import get_estimated_metrics, get_estimates, get_label_files, get_runs, resolve, writable
from ragboard_dashboard.links import bound, link_to
from ragboard_dashboard.text import column_title, html_escaped, plain

__all__ = ["differences_html", "draw", "estimates_html", "ranking_html"]

STYLES = Path(__file__).with_name("estimate.css")
LABEL_KINDS: tuple[LabelledQuantity, ...] = get_args(LabelledQuantity)
LABELS_HELP = "Verdicts on statements, to estimate the share of supported statements, or grades of one quality"
RAW_HELP = "Show CIs as computed, even beyond 0 or 1"
DEFAULT = "ragas.faithfulness"
METHODS = (
    ("tuned", "PPI++", "labels and judge; the judge's weight depends on how well it predicts the labels"),
    ("ppi", "PPI", "labels and judge; the judge has full weight"),
    ("classical", "Labels alone", "human labels without the judge"),
    ("judge_only", "Judge alone", "a narrow CI, but with the bias of the judge"),
)


def draw() -> None:
    """Draw the page."""
    runs = [run for run in get_runs() if run.evaluated]
    if not runs:
        st.header("No evaluated run yet", anchor=False)
        st.markdown("An estimate needs a run with a judge's scores, and human labels of a random sample of that run.")
        offer_upload()
        return
    st.html(STYLES)
    st.header("Estimate", anchor=False)
    plain(
        "A few human labels correct the judge's bias. The judge scores every sample; label a random sample to estimate"
        " the mean that annotators would give the whole run.",
        "note",
    )
    with st.container(key="estimate-choices"):
        chosen = _choose(runs)
    if chosen:
        _estimate(*chosen)


def _choose(runs: list[ListedRun]) -> tuple[tuple[RunRef, ...], str, LabelledQuantity, bool] | None:
    choices = run_choices(runs)
    left, middle, right, last = st.columns([3, 2, 2, 1], vertical_alignment="bottom")
    run_names = left.multiselect(
        "Runs",
        list(choices),
        default=_default(runs),
        help=evaluations_help(choices),
        key="runs",
        bind="query-params",
    )
    try:
        refs = tuple(resolve(name) for name in run_names)
    except NotFoundError as error:
        plain(str(error))
        return None
    if not refs:
        st.info("Choose a run.", icon=":material/arrow_upward:")
        return None
    specs = [metric.spec for metric in get_estimated_metrics(refs[0])]
    if not specs:
        st.info(
            "An estimate needs the scores of a metric from 0 to 1 for which higher is better. This run has none."
            " Evaluate ragas.faithfulness."
        )
        return None
    shown = next((spec for spec in (st.query_params.get("by"), DEFAULT) if spec in specs), specs[0])
    metric = middle.selectbox("Judge scores", specs, format_func=column_title, **bound("by", shown))
    measured = right.selectbox("Human labels", LABEL_KINDS, key="labels", bind="query-params", help=LABELS_HELP)
    raw = last.toggle("Raw", key="raw", bind="query-params", help=RAW_HELP)
    return refs, str(metric), measured, raw


def _default(runs: list[ListedRun]) -> list[str]:
    """Return the names of the newest run and of the next run with the same questions."""
    return [run.name for run in runs if run.dataset_key == runs[0].dataset_key][:2]


def _estimate(refs: tuple[RunRef, ...], metric: str, measured: LabelledQuantity, raw: bool) -> None:  # noqa: FBT001
    try:
        found = get_estimates(refs, metric=metric, measured=measured)
    except (NotFoundError, SettingError) as error:
        st.error("These runs cannot be estimated together.", icon=":material/error:")
        plain(str(error))
        return
    for one in found.report.systems:
        if isinstance(one.best, MeanEstimate):
            best = one.best.clipped
            plain(
                f"{one.name}: estimated mean {estimate_text(best.estimate, best, '.2f')},"
                f" {best.method}, {one.labels:,} labels"
            )
    for run in refs:
        trust_line(run, found.metric, run.name)
    if any(system.means for system in found.report.systems):
        st.html(estimates_html(found.report, raw=raw))
    _cautions(found)
    _draw_needed_labels(found)
    _draw_ranking(found)


def _cautions(found: Estimates) -> None:
    unusable = [system for system in found.report.systems if system.unusable_reason]
    if unusable:
        st.info("No estimate yet:", icon=":material/block:")
        for one in unusable:
            plain(f"{one.name}: {one.unusable_reason}.")
        if writable():
            link_to("annotate", "Label a random sample", {"run": unusable[0].name}, icon=":material/rate_review:")
        if files := get_label_files():
            plain(
                "An estimate needs labels of a random sample of the run: from Annotate, or imported with"
                " `ragboard labels import FILE --design random`. A label file opened on the Agreement page only shows"
                " how well metrics agree with annotators.",
                "note",
            )
            link_to("agreement", "See agreement", {"agreement": files[0].agreement.id}, icon=":material/handshake:")
    for one in found.report.systems:
        warning = one.best.warning if isinstance(one.best, MeanEstimate) else ""
        for note in filter(None, (warning, *one.notes)):
            plain(f"{one.name}: {note}.", "note")


def _draw_needed_labels(found: Estimates) -> None:
    usable = [run_inputs for run_inputs in found.inputs if not run_inputs.system.unusable_reason]
    if not usable:
        return
    st.subheader("Labels still needed", anchor=False)
    width = st.number_input(
        "Target width of the 95% CI", 0.01, 1.0, 0.1, 0.01, key="width", bind="query-params", width=220
    )
    for run_inputs in usable:
        plain(f"{run_inputs.run}: {_needed_labels(run_inputs, width)}.")


def _needed_labels(run_inputs: EstimateInputs, width: float) -> str:
    needed = predict_labels_needed(run_inputs, width)
    if needed is None:
        return "too few labels to compute this"
    if needed.more is None:
        return needed.reason
    alone = f"; without the judge, {needed.without_judge:,} in total" if needed.without_judge else ""
    return f"{needed.more:,} more labels for a 95% CI of width {width:g}{alone}"


def _draw_ranking(found: Estimates) -> None:
    report = found.report
    if not report.differences:
        return
    st.subheader("Which run is better", anchor=False)
    st.html(differences_html(report.differences))
    st.html(ranking_html(report.ranking))
    tau = "" if report.tau is None else f" Kendall's tau with the judge's order: {report.tau:.2f}."
    plain(f"Ranks hold for all runs jointly at {report.level:.0%} confidence (Bonferroni).{tau}", "note")
    names = [one.name for one in report.ranking]
    order = st.multiselect("Known order, best first", names, key="order", bind="query-params")
    if len(order) > 1:
        known = compare_with_order(report, order)
        plain(f"Kendall's tau with the known order: {_tau(known.tau)}; of the judge alone: {_tau(known.judge)}.")


def _tau(found: float | None) -> str:
    return "undefined (all equal)" if found is None else f"{found:.2f}"


def estimates_html(report: SystemsReport, *, raw: bool) -> str:
    """Return HTML with a table for each system that has an estimate."""
    shown = [one for one in report.systems if one.means]
    low, high = _ends([_interval(mean, raw=raw) for one in shown for mean in _means(one)])
    return "".join(_system(one, low, high, raw=raw) for one in shown)


def differences_html(differences: Sequence[SystemDifference]) -> str:
    """Return an HTML table with the difference of each pair of systems, and whether its CI includes 0."""
    intervals = [one.interval for one in differences if isinstance(one.interval, Interval)]
    low, high = _ends([*intervals, None], around=0.0)
    rows = "".join(_difference(one, low, high) for one in differences)
    head = f"<tr><th>difference</th><th>{range_text(low, high, '.2f')}</th><th>95% CI</th><th>based on</th></tr>"
    return f'<table class="rb-estimates"><thead>{head}</thead><tbody>{rows}</tbody></table>'


def ranking_html(ranking: Sequence[Ranked]) -> str:
    """Return an HTML table with the rank and the possible ranks of each run."""
    rows = "".join(
        f"<tr><th>{one.rank}</th><td>{html_escaped(one.name)}</td><td>{one.estimate:.3f}</td><td>{_ranks(one)}</td></tr>"
        for one in ranking
    )
    head = "<tr><th>rank</th><th>run</th><th>estimate</th><th>possible ranks</th></tr>"
    return f'<table class="rb-estimates"><thead>{head}</thead><tbody>{rows}</tbody></table>'


def _ranks(one: Ranked) -> str:
    return f"{one.best}" if one.best == one.worst else f"{one.best} to {one.worst}"


def _system(one: SystemEstimate, low: float, high: float, *, raw: bool) -> str:
    rows = "".join(
        _method_row(
            getattr(one.means, name), title, note, low, high, best=getattr(one.means, name) is one.best, raw=raw
        )
        for name, title, note in METHODS
    )
    titles = ("method", "estimate (95% CI)", f"scale {range_text(low, high, '.2f')}", "based on", "effective labels")
    head = "".join(f"<th>{title}</th>" for title in titles)
    caption = (
        f"{html_escaped(one.name)} <small>{one.labels:,} of {one.items:,} samples labelled{_accuracy_note(one)}</small>"
    )
    body = f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
    return f'<table class="rb-estimates"><caption>{caption}</caption>{body}</table>'


def _accuracy_note(one: SystemEstimate) -> str:
    return f"; judge accuracy {_with_bounds(one.accuracy)}" if isinstance(one.accuracy, Interval) else ""


def _method_row(
    found: MeanEstimate | NoInterval, title: str, note: str, low: float, high: float, *, best: bool, raw: bool
) -> str:
    css = " ".join(filter(None, ["rb-best" if best else "", "rb-judge" if title == "Judge alone" else ""]))
    name = f'<th scope="row" title="{html_escaped(note)}">{title}</th>'
    if isinstance(found, NoInterval):
        return f'<tr class="{css}">{name}<td class="rb-why" colspan="4">none: {html_escaped(found.reason)}</td></tr>'
    interval = found.interval if raw else found.clipped
    source = ", ".join(
        f"{count:,} {what}" for count, what in ((found.labels, "labels"), (found.judged, "judged")) if count
    )
    effective = f"{found.effective_labels:,.0f}" if found.effective_labels is not None and found.labels else ""
    return (
        f'<tr class="{css}">{name}<td>{_with_bounds(interval)}</td>'
        f'<td class="rb-scale">{_track(interval, low, high)}</td><td>{source}</td><td>{effective}</td></tr>'
    )


def _difference(one: SystemDifference, low: float, high: float) -> str:
    name = f'<th scope="row">{html_escaped(one.b)} minus {html_escaped(one.a)}</th>'
    how = f"{one.labels:,} labels, {'paired' if one.paired else 'unpaired'}"
    if isinstance(one.interval, NoInterval):
        return f'<tr>{name}<td class="rb-why" colspan="3">none: {html_escaped(one.interval.reason)}</td></tr>'
    return (
        f'<tr>{name}<td class="rb-scale">{_track(one.interval, low, high)}</td>'
        f"<td>{_with_bounds(one.interval)} {_sign(one.interval)}</td><td>{how}</td></tr>"
    )


def _sign(found: Interval) -> str:
    if found.low <= 0 <= found.high:
        return "= includes 0"
    return "▲ above 0" if found.low > 0 else "▼ below 0"


def _means(one: SystemEstimate) -> Iterable[MeanEstimate | NoInterval]:
    return (getattr(one.means, name) for name, _, _ in METHODS)


def _interval(found: MeanEstimate | NoInterval, *, raw: bool) -> Interval | None:
    if isinstance(found, NoInterval):
        return None
    return found.interval if raw else found.clipped


def _ends(intervals: Sequence[Interval | None], around: float | None = None) -> tuple[float, float]:
    ends = [end for interval in intervals if interval for end in (interval.low, interval.high)]
    ends += [] if around is None else [around]
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    return (low, high) if high - low > 1e-9 else (low - 0.5, high + 0.5)


def _track(found: Interval, low: float, high: float) -> str:
    start, end, at = (100 * (value - low) / (high - low) for value in (found.low, found.high, found.estimate))
    return (
        f'<div class="rb-track" aria-hidden="true"><i style="left:{start:.2f}%;width:{end - start:.2f}%"></i>'
        f'<b style="left:{at:.2f}%"></b></div>'
    )


def _with_bounds(found: Interval) -> str:
    return estimate_text(found.estimate, found)
