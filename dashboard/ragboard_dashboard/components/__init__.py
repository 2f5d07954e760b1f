"""Build browser widgets from their script and style files. Widgets that several pages use are in this folder."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

from streamlit.components.v2 import component

__all__ = ["COMPONENTS", "safe_key", "utf16", "widget"]

COMPONENTS = Path(__file__).parent
_DOM = (COMPONENTS / "dom.js").read_text("utf-8")
_WIDE = re.compile("[\U00010000-\U0010ffff]")


def widget(name: str, root: str, script: Path, *styles: Path) -> Any:
    """Build a component that draws into the element with the id `root`, from `dom.js`, its script and its styles."""
    return component(
        f"ragboard_{name}",
        html=f'<div id="{root}"></div>',
        css="".join(style.read_text("utf-8") for style in styles),
        js=_DOM + script.read_text("utf-8"),
    )


def safe_key(what: str, *names: str | None) -> str:
    """Return a widget key: `what` with a hash of the names, because Streamlit forbids `__`."""
    return f"{what}-{blake2b(json.dumps(names).encode(), digest_size=8).hexdigest()}"


def utf16(text: str) -> Callable[[int], int]:
    """Return a function that converts an index of `text` in Python to its index in JavaScript, in UTF-16 units."""
    wide = [found.start() for found in _WIDE.finditer(text)]
    return lambda at: at + bisect_left(wide, at)
