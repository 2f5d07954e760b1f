"""The Diagnosis page: findings of a run, and its worst questions, passages and groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from types import MappingProxyType

import streamlit as st

from ragboard.analysis import (
    FAITHFULNESS,
    GROUP_METRICS,
    QUANTITIES,
    RULES,
    Breakdown,
    Diagnosis,
    Finding,
    HallucinationQuery,
    NotTriggered,
    PassageIssue,
    ResultQuery,
    SampleQuery,
    WeakGroup,
    cite_sources,
    condition_in_words,
    diagnosis_warning,
    evaluate_command,
    group_in_words,
    groups_compared_in_words,
    missing_in_words,
    small_groups_in_words,
    top_questions_in_words,
    where_to_start,
    why_not_triggered,
)
from ragboard.spans import strip_bidi_controls
from ragboard.stats import Interval
from ragboard.store import RunRef
from ragboard_dashboard.components import safe_key
from ragboard_dashboard.components.link_lists import link_list
from ragboard_dashboard.controls import breadcrumb, choose_run, trust_line
from ragboard_dashboard.data import evaluates, get_diagnosis, get_run, get_runs
from ragboard_dashboard.links import Link, link_to, open_page
from ragboard_dashboard.progress import run_panels
from ragboard_dashboard.text import column_label, column_title, html_escaped, judged_line, plain
from ragboard_dashboard.views.run.samples import ONLY, ORDERS

__all__ = ["PARTS", "draw", "figure_html", "finding_html", "rules_html"]

MAX_PASSAGE_CHARS = 120
"""Maximum number of characters of a passage in a link."""
EVALUATE = "Evaluate these metrics"
STYLES = Path(__file__).with_name("diagnosis.css")
PARTS: Mapping[str, str] = MappingProxyType({"retriever": "Retriever", "generator": "Generator", "answers": "Answers"})
"""The component that a finding is about, in words."""


def draw() -> None:
    """Draw the page."""
    run = choose_run("Diagnosis")
    if run is None:
        return
    found = get_diagnosis(run)
    name = st.query_params["run"]
    st.html(STYLES)
    breadcrumb(run, "diagnosis", "Diagnosis")
    with st.container(horizontal=True, vertical_alignment="center"):
        plain(f"Diagnosis of {found.run}", "title")
        _other_run(run)
    judged_line(get_run(run))
    run_panels(run)
    trust_line(run, FAITHFULNESS, "Faithfulness")
    _findings(found, name)
    _missing(found, name)
    _worst(found, name)
    _rules(found)


def _other_run(run: RunRef) -> None:
    """Draw the choice of another run, if there is one."""
    names = [other.name for other in get_runs()]
    if len(names) < 2 or run.name not in names:
        return
    chosen = st.selectbox(
        "Run",
        names,
        index=names.index(run.name),
        format_func=strip_bidi_controls,
        key=safe_key("diagnosed", run.run_id),
        label_visibility="collapsed",
        help="Diagnose another run",
        width=300,
    )
    if chosen != run.name:
        open_page("diagnosis", {"run": chosen})


def _missing(found: Diagnosis, name: str) -> None:
    """Say which metrics are missing for which rules, and draw the button that evaluates them."""
    note = " ".join(filter(None, (found.attribution_note, missing_in_words(found))))
    if note:
        plain(note, "note")
    if not found.missing:
        return
    if not evaluates():
        plain(f"Run: {evaluate_command(found)}", "note")
    elif st.button(EVALUATE, icon=":material/gavel:", type="secondary" if found.main_findings else "primary"):
        open_page("evaluate", _missing_metrics(found, name))


def _missing_metrics(found: Diagnosis, name: str) -> dict[str, str]:
    return {"run": name, "metrics": ",".join(found.missing), "then": "diagnosis"}


def _findings(found: Diagnosis, name: str) -> None:
    """Draw the most important finding, then the other findings and, collapsed, the hints."""
    title, text = where_to_start(found)
    st.subheader(title, anchor=False)
    if text:
        plain(text)
    first = found.first
    if first is None:
        _lowest_samples(found, name)
        return
    text_column, figure = st.columns([3, 2], gap="medium")
    text_column.html(finding_html(first, "rb-first"))
    with text_column:
        _link(first, name)
    figure.html(figure_html(first))
    shown = [one for one in found.leading if one is not first]
    for start in range(0, len(shown), 2):
        for column, one in zip(st.columns(2, gap="large"), shown[start : start + 2], strict=False):
            column.html(finding_html(one))
            with column:
                _link(one, name)
    hints = [one for one in found.ranked[len(found.leading) :] if one is not first]
    if hints:
        more = "more " if first.hint_reason else ""
        with st.expander(f"{len(hints)} {more}hint{'' if len(hints) == 1 else 's'}"):
            for reason, group in groupby(hints, key=lambda one: one.hint_reason):
                plain(reason, "note")
                for one in group:
                    st.html(finding_html(replace(one, hint_reason=""), "rb-hint"))
                    _link(one, name)


def _lowest_samples(found: Diagnosis, name: str) -> None:
    """Draw a link to the samples with the lowest faithfulness, for runs without findings."""
    if found.statements:
        page, query, label = _results_link(SampleQuery(column=FAITHFULNESS, order="lowest"), name)
        link_to(page, label, query, ":material/arrow_forward:")


def _link(one: Finding, name: str) -> None:
    if one.query is not None:
        page, query, label = _results_link(one.query, name)
        link_to(page, label, query, ":material/arrow_forward:")
    elif one.samples:
        _open(
            [
                Link(mark="", text=sample.question, page="sample", query={"run": name, "sample": sample.sample_id})
                for sample in one.samples
            ],
            one.sentence,
        )


def _results_link(results: ResultQuery, name: str) -> tuple[str, dict[str, str], str]:
    """Return the page that shows the results of a query, its URL parameters, and the label of the link.

    The Hallucinations page lists default evaluations. For another evaluation, this is the page of its samples.
    """
    if isinstance(results, HallucinationQuery) and all(run.name != name for run in get_runs()):
        results = SampleQuery(order="worst", only="loose", search=results.question)
    if isinstance(results, HallucinationQuery):
        query = {
            "runs": name,
            "verdict": results.verdict or "",
            "question": results.question,
            "passage": results.passage,
        }
        return "hallucinations", {key: value for key, value in query.items() if value}, "Show the statements"
    if isinstance(results, Breakdown):
        return "run", {"run": name, "column": results.column, "group": column_title(results.by)}, "Show the chart"
    query = {"run": name, "order": ORDERS[results.order], "only": ONLY[results.only]}
    if results.search:
        query |= {"q": results.search}
    if not results.column:
        return "run", query, "Show the samples"
    order = ", highest first" if results.order == "highest" else ", lowest first"
    label = f"Show the samples: {column_label(results.column)}{order}"
    return "run", query | {"column": results.column}, label


def _worst(found: Diagnosis, name: str) -> None:
    """Draw the worst questions, passages and groups side by side; parts without content are left out."""
    parts = [
        part
        for part, has_content in (
            (_questions, found.top_questions_share is not None),
            (_passages, found.passages),
            (_groups, True),
        )
        if has_content
    ]
    for column, part in zip(st.columns(len(parts), gap="large"), parts, strict=True):
        with column:
            part(found, name)


def _questions(found: Diagnosis, name: str) -> None:
    st.subheader("Questions", anchor=False)
    plain(top_questions_in_words(found), "note")
    _open(
        [
            Link(mark=f"{question.statements:,}", text=question.question, page=page, query=query)
            for question in found.questions
            for page, query, _ in [_results_link(question.query, name)]
        ],
        "Questions with the most unsupported statements",
    )


def _passages(found: Diagnosis, name: str) -> None:
    st.subheader("Passages", anchor=False)
    support_wrong = found.passages[0].wrong > 0
    plain(
        "Passages that support the most statements that are not in the reference. These statements may still be true."
        if support_wrong
        else "Passages that contradict the most statements.",
        "note",
    )
    _open(
        [_passage(one, name) for one in found.passages],
        "Passages that support or contradict the most statements",
    )


def _passage(one: PassageIssue, name: str) -> Link:
    mark = f"{one.wrong:,} not in the reference" if one.wrong else f"{one.contradicted:,} contradicted"
    page, query = _passage_link(one, name)
    return Link(
        mark=mark,
        text=_short(one.text),
        where="" if one.passage_id.isdigit() else one.passage_id,
        page=page,
        query=query,
    )


def _short(text: str) -> str:
    return text if len(text) <= MAX_PASSAGE_CHARS else f"{text[:MAX_PASSAGE_CHARS]}…"


def _passage_link(one: PassageIssue, name: str) -> tuple[str, dict[str, str]]:
    if one.query is None:
        return "sample", {"run": name, "sample": one.sample_id}
    return _results_link(one.query, name)[:2]


def _groups(found: Diagnosis, name: str) -> None:
    st.subheader("Groups", anchor=False)
    compared, labels = found.comparisons, {metric: column_title(metric) for metric in GROUP_METRICS}
    if compared.groups:
        lowest = " The lowest, which may be chance:" if compared.lowest and not found.weak_groups else ""
        plain(
            f"Significantly lower than the rest: {len(found.weak_groups)}."
            if found.weak_groups
            else f"No group is significantly lower than the rest.{lowest}",
            "note",
        )
    _group_lines(found.weak_groups)
    if found.weak_groups and compared.lowest:
        plain("Also low, which may be chance:", "note")
    _group_lines(compared.lowest)
    for query in dict.fromkeys(group.query for group in (*found.weak_groups, *compared.lowest)):
        page, parameters, _ = _results_link(query, name)
        label = f"Show the chart: {column_label(query.column)} by {column_label(query.by)}"
        link_to(page, label, parameters, ":material/arrow_forward:")
    for note in filter(None, (small_groups_in_words(compared, labels), groups_compared_in_words(compared, labels))):
        plain(note, "note")


def _group_lines(groups: Sequence[WeakGroup]) -> None:
    for group in groups:
        plain(group_in_words(group, column_title(group.metric)))


def _open(links: list[Link], name: str) -> None:
    link_list(links, name=name, key=safe_key("links", name))


def _rules(found: Diagnosis) -> None:
    missing = sum(bool(one.missing) for one in found.not_triggered)
    note = f", {len(RULES) - missing} of {len(RULES)} evaluated" if missing else ""
    with st.expander(f"Rules and their values{note}"):
        _rules_table(found)


def _rules_table(found: Diagnosis) -> None:
    plain(
        "A rule flags a run if the whole 95% CI is beyond its threshold. The thresholds are rules of thumb. Unscored"
        " samples are left out.",
        "note",
    )
    caution = diagnosis_warning(found)
    if caution:
        plain(caution, "note")
    st.html(rules_html(found))


def finding_html(found: Finding, css_class: str = "") -> str:
    """Return the HTML of a finding: sentence, evidence, advice, impact, and why it is only a hint."""
    notes = [f"Affects {found.impact_text}." if found.impact_text else "", found.hint_reason]
    small = "".join(f'<p class="rb-note">{html_escaped(note)}</p>' for note in notes if note)
    evidence = f"<p>{html_escaped(found.evidence)}</p>" if found.evidence else ""
    return (
        f'<div class="rb-finding {css_class}"><div class="rb-part">{PARTS[found.component]}</div>'
        f'<p class="rb-says">{html_escaped(found.sentence)}</p>{evidence}'
        f"<p>{html_escaped(found.advice)}</p>{small}</div>"
    )


def figure_html(found: Finding) -> str:
    """Return the HTML of a finding's figure: a chart of the interval and the threshold, and the figure as text."""
    interval, threshold = found.figure.interval, found.rule.threshold
    inside = isinstance(interval, Interval) and interval.low <= threshold <= interval.high
    condition = f"The 95% CI {'includes' if inside else f'is entirely {found.rule.side}'} the threshold, {threshold:g}."
    return (
        f'<div class="rb-finding">{_scale(found)}<p>{html_escaped(str(found.figure))}</p>'
        f'<p class="rb-note">{html_escaped(condition)}</p></div>'
    )


def _scale(found: Finding) -> str:
    interval = found.figure.interval
    if not isinstance(interval, Interval):
        return ""
    low, high = QUANTITIES[found.rule.quantity].bounds

    def at(value: float) -> float:
        return 100 * (value - low) / (high - low)

    threshold = at(found.rule.threshold)
    # a label near an end of the axis is moved inside the axis
    side = "rb-left" if threshold < 15 else "rb-right" if threshold > 85 else ""
    return (
        '<div class="rb-scale" aria-hidden="true"><i class="rb-axis"></i>'
        f'<i class="rb-threshold" style="left:{threshold:.1f}%"></i>'
        f'<i class="rb-number {side}" style="left:{threshold:.1f}%">threshold {found.rule.threshold:g}</i>'
        f'<i class="rb-bar" style="left:{at(interval.low):.1f}%;width:{at(interval.high) - at(interval.low):.1f}%"></i>'
        f'<i class="rb-dot" style="left:{at(interval.estimate):.1f}%"></i>'
        f'<i class="rb-end rb-left" style="left:0">{low:g}</i><i class="rb-end rb-right" style="left:100%">{high:g}</i>'
        "</div>"
    )


def rules_html(found: Diagnosis) -> str:
    """Return an HTML table of the evaluated rules, flagged ones first: condition, value, result, source."""
    every: list[Finding | NotTriggered] = [*found.findings, *found.not_triggered]
    shown = [one for one in every if one.figure]
    rows = "".join(map(_row, shown))
    head = "".join(f'<th scope="col">{title}</th>' for title in ("Flags a run if", "Value here", "Result", "Source"))
    return f'<table class="rb-rules"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _row(one: Finding | NotTriggered) -> str:
    triggered = isinstance(one, Finding)
    if isinstance(one, NotTriggered):
        result = f"○ not flagged: {why_not_triggered(one)}"
    else:
        result = "◐ hint" if one.hint_reason else "● flagged"
    quantity = QUANTITIES[one.rule.quantity]
    return (
        f'<tr><th scope="row">{html_escaped(condition_in_words(one.rule))}'
        f'<div class="rb-note">{html_escaped(quantity.text)}</div></th>'
        f"<td>{html_escaped(str(one.figure))}</td>"
        f'<td class="{"rb-spoke" if triggered else ""}">{html_escaped(result)}</td>'
        f'<td class="rb-note">{html_escaped(cite_sources(one.rule))}</td></tr>'
    )
