"""Lists of unsupported statements, and of what they have in common, as a component; opening one hands back which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, TypeVar
from urllib.parse import urlencode

import streamlit as st
from streamlit.components.v2 import component

from ragboard.analysis import Hallucination, HallucinationGroup, UnsupportedStatement
from ragboard.analysis.verdict_style import VERDICTS, VerdictStyle, human_verdict_line, statement_style
from ragboard.spans import inert

__all__ = ["Way", "finding_list", "group_list", "hallucination_list", "opened_hallucination", "way_list"]

Shown = TypeVar("Shown")

_FILES = files("ragboard_dashboard") / "components"
_mount = component(
    "ragboard_findings",
    html='<div id="findings"></div>',
    css=(_FILES / "findings.css").read_text("utf-8"),
    js=(_FILES / "findings.js").read_text("utf-8"),
)


def finding_list(found: Sequence[UnsupportedStatement], *, name: str, key: str) -> UnsupportedStatement | None:
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


@dataclass(frozen=True, kw_only=True)
class Way:
    """A text that leads to a page."""

    mark: str
    """What stands before the text."""
    text: str
    where: str
    page: str
    query: Mapping[str, str]


def way_list(ways: Sequence[Way], *, name: str, key: str) -> Way | None:
    """Draw texts that lead somewhere. Returns the one a person just opened, else None."""
    items = [
        {
            "key": place,
            "href": f"{way.page}?{urlencode(way.query)}",
            "label": "",
            "verdict": inert(way.mark),
            "text": inert(way.text),
            "reason": "",
            "where": inert(way.where),
        }
        for place, way in enumerate(ways)
    ]
    return _opened(ways, items, name=name, key=key, layout="columns")


def _opened(found: Sequence[Shown], items: list[dict[str, Any]], *, name: str, key: str, layout: str) -> Shown | None:
    opened: int | None = _draw(items, name=name, key=key, layout=layout).open
    return found[opened] if opened is not None and 0 <= opened < len(found) else None


def _draw(items: list[dict[str, Any]], *, name: str, key: str, layout: str) -> Any:
    data = {"name": name, "items": items, "layout": layout}
    return _mount(key=key, data=data, on_open_change=lambda: None)


def _item(key: int | list[Any], look: VerdictStyle, run: str, sample_id: str, number: int) -> dict[str, Any]:
    return {
        "key": key,
        "href": "sample?" + urlencode({"run": run, "sample": sample_id, "statement": number}),
        "label": look.css,
        "verdict": f"{look.icon} {look.word}",
    }


def _hallucination(row: Hallucination) -> dict[str, Any]:
    said = row.said
    judge = row.judged.judge + (" (heuristic)" if row.judged.heuristic else "")
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
        "href": "hallucinations?" + urlencode({query: group.key}),
        "label": contradicted.css if group.contradicted else "",
        "verdict": f"{contradicted.icon} {group.contradicted:,} contradicted" if group.contradicted else "",
        "text": inert(group.title),
        "reason": "",
        "where": inert(group.passage_id),
        "aside": f"{group.statements:,} not supported",
        "note": "",
    }
