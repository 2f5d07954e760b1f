"""Lists of statements, of what they have in common, and of other texts, each a link; opening one hands back which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import streamlit as st

from ragboard.analysis import Hallucination, HallucinationGroup, UnsupportedStatement
from ragboard.analysis.verdict_style import VERDICTS, VerdictStyle, human_verdict_line, statement_style
from ragboard.spans import inert
from ragboard_dashboard.components import COMPONENTS, widget
from ragboard_dashboard.links import Link, address

__all__ = ["group_list", "hallucination_list", "link_list", "opened_hallucination", "statement_list"]

Shown = TypeVar("Shown")

_mount = widget("link_lists", "findings", COMPONENTS / "link_lists.js", COMPONENTS / "link_lists.css")


def statement_list(found: Sequence[UnsupportedStatement], *, name: str, key: str) -> UnsupportedStatement | None:
    """Draw the statements beside each other. Returns the one a person just opened, else None."""
    items = [
        _item(place, VERDICTS[said.verdict.label], said.run, said.sample_id, said.number)
        | {
            "text": inert(said.text),
            "reason": inert(said.verdict.reason),
            "where": inert(f"{said.run} · {said.question}"),
        }
        for place, said in enumerate(found)
    ]
    return _opened(found, items, name=name, key=key, layout="columns")


def hallucination_list(found: Sequence[Hallucination], *, name: str, key: str) -> None:
    """Draw a page of statements, one a row; `opened_hallucination` says which was opened."""
    _draw([_hallucination(row) for row in found], name=name, key=key, layout="rows")


def opened_hallucination(key: str) -> tuple[str, str, int] | None:
    """Run, sample and number of the statement just opened in that list, known before the page is drawn again."""
    drawn = st.session_state.get(key)
    opened = drawn.get("open") if drawn else None
    return (str(opened[0]), str(opened[1]), int(opened[2])) if opened else None


def group_list(found: Sequence[HallucinationGroup], *, query: str, name: str, key: str) -> HallucinationGroup | None:
    """Draw what statements have in common, one a row; `query` is the name of its filter in the address."""
    items = [_group(place, group, query) for place, group in enumerate(found)]
    return _opened(found, items, name=name, key=key, layout="rows")


def link_list(links: Sequence[Link], *, name: str, key: str) -> Link | None:
    """Draw texts that lead to pages. Returns the one a person just opened, else None."""
    items = [
        {
            "key": place,
            "href": address(link.page, link.query),
            "label": "",
            "verdict": inert(link.mark),
            "text": inert(link.text),
            "reason": "",
            "where": inert(link.where),
        }
        for place, link in enumerate(links)
    ]
    return _opened(links, items, name=name, key=key, layout="columns")


def _opened(found: Sequence[Shown], items: list[dict[str, Any]], *, name: str, key: str, layout: str) -> Shown | None:
    opened: int | None = _draw(items, name=name, key=key, layout=layout).open
    return found[opened] if opened is not None and 0 <= opened < len(found) else None


def _draw(items: list[dict[str, Any]], *, name: str, key: str, layout: str) -> Any:
    data = {"name": name, "items": items, "layout": layout}
    return _mount(key=key, data=data, on_open_change=lambda: None)


def _item(key: int | list[Any], look: VerdictStyle, run: str, sample_id: str, number: int) -> dict[str, Any]:
    return {
        "key": key,
        "href": address("sample", {"run": run, "sample": sample_id, "statement": number}),
        "label": look.css,
        "verdict": f"{look.icon} {look.word}",
    }


def _hallucination(row: Hallucination) -> dict[str, Any]:
    said = row.said
    judge = row.judged.judge + (" (rule-based)" if row.judged.heuristic else "")
    key = [row.run, row.sample_id, row.number]
    return _item(key, statement_style(said), row.run, row.sample_id, row.number) | {
        "text": inert(said.statement.text),
        "reason": inert(said.verdict.reason if said.verdict else said.alone_in_words),
        "where": inert(row.question),
        "aside": inert(row.run),
        "note": inert(judge),
        "people": [inert(human_verdict_line(one)) for one in said.people],
    }


def _group(place: int, group: HallucinationGroup, query: str) -> dict[str, Any]:
    contradicted = VERDICTS["contradicted"]
    return {
        "key": place,
        "href": address("hallucinations", {query: group.key}),
        "label": contradicted.css if group.contradicted else "",
        "verdict": f"{contradicted.icon} {group.contradicted:,} contradicted" if group.contradicted else "",
        "text": inert(group.title),
        "reason": "",
        "where": inert(group.passage_id),
        "aside": f"{group.statements:,} not supported",
        "note": "",
    }
