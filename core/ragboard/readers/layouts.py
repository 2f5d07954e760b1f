"""Tables that hold passages in a way of their own: a row for each passage, or all passages joined in one cell."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ragboard.errors import RunFileError
from ragboard.readers.formats import Format
from ragboard.readers.formats.base import PassageRows
from ragboard.readers.tables import BadRow, RawRow, Table
from ragboard.records import JsonValue

__all__ = ["Layout", "lay_out"]

AMBIGUOUS = re.compile(r"\s\||\|\s|\|\||^\||\|$")
"""Where a | is part of a passage, as in a table, rather than between two."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """A table with a row for each sample and a list of passages in each cell of them."""

    table: Table
    read: frozenset[str] = frozenset()
    """Columns that became part of the passages."""
    left_out: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


def lay_out(path: Path, table: Table, known: Format | None, matched: Mapping[str, str]) -> Layout:
    """The table as every other format has it. Raises RunFileError where rows of one sample contradict each other."""
    if known and known.passage_rows and matched.get("contexts") == known.passage_rows.text:
        return _one_row_a_sample(path, table, known.passage_rows, matched)
    if known and known.joined:
        columns = {field: matched[field] for field in ("contexts", "reference_contexts") if field in matched}
        rows = tuple(_split(row, columns, known.joined) for row in table.rows)
        return Layout(table=replace(table, rows=rows))
    return Layout(table=table)


def _split(row: RawRow | BadRow, columns: Mapping[str, str], joined: str) -> RawRow | BadRow:
    """The row with lists in place of texts that were joined, where there is no doubt how."""
    if isinstance(row, BadRow):
        return row
    cells, notes = dict(row.cells), list(row.notes)
    for field, column in columns.items():
        cell = cells.get(column)
        if not isinstance(cell, str) or joined not in cell or cell.strip().startswith("["):
            continue
        if AMBIGUOUS.search(cell):
            message = (
                f"holds passages joined by {joined}, and a {joined} that belongs to a passage; save it as JSON"
                f" (`save_as('json')`), which keeps the list"
            )
            return BadRow(line=row.line, message=message, place=".".join(filter(None, (row.place, field))))
        cells[column] = cell.split(joined)
        notes.append(f"{field}: split at {joined}")
    return replace(row, cells=cells, notes=tuple(notes))


def _one_row_a_sample(path: Path, table: Table, names: PassageRows, matched: Mapping[str, str]) -> Layout:
    bad = [row for row in table.rows if isinstance(row, BadRow)]
    groups: dict[tuple[str, ...], list[RawRow]] = {}
    for row in table.rows:
        if isinstance(row, RawRow):
            key = tuple(str(row.cells.get(column)) for column in names.sample)
            groups.setdefault(key, []).append(row)
    parts = frozenset(filter(None, (names.id, names.score, names.order)))
    different = {
        column: group[0].line
        for column in table.columns
        if column not in {names.text, *parts}
        for group in groups.values()
        if _differs(group, column)
    }
    for field, column in matched.items():
        if column in different:
            by = " and ".join(names.sample)
            raise RunFileError(
                path,
                f"column {column!r} differs between rows of one sample (those of one {by})",
                line=different[column],
                field=field,
            )
    rows: list[RawRow | BadRow] = [_merged(group, names, {*parts, *different}) for group in groups.values()]
    notes = [f"{len(table.rows)} rows, one for each passage, read as {len(rows)} samples"]
    if different:
        notes.append(f"left out, different for the passages of a sample: {', '.join(sorted(different))}")
    ordered = tuple(sorted([*rows, *bad], key=lambda row: row.line))
    return Layout(table=replace(table, rows=ordered), read=parts, left_out=frozenset(different), notes=tuple(notes))


def _differs(group: Sequence[RawRow], column: str) -> bool:
    values = [value for row in group if (value := row.cells.get(column)) is not None]
    return any(value != values[0] for value in values)


def _merged(group: Sequence[RawRow], names: PassageRows, dropped: set[str]) -> RawRow:
    ranked = sorted(group, key=lambda row: _number(row.cells.get(names.order), math.inf))
    passages: list[JsonValue] = [_passage(row, names) for row in ranked if row.cells.get(names.text) is not None]
    cells = {
        column: value
        for row in reversed(group)
        for column, value in row.cells.items()
        if value is not None and column not in dropped
    }
    return replace(
        group[0],
        cells={**cells, names.text: passages or None},
        notes=tuple(note for row in group for note in row.notes),
    )


def _passage(row: RawRow, names: PassageRows) -> JsonValue:
    score = _number(row.cells.get(names.score), math.nan)
    said = {"id": row.cells.get(names.id), "score": None if math.isnan(score) else score}
    return {"text": row.cells[names.text], **{key: value for key, value in said.items() if value is not None}}


def _number(cell: JsonValue, missing: float) -> float:
    try:
        found = float(str(cell))
    except ValueError:
        return missing
    return found if math.isfinite(found) else missing
