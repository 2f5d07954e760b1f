"""Columns of a mapping that lead into objects and lists: `outputs.documents[].page_content`.

A step is a key, `["a key"]` for one with a dot or bracket, a place in a list (`[0]`, `[-1]`), or `[]` for each item of
a list; lists in lists become one. A text that holds JSON, as in the cell of a CSV, counts as what it holds. The name of
a column always comes first, whatever is in it.
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
"""A key, a place in a list, or None for each item."""

STEP = re.compile(r"\.(?P<key>[^.\[\]]+)|\[(?P<place>-?\d{1,9})\]|\[\"(?P<quoted>[^\"]+)\"\]|(?P<each>\[\])")
PATH = re.compile(rf"(?:{re.sub(r'[?]P<[a-z]+>', '?:', STEP.pattern)})+")


@dataclass(frozen=True, kw_only=True)
class _Nowhere:
    """Where a path ends before its last step: what was reached by how many steps."""

    steps: int
    reached: Any


def root_of(name: str, columns: Collection[str]) -> str | None:
    """The column that a path begins at, the longest if several fit; None if it is no path into one of these."""
    roots = [column for column in columns if name.startswith(column) and PATH.fullmatch(name[len(column) :])]
    return max(roots, key=len, default=None)


def with_paths(file: Path, table: Table, mapping: Mapping[str, str | None]) -> Table:
    """The table with a column for each path in the mapping.

    Raises RunFileError, with what the first row has instead, for a path that leads nowhere in every row.
    """
    for name in dict.fromkeys(mapping.values()):
        root = root_of(name, table.columns) if name and name not in table.columns else None
        if name and root is not None:
            table = _with_path(file, table, name, root)
    return table


def _with_path(file: Path, table: Table, name: str, root: str) -> Table:
    steps = [_step(found) for found in STEP.finditer(name[len(root) :])]
    rows: list[RawRow | BadRow] = []
    nowhere: tuple[RawRow, _Nowhere] | None = None
    somewhere = False
    for row in table.rows:
        if isinstance(row, BadRow):
            rows.append(row)
            continue
        found = _follow(row.cells.get(root), steps)
        if isinstance(found, _Nowhere):
            nowhere = nowhere or (row, found)
            rows.append(replace(row, cells={**row.cells, name: None}, notes=(*row.notes, f"{name}: nothing there")))
        else:
            somewhere = somewhere or found != []
            rows.append(replace(row, cells={**row.cells, name: found}))
    if nowhere and not somewhere:
        row, end = nowhere
        there = name[: _length(name, root, end.steps)]
        raise RunFileError(file, f"the path {name!r} leads nowhere: {there!r} {_content(end.reached)}", line=row.line)
    return replace(table, rows=tuple(rows), columns=(*table.columns, name))


def _step(found: re.Match[str]) -> Step:
    if found["each"]:
        return None
    return int(found["place"]) if found["place"] else found["key"] or found["quoted"]


def _length(name: str, root: str, steps: int) -> int:
    """How far into the path so many steps lead."""
    ends = [found.end() for found in STEP.finditer(name[len(root) :])]
    return len(root) + (ends[steps - 1] if steps else 0)


def _follow(value: Any, steps: Sequence[Step], taken: int = 0) -> Any:
    """What the steps lead to; `_Nowhere` where they end early."""
    for place, step in enumerate(steps):
        value = _decoded(value)
        match step:
            case None if isinstance(value, list):
                return _each(value, steps[place + 1 :], taken + place + 1)
            case int() if isinstance(value, list) and -len(value) <= step < len(value):
                value = value[step]
            case str() if isinstance(value, Mapping) and step in value:
                value = value[step]
            case _:
                return _Nowhere(steps=taken + place, reached=value)
    return value


def _each(items: Sequence[Any], rest: Sequence[Step], taken: int) -> Any:
    """What the remaining steps lead to from each item; nowhere if they lead there from none."""
    found = [_follow(item, rest, taken) for item in items]
    reached = [one for one in found if not isinstance(one, _Nowhere)]
    if items and not reached:
        return found[0]
    if None in rest:
        return [inner for one in reached for inner in one]
    return reached


def _decoded(value: Any) -> Any:
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return parse(value)
    except (ValueError, RecursionError):
        return value


def _content(value: Any) -> str:
    """What is there instead of the next step, in words."""
    if isinstance(value, Mapping):
        return f"has {list_columns([str(key) for key in value]) or 'no keys'}"
    if isinstance(value, list):
        return f"is a list of {len(value)}: [] is each item, [0] the first, [-1] the last"
    return f"is {kind_of_value(value)}"
