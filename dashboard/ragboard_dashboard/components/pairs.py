"""Questions with two sides, of two runs or of two answers that people judged: the list of them, and one opened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ragboard.analysis import Change
from ragboard.spans import inert
from ragboard_dashboard.components import COMPONENTS, widget

__all__ = ["changed_words", "pair_list", "pair_view", "passage_group"]

_STYLES = COMPONENTS / "pairs.css"
_draw_list = widget("pairs", "compare", COMPONENTS / "pairs.js", _STYLES)
_draw_pair = widget("pair", "compare", COMPONENTS / "pair.js", _STYLES)


def pair_list(data: Mapping[str, Any], *, key: str) -> str | None:
    """Draw rows that can be opened. Returns the key of the one just opened, else None."""
    opened: str | None = _draw_list(key=key, data=data, on_open_change=lambda: None).open
    return opened


def pair_view(data: Mapping[str, Any], *, key: str) -> None:
    """Draw both sides with the words that differ, their statements and their passages."""
    _draw_pair(key=key, data=data)


def changed_words(changes: Iterable[Change], *, but: str) -> list[dict[str, str]]:
    """One side's text in pieces, each the same on both or on this side alone; `but` is the kind of the other side's."""
    return [{"kind": change.kind, "text": inert(change.text)} for change in changes if change.kind != but]


def passage_group(title: str, passages: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Passages under a title, each with where it is from."""
    return {"title": title, "passages": [{"where": inert(where), "text": inert(text)} for where, text in passages]}
