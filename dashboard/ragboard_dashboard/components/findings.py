"""A list of unsupported statements as a component; opening one hands back which."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

from streamlit.components.v2 import component

from ragboard.report import LooseStatement
from ragboard_dashboard.components.spans import inert
from ragboard_dashboard.components.verdicts import VERDICTS

__all__ = ["finding_list"]

_FILES = files("ragboard_dashboard") / "components"
_mount = component(
    "ragboard_findings",
    html='<div id="findings"></div>',
    css=(_FILES / "findings.css").read_text("utf-8"),
    js=(_FILES / "findings.js").read_text("utf-8"),
)


def finding_list(found: Sequence[LooseStatement], *, name: str, key: str) -> LooseStatement | None:
    """Draw the statements. Returns the one a person just opened, else None."""
    data = {"name": name, "items": [_item(place, said) for place, said in enumerate(found)]}
    opened: int | None = _mount(key=key, data=data, on_open_change=lambda: None).open
    return found[opened] if opened is not None and 0 <= opened < len(found) else None


def _item(place: int, said: LooseStatement) -> dict[str, Any]:
    verdict = VERDICTS[said.verdict.label]
    return {
        "key": place,
        "href": "sample?" + urlencode({"run": said.run, "sample": said.sample_id, "statement": said.number}),
        "label": said.verdict.label,
        "icon": verdict.icon,
        "word": verdict.word,
        "text": inert(said.text),
        "reason": inert(said.verdict.reason),
        "where": inert(f"{said.run} · {said.question}"),
    }
