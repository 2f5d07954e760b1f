"""The statements of one answer, to be judged by keyboard without seeing what the judge says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import streamlit as st
from streamlit.components.v2 import component

from ragboard.analysis.verdict_style import VERDICTS
from ragboard.records import Label, Passage, Statement
from ragboard.spans import inert, layered
from ragboard_dashboard.components.spans import utf16

__all__ = ["Told", "annotator", "told"]

KEY = "annotator-answer"
_FILES = files("ragboard_dashboard") / "components"
_mount = component(
    "ragboard_annotator",
    html='<div id="reader"></div>',
    css=(_FILES / "reader.css").read_text("utf-8") + (_FILES / "annotator.css").read_text("utf-8"),
    js=(_FILES / "annotator.js").read_text("utf-8"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What a person has said of the statements of a sample so far, as the browser knows it."""

    sample: str
    labels: tuple[Label | None, ...]
    at: int | None
    """The statement that is next, from 0; None where all have a verdict."""
    when: int
    """In the browser's milliseconds; what is said again after it was taken back is told at another time."""


def told() -> Told | None:
    """What the browser last told; None before the first word, and for what it could not have told."""
    now: Any = st.session_state.get(KEY, {}).get("now")
    match now:
        case {"sample": str(sample), "said": [*said], "at": int() | None as at, "when": int(when)}:
            labels: list[Label | None] = [_label(one) for one in said]
            return Told(sample=sample, labels=tuple(labels), at=at, when=when)
        case _:
            return None


def _label(said: Any) -> Label | None:
    return next((label for label in VERDICTS if label == said), None)


def annotator(
    *,
    sample: str,
    answer: str,
    statements: Sequence[Statement],
    passages: Sequence[Passage],
    labels: Sequence[Label | None],
) -> None:
    """Draw an answer, its statements with the person's own `labels`, and the passages; `told` has what they say."""
    _mount(
        key=KEY,
        data={
            "sample": sample,
            "answer": inert(answer),
            "pieces": _pieces(answer, statements),
            "statements": [inert(one.text) for one in statements],
            "labels": list(labels),
            "passages": [{"rank": passage.rank, "text": inert(passage.text)} for passage in passages],
            "verdicts": {
                label: {"icon": look.icon, "word": look.word, "key": str(key)}
                for key, (label, look) in enumerate(VERDICTS.items(), 1)
            },
        },
        on_now_change=lambda: None,
    )


def _pieces(answer: str, statements: Sequence[Statement]) -> list[dict[str, Any]]:
    spans = {place: (one.span.start, one.span.end) for place, one in enumerate(statements) if one.span}
    unit = utf16(answer)
    return [
        {"start": unit(piece.start), "end": unit(piece.end), "of": sorted(piece.members)}
        for piece in layered(spans, len(answer))
    ]
