"""Paths to fields that are nested in objects and lists: `outputs.documents[].page_content`.

A path is a column followed by steps. A step is a key (`.key`, or `["a key"]` if it has a dot or bracket), an index in a
list (`[0]`, `[-1]`), or `[]` for all items of a list. Lists of lists are flattened. A text with JSON, as in a CSV, is
parsed. A path that is also the name of a column means that column.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from ragboard.errors import RunFileError
from ragboard.readers.cells import kind_of_value
from ragboard.readers.columns import list_columns
from ragboard.readers.files import parse
from ragboard.readers.tables import BadRow, RawRow, Table

__all__ = ["root_of", "with_paths"]

Step: TypeAlias = "str | int | None"
"""A key, an index in a list, or None for all items."""

STEP = re.compile(r"\.(?P<key>[^.\[\]]+)|\[(?P<index>-?\d{1,9})\]|\[\"(?P<quoted>[^\"]+)\"\]|(?P<each>\[\])")
PATH = re.compile(rf"(?:{re.sub(r'[?]P<[a-z]+>', '?:', STEP.pattern)})+")


@dataclass(frozen=True, kw_only=True)
class _DeadEnd:
    """The place in a row where a path cannot be followed."""

    steps: int
    """Number of steps that were followed."""
    reached: Any
    """The value after these steps."""


def root_of(name: str, columns: Collection[str]) -> str | None:
    """Return the column that a path begins with; None if `name` is not such a path. The longest column wins."""
    roots = [column for column in columns if name.startswith(column) and PATH.fullmatch(name[len(column) :])]
    return max(roots, key=len, default=None)


def with_paths(file: Path, table: Table, mapping: Mapping[str, str | None]) -> Table:
    """Return the table with a column for each path in the mapping, named like the path.

    Raises RunFileError if no row has a value at a path. The message says what the first row has.
    """
    for name in dict.fromkeys(mapping.values()):
        root = root_of(name, table.columns) if name and name not in table.columns else None
        if name and root is not None:
            table = _with_path(file, table, name, root)
    return table


def _with_path(file: Path, table: Table, name: str, root: str) -> Table:
    steps = [_step(value) for value in STEP.finditer(name[len(root) :])]
    rows: list[RawRow | BadRow] = []
    first_dead_end: tuple[RawRow, _DeadEnd] | None = None
    any_value = False
    for row in table.rows:
        if isinstance(row, BadRow):
            rows.append(row)
            continue
        value = _follow(row.cells.get(root), steps)
        if isinstance(value, _DeadEnd):
            first_dead_end = first_dead_end or (row, value)
            rows.append(replace(row, cells={**row.cells, name: None}, notes=(*row.notes, f"{name}: no value")))
        else:
            any_value = any_value or value != []
            rows.append(replace(row, cells={**row.cells, name: value}))
    if first_dead_end and not any_value:
        row, end = first_dead_end
        reached = name[: _length(name, root, end.steps)]
        message = f"no row has a value at the path {name!r}: {reached!r} {_describe(end.reached)}"
        raise RunFileError(file, message, line=row.line)
    return replace(table, rows=tuple(rows), columns=(*table.columns, name))


def _step(match: re.Match[str]) -> Step:
    if match["each"]:
        return None
    return int(match["index"]) if match["index"] else match["key"] or match["quoted"]


def _length(name: str, root: str, steps: int) -> int:
    """Return the number of characters of the path up to the end of this many steps."""
    ends = [match.end() for match in STEP.finditer(name[len(root) :])]
    return len(root) + (ends[steps - 1] if steps else 0)


def _follow(value: Any, steps: Sequence[Step], followed: int = 0) -> Any:
    """Return the value at the end of the steps; `_DeadEnd` if a step cannot be followed.

    `followed` is the number of earlier steps, which led to `value`.
    """
    for index, step in enumerate(steps):
        value = _parse_json(value)
        match step:
            case None if isinstance(value, list):
                return _each(value, steps[index + 1 :], followed + index + 1)
            case int() if isinstance(value, list) and -len(value) <= step < len(value):
                value = value[step]
            case str() if isinstance(value, Mapping) and step in value:
                value = value[step]
            case _:
                return _DeadEnd(steps=followed + index, reached=value)
    return value


def _each(items: Sequence[Any], remaining: Sequence[Step], followed: int) -> Any:
    """Return the values at the end of the remaining steps from each item; `_DeadEnd` if no item has one."""
    results = [_follow(item, remaining, followed) for item in items]
    reached = [value for value in results if not isinstance(value, _DeadEnd)]
    if items and not reached:
        return results[0]
    if None in remaining:
        return [item_value for value in reached for item_value in value]
    return reached


def _parse_json(value: Any) -> Any:
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return parse(value)
    except (ValueError, RecursionError):
        return value


def _describe(value: Any) -> str:
    """Return what an error says about the value where the path cannot be followed."""
    if isinstance(value, Mapping):
        return f"has {list_columns([str(key) for key in value]) or 'no keys'}"
    if isinstance(value, list):
        return f"is a list of {len(value)} items: use [] for all, [0] for the first, [-1] for the last"
    return f"is {kind_of_value(value)}"
