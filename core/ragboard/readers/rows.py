"""Tables that hold passages in a way of their own: a row for each passage, or all passages joined in one cell."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path

from ragboard.errors import RunFileError
from ragboard.readers.cells import (
    BadCellError,
    Conversation,
    Note,
    read_answer,
    read_history,
    read_ids,
    read_passages,
    read_question,
    read_reference,
)
from ragboard.readers.formats import Format
from ragboard.readers.formats.base import PassageRows
from ragboard.readers.formats.ragchecker import UnusableError, checked
from ragboard.readers.report import Renamed, RowNote
from ragboard.readers.scores import ScoreColumns
from ragboard.readers.tables import BadRow, RawRow, Table
from ragboard.records import JsonValue, Outcome, Sample

__all__ = ["Layout", "Reading", "lay_out", "read_rows"]


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
    for name, column in columns.items():
        cell = cells.get(column)
        if not isinstance(cell, str) or joined not in cell or cell.strip().startswith("["):
            continue
        if AMBIGUOUS.search(cell):
            message = (
                f"holds passages joined by {joined}, and a {joined} that belongs to a passage; save it as JSON"
                f" (`save_as('json')`), which keeps the list"
            )
            return BadRow(line=row.line, message=message, place=".".join(filter(None, (row.place, name))))
        cells[column] = cell.split(joined)
        notes.append(f"{name}: split at {joined}")
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
    for name, column in matched.items():
        if column in different:
            by = " and ".join(names.sample)
            raise RunFileError(
                path,
                f"column {column!r} differs between rows of one sample (those of one {by})",
                line=different[column],
                field=name,
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
    ranked = sorted(group, key=lambda row: _finite(row.cells.get(names.order), math.inf))
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
    score = _finite(row.cells.get(names.score), math.nan)
    said = {"id": row.cells.get(names.id), "score": None if math.isnan(score) else score}
    return {"text": row.cells[names.text], **{key: value for key, value in said.items() if value is not None}}


def _finite(cell: JsonValue, missing: float) -> float:
    try:
        found = float(str(cell))
    except ValueError:
        return missing
    return found if math.isfinite(found) else missing


ID_LISTS = frozenset({"reference_context_ids", "retrieved_context_ids"})
"""Columns that hold lists of ids, which a CSV writes as text."""


@dataclass
class Reading:
    """The samples by the value of the run column (None where there is none), and what was noted."""

    samples: dict[str | None, list[Sample]] = field(default_factory=dict[str | None, list[Sample]])
    scores: dict[str | None, list[dict[str, Outcome]]] = field(
        default_factory=dict[str | None, list[dict[str, Outcome]]]
    )
    """What the file scores each of those samples, in the same order."""
    dropped: list[RowNote] = field(default_factory=list[RowNote])
    renamed: list[Renamed] = field(default_factory=list[Renamed])
    coerced: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """What was read as something else, with the line of every time."""
    derived_ids: int = 0

    def note(self, line: int, notes: Iterable[str]) -> None:
        """Note what was read as something else on a line."""
        for what in notes:
            self.coerced.setdefault(what, []).append(line)


@dataclass
class _Ids:
    """The ids of one run: each is given out once."""

    taken: set[str] = field(default_factory=set[str])
    again: Counter[str] = field(default_factory=Counter[str])
    questions: Counter[str] = field(default_factory=Counter[str])

    def assign(self, wanted: str) -> str:
        """The id itself, or `wanted#2` and so on where it is taken."""
        assigned = wanted
        while assigned in self.taken:
            self.again[wanted] += 1
            assigned = f"{wanted}#{self.again[wanted] + 1}"
        self.taken.add(assigned)
        return assigned

    def derive(self, sample: Sample) -> str:
        """A digest of question, history and how often they came before."""
        said = json.dumps([sample.question, [[turn.role, turn.text] for turn in sample.history]])
        self.questions[said] += 1
        return self.assign(blake2b(f"{said}{self.questions[said]}".encode(), digest_size=6).hexdigest())


def read_rows(
    path: Path,
    table: Table,
    matched: Mapping[str, str],
    *,
    scores: ScoreColumns | None,
    run_column: str | None,
    skip_bad: bool,
) -> Reading:
    """Read every row. Raises RunFileError at the first bad one, unless bad rows are to be left out."""
    reading = Reading()
    ids: dict[str | None, _Ids] = {}
    if table.run:
        reading.note(table.run.line, table.run.notes)
    for row in table.rows:
        notes: list[str] = []
        try:
            group, sample = _sample(_without(scores, row), matched, run_column, notes.append)
        except BadCellError as error:
            place = ".".join(filter(None, (row.place, error.field))) or None
            if not skip_bad:
                raise RunFileError(path, str(error), line=row.line, field=place) from error
            reading.dropped.append(RowNote(line=row.line, field=place, message=str(error)))
            continue
        reading.note(row.line, notes)
        named = _with_id(sample, ids.setdefault(group, _Ids()), row.line, reading)
        reading.samples.setdefault(group, []).append(named)
        if scores and isinstance(row, RawRow):
            reading.scores.setdefault(group, []).append(scores.outcomes(row.cells))
    return reading


def _without(scores: ScoreColumns | None, row: RawRow | BadRow) -> RawRow | BadRow:
    """The row without its scores, which are no metadata."""
    return replace(row, cells=scores.rest(row.cells)) if scores and isinstance(row, RawRow) else row


def _sample(
    row: RawRow | BadRow, matched: Mapping[str, str], run_column: str | None, note: Note
) -> tuple[str | None, Sample]:
    if isinstance(row, BadRow):
        raise BadCellError("", row.message)
    for what in row.notes:
        note(what)
    cells = {name: row.cells.get(column) for name, column in matched.items()}
    asked = read_question(cells.get("question"), note)
    sample = Sample(
        id=_given_id(cells.get("id")),
        question=asked.question,
        answer=_answer(cells.get("answer"), asked, note),
        contexts=read_passages("contexts", cells.get("contexts"), note, written=row.written),
        reference=read_reference(cells.get("reference"), note, written=row.written),
        reference_contexts=_reference_contexts(cells.get("reference_contexts"), note, written=row.written),
        history=(*read_history("history", cells.get("history"), note), *asked.before),
        metadata=_metadata(row, matched, run_column, note),
    )
    try:
        checked(sample)
    except UnusableError as error:
        raise BadCellError(error.column, str(error)) from error
    return _group(row, run_column), sample


def _group(row: RawRow, run_column: str | None) -> str | None:
    if run_column is None:
        return None
    value = row.cells.get(run_column)
    if value is None or not isinstance(value, (str, int, float)) or not str(value).strip():
        raise BadCellError(run_column, "is empty or a list, expected the name of a run")
    return str(value)


def _given_id(value: JsonValue) -> str:
    if value is not None and not isinstance(value, (str, int, float)):
        raise BadCellError("id", "got a list or an object, expected text or a number")
    return "" if value is None else str(value).strip()


def _answer(value: JsonValue, asked: Conversation, note: Note) -> str | None:
    """The answer; where there is none, the reply that ends the conversation."""
    answer = read_answer(value, note)
    replies = [turn.text for turn in asked.after if turn.role == "assistant"]
    if answer is None and replies:
        note("answer: the last reply of the conversation taken")
        return replies[-1]
    if asked.after:
        note("question: the messages after it left out")
    return answer


def _reference_contexts(value: JsonValue, note: Note, *, written: bool) -> tuple[str, ...] | None:
    passages = read_passages("reference_contexts", value, note, written=written)
    return None if passages is None else tuple(passage.text for passage in passages)


def _metadata(row: RawRow, matched: Mapping[str, str], run_column: str | None, note: Note) -> dict[str, JsonValue]:
    used = {*matched.values(), run_column}
    found = {
        column: _kept(column, cell, note) if row.written else cell
        for column, cell in row.cells.items()
        if column not in used and cell is not None
    }
    merged = row.cells.get(matched.get("metadata", ""))
    if isinstance(merged, Mapping):
        inner = {key: value for key, value in merged.items() if value is not None}
        if inner.keys() & found.keys():
            note("metadata: a key of a column's name, whose value was taken instead of the column's")
        return {**found, **inner}
    return found if merged is None else {**found, "metadata": merged}


def _kept(column: str, cell: JsonValue, note: Note) -> JsonValue:
    """A cell of a CSV that no field is read from."""
    return read_ids(cell, note) if column in ID_LISTS else _number(cell)


def _number(cell: JsonValue) -> JsonValue:
    """A cell of a CSV: a number where writing that number gives the same text again."""
    for kind in (int, float):
        try:
            number = kind(str(cell))
        except ValueError:
            continue
        if str(number) == cell and abs(number) != math.inf:
            return number
    return cell


def _with_id(sample: Sample, ids: _Ids, line: int, reading: Reading) -> Sample:
    if not sample.id:
        reading.derived_ids += 1
        return replace(sample, id=ids.derive(sample))
    assigned = ids.assign(sample.id)
    if assigned != sample.id:
        reading.renamed.append(Renamed(line=line, given=sample.id, assigned=assigned))
    return replace(sample, id=assigned)
