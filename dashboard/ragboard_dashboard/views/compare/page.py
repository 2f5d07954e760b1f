"""Compare: which of two configurations is better, by how much, and on which questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NoReturn

import pandas as pd
import streamlit as st

from ragboard.analysis import (
    POINTS,
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
    headline,
    missing_evaluations,
    pair_rows,
    pair_runs,
    verdict_in_words,
)
from ragboard.errors import NotFoundError
from ragboard.export import comparison_frame, pairs_frame
from ragboard.export.comparison_report import comparison_report
from ragboard.judges import JudgeOptions
from ragboard.spans import strip_bidi_controls
from ragboard.store import RunRef
from ragboard_dashboard.components import safe_key
from ragboard_dashboard.components.pairs import pair_list, pair_view
from ragboard_dashboard.controls import (
    choose_evaluation,
    default_pair,
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
    get_evaluations,
    get_judge_options,
    get_most_changed,
    get_noise,
    get_pair,
    get_pair_position,
    get_pair_rows,
    get_pairs_sql,
    get_runs,
    get_unpaired,
    resolve,
    store,
)
from ragboard_dashboard.links import STETHOSCOPE, bound, link_to, open_page, open_sample
from ragboard_dashboard.text import column_label, column_title, earlier_turns, facts, outcome_fact, plain, shortened
from ragboard_dashboard.views.compare.tables import (
    changed_data,
    cost_table,
    forest,
    pair_data,
    pairs_data,
    unscored_in_words,
)
from ragboard_dashboard.views.run.samples import ONLY

__all__ = ["draw"]

PAGE_SIZE = 20
MANY = 0.1
"""The share of unpaired questions from which on the page says so before anything else."""
NAMED = 3
"""Metrics that a link names."""
LISTED, LONGEST = 1000, 300
"""Unpaired questions in the list, and characters of each."""
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
    if len(runs) < 2 and len(_evaluations(runs)) < 2:
        _empty()
        return
    chosen = _choose(runs)
    if chosen is None:
        return
    wanted = st.query_params.get("pair")
    head = st.container(key="first-on-phones")
    answer = st.container(key="first-on-phones-pair") if wanted else st.container()
    tools = st.container(horizontal=True, vertical_alignment="center")
    with tools, st.container(width=210):
        unscored = unscored_choice()
    a, b = chosen
    compared = get_comparison(a, b, unscored)
    if wanted is None:
        with head:
            plain(verdict_in_words(compared), "title")
            if power := _power(compared):
                plain(power)
            plain(_about(compared), "note")
        with answer:
            _result(a, b, compared, (*get_noise(a), *(get_noise(b) if b.run_id != a.run_id else ())))
    else:
        with head:
            found = _find_pair(a, b, compared, wanted)
        with answer:
            if found:
                _pair(found, a, b)
    with tools:
        _tools(a, b, compared)
    _pairs(a, b, compared)


def _empty() -> None:
    st.header("Nothing to compare yet", anchor=False)
    st.markdown("A comparison needs two runs over the same questions.")
    offer_upload()


def _choose(runs: tuple[ListedRun, ...]) -> tuple[RunRef, RunRef] | None:
    """The two runs of the address, else the newest two over the same questions, or evaluations of the only run."""
    first, second = default_pair(runs) if len(runs) > 1 else reversed(_evaluations(runs)[:2])
    left, right = st.container(key="beside-on-phones").columns(2, vertical_alignment="bottom")
    with left:
        a = _select("A (baseline)", "a", runs, first)
    with right:
        b = _select("B (candidate)", "b", runs, second)
    return get_comparable(a, b) if a and b else None


def _evaluations(runs: tuple[ListedRun, ...]) -> list[str]:
    """The evaluations of the newest run as addresses name them, the one that pages show first."""
    there = get_evaluations().get(runs[0].run_id, ()) if runs else ()
    return [f"{runs[0].name}@{one.judged.evaluation_id}" for one in there]


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
    st.selectbox(label, names, format_func=strip_bidi_controls, **_bound(key, run.name, "pair", "page"))
    choose_evaluation(run, key)
    return run


def _run_name(run: RunRef) -> str:
    """How an address names a run whose statements are compared: by its name alone where that means the same."""
    return run.name if resolve(run.name).evaluation_id == run.evaluation_id else f"{run.name}@{run.evaluation_id}"


def _bound(name: str, value: str, *drops: str) -> dict[str, Any]:
    return bound(name, value, key=f"compare-{name}", drops=drops)


def _result(a: RunRef, b: RunRef, compared: Comparison, noise: tuple[JudgeNoise, ...]) -> None:
    """A line a metric, and the largest changes; below what to know about it."""
    many = _unpaired_count(compared) > MANY * (compared.paired + _unpaired_count(compared))
    if many:
        _show_cautions(compared)
    if compared.metrics and (metric := _metrics(compared, noise)):
        open_page("metrics", {"q": metric})
    changed = get_most_changed(a, b)
    if changed and (opened := pair_list(changed_data(changed, compared, _address(compared)), key="changed")):
        _open_pair(opened)
    if any(one.change == "worse" for one in compared.metrics):
        link_to("diagnosis", "Why is B worse? Diagnosis of B", {"run": st.query_params["b"]}, STETHOSCOPE)
    label_file_line((compared.b, compared.a))
    if compared.costs:
        cost_table(compared, key="costs")
    if not many:
        _show_cautions(compared)
    if _unpaired_count(compared):
        _unpaired(a, b, compared, expanded=many)
    with st.expander("Method and details"):
        plain(compared.sentence)
        plain("\n".join(_details(compared)), "note")


def _power(compared: Comparison) -> str:
    """Where nothing is significant, which difference these questions could have shown on the first metric."""
    if any(one.change in ("better", "worse", "differs") for one in compared.metrics):
        return ""
    said = ((one, detectable_in_words(one)) for one in compared.metrics)
    return next((f"{one.label}: {words[0].lower()}{words[1:]}" for one, words in said if words), "")


def _metrics(compared: Comparison, noise: tuple[JudgeNoise, ...]) -> str | None:
    """Draw a line for each headline metric and each with a result, the others collapsed; the metric just clicked."""
    usual = headline([one.metric for one in compared.metrics])
    rest = [one for one in compared.metrics if one.metric not in usual and one.change == "no significant difference"]
    first = [one.metric for one in compared.metrics if one not in rest]
    opened = forest(compared, noise, key="forest", shown=first)
    if rest:
        with st.expander(f"{len(rest)} more metric{'s' if len(rest) > 1 else ''}: no significant difference"):
            opened = forest(compared, noise, key="forest-more", shown=[one.metric for one in rest]) or opened
    return opened


def _about(compared: Comparison) -> str:
    """What counts and how, who judged, what differs in configuration, and whether there is more to beware of."""
    total = compared.paired + _unpaired_count(compared)
    questions = (
        f"{compared.paired:,} questions" if total == compared.paired else f"{compared.paired:,} of {total:,} questions"
    )
    config = "; ".join(f"{shortened(one.key)} {_given(one.a)} → {_given(one.b)}" for one in compared.config)
    count = len(_cautions(compared)) + sum(bool(one.caution) for one in compared.metrics)
    parts = [
        f"{shortened(compared.b.name)} (B) minus {shortened(compared.a.name)} (A) over {questions} in both runs",
        f"CIs clustered by {compared.clustered}" if compared.clustered else "",
        f"unscored samples {POLICIES[compared.policy]}" if compared.policy != "excluded" else "",
        f"judge: {compared.judged_by}" if compared.judged_by else "",
        f"A → B: {config}" if config else "no difference of configuration recorded",
        f"⚠ {count} caution{'' if count == 1 else 's'}" if count else "",
    ]
    return " · ".join(filter(None, parts))


def _cautions(compared: Comparison) -> tuple[str, ...]:
    refusals = compared.refusals
    return (*compared.cautions, *([f"{refusals.warning}."] if refusals and refusals.warning else ()))


def _details(compared: Comparison) -> Iterator[str]:
    """How questions were paired, refusals, statements, and of each metric what else there is to know."""
    by_question = f", {compared.by_question:,} by question text" if compared.by_question else ""
    yield f"{compared.paired - compared.by_question:,} questions paired by sample id{by_question}."
    refusals = compared.refusals
    if refusals:
        yield (
            f"Refusals, in full or in part: {refusals.a / refusals.n:.0%} of A, {refusals.b / refusals.n:.0%} of B"
            f" ({refusals.a:,} and {refusals.b:,} of {refusals.n:,} pairs; McNemar p = {refusals.test.p:.2g})."
        )
    if compared.claims_a is not None:
        yield f"Statements per answer: mean {compared.claims_a:.1f} in A, {compared.claims_b:.1f} in B."
    if compared.passages_a is not None:
        yield f"Passages per question: mean {compared.passages_a:.1f} in A, {compared.passages_b:.1f} in B."
    for one in compared.metrics:
        if one.pairs:
            counts, left_out = one.pairs.sign, unscored_in_words(one)
            yield (
                f"{one.label}: B is higher on {counts.wins:,} questions, equal on {one.pairs.ties:,}, lower on"
                f" {counts.losses:,}{left_out and f'; {left_out}'}. {detectable_in_words(one)}"
            )


def _show_cautions(compared: Comparison) -> None:
    for caution in _cautions(compared):
        plain(f"⚠ {caution}")
    names, runs = {"A": st.query_params["a"], "B": st.query_params["b"]}, {"A": compared.a, "B": compared.b}
    missing = missing_evaluations(compared.a, compared.b) if evaluates() else {}
    refusals = compared.refusals
    with st.container(horizontal=True):
        for side, specs in missing.items():
            named = ", ".join(map(column_label, specs)) if len(specs) <= NAMED else f"{len(specs)} metrics"
            label = f"Evaluate {side}: {named}" if specs else f"Evaluate {side}"
            query = {"run": runs[side].name} | ({"metrics": ",".join(specs)} if specs else {})
            link_to("evaluate", label, query, ":material/gavel:")
        if refusals and refusals.warning:
            more = "B" if refusals.b > refusals.a else "A"
            query = {"run": names[more], "only": ONLY["refusing"]}
            link_to("run", f"Show the refusals of {more}", query, ":material/arrow_forward:")


def _unpaired_count(compared: Comparison) -> int:
    """The unpaired questions of the run that has more of them."""
    return max(left.only + left.ambiguous for left in (compared.unpaired_a, compared.unpaired_b))


def _unpaired(a: RunRef, b: RunRef, compared: Comparison, *, expanded: bool) -> None:
    """List the questions in no pair."""
    counts = [left.only + left.ambiguous for left in (compared.unpaired_a, compared.unpaired_b)]
    with st.expander(f"Questions without a partner: {counts[0]:,} in A, {counts[1]:,} in B", expanded=expanded):
        for side, left in (("A", compared.unpaired_a), ("B", compared.unpaired_b)):
            if left.reasons:
                said = ", ".join(f"{count:,} {reason}" for reason, count in left.reasons.items())
                plain(f"{side}: {said}", "note")
        rows = get_unpaired(a, b)[:LISTED]
        st.dataframe(
            pd.DataFrame(
                [
                    (
                        strip_bidi_controls(one.question[:LONGEST]),
                        one.run,
                        one.reason,
                        strip_bidi_controls(one.sample_id),
                    )
                    for one in rows
                ],
                columns=["Question", "Only in", "Why it has no partner", "Sample"],
            ),
            hide_index=True,
            height=min(35 * (len(rows) + 1) + 3, 320),
            column_config={"Question": st.column_config.TextColumn(width="large")},
        )
        if sum(counts) > LISTED:
            plain(f"The first {LISTED:,} of {sum(counts):,}.", "note")


def _tools(a: RunRef, b: RunRef, compared: Comparison) -> None:
    """What to take away from here."""
    name = f"{b.name} vs {a.name}"
    asked = _pair_query(compared)
    with st.popover("Copy", icon=":material/content_copy:"):
        st.code(strip_bidi_controls(compared.sentence), language=None, wrap_lines=True)
    if st.button("Gate", icon=":material/verified:", help="Commands and a GitHub workflow that fail on a loss"):
        _gate(compared, get_judge_options(b))
    metric = asked.metric if asked else ""
    report_button(name, lambda: comparison_report(store(), a, b, metric=metric, unscored=compared.policy))
    export_control(name, lambda: comparison_frame(compared), width="content")


@st.dialog("Quality gate", width="large")
def _gate(compared: Comparison, judge_options: JudgeOptions | None) -> None:
    """Show the commands for what is on screen, and the workflow that runs them."""
    allowed = st.number_input(
        "Allowed loss against A",
        min_value=0.0,
        max_value=1.0,
        value=POINTS,
        step=0.01,
        help="B fails where it is worse than A by more than this, on a metric from 0 to 1.",
    )
    a, b = (st.query_params[key] for key in ("a", "b"))
    shown = {
        "Fail if B is worse than A": compare_command(compared, a, b, allowed=allowed),
        "Fail if B misses its thresholds, or falls below its present interval": check_command(compared, b),
        "Both as a GitHub workflow": gate_workflow(compared, judge_options, allowed=allowed),
    }
    if not any(list(shown.values())[:2]):
        st.info("There is no metric to gate: none that is better one way is scored in both runs.")
        return
    for title, code in shown.items():
        if code:
            st.markdown(f"**{title}**")
            st.code(code, language="yaml" if code.startswith("name:") else "bash", wrap_lines=True)
    plain("Exit codes: 0 pass, 1 fail, 4 inconclusive (more questions are needed).", "note")


def _given(value: object) -> str:
    return "not set" if value is None else shortened(str(value))


def _pair_query(compared: Comparison) -> PairQuery | None:
    """The metric and the pairs that the address names, else the first; None if no metric has a pair."""
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
    plain(detectable_in_words(shown), "note")
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
    shown_by = _address(compared) | {"metric": metric, "which": which}
    caption = f"{page.total:,} of {compared.paired:,} pairs. Click a question to see both answers."
    opened = pair_list(pairs_data(page.rows, compared, shown_by, caption), key="pairs")
    offer_sql(get_pairs_sql(a, b, query), "pairs")
    pager(page.total, PAGE_SIZE, at)
    if opened:
        _open_pair(opened)


def _address(compared: Comparison) -> dict[str, str]:
    """What the address of this comparison says."""
    found = {"a": st.query_params["a"], "b": st.query_params["b"]}
    return found if compared.policy == "excluded" else found | {"unscored": compared.policy}


def _open_pair(sample_id: str) -> NoReturn:
    st.query_params["pair"] = sample_id
    st.rerun()


def _table(a: RunRef, b: RunRef, query: PairQuery) -> pd.DataFrame:
    """The pairs of a query as a table; read anew, for a download is made outside the page."""
    return pairs_frame({query.metric: pair_rows(store(), a, b, pair_runs(store(), a, b), query).rows})


def _find_pair(a: RunRef, b: RunRef, compared: Comparison, sample_id: str) -> PairReport | None:
    """Draw the question, and the ways from it; None after saying that it is not in both runs."""
    try:
        found = get_pair(a, b, sample_id)
    except NotFoundError as error:
        st.error("The question in this link is not in both runs.", icon=":material/search_off:")
        plain(str(error))
        return None
    earlier_turns(found.a.sample.history)
    plain(found.a.sample.question, "title")
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
    return found


def _pair(found: PairReport, a: RunRef, b: RunRef) -> None:
    """Draw both answers."""
    shown = headline(tuple(found.a.scores))
    for side, report in (("A", found.a), ("B", found.b)):
        facts([(side, "", ""), *(outcome_fact(spec, one) for spec, one in report.scores.items() if spec in shown)])
    if more := len(found.a.scores) - len(shown):
        with st.expander(f"{more} more metric{'s' if more > 1 else ''}"):
            for side, report in (("A", found.a), ("B", found.b)):
                rest = [outcome_fact(spec, one) for spec, one in report.scores.items() if spec not in shown]
                facts([(side, "", ""), *rest])
    plain(diff_note(found.answers), "note")
    pair_view(pair_data(found), key=safe_key("pair", a.run_id, b.run_id, found.a.sample.id))


def _step(a: RunRef, b: RunRef, compared: Comparison, sample_id: str) -> None:
    """Ways to the pairs before and after, in the order of the list below."""
    query = _pair_query(compared)
    if query is None:
        return
    at = get_pair_position(a, b, query, sample_id)
    for label, icon, key, to in (
        ("Previous", "chevron_left", "k", at.previous),
        ("Next", "chevron_right", "j", at.following),
    ):
        if st.button(label, icon=f":material/{icon}:", shortcut=key, disabled=to is None):
            st.query_params["pair"] = str(to)
            st.rerun()
    position = f"Pair {at.position:,} of {at.total:,}" if at.position else f"Not among these {at.total:,} pairs"
    shown = next(one for one in compared.metrics if one.metric == query.metric)
    plain(f"{position} ({_titles(shown)[query.which]}, by {column_title(query.metric)})", "note")
