"""Read values of a tool's file with the expected type. A value of another type counts as empty."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ragboard.readers.files import parse

__all__ = ["as_list", "as_number", "as_object", "as_objects", "as_text", "as_texts", "decode_json", "drop_missing"]


def as_object(value: object) -> Mapping[str, Any]:
    """Return the value if it is an object; empty for anything else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def as_list(value: object) -> Sequence[Any]:
    """Return the value if it is a list; empty for anything else."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def as_objects(value: object) -> list[Mapping[str, Any]]:
    """Return the objects in a list."""
    return [item for item in as_list(value) if isinstance(item, Mapping)]


def as_text(value: object) -> str:
    """Return the value if it is a text; empty for anything else."""
    return value if isinstance(value, str) else ""


def as_number(value: object) -> float | None:
    """Return a number of magnitude at most 2**53, or 1 or 0 for a boolean, as a float; None for anything else."""
    if not isinstance(value, (int, float)) or abs(value) > 2**53 or not math.isfinite(value):
        return None
    return float(value)


def drop_missing(cells: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the cells that are not None, except the cells with these names."""
    return {name: cell for name, cell in cells.items() if name not in names and cell is not None}


def as_texts(value: object) -> list[str]:
    """Return the strings in a list; a lone string as a list of one; empty for anything else."""
    if isinstance(value, list):
        return [item for item in value if isinstance(item, str)]
    return [value] if value and isinstance(value, str) else []


def decode_json(value: object) -> Any:
    """Return the parsed value of a text with JSON; any other value unchanged."""
    try:
        return parse(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value
