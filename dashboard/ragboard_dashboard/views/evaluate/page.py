"""The Evaluate page: choose metrics, judge and limits, see the planned calls and cost, and start the evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import pandas as pd
import streamlit as st

from ragboard.errors import RagboardError
from ragboard.evaluation.background import destination, planning_panel, start_evaluation
from ragboard.evaluation.defaults import judged_in_file
from ragboard.evaluation.identity import Choice
from ragboard.evaluation.offers import (
    duration_in_words,
    expected_seconds,
    scorable_defaults,
    unscorable,
    unscorable_message,
)
from ragboard.evaluation.plan import Plan, PlannedTasks, plan_in_words, plan_notes
from ragboard.judges import JudgeOptions
from ragboard.judges.local.models import is_downloaded
from ragboard.judges.local.presets import choose_model, presets
from ragboard.judges.panel import Panel
from ragboard.metrics import Metric
from ragboard.settings import read_pairs
from ragboard.store import RunRef
from ragboard_dashboard.controls import breadcrumb, choose_run, session_cached
from ragboard_dashboard.data import evaluates, get_contents, get_plan, get_run, known_metrics, launch_context, store
from ragboard_dashboard.links import open_page, open_run
from ragboard_dashboard.progress import run_panels, secret_fields
from ragboard_dashboard.text import column_title, dollars, facts, judged_line, plain, shortened
from ragboard_dashboard.views.evaluate.picker import chosen_metrics, pick_metrics

__all__ = ["draw"]

Kind = Literal["Embedded", "Local model", "Chat model", "Other"]
KINDS: tuple[Kind, ...] = get_args(Kind)


def draw() -> None:
    """Draw the page."""
    run = choose_run("Evaluate")
    if run is None:
        return
    breadcrumb(run, "evaluate", "Evaluate")
    plain(f"Evaluate {shortened(run.name)}", "title")
    judged_line(get_run(run))
    run_panels(run)
    if not evaluates():
        st.info(
            "This dashboard does not start evaluations. Use `ragboard evaluate` on the command line.",
            icon=":material/lock:",
        )
        return
    try:
        _draw_form(run)
    except RagboardError as error:
        st.error("The evaluation cannot start with these settings. Nothing was sent.", icon=":material/error:")
        plain(str(error))


def _draw_form(run: RunRef) -> None:
    top = st.container()
    with top:
        judge_kind: Kind = st.segmented_control("Judge", KINDS, default=KINDS[0], required=True, key="judge-kind")
        judge, start, picker = st.container(), st.container(), st.container()
    limits = _draw_limits()  # drawn first, because an error in the judge's fields stops the page
    with judge:
        judge_options = _choose_judge_options(judge_kind)
        ready = judge_options is not None and _is_loaded(judge_kind, judge_options)
    with start, st.spinner("Reading the run"):
        contents = get_contents(run)
    panel = _panel(judge_kind, judge_options if ready else None)
    default_metrics = scorable_defaults(contents, panel, judged_in_file(store(), run.run_id))
    with picker:
        chosen = chosen_metrics(run.run_id, default_metrics)
        unscorable_metrics = unscorable(
            {**known_metrics(), **{one.spec: one for one in (*default_metrics, *chosen)}}.values(), contents, panel
        )
        pick_metrics(run.run_id, chosen, default_metrics, unscorable_metrics)
    with start:
        obstacle = unscorable_message(chosen, unscorable_metrics) or ("" if chosen else "Choose at least one metric.")
        if obstacle or judge_options is None or not ready:
            plain(obstacle or "Choose a judge to continue.")
            st.button("Start", icon=":material/play_arrow:", type="primary", disabled=True)
            return
        choice = Choice(metrics=tuple(metric.spec for metric in chosen), judge_options=judge_options, limits=limits)
        with st.spinner("Planning; nothing is sent"):
            plan = get_plan(run, choice)
        _draw_plan_line(plan, choice, _expected_seconds(run, chosen, panel, plan))
        _draw_start_form(run, choice)
    with st.expander("Plan by metric", icon=":material/calculate:"):
        _draw_plan_by_metric(plan)


def _is_loaded(judge_kind: Kind, judge_options: JudgeOptions) -> bool:
    """Return whether the judge is ready. If not, draw the button that downloads or loads it."""
    if judge_kind in ("Embedded", "Chat model") or st.session_state.get("judge-loaded") == judge_options:
        return True
    name = judge_options.judge.partition(":")[2]
    if judge_kind == "Local model" and is_downloaded(choose_model(name).location):
        return True
    label, icon = (
        ("Download it", ":material/download:") if judge_kind == "Local model" else ("Load it", ":material/upload:")
    )
    if not st.button(label, icon=icon):
        return False
    with st.spinner("Loading the judge"):
        planning_panel(judge_options)
    st.session_state["judge-loaded"] = judge_options
    return True


def _panel(judge_kind: Kind, judge_options: JudgeOptions | None) -> Panel:
    """Return the chosen judges. Until they are named and loaded, return judges that support the same tasks."""
    if judge_options is None:
        judge_options = (
            JudgeOptions()
            if judge_kind in ("Embedded", "Local model")
            else JudgeOptions(judge="openai:m", embed="embedded")
        )
    chosen = judge_options
    return session_cached("judge-panel", chosen, lambda: planning_panel(chosen))


def _expected_seconds(run: RunRef, chosen: Sequence[Metric], panel: Panel, plan: Plan) -> float | None:
    """Return the expected duration in seconds; None if it is not known, or if some tasks are already answered."""
    if plan.total.answered or plan.samples < get_contents(run).samples:
        return None
    return session_cached(
        "seconds",
        (run, tuple(chosen), panel.name),
        lambda: expected_seconds(get_contents(run), chosen, panel),
    )


def _draw_plan_line(plan: Plan, choice: Choice, seconds: float | None) -> None:
    """Draw one line with the number of samples, cost, time, and where texts are sent."""
    count = len(choice.metrics)
    metrics = f"{count} metric{'' if count == 1 else 's'} of {plan.samples:,} sample{'' if plan.samples == 1 else 's'}"
    cost = ", ".join(filter(None, (plan_in_words(plan), duration_in_words(seconds))))
    host = destination(choice.judge_options)
    hidden = ", without the parts that match your patterns" if choice.judge_options.redact else ""
    sent = f"Questions, passages and answers are sent to {host}{hidden}." if host else "Nothing leaves this machine."
    plain(f"{metrics} by {choice.judge_options.judge}: {cost}. {sent}")


def _choose_judge_options(judge_kind: Kind) -> JudgeOptions | None:
    """Draw the fields for a judge of this kind. Return its options, or None until it has a name."""
    match judge_kind:
        case "Chat model":
            return _chat_model()
        case "Local model":
            return _local_model()
        case "Other":
            return _by_name()
        case "Embedded":
            plain("Rule-based: it compares words and needs no key or network. Treat its verdicts as hints.", "note")
            return JudgeOptions()


def _chat_model() -> JudgeOptions | None:
    left, right = st.columns(2)
    model = left.text_input("Model", placeholder="gpt-4o-mini", help="The model's name on the server").strip()
    base_url = right.text_input("Base URL", placeholder="Default: the server's environment, or OpenAI").strip()
    embedder, parameters, concurrency = st.columns([2, 2, 1])
    embed = embedder.text_input(
        "Embedder",
        value="embedded",
        help="As for `--embed`: `embedded`, `openai:MODEL`, or `bertscore` for `mtrag.overlap`",
    ).strip()
    pairs = parameters.text_input(
        "Parameters",
        placeholder="temperature=0, reasoning_effort=low",
        help="Sent to the model unchanged: key=value, separated by commas",
    )
    requests = concurrency.number_input("Concurrent requests", min_value=1, value=32)
    hidden = st.text_area(
        "Hide before sending",
        placeholder=r"[\w.+-]+@[\w-]+\.\w+",
        height=68,
        help="Regular expressions, one per line. Matches are replaced by block characters in all texts that are sent.",
    )
    batch = st.checkbox(
        "Send in batches",
        help="Half the price at OpenAI. Each step of the evaluation can take up to 24 hours.",
    )
    if not model:
        plain("Enter the name of the model.", "note")
        return None
    return JudgeOptions(
        redact=tuple(line for line in hidden.splitlines() if line.strip()),
        judge=f"openai:{model}",
        embed=embed or None,
        base_url=base_url or None,
        parameters=read_pairs(pair for pair in pairs.split(",") if pair.strip()),
        concurrency=requests,
        batch=batch,
    )


def _local_model() -> JudgeOptions | None:
    presets_by_name = {name: preset for name, preset in presets().items() if not preset.refused}
    name = st.selectbox(
        "Model",
        list(presets_by_name),
        accept_new_options=True,
        help="A preset, or type `PRESET@FOLDER`, a folder or a Hugging Face name",
    )
    if not name:
        return None
    if name in presets_by_name:
        preset = presets_by_name[name]
        size = f", {preset.download:g} GB" if preset.download else ""
        about = f"{preset.model}: {preset.languages}, {preset.licence}, {preset.parameters}{size}"
        plain(f"{about}. According to its authors: {preset.published}.", "note")
    if not is_downloaded(choose_model(name).location):
        plain("Not on this machine: it is downloaded from Hugging Face first.", "note")
    plain(
        "It runs on the dashboard's machine and only verifies statements."
        " The embedded judge (rule-based) does everything else.",
        "note",
    )
    return JudgeOptions(judge=f"local:{name}")


def _by_name() -> JudgeOptions | None:
    left, right = st.columns(2)
    name = left.text_input(
        "Name", placeholder="trained:judge", help="As for `--judge`: `trained:FOLDER`, `replay:FILE`"
    ).strip()
    embed = right.text_input(
        "Embedder",
        value="embedded",
        help="As for `--embed`: `embedded`, `openai:MODEL`, or `bertscore` for `mtrag.overlap`",
    ).strip()
    return JudgeOptions(judge=name, embed=embed or None) if name else None


def _draw_limits() -> Mapping[str, float]:
    """Draw the fields for limits. Return those that the user filled in."""
    with st.expander("Limits"):
        columns = st.columns(5)
        values = {
            "sample": columns[0].number_input("Samples", 1, value=None, placeholder="all", help="Drawn at random"),
            "max_cost": columns[1].number_input("US dollars", 0.0, value=None, placeholder="no limit"),
            "max_calls": columns[2].number_input("Calls", 0, value=None, placeholder="no limit"),
            "max_minutes": columns[3].number_input("Minutes", 0.0, value=None, placeholder="no limit"),
            "draws": columns[4].number_input(
                "Draws", 1, value=None, placeholder="1", help="Ask a chat model several times to see how sure it is"
            ),
        }
    return {name: value for name, value in values.items() if value is not None}


def _draw_plan_by_metric(plan: Plan) -> None:
    expected, worst = plan.total.expected, plan.total.worst
    calls, most_calls = expected.chat_calls + expected.embedding_calls, worst.chat_calls + worst.embedding_calls
    tokens = expected.prompt_tokens + expected.completion_tokens
    facts(
        [
            (f"{plan.samples:,}", "samples", f"{plan.total.answered:,} tasks already answered"),
            (f"{calls:,}", "calls", f"worst case {most_calls:,}"),
            (f"{tokens:,}", "tokens", f"worst case {worst.prompt_tokens + worst.completion_tokens:,}"),
            (dollars(expected.cost), "", f"worst case {dollars(worst.cost)}"),
        ]
    )
    st.dataframe(pd.DataFrame([_plan_row(spec, planned) for spec, planned in plan.metrics.items()]), hide_index=True)
    plain("\n".join(plan_notes(plan)), "note")


def _plan_row(spec: str, planned: PlannedTasks) -> dict[str, str | int]:
    expected = planned.expected
    return {
        "Metric": column_title(spec),
        "Tasks": planned.tasks,
        "Calls": expected.chat_calls + expected.embedding_calls,
        "Tokens": expected.prompt_tokens + expected.completion_tokens,
        "Cost": dollars(expected.cost),
        "Worst case": dollars(planned.worst.cost),
    }


def _draw_start_form(run: RunRef, choice: Choice) -> None:
    with st.form("start", clear_on_submit=True, border=False):
        secrets = secret_fields(choice.judge_options, "start")
        if not st.form_submit_button("Start", icon=":material/play_arrow:", type="primary"):
            return
    start_evaluation(store(), run, choice, launch_context(), **secrets)
    if st.query_params.get("then") == "diagnosis":  # the user came from this page, which also shows the progress
        open_page("diagnosis", {"run": run.name})
    open_run(run.name)
