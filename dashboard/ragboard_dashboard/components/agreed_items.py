"""Items that people judged, as components: the list of them, and a pair opened side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

from streamlit.components.v2 import component

from ragboard.human.agreement import ItemDetail
from ragboard.human.grades import GradeVerdict
from ragboard.human.preferences import PairVerdict
from ragboard.readers.labels import HumanRating
from ragboard.spans import inert

__all__ = ["grade_rows", "item_list", "opened_data", "opened_pair", "pair_rows", "preferred"]

_FILES = files("ragboard_dashboard") / "components"


def _component(name: str) -> Any:
    return component(
        f"ragboard_agreed_{name}",
        html='<div id="compare"></div>',
        css=(_FILES / "compare.css").read_text("utf-8"),
        js=(_FILES / f"{name}.js").read_text("utf-8"),
    )


_mount_items, _mount_pair = (_component(name) for name in ("pairs", "pair"))


def item_list(rows: Sequence[Mapping[str, Any]], titles: Mapping[str, str], caption: str, *, key: str) -> str | None:
    """Draw items that can be opened. Returns the one just opened, else None."""
    data = {"caption": caption, "titles": titles, "rows": rows}
    opened: str | None = _mount_items(key=key, data=data, on_open_change=lambda: None).open
    return opened


def opened_pair(found: ItemDetail, *, key: str) -> None:
    """Draw both sides of a pair, with the words that differ, and the passages."""
    _mount_pair(key=key, data=opened_data(found))


def pair_rows(
    verdicts: Sequence[PairVerdict], questions: Mapping[int, tuple[str, str]], address: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Pairs as rows of the list: what became of each, what people prefer, how far the contender sees them apart."""
    return [
        _row(
            one.item_id,
            questions[one.position][0],
            _outcome(one),
            {"shown": preferred(one.people), "note": f"mean vote {one.people:+.2g}"},
            {"shown": _said_of_pair(one.contender), "note": ""},
            address,
        )
        for one in verdicts
    ]


def _outcome(one: PairVerdict) -> tuple[str, str]:
    if one.contender is None:
        return "unscored", "none"
    if one.contender == 0:
        return "= undecided", "none"
    return ("✓ right", "better") if (one.contender > 0) == (one.people > 0) else ("✕ wrong", "worse")


def preferred(vote: float) -> str:
    """The side that a vote prefers."""
    return "neither" if vote == 0 else "B" if vote > 0 else "A"


def _said_of_pair(difference: float | None) -> str:
    if difference is None:
        return "no score"
    return f"{preferred(difference)} by {abs(difference):.3g}" if difference else "equal scores"


def grade_rows(
    verdicts: Sequence[GradeVerdict], questions: Mapping[int, tuple[str, str]], address: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Graded items as rows of the list."""
    return [
        _row(
            one.item_id,
            " – ".join(filter(None, questions[one.position])),
            _gap(one.gap),
            {"shown": f"{one.people:.3g}", "note": _ratings(one.said)},
            {"shown": "no score" if one.contender is None else f"{one.contender:.3g}", "note": ""},
            address,
        )
        for one in verdicts
    ]


def _ratings(said: Sequence[HumanRating]) -> str:
    return f"of {', '.join('–' if grade is None else f'{grade:g}' for grade in said)}" if len(said) > 1 else ""


def _gap(gap: float | None) -> tuple[str, str]:
    if gap is None:
        return "unscored", "none"
    if abs(gap) < 0.005:
        return "= alike", "none"
    return (f"▲ too kind {gap:+.2f}", "worse") if gap > 0 else (f"▼ too strict {gap:+.2f}", "worse")


def _row(
    item_id: str,
    question: str,
    outcome: tuple[str, str],
    people: dict[str, str],
    contender: dict[str, str],
    address: Mapping[str, str],
) -> dict[str, Any]:
    change, look = outcome
    return {
        "key": item_id,
        "href": f"agreement?{urlencode({**address, 'item': item_id})}",
        "question": inert(question[:300]),
        "where": inert(item_id),
        "change": change,
        "look": look,
        "a": people,
        "b": contender,
    }


def opened_data(found: ItemDetail) -> dict[str, Any]:
    """Both sides of a pair, as JSON-ready data."""
    shared = found.sides[0].contexts == found.sides[1].contexts
    of_passages = found.sides[0].answer is None
    passages = [] if of_passages else [_passages(found, 0, "Passages" if shared else "Passages of A")]
    return {
        "a": _side(found, "A", "new"),
        "b": _side(found, "B", "gone"),
        "heading": "",
        "statements": [],
        "groups": passages if shared or of_passages else [*passages, _passages(found, 1, "Passages of B")],
    }


def _side(found: ItemDetail, letter: str, other: str) -> dict[str, Any]:
    words = [{"kind": change.kind, "text": inert(change.text)} for change in found.changes if change.kind != other]
    side = found.sides["AB".index(letter)]
    what = "Passages of" if side.answer is None else "Answer"
    return {"title": f"{what} {letter}", "note": "" if words else "It is empty.", "words": words}


def _passages(found: ItemDetail, side: int, title: str) -> dict[str, Any]:
    passages = found.sides[side].contexts or ()
    return {
        "title": f"{title}: {len(passages)}",
        "passages": [{"where": inert(f"rank {one.rank}"), "text": inert(one.text)} for one in passages],
    }
