"""Draw pairs of answers to one question: a list of pairs, and one pair in full."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from ragboard.analysis import Change, text_of_side
from ragboard.spans import strip_bidi_controls
from ragboard_dashboard.components import COMPONENTS, widget

__all__ = ["changed_words", "pair_list", "pair_view", "passage_group"]

_STYLES = COMPONENTS / "pairs.css"
_draw_list = widget("pairs", "compare", COMPONENTS / "pairs.js", _STYLES)
_draw_pair = widget("pair", "compare", COMPONENTS / "pair.js", _STYLES)


def pair_list(data: Mapping[str, Any], *, key: str) -> None:
    """Draw a list of pairs; each is a link to its texts."""
    _draw_list(key=key, data=data)


def pair_view(data: Mapping[str, Any], *, key: str) -> None:
    """Draw one pair: both texts with their differences, statements and passages."""
    _draw_pair(key=key, data=data)


def changed_words(changes: Sequence[Change], side: Literal["A", "B"]) -> list[dict[str, str]]:
    """Return one side's text in pieces: words of both sides have the kind `same`."""
    return [{"kind": change.kind, "text": strip_bidi_controls(change.text)} for change in text_of_side(changes, side)]


def passage_group(title: str, passages: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the data of a list of passages: its title, and each passage (source, text)."""
    return {
        "title": title,
        "passages": [
            {"where": strip_bidi_controls(where), "text": strip_bidi_controls(text)} for where, text in passages
        ],
    }
