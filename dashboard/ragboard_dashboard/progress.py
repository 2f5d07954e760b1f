"""Show running evaluations on pages: as panels, and as one-line summaries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

import streamlit as st

from ragboard.errors import RagboardError
from ragboard.evaluation.background import forwards_key, start_evaluation
from ragboard.evaluation.progress import LiveEvaluation, LiveState, live_evaluations, stop_evaluation
from ragboard.judges import JudgeOptions
from ragboard.judges.registry import uses_server
from ragboard.store import RunRef
from ragboard_dashboard.data import evaluates, get_runs, launch_context, store
from ragboard_dashboard.links import open_run
from ragboard_dashboard.text import dollars, facts, plain

__all__ = ["draw_running_evaluations", "panel", "run_panels", "secret_fields", "under_way"]

TICK_SECONDS = 1.0
TYPED_KEY, TYPED_HEADERS = "typed-key", "typed-headers"


class Secrets(TypedDict, total=False):
    """Secrets for the process of an evaluation. They are never stored."""

    key: str | None
    headers: str


STATE_TEXTS: dict[LiveState, str] = {
    "starting": "starting",
    "running": "running",
    "stopping": "stopping: waiting for open requests",
    "finished": "finished",
    "stopped": "stopped; replies so far are saved",
    "failed": "failed; replies so far are saved",
    "interrupted": "interrupted: its process ended unexpectedly; replies so far are saved",
}


def under_way(*run_ids: str) -> frozenset[str]:
    """Return the ids of the evaluations of these runs that are running."""
    return frozenset(live.evaluation_id for live in _running() if live.run_id in run_ids)


def run_panels(run: RunRef) -> None:
    """Draw a panel for each unfinished evaluation of a run. When one ends, the page is redrawn."""
    found = _unfinished(run.run_id)
    if found:
        every = TICK_SECONDS if any(live.under_way for live in found) else None
        st.fragment(_redraw_panels, run_every=every)(run, _ids_and_states(found))


def draw_running_evaluations() -> None:
    """Draw a line for each running evaluation of any run."""
    found = _running()
    if found:
        st.fragment(_redraw_lines, run_every=TICK_SECONDS)(_ids_and_states(found))


def panel(live: LiveEvaluation, run: RunRef) -> None:
    """Draw the progress, cost and failures of an evaluation, with buttons to cancel and resume it."""
    now = live.progress
    with st.container(border=True):
        plain(f"{run.name}, judged by {live.judge}: {STATE_TEXTS[live.state]}")
        if now.done or not live.under_way:  # a bar at 0 would look stuck
            st.progress(min(1.0, now.done / now.total) if now.total else 0.0, _samples(live))
        elif live.state == "running":
            plain("Judging; no sample is finished yet.", "note")
        facts(_facts(live))
        if now.message:
            plain(now.message)
        for kind, count in now.problems.items():
            plain(f"failed {count:,} times: {kind}", "note")
        if not evaluates():
            return
        if live.under_way:
            _cancel(live)
        elif live.state != "finished":
            _resume(live, run)


def secret_fields(judge_options: JudgeOptions, where: str) -> Secrets:
    """Draw fields for a key and headers, and return their values. If no model is called, draw nothing.

    The fields must be in a form that is cleared on submit.
    """
    if not uses_server(judge_options):
        return Secrets()
    placeholder = (
        "Default: the key in the server's environment"
        if forwards_key(judge_options)
        else "No key is set for this base URL"
    )
    typed = st.text_input(
        "Key",
        type="password",
        key=f"{TYPED_KEY}-{where}",
        autocomplete="off",
        placeholder=placeholder,
        help="Used for this evaluation only. It is not stored, logged or shown.",
    )
    headers = st.text_area(
        "Headers",
        key=f"{TYPED_HEADERS}-{where}",
        height=68,
        placeholder="X-Team: search",
        help="One per line, sent with every request of this evaluation. Headers are not stored or logged.",
    )
    return Secrets(key=(typed or "").strip() or None, headers=(headers or "").strip())


def _unfinished(run_id: str) -> tuple[LiveEvaluation, ...]:
    return tuple(live for live in live_evaluations(store()) if live.run_id == run_id and live.state != "finished")


def _running() -> tuple[LiveEvaluation, ...]:
    return tuple(live for live in live_evaluations(store()) if live.under_way)


def _ids_and_states(found: Iterable[LiveEvaluation]) -> tuple[tuple[str, bool], ...]:
    return tuple((live.evaluation_id, live.under_way) for live in found)


def _redraw_panels(run: RunRef, before: tuple[tuple[str, bool], ...]) -> None:
    found = _unfinished(run.run_id)
    if _ids_and_states(found) != before:
        st.rerun()
    for live in found:
        panel(live, run)
    if any(live.under_way for live in found):
        plain(
            "The scores below are for the samples evaluated so far. They change when the evaluation ends, or when you"
            " reload the page.",
            "note",
        )


def _redraw_lines(before: tuple[tuple[str, bool], ...]) -> None:
    found = _running()
    if _ids_and_states(found) != before:
        st.rerun()
    names = {run.run_id: run.name for run in get_runs()}
    for live in found:
        _line(live, names.get(live.run_id, ""))


def _line(live: LiveEvaluation, name: str) -> None:
    now = live.progress
    parts = [f"{name}: {STATE_TEXTS[live.state]}", _samples(live), *filter(None, [_time_left(live)])]
    if now.calls:
        parts.append(f"{now.calls:,} calls, {dollars(now.cost)}")
    if now.at_server and live.under_way:
        parts.append(f"{now.at_server:,} requests wait at the server")
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Watch", key=f"watch-{live.evaluation_id}", type="tertiary", icon=":material/progress_activity:"):
            open_run(name)
        plain(" · ".join(parts), "note")


def _facts(live: LiveEvaluation) -> list[tuple[str, str, str]]:
    now = live.progress
    found = []
    if live.rate is not None:
        found.append((f"{live.rate:,.0f}", "samples a minute", "over the last 30 s"))
    if left := _time_left(live):
        found.append((left, "", "estimated from this rate"))
    if now.calls:
        found.append((f"{now.calls:,}", "calls", f"{now.tokens:,} tokens"))
        found.append((dollars(now.cost), "cost", "since the last start"))
    if now.at_server:
        found.append((f"{now.at_server:,}", "requests", "wait at the server, in batches"))
    if now.failed:
        found.append((f"{now.failed:,}", "failed", f"of {now.asked + now.replayed + now.cached:,} tasks"))
    return found


def _samples(live: LiveEvaluation) -> str:
    now = live.progress
    return f"{now.done:,} of {now.total:,} samples" if now.total else "counting samples"


def _time_left(live: LiveEvaluation) -> str:
    seconds = live.seconds_left
    if seconds is None:
        return ""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s left"
    return f"about {round(seconds / 60):,} min left" if seconds < 5400 else f"about {seconds / 3600:.1f} h left"


def _cancel(live: LiveEvaluation) -> None:
    if st.button(
        "Cancel",
        key=f"cancel-{live.evaluation_id}",
        icon=":material/stop:",
        disabled=live.state != "running",
        help="Sends no more requests. Open requests finish and are saved.",
    ):
        stop_evaluation(store(), live.evaluation_id)
        st.rerun(scope="fragment")


def _resume(live: LiveEvaluation, run: RunRef) -> None:
    if live.choice is None:
        plain("The judge is a Python object: to resume, repeat the same call in Python.", "note")
        return
    with st.form(f"resume-{live.evaluation_id}", clear_on_submit=True, border=False):
        secrets = secret_fields(live.choice.judge_options, live.evaluation_id)
        if not st.form_submit_button("Resume", icon=":material/play_arrow:"):
            return
    try:
        start_evaluation(store(), run, live.choice, launch_context(), **secrets)
    except RagboardError as error:
        st.error("The evaluation cannot resume.", icon=":material/error:")
        plain(str(error))
        return
    st.rerun()
