"""Evaluate: choose metrics, judge and limits, see what that would ask and cost, and start it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

import pandas as pd
import streamlit as st

from ragboard.errors import RagboardError
from ragboard.evaluation.background import plan_choice, start_evaluation
from ragboard.evaluation.identity import Choice
from ragboard.evaluation.plan import Plan, Planned, plan_notes
from ragboard.judges import JudgeOptions
from ragboard.metrics import DEFAULT_METRICS
from ragboard.settings import read_pairs
from ragboard.store import RunRef
from ragboard_dashboard.controls import choose_run
from ragboard_dashboard.data import evaluates, get_run, known_metrics, launch_context, store
from ragboard_dashboard.links import open_run
from ragboard_dashboard.progress import key_field, run_panels
from ragboard_dashboard.text import column_label, column_title, dollars, facts, judged_line, plain

__all__ = ["draw"]

Kind = Literal["Embedded", "Chat model", "Other"]
KINDS: tuple[Kind, ...] = get_args(Kind)


def draw() -> None:
    """Draw the page."""
    run = choose_run("Evaluate", evaluations=False)
    if run is None:
        return
    plain(f"Evaluate {run.name}", "title")
    judged_line(get_run(run))
    run_panels(run)
    if not evaluates():
        st.info(
            "This dashboard does not start evaluations. Use `ragboard evaluate` on the command line.",
            icon=":material/lock:",
        )
        return
    try:
        _form(run)
    except RagboardError as error:
        st.error("The evaluation cannot start with these settings. Nothing was sent.", icon=":material/error:")
        plain(str(error))


def _form(run: RunRef) -> None:
    specs = st.pills(
        "Metrics",
        list(known_metrics()),
        selection_mode="multi",
        default=[metric.spec for metric in DEFAULT_METRICS],
        format_func=column_label,
    )
    above = st.container()
    limits = _limits()  # before what a person types of a judge: an error in that would take the limits away
    with above:
        judging = _judging()
    wanted = judging is not None and bool(specs)
    asked = st.button(
        "Plan", icon=":material/calculate:", disabled=not wanted, help="Estimate calls and cost. Nothing is sent."
    )
    if judging is None or not specs:
        return
    choice = Choice(metrics=tuple(specs), judging=judging, limits=limits)
    if asked:
        with st.spinner("Planning; nothing is sent"):
            st.session_state["planned"] = (run, choice, plan_choice(store(), run, choice, launch_context()))
    planned = st.session_state.get("planned")
    if planned is not None and planned[:2] == (run, choice):
        _plan(planned[2])
        _start(run, choice)


def _judging() -> JudgeOptions | None:
    """The judge that was chosen; None as long as it has no name."""
    kind: Kind = st.segmented_control("Judge", KINDS, default=KINDS[0], required=True, key="judge-kind")
    match kind:
        case "Chat model":
            return _chat_model()
        case "Other":
            return _by_name()
        case "Embedded":
            plain("Rule-based: compares words, needs no key and no network. Treat its verdicts as hints.", "note")
            return JudgeOptions()


def _chat_model() -> JudgeOptions | None:
    left, right = st.columns(2)
    model = left.text_input("Model", placeholder="gpt-4o-mini", help="The model's name on its server").strip()
    base_url = right.text_input("Base URL", placeholder="Default: the server's environment, or OpenAI").strip()
    embedder, parameters, concurrency = st.columns([2, 2, 1])
    embed = embedder.text_input(
        "Embedder", value="embedded", help="As for `--embed`: `embedded` or `openai:MODEL`"
    ).strip()
    pairs = parameters.text_input(
        "Parameters",
        placeholder="temperature=0, reasoning_effort=low",
        help="Sent to the model unchanged: key=value, separated by commas",
    )
    requests = concurrency.number_input("Concurrent requests", min_value=1, value=32)
    if not model:
        plain("Enter the name of the model.", "note")
        return None
    return JudgeOptions(
        judge=f"openai:{model}",
        embed=embed or None,
        base_url=base_url or None,
        parameters=read_pairs(pair for pair in pairs.split(",") if pair.strip()),
        concurrency=requests,
    )


def _by_name() -> JudgeOptions | None:
    left, right = st.columns(2)
    name = left.text_input(
        "Name", placeholder="trained:judge", help="As for `--judge`: `trained:FOLDER` or `replay:FILE`"
    ).strip()
    embed = right.text_input(
        "Embedder", value="embedded", help="As for `--embed`: `embedded` or `openai:MODEL`"
    ).strip()
    return JudgeOptions(judge=name, embed=embed or None) if name else None


def _limits() -> Mapping[str, float]:
    """The limits that were given."""
    with st.expander("Limits"):
        boxes = st.columns(4)
        given = {
            "sample": boxes[0].number_input("Samples", 1, value=None, placeholder="all", help="Drawn at random"),
            "max_cost": boxes[1].number_input("US dollars", 0.0, value=None, placeholder="no limit"),
            "max_calls": boxes[2].number_input("Calls", 0, value=None, placeholder="no limit"),
            "max_minutes": boxes[3].number_input("Minutes", 0.0, value=None, placeholder="no limit"),
        }
    return {name: value for name, value in given.items() if value is not None}


def _plan(plan: Plan) -> None:
    st.subheader("Plan", anchor=False)
    use, worst = plan.total.expected, plan.total.worst
    calls, most = use.chat_calls + use.embedding_calls, worst.chat_calls + worst.embedding_calls
    tokens = use.prompt_tokens + use.completion_tokens
    facts(
        [
            (f"{plan.samples:,}", "samples", f"{plan.total.answered:,} tasks already answered"),
            (f"{calls:,}", "calls", f"worst case {most:,}"),
            (f"{tokens:,}", "tokens", f"worst case {worst.prompt_tokens + worst.completion_tokens:,}"),
            (dollars(use.cost), "", f"worst case {dollars(worst.cost)}"),
        ]
    )
    st.dataframe(pd.DataFrame([_row(spec, planned) for spec, planned in plan.metrics.items()]), hide_index=True)
    plain("\n".join(plan_notes(plan)), "note")


def _row(spec: str, planned: Planned) -> dict[str, str | int]:
    use = planned.expected
    return {
        "Metric": column_title(spec),
        "Tasks": planned.tasks,
        "Calls": use.chat_calls + use.embedding_calls,
        "Tokens": use.prompt_tokens + use.completion_tokens,
        "Cost": dollars(use.cost),
        "Worst case": dollars(planned.worst.cost),
    }


def _start(run: RunRef, choice: Choice) -> None:
    with st.form("start", clear_on_submit=True, border=False):
        key = key_field(choice.judging, "start")
        if not st.form_submit_button("Start", icon=":material/play_arrow:", type="primary"):
            return
    start_evaluation(store(), run, choice, launch_context(), key=key)
    del st.session_state["planned"]
    open_run(run.name)
