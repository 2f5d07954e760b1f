"""Estimate: what people would say of whole runs, from the few samples they labelled and a judge of all."""

from __future__ import annotations

from importlib.resources import files
from typing import get_args

import streamlit as st

from ragboard.analysis import ListedRun
from ragboard.errors import NotFoundError, SettingError
from ragboard.human.draws import Measured
from ragboard.human.estimates import Estimated, Estimates, needed_for
from ragboard.human.systems import against_order
from ragboard.stats import PoweredMean
from ragboard.store import RunRef
from ragboard_dashboard.components.estimates import differences_html, estimates_html, ranking_html
from ragboard_dashboard.data import get_estimated_metrics, get_estimates, get_runs, resolve, writable
from ragboard_dashboard.navigation import link_to
from ragboard_dashboard.shared import evaluations_help, offer_upload, plain, run_choices

__all__ = ["page"]

STYLE = (files("ragboard_dashboard") / "components" / "estimates.css").read_text("utf-8")
MEASURED: tuple[Measured, ...] = get_args(Measured)
EXPLAINED = "Verdicts on every statement, whose share supported is estimated, or grades in one quality"
RAW = "Bounds as computed, even outside of what a mean can be"
DEFAULT = "ragas.faithfulness"


def page() -> None:
    """Draw the page."""
    runs = [run for run in get_runs() if run.evaluated]
    if not runs:
        st.header("No evaluated run yet", anchor=False)
        st.markdown("An estimate takes what a judge says of a run, and people's labels of a random part of it.")
        offer_upload()
        return
    st.header("Estimate", anchor=False)
    plain(
        "A judge of every sample is cheap and wrong in its own way; people are right and few. Labels of a random"
        " part of a run correct the judge, and the interval says how well.",
        "note",
    )
    chosen = _choose(runs)
    if chosen:
        _estimate(*chosen)


def _choose(runs: list[ListedRun]) -> tuple[tuple[RunRef, ...], str, Measured, bool] | None:
    choices = run_choices(runs)
    left, middle, right, last = st.columns([3, 2, 2, 1], vertical_alignment="bottom")
    wanted = left.multiselect(
        "Runs",
        list(choices),
        default=_default(runs),
        help=evaluations_help(choices),
        key="runs",
        bind="query-params",
    )
    try:
        refs = tuple(resolve(name) for name in wanted)
    except NotFoundError as error:
        plain(str(error))
        return None
    if not refs:
        st.info("Choose a run.", icon=":material/arrow_upward:")
        return None
    specs = [metric.spec for metric in get_estimated_metrics(refs[0])]
    if not specs:
        st.info("No metric of this run is from 0 to 1 and higher for the better, as labels are.")
        return None
    first = specs.index(DEFAULT) if DEFAULT in specs else 0
    metric = middle.selectbox("The judge's scores", specs, first, key="by", bind="query-params")
    said = right.selectbox("What people said", MEASURED, key="labels", bind="query-params", help=EXPLAINED)
    raw = last.toggle("Raw", key="raw", bind="query-params", help=RAW)
    return refs, str(metric), said, raw


def _default(runs: list[ListedRun]) -> list[str]:
    """The newest run and its neighbour over the same questions."""
    return [run.name for run in runs if run.dataset_key == runs[0].dataset_key][:2]


def _estimate(refs: tuple[RunRef, ...], metric: str, measured: Measured, raw: bool) -> None:  # noqa: FBT001
    try:
        found = get_estimates(refs, metric=metric, measured=measured)
    except SettingError as error:
        st.error("These runs cannot be estimated together.", icon=":material/error:")
        plain(str(error))
        return
    st.html(f"<style>{STYLE}</style>")
    for one in found.report.systems:
        if isinstance(one.best, PoweredMean):
            best = one.best.clipped
            plain(
                f"{one.name}: people would say {best.estimate:.2f} [{best.low:.2f}, {best.high:.2f}]"
                f" ({best.method}, {one.labels:,} labels)"
            )
    if any(one.means for one in found.report.systems):
        st.html(estimates_html(found.report, raw=raw))
    _cautions(found)
    _needed(found)
    _order(found)


def _cautions(found: Estimates) -> None:
    refused = [one for one in found.report.systems if one.refusal]
    if refused:
        st.info("No estimate, and why:", icon=":material/block:")
        for one in refused:
            plain(f"{one.name}: {one.refusal}.")
        if writable():
            link_to("annotate", "Label a random part", {"run": refused[0].name}, icon=":material/rate_review:")
    for one in found.report.systems:
        warning = one.best.warning if isinstance(one.best, PoweredMean) else ""
        for said in filter(None, (warning, *one.notes)):
            plain(f"{one.name}: {said}.", "note")


def _needed(found: Estimates) -> None:
    sources = [source for source in found.sources if not source.system.refusal]
    if not sources:
        return
    st.subheader("How many more labels", anchor=False)
    width = st.number_input(
        "Wanted width of the interval", 0.01, 1.0, 0.1, 0.01, key="width", bind="query-params", width=220
    )
    for source in sources:
        plain(f"{source.run}: {_needed_said(source, width)}.")


def _needed_said(source: Estimated, width: float) -> str:
    needed = needed_for(source, width)
    if needed is None:
        return "too few labels to say"
    if needed.more is None:
        return needed.reason
    alone = f"; without the judge it would take {needed.without_judge:,} in all" if needed.without_judge else ""
    return f"{needed.more:,} more labels for an interval {width:g} wide{alone}"


def _order(found: Estimates) -> None:
    report = found.report
    if not report.differences:
        return
    st.subheader("Which is better", anchor=False)
    st.html(differences_html(report.differences))
    st.html(ranking_html(report.ranking))
    tau = "" if report.tau is None else f" Kendall's tau with the judge's own order: {report.tau:.2f}."
    plain(f"Ranks hold for all runs at once with {report.level:.0%} confidence (Bonferroni).{tau}", "note")
    names = [one.name for one in report.ranking]
    order = st.multiselect("The order known from elsewhere, best first", names, key="order", bind="query-params")
    if len(order) > 1:
        known = against_order(report, order)
        plain(f"Kendall's tau with the known order: {_tau(known.tau)}; of the judge alone: {_tau(known.judge)}.")


def _tau(found: float | None) -> str:
    return "none, for all are equal" if found is None else f"{found:.2f}"
