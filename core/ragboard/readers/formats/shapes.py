"""Values of a tool's file as the shapes that a format expects; what has another shape counts as empty."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ragboard.readers.files import parse

__all__ = ["as_list", "as_number", "as_object", "as_objects", "as_text", "as_texts", "decoded", "without"]


def as_object(value: object) -> Mapping[str, Any]:
    """Return an object; empty for anything else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def as_list(value: object) -> Sequence[Any]:
    """Return a list; empty for anything else."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def as_objects(value: object) -> list[Mapping[str, Any]]:
    """Return the objects in a list."""
    return [one for one in as_list(value) if isinstance(one, Mapping)]


def as_text(value: object) -> str:
    """Return a text; empty for anything else."""
    return value if isinstance(value, str) else ""


def as_number(value: object) -> float | None:
    """Return the finite number, with 1 and 0 for true and false; None for anything else."""
    if not isinstance(value, (int, float)) or abs(value) > 2**53 or not math.isfinite(value):
        return None
    return float(value)


def without(cells: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the cells that hold something, but not those of these names."""
    return {name: cell for name, cell in cells.items() if name not in names and cell is not None}


def as_texts(value: object) -> list[str]:
    """Return the texts in a list, or the one text."""
    return (
        [one for one in value if isinstance(one, str)]
        if isinstance(value, list)
        else [value]
        if value and isinstance(value, str)
        else []
    )


def decoded(value: object) -> Any:
    """Return what is written as JSON in a text; any other value, and a text that is no JSON, as it is."""
    try:
        return parse(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value
