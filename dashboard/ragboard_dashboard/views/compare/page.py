"""The Compare page: which of two runs is better, by how much, and on which questions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

import pandas as pd
import streamlit as st

from ragboard.analysis import (
    ANSWERS_ARE_REFERENCES,
    DEFAULT_DIFFERENCE,
    POLICIES,
    Comparison,
    JudgeNoise,
    ListedRun,
    MetricComparison,
    PairQuery,
    PairReport,
    Which,
    check_command,
    compare_command,
    detectable_in_words,
    diff_note,
    gate_workflow,
    grades_in_words,
    headline,
    methods_in_words,
    missing_evaluations,
    pair_rows,
    pair_runs,
    short_name,
    shown_metrics,
    verdict_in_words,
)
from ragboard.errors import NotFoundError, RagboardError
from ragboard.evaluation.background import planning_panel, start_evaluation
from ragboard.evaluation.defaults import judged_in_file
from ragboard.evaluation.identity import Choice
from ragboard.evaluation.offers import scorable_defaults
from ragboard.export import comparison_frame, pairs_frame
from ragboard.export.comparison_report import comparison_report
from ragboard.judges import JudgeOptions
from ragboard.metrics import Metric
from ragboard.readers.labels import human_grades
from ragboard.spans import strip_bidi_controls
from ragboard.store import RunRef
from ragboard_dashboard.components import safe_key
from ragboard_dashboard.components.pairs import pair_list, pair_view
from ragboard_dashboard.controls import (
    choose_evaluation,
    default_pair,
    default_partner,
    export_control,
    label_file_line,
    last_page,
    offer_sql,
    offer_upload,
    page_number,
    pager,
    report_button,
    unscored_choice,
)
from ragboard_dashboard.data import (
    evaluates,
    get_comparable,
    get_comparison,
    get_contents,
    get_evaluations,
    get_judge_options,
    get_judge_validation,
    get_most_changed,
    get_noise,
    get_pair,
    get_pair_position,
    get_pair_rows,
    get_pairs_sql,
    get_reference_runs,
    get_run,
    get_runs,
    get_unpaired,
    launch_context,
    resolve,
    store,
)
from ragboard_dashboard.links import STETHOSCOPE, bound, link_to, open_sample
from ragboard_dashboard.progress import run_panels, under_way
from ragboard_dashboard.text import (
    Style,
    column_label,
    column_title,
    earlier_turns,
    facts,
    grade_facts,
    markdown_escaped,
    outcome_fact,
    paragraphs,
    plain,
    shortened,
)
from ragboard_dashboard.views.compare.tables import (
    changed_data,
    cost_table,
    forest,
    grades_table,
    pair_data,
    pairs_data,
    unscored_in_words,
)
from ragboard_dashboard.views.run.samples import ONLY

__all__ = ["draw"]

PAGE_SIZE = 20
MANY_UNPAIRED = 0.1
"""If a larger share of the questions is unpaired, their list is expanded."""
EMBEDDED = JudgeOptions()
"""The judge of the button "Evaluate both"."""
MAX_LISTED, MAX_QUESTION_LENGTH = 1000, 300
"""Maximum number of unpaired questions in the list, and of characters of each question."""
MAX_OTHER_RUNS = 10
"""Maximum number of other runs over the same questions that are searched for a better mean."""
WHICH: dict[Which, str] = {
    "all": "All",
    "worse": "▼ Worse",
    "better": "▲ Better",
    "same": "= Same",
    "unscored": "Unscored",
}
WHICH_WITHOUT_DIRECTION: dict[Which, str] = {
    "all": "All",
    "worse": "≠ Differs",
    "same": "= Same",
    "unscored": "Unscored",
}
"""The filters for metrics without a better direction or with different judges."""


def draw() -> None:
    """Draw the page."""
    runs = get_runs()
    if len(runs) < 2 and len(_evaluation_names(runs)) < 2:
        _draw_empty_page()
        return
    running = under_way(*(run.run_id for run in runs))
    st.container(key="first-on-phones-title").header("Compare", anchor=False)
    chosen = _choose_runs(runs)
    if chosen is None:
        return
    wanted = st.query_params.get("pair")
    head = st.container(key="first-on-phones")
    a, b = chosen
    if wanted is not None:
        answers = st.container(key="first-on-phones-pair")
        with head:
            pair = _draw_pair_heading(a, b, get_comparison(a, b), wanted)
        with answers:
            if pair:
                _draw_pair(pair, a, b)
        return
    result = st.container()
    tools = st.container(horizontal=True, vertical_alignment="center")
    with tools, st.container(width=210):
        unscored = unscored_choice()
    compared = get_comparison(a, b, unscored)
    with head:
        paragraphs(_head_lines(b, compared))
        _offer_better_run(runs, compared)
        _draw_evaluations(a, b, compared, running)
    with result:
        _draw_result(a, b, compared, (*get_noise(a), *(get_noise(b) if b.run_id != a.run_id else ())))
    with tools:
        _draw_tools(a, b, compared)
    _draw_pairs(a, b, compared)


def _head_lines(b: RunRef, compared: Comparison) -> Iterator[tuple[str, Style]]:
    """Yield the result, what was compared, and cautions."""
    yield verdict_in_words(compared), "title"
    for text in (_detectable_difference(compared), grades_in_words(compared)):
        if text:
            yield text, "line"
    yield _summary(compared), "note"
    for caution in (*_all_cautions(compared), *_trust_cautions(b, compared)):
        yield f"⚠ {caution}", "line"


def _draw_empty_page() -> None:
    st.header("Nothing to compare yet", anchor=False)
    st.markdown("A comparison needs two runs over the same questions.")
    offer_upload()


def _choose_runs(runs: tuple[ListedRun, ...]) -> tuple[RunRef, RunRef] | None:
    """Draw the choice of A and B, by default the newest two runs over the same questions.

    If the user changes one of them to a run over other questions, the other one is replaced by a matching run.
    """
    first, second = default_pair(runs) if len(runs) > 1 else reversed(_evaluation_names(runs)[:2])
    wanted = {key: st.query_params.get(key, "").partition("@")[0] for key in ("a", "b")}
    before = st.session_state.get("compared", wanted)
    for changed, other in (("a", "b"), ("b", "a")):
        if wanted[changed] != before[changed] and wanted[other] == before[other] and not _same_questions(runs, wanted):
            partner = default_partner(runs, wanted[changed], "")
            wanted[other] = st.query_params[other] = partner or wanted[other]
    st.session_state["compared"] = wanted
    if wanted["a"] and not wanted["b"]:
        second = default_partner(runs, wanted["a"], second)
    elif wanted["b"] and not wanted["a"]:
        first = default_partner(runs, wanted["b"], first)
    left, right = st.container(key="beside-on-phones").columns(2, vertical_alignment="bottom")
    with left:
        a = _select_run("A (baseline)", "a", runs, first)
    with right:
        b = _select_run("B (candidate)", "b", runs, second)
    return get_comparable(a, b) if a and b else None


def _same_questions(runs: tuple[ListedRun, ...], names: Mapping[str, str]) -> bool:
    """Return whether the runs with these names have the same questions, as far as the names are known."""
    keys = {run.dataset_key for run in runs if run.name in names.values()}
    return len(keys) < 2


def _evaluation_names(runs: tuple[ListedRun, ...]) -> list[str]:
    """Return the names that URLs use for the newest run's evaluations; the default evaluation comes first."""
    evaluations = get_evaluations().get(runs[0].run_id, ()) if runs else ()
    return [f"{runs[0].name}@{evaluation.judged.evaluation_id}" for evaluation in evaluations]


def _select_run(label: str, key: str, runs: tuple[ListedRun, ...], default: str) -> RunRef | None:
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
    st.selectbox(label, names, format_func=strip_bidi_controls, **_bound(key, run.name, "pair", "page"))
    choose_evaluation(run, key)
    return run


def _name_in_url(run: RunRef) -> str:
    """Return the name that URLs use for this evaluation: the run's name for the default one, else `RUN@ID`."""
    return run.name if resolve(run.name).evaluation_id == run.evaluation_id else f"{run.name}@{run.evaluation_id}"


def _bound(name: str, value: str, *drops: str) -> dict[str, Any]:
    return bound(name, value, key=f"compare-{name}", drops=drops)


def _draw_result(a: RunRef, b: RunRef, compared: Comparison, noise: tuple[JudgeNoise, ...]) -> None:
    """Draw the difference of each metric, the questions that changed most, grades, costs, and details."""
    many_unpaired = _unpaired_count(compared) > MANY_UNPAIRED * (compared.paired + _unpaired_count(compared))
    if compared.metrics:
        _draw_metrics(compared, noise)
    changed_questions = get_most_changed(a, b, shown_metrics(compared))
    if changed_questions:
        data = changed_data(changed_questions, compared, _url_parameters(compared))
        pair_list(data, key="changed")
    changes = {one.change for one in compared.metrics}
    loser = "b" if "worse" in changes else "a" if "better" in changes else ""
    if loser:
        name = compared.b.name if loser == "b" else compared.a.name
        label = f"Why is {markdown_escaped(short_name(name))} worse? Diagnosis"
        link_to("diagnosis", label, {"run": st.query_params[loser]}, STETHOSCOPE)
    label_file_line((compared.b, compared.a))
    if compared.grades:
        grades_table(compared, key="grades")
    if compared.costs:
        cost_table(compared, key="costs")
    if compared.metrics:
        _draw_links(compared)
    if _unpaired_count(compared):
        _draw_unpaired(a, b, compared, expanded=many_unpaired)
    with st.expander("Method and details"):
        plain("\n".join(_detail_lines(compared)), "note")


def _detectable_difference(compared: Comparison) -> str:
    """Say what difference would have been detectable in the first metric for which this is known.

    Return an empty text if a difference is significant.
    """
    if any(one.change in ("better", "worse", "differs") for one in compared.metrics):
        return ""
    detectable = ((one.label, detectable_in_words(one)) for one in compared.metrics)
    return next((f"{label}: {words[0].lower()}{words[1:]}" for label, words in detectable if words), "")


def _draw_metrics(compared: Comparison, noise: tuple[JudgeNoise, ...]) -> None:
    """Draw the main metrics and, collapsed, the others."""
    shown = shown_metrics(compared)
    collapsed = [one for one in compared.metrics if one.metric not in shown]
    forest(compared, noise, key="forest", shown=shown)
    if collapsed:
        counts = Counter(_why_collapsed(one) for one in collapsed)
        kinds = ", ".join(f"{count} {why}" for why, count in counts.items())
        reason = f" {next(iter(counts))}" if len(counts) == 1 else f": {kinds}"
        with st.expander(f"{len(collapsed)} more metric{'s' if len(collapsed) > 1 else ''}{reason}"):
            specs = [one.metric for one in collapsed]
            forest(compared, noise, key="forest-more", shown=specs)


def _why_collapsed(one: MetricComparison) -> str:
    """Say why a metric is collapsed, in words after a number of metrics."""
    if one.change == ANSWERS_ARE_REFERENCES:
        return "that compare references with themselves"
    return "that cannot differ" if one.same_passages else "without a significant difference"


def _summary(compared: Comparison) -> str:
    """Say in one line what is compared, by which judge, and how the configurations differ."""
    total = compared.paired + _unpaired_count(compared)
    questions = (
        f"{compared.paired:,} questions" if total == compared.paired else f"{compared.paired:,} of {total:,} questions"
    )
    config = "; ".join(f"{shortened(one.key)} {_value_text(one.a)} → {_value_text(one.b)}" for one in compared.config)
    parts = [
        f"{shortened(compared.b.name)} (B) minus {shortened(compared.a.name)} (A) over {questions} in both runs",
        f"CIs clustered by {compared.clustered}" if compared.clustered else "",
        f"unscored samples {POLICIES[compared.policy]}" if compared.policy != "excluded" else "",
        f"judge: {compared.judged_by}" if compared.judged_by else "",
        f"A → B: {config}" if config else "",
    ]
    return " · ".join(filter(None, parts))


def _all_cautions(compared: Comparison) -> tuple[str, ...]:
    refusals = compared.refusals
    few = f"{compared.few_in_words}." if compared.few else ""
    warning = f"{refusals.warning}." if refusals and refusals.warning else ""
    return tuple(filter(None, (few, *compared.cautions, warning)))


def _trust_cautions(b: RunRef, compared: Comparison) -> Iterator[str]:
    """Yield a caution for each result whose judge does not agree with labels better than a baseline."""
    for one in compared.metrics:
        trust = get_judge_validation(b, one.metric) if one.change in ("better", "worse") else None
        if trust and trust.caveat:
            yield f"{one.label}: {trust.caveat}."


def _offer_better_run(runs: tuple[ListedRun, ...], compared: Comparison) -> None:
    """Draw a link to a run with the same questions whose mean of the first metric is better than in A and B.

    A run whose answers are the references is not offered.
    """
    first = next((one for one in compared.metrics if one.metric in shown_metrics(compared)), None)
    if first is None or first.better_direction == "neutral" or compared.a.dataset_key != compared.b.dataset_key:
        return
    pair = (compared.a.run_id, compared.b.run_id)
    comparable = (run for run in runs if run.evaluated and run.dataset_key == compared.a.dataset_key)
    others = [run for run in comparable if run.run_id not in pair and run.run_id not in get_reference_runs()]
    sign = 1 if first.better_direction == "higher" else -1
    means: dict[str, float] = {}
    for summary in (compared.a, compared.b, *(get_run(resolve(run.name)) for run in others[:MAX_OTHER_RUNS])):
        metric = summary.metrics.get(first.metric)
        if metric and metric.mean is not None:
            means[summary.name] = sign * metric.mean
    best = max(means, key=means.__getitem__, default="")
    if not best or best in (compared.a.name, compared.b.name):
        return
    better = max((compared.a.name, compared.b.name), key=lambda name: means.get(name, -math.inf))
    with st.container(horizontal=True, vertical_alignment="center"):
        plain(f"{shortened(best)} has a better mean {first.label} than both: {sign * means[best]:.2f}.", "note")
        label = f"Compare it with {markdown_escaped(shortened(better))}"
        link_to("compare", label, {"a": better, "b": best}, ":material/compare_arrows:")


def _detail_lines(compared: Comparison) -> Iterator[str]:
    """Yield details: tests, the pairing, refusals, statements, passages, and the counts of each metric."""
    yield from methods_in_words(compared)
    by_question = f", {compared.by_question:,} by question text" if compared.by_question else ""
    yield f"{compared.paired - compared.by_question:,} questions paired by sample id{by_question}."
    refusals = compared.refusals
    if refusals:
        yield (
            f"Refusals, in full or in part: {refusals.a / refusals.n:.0%} of A, {refusals.b / refusals.n:.0%} of B"
            f" ({refusals.a:,} and {refusals.b:,} of {refusals.n:,} pairs; McNemar p = {refusals.test.p:.2g})."
        )
    if compared.statements_a is not None:
        means = f"mean {compared.statements_a:.1f} in A, {compared.statements_b:.1f} in B"
        yield f"Statements per answer, over questions with statements in both: {means}."
    if compared.passages_a is not None:
        yield f"Passages per question: mean {compared.passages_a:.1f} in A, {compared.passages_b:.1f} in B."
    b = short_name(compared.b.name)
    for one in compared.metrics:
        if one.pairs:
            counts, left_out = one.pairs.sign, unscored_in_words(one)
            yield (
                f"{one.label}: {b} is higher on {counts.wins:,} questions, equal on {one.pairs.ties:,}, lower on"
                f" {counts.losses:,}{left_out and f'; {left_out}'}."
            )


def _draw_evaluations(a: RunRef, b: RunRef, compared: Comparison, running: frozenset[str]) -> None:
    """Draw running evaluations or, if the runs share no metric, a button that evaluates both.

    `running` are the evaluations that were running when the page began to read the runs. If one has ended since, redraw
    the page.
    """
    if not running <= under_way(*(run.run_id for run in get_runs())):
        st.rerun()
    now = under_way(a.run_id, b.run_id)
    for run in (a, b) if a.run_id != b.run_id else (a,):
        run_panels(run)
    if now or compared.metrics or a.run_id == b.run_id:
        return
    metrics = {run.run_id: _default_metrics(run) for run in (a, b)} if evaluates() else {}
    if metrics and all(metrics.values()) and compared.a.judged is None and compared.b.judged is None:
        names = ", ".join(dict.fromkeys(metric.title for found in metrics.values() for metric in found))
        plain(f"{names} by the embedded judge, which is rule-based and needs no key. Nothing leaves this machine.")
        if st.button("Evaluate both", icon=":material/play_arrow:", type="primary"):
            _evaluate({run: metrics[run.run_id] for run in (a, b)})
    _draw_links(compared)


def _default_metrics(run: RunRef) -> tuple[Metric, ...]:
    """Return the default metrics that the embedded judge can score in a run."""
    return scorable_defaults(get_contents(run), planning_panel(EMBEDDED), judged_in_file(store(), run.run_id))


def _evaluate(metrics: Mapping[RunRef, tuple[Metric, ...]]) -> None:
    """Start an evaluation of each run by the embedded judge, and redraw the page to show the progress."""
    for run, chosen in metrics.items():
        choice = Choice(metrics=tuple(metric.spec for metric in chosen), judge_options=EMBEDDED)
        try:
            start_evaluation(store(), run, choice, launch_context())
        except RagboardError as error:
            st.error("The evaluation did not start.", icon=":material/error:")
            plain(f"{run.name}: {error}")
            return
    st.rerun()


def _draw_links(compared: Comparison) -> None:
    """Draw links to missing evaluations, and to the refusals of a run that refuses significantly more often."""
    names, runs = {"A": st.query_params["a"], "B": st.query_params["b"]}, {"A": compared.a, "B": compared.b}
    missing = missing_evaluations(compared.a, compared.b) if evaluates() else {}
    refusals = compared.refusals
    with st.container(horizontal=True):
        for side, specs in missing.items():
            name = markdown_escaped(short_name(runs[side].name))
            metrics = column_label(specs[0]) if len(specs) == 1 else f"{len(specs)} metrics"
            query = {"run": runs[side].name} | ({"metrics": ",".join(specs)} if specs else {})
            link_to("evaluate", f"Evaluate {name}{f': {metrics}' if specs else ''}", query, ":material/gavel:")
        if refusals and refusals.warning:
            side_with_more: Literal["A", "B"] = "B" if refusals.b > refusals.a else "A"
            query = {"run": names[side_with_more], "only": ONLY["refusing"]}
            label = f"Show the refusals of {markdown_escaped(short_name(runs[side_with_more].name))}"
            link_to("run", label, query, ":material/arrow_forward:")


def _unpaired_count(compared: Comparison) -> int:
    """Return the number of unpaired questions in the run that has more of them."""
    return max(unpaired.only + unpaired.ambiguous for unpaired in (compared.unpaired_a, compared.unpaired_b))


def _draw_unpaired(a: RunRef, b: RunRef, compared: Comparison, *, expanded: bool) -> None:
    """List the questions that are in no pair."""
    counts = [unpaired.only + unpaired.ambiguous for unpaired in (compared.unpaired_a, compared.unpaired_b)]
    with st.expander(f"Questions without a partner: {counts[0]:,} in A, {counts[1]:,} in B", expanded=expanded):
        for side, unpaired in (("A", compared.unpaired_a), ("B", compared.unpaired_b)):
            if unpaired.reasons:
                words = ", ".join(f"{count:,} {reason}" for reason, count in unpaired.reasons.items())
                plain(f"{side}: {words}", "note")
        rows = get_unpaired(a, b)[:MAX_LISTED]
        st.dataframe(
            pd.DataFrame(
                [
                    (
                        strip_bidi_controls(row.question[:MAX_QUESTION_LENGTH]),
                        row.run,
                        row.reason,
                        strip_bidi_controls(row.sample_id),
                    )
                    for row in rows
                ],
                columns=["Question", "Run", "Why it has no partner", "Sample"],
            ),
            hide_index=True,
            height=min(35 * (len(rows) + 1) + 3, 320),
            column_config={"Question": st.column_config.TextColumn(width="large")},
        )
        if sum(counts) > MAX_LISTED:
            plain(f"The first {MAX_LISTED:,} of {sum(counts):,}.", "note")


def _draw_tools(a: RunRef, b: RunRef, compared: Comparison) -> None:
    """Draw the buttons that copy, export and share the comparison, or turn it into a quality gate."""
    name = f"{b.name} vs {a.name}"
    pair_query = _pair_query(compared)
    with st.popover("Copy", icon=":material/content_copy:"):
        st.code(strip_bidi_controls(compared.sentence), language=None, wrap_lines=True)
    if st.button("Gate", icon=":material/verified:", help="Commands and a GitHub workflow that fail if B is worse"):
        _draw_gate(compared, get_judge_options(b))
    metric = pair_query.metric if pair_query else ""
    report_button(name, lambda: comparison_report(store(), a, b, metric=metric, unscored=compared.policy))
    export_control(name, lambda: comparison_frame(compared), width="content")


@st.dialog("Quality gate", width="large")
def _draw_gate(compared: Comparison, judge_options: JudgeOptions | None) -> None:
    """Show commands that fail if B is worse, and a GitHub workflow that runs them."""
    allowed = st.number_input(
        "Allowed loss against A",
        min_value=0.0,
        max_value=1.0,
        value=DEFAULT_DIFFERENCE,
        step=0.01,
        help="B fails if it is worse than A by more than this on a metric from 0 to 1.",
    )
    a, b = (st.query_params[key] for key in ("a", "b"))
    shown = {
        "Fail if B is worse than A": compare_command(compared, a, b, allowed=allowed),
        "Fail if B misses its thresholds or falls below its current CI": check_command(compared, b),
        "Both as a GitHub workflow": gate_workflow(compared, judge_options, allowed=allowed),
    }
    if not any(list(shown.values())[:2]):
        st.info("A gate needs a metric that is scored in both runs and has a better direction. There is none.")
        return
    for title, code in shown.items():
        if code:
            st.markdown(f"**{title}**")
            st.code(code, language="yaml" if code.startswith("name:") else "bash", wrap_lines=True)
    plain("Exit codes: 0 pass, 1 fail, 4 inconclusive (more questions are needed).", "note")


def _value_text(value: object) -> str:
    return "not set" if value is None else shortened(str(value))


def _pair_query(compared: Comparison) -> PairQuery | None:
    """Return the query in the URL, by default for the first metric; None if no metric has a pair."""
    metrics_with_pairs = {metric.metric: metric for metric in compared.metrics if metric.pairs}
    if not metrics_with_pairs:
        return None
    metric, wanted = (st.query_params.get(key, "") for key in ("metric", "which"))
    shown = metrics_with_pairs.get(metric) or next(iter(metrics_with_pairs.values()))
    choices: dict[str, Which] = {which: which for which in _titles(shown)}
    return PairQuery(metric=shown.metric, which=choices.get(wanted, "all"))


def _titles(metric: MetricComparison) -> Mapping[Which, str]:
    return WHICH_WITHOUT_DIRECTION if metric.better_direction == "neutral" else WHICH


def _draw_pairs(a: RunRef, b: RunRef, compared: Comparison) -> None:
    """List the pairs by one metric, with the largest losses first."""
    pair_query = _pair_query(compared)
    if pair_query is None:
        return
    specs = [metric.metric for metric in compared.metrics if metric.pairs]
    shown = next(one for one in compared.metrics if one.metric == pair_query.metric)
    heading = st.empty()
    choice, which_column, export = st.columns([3, 7, 1.2], vertical_alignment="bottom")
    metric = choice.selectbox("Metric", specs, format_func=column_title, **_bound("metric", pair_query.metric, "page"))
    first_page = replace(pair_query, metric=metric, limit=PAGE_SIZE, offset=(page_number() - 1) * PAGE_SIZE)
    counts = get_pair_rows(a, b, first_page).counts
    heading.subheader(_pairs_heading(shown, counts), anchor=False)
    if not _detectable_difference(compared).startswith(f"{shown.label}: "):  # else it is shown above
        plain(detectable_in_words(shown), "note")
    which: Which = which_column.segmented_control(
        "Which",
        list(_titles(shown)),
        # without the first space, Streamlit compiles a pattern of all emojis to look for one, which takes 0.6 s
        format_func=lambda one: f" {_titles(shown)[one]} {counts[one]:,}",
        required=True,
        label_visibility="collapsed",
        **_bound("which", pair_query.which, "page"),
    )
    page_index = min(page_number(), last_page(counts[which], PAGE_SIZE))
    query = PairQuery(metric=metric, which=which, limit=PAGE_SIZE, offset=(page_index - 1) * PAGE_SIZE)
    page = get_pair_rows(a, b, query)
    with export:
        export_control(
            f"{b.name} vs {a.name} pairs", lambda: _pairs_table(a, b, replace(query, limit=page.total, offset=0))
        )
    list_parameters = _url_parameters(compared) | {"metric": metric, "which": which}
    caption = f"{page.total:,} of {compared.paired:,} pairs. Click a question to see both answers."
    pair_list(pairs_data(page.rows, compared, list_parameters, caption), key="pairs")
    offer_sql(get_pairs_sql(a, b, query), "pairs")
    pager(page.total, PAGE_SIZE, page_index)


def _pairs_heading(shown: MetricComparison, counts: Mapping[Which, int]) -> str:
    """Return the heading of the list of pairs."""
    if shown.better_direction == "neutral":
        return "Questions, largest differences first"
    return "Questions, largest losses first" if counts["worse"] else "Questions: none is worse"


def _url_parameters(compared: Comparison) -> dict[str, str]:
    """Return the query parameters of this page, with the policy for unscored samples."""
    shown = st.query_params.to_dict()
    return shown if compared.policy == "excluded" else shown | {"unscored": compared.policy}


def _pairs_table(a: RunRef, b: RunRef, query: PairQuery) -> pd.DataFrame:
    """Return all pairs of a query as a table, without the page's cache, because downloads run outside pages."""
    return pairs_frame({query.metric: pair_rows(store(), a, b, pair_runs(store(), a, b), query).rows})


def _draw_pair_heading(a: RunRef, b: RunRef, compared: Comparison, sample_id: str) -> PairReport | None:
    """Draw the question and its links. If it is not in both runs, draw an error and return None."""
    try:
        pair = get_pair(a, b, sample_id)
    except NotFoundError as error:
        st.error("The question in this link is not in both runs.", icon=":material/search_off:")
        plain(str(error))
        return None
    earlier_turns(pair.a.sample.history)
    plain(pair.a.sample.question, "title")
    row = st.container(horizontal=True, vertical_alignment="center")
    if row.button("Back to the comparison", icon=":material/arrow_back:"):
        del st.query_params["pair"]
        st.rerun()
    if row.button("Open sample in A", icon=":material/find_in_page:"):
        open_sample(_name_in_url(pair.a.run), pair.a.sample.id)
    if row.button("Open sample in B", icon=":material/find_in_page:"):
        open_sample(_name_in_url(pair.b.run), pair.b.sample.id)
    with row:
        _draw_steps(a, b, compared, sample_id)
    return pair


def _draw_pair(pair: PairReport, a: RunRef, b: RunRef) -> None:
    """Draw the scores of a pair and both answers."""
    headline_metrics = headline(tuple(pair.a.scores))
    sides = [(f"{side} · {short_name(report.run.name)}", report) for side, report in (("A", pair.a), ("B", pair.b))]
    for title, report in sides:
        shown = [outcome_fact(spec, one) for spec, one in report.scores.items() if spec in headline_metrics]
        facts([("", title, ""), *shown])
    if hidden := len(pair.a.scores) - len(headline_metrics):
        with st.expander(f"{hidden} more metric{'s' if hidden > 1 else ''}"):
            for title, report in sides:
                other_metrics = [
                    outcome_fact(spec, one) for spec, one in report.scores.items() if spec not in headline_metrics
                ]
                facts([("", title, ""), *other_metrics])
    for title, report in sides:
        if grades := human_grades(report.sample.metadata):
            facts([("", f"{title} · human grades", ""), *grade_facts(grades)])
    plain(diff_note(pair.answers), "note")
    pair_view(pair_data(pair), key=safe_key("pair", a.run_id, b.run_id, pair.a.sample.id))


def _draw_steps(a: RunRef, b: RunRef, compared: Comparison, sample_id: str) -> None:
    """Draw the links to the previous and next pair of the list."""
    query = _pair_query(compared)
    if query is None:
        return
    position = get_pair_position(a, b, query, sample_id)
    for label, icon, key, to in (
        ("Previous", "chevron_left", "k", position.previous),
        ("Next", "chevron_right", "j", position.following),
    ):
        if st.button(label, icon=f":material/{icon}:", shortcut=key, disabled=to is None):
            st.query_params["pair"] = str(to)
            st.rerun()
    words = (
        f"Pair {position.position:,} of {position.total:,}"
        if position.position
        else f"Not among these {position.total:,} pairs"
    )
    shown = next(metric for metric in compared.metrics if metric.metric == query.metric)
    plain(f"{words} ({_titles(shown)[query.which]}, by {column_title(query.metric)})", "note")
