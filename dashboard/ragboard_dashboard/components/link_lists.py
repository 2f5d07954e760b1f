"""Draw lists of links to statements and pages, and of groups of statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragboard.analysis import Grouping, Hallucination, HallucinationGroup, UnsupportedStatement
from ragboard.analysis.verdict_style import (
    VERDICT_STYLES,
    VerdictStyle,
    human_verdict_line,
    statement_style,
    verdict_words,
)
from ragboard.spans import strip_bidi_controls
from ragboard_dashboard.components import COMPONENTS, widget
from ragboard_dashboard.links import Link, address
from ragboard_dashboard.text import shortened

__all__ = ["group_list", "hallucination_list", "link_list", "statement_list"]

MAX_QUESTION_CHARS = 300
"""Maximum number of characters of a question below a statement."""

_mount = widget("link_lists", "findings", COMPONENTS / "link_lists.js", COMPONENTS / "link_lists.css")


def statement_list(found: Sequence[UnsupportedStatement], *, name: str, key: str) -> None:
    """Draw statements in columns; each is a link to its sample."""
    items = [
        _item(VERDICT_STYLES[one.verdict.label], one.words, one.run, one.sample_id, one.number)
        | {
            "text": strip_bidi_controls(one.text),
            "reason": strip_bidi_controls(one.verdict.reason),
            "where": strip_bidi_controls(f"{shortened(one.run)} · {shortened(one.question, MAX_QUESTION_CHARS)}"),
        }
        for one in found
    ]
    _draw(items, name=name, key=key, layout="columns")


def hallucination_list(found: Sequence[Hallucination], *, name: str, key: str) -> None:
    """Draw a page of statements, one per row; each is a link to its sample.

    Runs and judges are shown if they differ between rows.
    """
    several_runs = len({row.run for row in found}) > 1
    several_judges = len({row.judged.in_words for row in found}) > 1
    items = [_hallucination(row, run=several_runs, judge=several_judges) for row in found]
    _draw(items, name=name, key=key, layout="rows")


def group_list(
    found: Sequence[HallucinationGroup], *, by: Grouping, query: Mapping[str, Sequence[str]], name: str, key: str
) -> None:
    """Draw groups of statements, one per row; each is a link to its statements.

    `by` is the URL parameter that filters by group, and `query` has the other parameters of the links.
    """
    _draw([_group(group, by, query) for group in found], name=name, key=key, layout="rows")


def link_list(links: Sequence[Link], *, name: str, key: str) -> None:
    """Draw links to pages."""
    items = [
        {
            "href": address(link.page, link.query),
            "css": "",
            "heading": strip_bidi_controls(link.mark),
            "text": strip_bidi_controls(link.text),
            "reason": "",
            "where": strip_bidi_controls(link.where),
        }
        for link in links
    ]
    _draw(items, name=name, key=key, layout="columns")


def _draw(items: list[dict[str, Any]], *, name: str, key: str, layout: str) -> None:
    _mount(key=key, data={"name": name, "items": items, "layout": layout})


def _item(style: VerdictStyle, words: str, run: str, sample_id: str, number: int) -> dict[str, Any]:
    return {
        "href": address("sample", {"run": run, "sample": sample_id, "statement": number}),
        "css": style.css,
        "heading": f"{style.icon} {words}",
    }


def _hallucination(row: Hallucination, *, run: bool, judge: bool) -> dict[str, Any]:
    judged = row.judged_statement
    words = verdict_words(judged, rule_based=row.judged.heuristic)
    return _item(statement_style(judged), words, row.run, row.sample_id, row.number) | {
        "text": strip_bidi_controls(judged.statement.text),
        "reason": strip_bidi_controls(judged.verdict.reason if judged.verdict else judged.separate_verdicts_text),
        "where": strip_bidi_controls(shortened(row.question, MAX_QUESTION_CHARS)),
        "aside": strip_bidi_controls(
            " · ".join(filter(None, [shortened(row.run) if run else "", shortened(row.variant)]))
        ),
        "note": ", ".join(
            filter(
                None,
                [
                    strip_bidi_controls(row.cites_in_words),
                    strip_bidi_controls(row.judged.in_words) if judge else "",
                    judged.draws_in_words,
                ],
            )
        ),
        "people": [strip_bidi_controls(human_verdict_line(one)) for one in judged.people],
    }


def _group(group: HallucinationGroup, by: Grouping, query: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    contradicted = VERDICT_STYLES["contradicted"]
    return {
        "href": address("hallucinations", {**query, by: group.key}),
        "css": contradicted.css if group.contradicted else "",
        "heading": f"{contradicted.icon} {group.contradicted:,} contradicted" if group.contradicted else "",
        "text": strip_bidi_controls(group.title) or "(empty)",
        "reason": "",
        "where": strip_bidi_controls(group.passage_id),
        "aside": f"{group.statements:,} not supported",
        "note": "",
    }
