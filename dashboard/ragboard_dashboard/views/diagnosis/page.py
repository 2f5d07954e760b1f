"""Diagnosis: what the numbers of a run suggest, the evidence one click away, and where the loss sits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import streamlit as st

from ragboard.analysis import (
    QUANTITIES,
    RULES,
    Breakdown,
    Diagnosis,
    Finding,
    HallucinationQuery,
    Look,
    PassageLoss,
    SampleQuery,
    Silent,
    caution_of,
    command_for,
    condition_of,
    source_of,
    topic_in_words,
    why_silent,
)
from ragboard.stats import Interval
from ragboard_dashboard.components import safe_key
from ragboard_dashboard.components.link_lists import link_list
from ragboard_dashboard.controls import choose_run
from ragboard_dashboard.data import evaluates, get_diagnosis, get_run, get_runs
from ragboard_dashboard.links import Link, link_to, open_page
from ragboard_dashboard.text import column_label, column_title, judged_line, plain, safe
from ragboard_dashboard.views.run.samples import ONLY, ORDERS

__all__ = ["PARTS", "draw", "figure_html", "finding_html", "rules_html"]

SHOWN = 120
"""Characters of a passage."""
STYLES = Path(__file__).with_name("diagnosis.css")
PARTS: Mapping[str, str] = MappingProxyType(
    {"retriever": "⌕ Retriever", "generator": "✎ Generator", "answers": "❡ Answers"}
)
"""What a rule is about: an icon and a word."""


def draw() -> None:
    """Draw the page."""
    run = choose_run("Diagnosis")
    if run is None:
        return
    found = get_diagnosis(run)
    name = st.query_params["run"]
    st.html(STYLES)
    _head(found, name)
    judged_line(get_run(run))
    _split(found, name)
    _findings(found, name)
    _losses(found, name)
    _rules(found)


def _head(found: Diagnosis, name: str) -> None:
    title, link = st.columns([6, 1], vertical_alignment="bottom")
    with title:
        plain(f"Diagnosis of {found.run}", "title")
    with link:
        link_to("run", "Run", {"run": name}, ":material/bar_chart:")


def _split(found: Diagnosis, name: str) -> None:
    """Who judged, and what is missing to tell retriever from generator."""
    caution = caution_of(found)
    if caution:
        plain(caution, "note")
    if found.split:
        plain(found.split)
    if found.missing:
        row = st.container(horizontal=True, vertical_alignment="center")
        with row:
            waiting = sum(bool(one.missing) for one in found.silent)
            plain(f"{waiting} rules need more metrics. Run: {command_for(found)}", "note")
            if evaluates():
                link_to("evaluate", "Evaluate", {"run": name}, ":material/gavel:")


def _findings(found: Diagnosis, name: str) -> None:
    if not found.findings:
        st.subheader("No rule flags this run", anchor=False)
        plain("No 95% CI is entirely beyond the limit of its rule: these numbers suggest no change.")
    for one in found.findings:
        says, figure = st.columns([3, 2], gap="medium")
        says.html(finding_html(one))
        with says:
            _link(one, name)
        figure.html(figure_html(one))


def _link(one: Finding, name: str) -> None:
    page, query, label = _evidence(one.look, name)
    link_to(page, label, query, ":material/arrow_forward:")


def _evidence(look: Look, name: str) -> tuple[str, dict[str, str], str]:
    """The page with the evidence, its query, and the label of the link.

    The Hallucinations page lists a run's newest evaluation only; another evaluation's link leads to its samples.
    """
    if isinstance(look, HallucinationQuery) and all(run.name != name for run in get_runs()):
        look = SampleQuery(order="worst", only="loose", search=look.question)
    if isinstance(look, HallucinationQuery):
        query = {"runs": name, "verdict": look.verdict or "", "question": look.question, "passage": look.passage}
        return "hallucinations", {key: value for key, value in query.items() if value}, "Show the statements"
    if isinstance(look, Breakdown):
        return "run", {"run": name, "column": look.column, "group": column_title(look.by)}, "Show the chart"
    query = {"run": name, "order": ORDERS[look.order], "only": ONLY[look.only]}
    if look.search:
        query |= {"q": look.search}
    if not look.column:
        return "run", query, "Show the samples"
    way = ", highest first" if look.order == "highest" else ", lowest first"
    label = f"Show the samples: {column_label(look.column)}{way}"
    return "run", query | {"column": look.column}, label


def _losses(found: Diagnosis, name: str) -> None:
    """Questions, passages and topics that carry the loss."""
    questions, passages, topics = st.columns(3, gap="large")
    with questions:
        _questions(found, name)
    with passages:
        _passages(found, name)
    with topics:
        _topics(found, name)


def _questions(found: Diagnosis, name: str) -> None:
    st.subheader("Questions", anchor=False)
    if found.carried is None:
        plain("There are no unsupported statements.", "note")
        return
    plain(
        f"{len(found.questions)} of {found.samples:,} questions account for {found.carried:.0%} of the"
        f" {found.loose:,} statements that are not supported.",
        "note",
    )
    _open(
        [
            Link(mark=f"{one.statements:,}", text=one.question, page=page, query=query)
            for one in found.questions
            for page, query, _ in [_evidence(one.look, name)]
        ],
        "Questions with most of the unsupported statements",
    )


def _passages(found: Diagnosis, name: str) -> None:
    st.subheader("Passages", anchor=False)
    if not found.passages:
        plain("No passage supplies or contradicts a wrong statement.", "note")
        return
    supplies = found.passages[0].wrong > 0
    plain(
        "Passages that supply most of the wrong statements."
        if supplies
        else "Passages that contradict most statements.",
        "note",
    )
    _open([_passage(one, name) for one in found.passages], "Passages behind most of the wrong statements")


def _passage(one: PassageLoss, name: str) -> Link:
    mark = f"{one.wrong:,} wrong" if one.wrong else f"✕ {one.contradicted:,}"
    page, query = _passage_evidence(one, name)
    return Link(mark=mark, text=_short(one.text), where=one.passage_id, page=page, query=query)


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _passage_evidence(one: PassageLoss, name: str) -> tuple[str, dict[str, str]]:
    if one.look is None:
        return "sample", {"run": name, "sample": one.sample_id}
    return _evidence(one.look, name)[:2]


def _topics(found: Diagnosis, name: str) -> None:
    st.subheader("Topics", anchor=False)
    looked = found.looked_at
    if not looked.groups:
        plain("No column has groups of at least 5 scored samples.", "note")
        return
    columns = ", ".join(one.removeprefix("metadata.") for one in looked.columns)
    metrics = ", ".join(map(column_title, looked.metrics))
    none = "" if found.topics else "No group is significantly worse than the rest. "
    plain(
        f"{none}Tested: {looked.groups} groups ({columns}) on {metrics}; p values adjusted for all of them (Holm).",
        "note",
    )
    for one in found.topics:
        plain(topic_in_words(one, column_title(one.metric)))
        page, query, label = _evidence(one.look, name)
        link_to(page, label, query, ":material/arrow_forward:")


def _open(links: list[Link], name: str) -> None:
    opened = link_list(links, name=name, key=safe_key("links", name))
    if opened:
        open_page(opened.page, opened.query)


def _rules(found: Diagnosis) -> None:
    st.subheader("All rules", anchor=False)
    plain(
        "A rule flags a run only if the whole 95% CI is beyond its limit. The limits are rules of thumb."
        " Unscored samples are always left out here.",
        "note",
    )
    st.html(rules_html(found))


def finding_html(found: Finding) -> str:
    """What a rule found, and what to try."""
    return (
        f'<div class="rb-finding"><div class="rb-part">{PARTS[found.rule.part]}</div>'
        f'<p class="rb-says">{safe(found.sentence)}</p><p>{safe(found.rule.advice)}</p></div>'
    )


def figure_html(found: Finding) -> str:
    """The figure in words, under a drawing of its interval against the limit of the rule."""
    limit = f"Flagged: the whole 95% CI is {found.rule.side} {found.rule.limit:g} (dashed line)."
    return (
        f'<div class="rb-finding">{_scale(found)}<p>{safe(str(found.figure))}</p>'
        f'<p class="rb-note">{safe(limit)}</p></div>'
    )


def _scale(found: Finding) -> str:
    interval = found.figure.interval
    if not isinstance(interval, Interval):
        return ""
    low, high = QUANTITIES[found.rule.quantity].bounds
    at = {
        name: 100 * (value - low) / (high - low)
        for name, value in (
            ("limit", found.rule.limit),
            ("low", interval.low),
            ("high", interval.high),
            ("estimate", interval.estimate),
        )
    }
    return (
        '<div class="rb-scale" aria-hidden="true"><i class="rb-axis"></i>'
        f'<i class="rb-limit" style="left:{at["limit"]:.1f}%"></i>'
        f'<i class="rb-bar" style="left:{at["low"]:.1f}%;width:{at["high"] - at["low"]:.1f}%"></i>'
        f'<i class="rb-dot" style="left:{at["estimate"]:.1f}%"></i></div>'
    )


def rules_html(found: Diagnosis) -> str:
    """Every rule: its condition, its figure, whether it flagged the run or why not, where it comes from."""
    every: list[Finding | Silent] = [*found.findings, *found.silent]
    by_rule = {one.rule.id: one for one in every}
    rows = "".join(_row(by_rule[rule.id]) for rule in RULES)
    head = "".join(f'<th scope="col">{title}</th>' for title in ("Flags a run if", "Value here", "Result", "Source"))
    return f'<table class="rb-rules"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _row(one: Finding | Silent) -> str:
    spoke = isinstance(one, Finding)
    did = "● flagged" if isinstance(one, Finding) else f"○ not flagged: {why_silent(one)}"
    quantity = QUANTITIES[one.rule.quantity]
    return (
        f'<tr><th scope="row">{safe(condition_of(one.rule))}<div class="rb-note">{safe(quantity.text)}</div></th>'
        f"<td>{safe(str(one.figure) if one.figure else '–')}</td>"
        f'<td class="{"rb-spoke" if spoke else ""}">{safe(did)}</td>'
        f'<td class="rb-note">{safe(source_of(one.rule, quantity.takes))}</td></tr>'
    )
