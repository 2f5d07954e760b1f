"""Python objects as the values that JSON would have: those of numpy, pandas, LangChain, LlamaIndex and Haystack.

No such package is imported: an object is known by its attributes.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from ragboard.readers.cells import PASSAGE_TEXTS

__all__ = ["foreign", "plain"]

SCALARS = (str, int, float, bytes, datetime.date, datetime.time, datetime.timedelta, Decimal, PurePath, UUID)
"""What is text or is written out as one without losing anything."""


def plain(value: Any) -> Any:
    """The value with mappings, lists and scalars in place of objects; an object of an unknown kind stays."""
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, SCALARS):
        return value
    if isinstance(value, Mapping):
        return {key: plain(cell) for key, cell in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(cell) for cell in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    return _object(value)


def foreign(value: object, *, text: bool = True) -> object | None:
    """The first object in a plain value that has no text of its own; None where there is none.

    A path names a file: where a `text` is expected it is such an object, as an id or in metadata it is not.
    """
    if text and isinstance(value, PurePath):
        return value
    if value is None or isinstance(value, SCALARS):
        return None
    if isinstance(value, Mapping):
        found = (foreign(cell, text=text and key in PASSAGE_TEXTS) for key, cell in value.items())
    elif isinstance(value, list):
        found = (foreign(cell, text=text) for cell in value)
    else:
        return value
    return next((one for one in found if one is not None), None)


def _object(value: Any) -> Any:
    """A passage, a node with its score, a message or a response, as its own JSON would be; else the object."""
    node = _attribute(value, "node")
    if node is not None:
        inner = _object(node)
        return {**inner, "score": _attribute(value, "score")} if isinstance(inner, dict) else value
    role = _attribute(value, "role") or _attribute(value, "type")
    role = role.value if isinstance(role, Enum) else role
    said = _attribute(value, "content") or _attribute(value, "text")
    if isinstance(role, str) and isinstance(said, (str, list)) and _attribute(value, "page_content") is None:
        return {"role": role, "content": plain(said)}
    if isinstance(_attribute(value, "response"), str) and hasattr(value, "source_nodes"):
        return value.response
    text = _text_of(value)
    if text is None:
        return value
    found = {
        "id": next((key for name in ("id", "node_id", "id_") if (key := _attribute(value, name)) is not None), None),
        "text": text,
        "score": _attribute(value, "score"),
        "metadata": _attribute(value, "metadata") or _attribute(value, "meta"),
    }
    return {key: plain(cell) for key, cell in found.items() if cell is not None}


def _text_of(value: Any) -> str | None:
    for name in ("page_content", "content", "text"):
        text = _attribute(value, name)
        if isinstance(text, str):
            return text
    getter = _attribute(value, "get_content")
    if isinstance(value, type) or not callable(getter):
        return None
    text = getter()
    return text if isinstance(text, str) else None


def _attribute(value: Any, name: str) -> Any:
    """An attribute, or None where there is none; properties of other packages raise more than AttributeError."""
    try:
        return getattr(value, name, None)
    except (ValueError, TypeError, NotImplementedError):
        return None
