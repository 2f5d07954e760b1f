"""From rows of cells to samples, and from samples to runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

from ragboard.errors import RunFileError
from ragboard.readers.cells import (
    BadCellError,
    Notes,
    clean,
    read_history,
    read_passages,
    read_question,
    read_text,
    read_texts,
)
from ragboard.readers.checked import UnusableError, checked
from ragboard.readers.report import Renamed, RowNote
from ragboard.readers.tables import BadRow, RawRow, Table
from ragboard.records import JsonValue, Sample

__all__ = ["Reading", "read_rows"]

Note = Callable[[str], None]


@dataclass
class Reading:
    """The samples by the value of the run column (None where there is none), and what was noted."""

    samples: dict[str | None, list[Sample]] = field(default_factory=dict[str | None, list[Sample]])
    dropped: list[RowNote] = field(default_factory=list[RowNote])
    renamed: list[Renamed] = field(default_factory=list[Renamed])
    notes: Notes = field(default_factory=Notes)
    derived_ids: int = 0


def read_rows(
    path: Path, table: Table, matched: Mapping[str, str], *, run_column: str | None, skip_bad: bool
) -> Reading:
    """Read every row. Raises RunFileError at the first bad one, unless bad rows are to be left out."""
    reading = Reading()
    seen: dict[str | None, Counter[str]] = {}
    for row in table.rows:
        try:
            group, sample = _sample(row, matched, run_column, reading)
        except BadCellError as error:
            if not skip_bad:
                raise RunFileError(path, str(error), line=row.line, field=error.field or None) from error
            reading.dropped.append(RowNote(line=row.line, field=error.field or None, message=str(error)))
            continue
        named = _with_id(sample, seen.setdefault(group, Counter()), row.line, reading)
        reading.samples.setdefault(group, []).append(named)
    return reading


def _sample(
    row: RawRow | BadRow, matched: Mapping[str, str], run_column: str | None, reading: Reading
) -> tuple[str | None, Sample]:
    if isinstance(row, BadRow):
        raise BadCellError("", row.message)

    def note(what: str) -> None:
        reading.notes.add(what, row.line)

    cells = {name: row.cells.get(column) for name, column in matched.items()}
    question, before = read_question(cells.get("question"), note)
    sample = Sample(
        id=_given_id(cells.get("id"), note),
        question=question,
        answer=_answer(cells.get("answer"), note),
        contexts=read_passages(cells.get("contexts"), note, written=row.written),
        reference=_reference(cells.get("reference"), note, written=row.written),
        reference_contexts=read_texts("reference_contexts", cells.get("reference_contexts"), note, written=row.written),
        history=(*_history(cells.get("history"), note), *before),
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
    if value is None or isinstance(value, (list, dict)):
        raise BadCellError(run_column, "is empty or a list, expected the name of a run")
    return str(cast("object", value))


def _given_id(value: Any, note: Note) -> str:
    if isinstance(value, (list, dict)):
        raise BadCellError("id", "got a list or object, expected text or a number")
    return "" if value is None else str(clean(str(value), note)).strip()


def _answer(value: Any, note: Note) -> str | None:
    """The answer; of a conversation the last message of the assistant."""
    if isinstance(value, list) and value and all(isinstance(turn, Mapping) for turn in cast("list[Any]", value)):
        said = [turn.text for turn in read_history("answer", value, note) if turn.role == "assistant"]
        return said[-1] if said else None
    return read_text("answer", value, note)


def _reference(value: Any, note: Note, *, written: bool) -> str | None:
    """The reference; of several the first, as ragas does."""
    if not isinstance(value, list) and not (written and isinstance(value, str) and value.startswith("[")):
        return read_text("reference", value, note)
    items = read_texts("reference", value, note, written=written) or ()
    if len(items) > 1:
        note("reference: the first of several taken")
    return items[0] if items else None


def _history(value: Any, note: Note) -> tuple[Any, ...]:
    if isinstance(value, str):
        import json

        try:
            value = json.loads(value)
        except ValueError:
            value = [value] if value.strip() else []
    return read_history("history", value, note)


def _metadata(row: RawRow, matched: Mapping[str, str], run_column: str | None, note: Note) -> dict[str, JsonValue]:
    used = {*matched.values(), run_column}
    found = {
        str(clean(column, note)): clean(_number(cell) if row.written else cell, note)
        for column, cell in row.cells.items()
        if column not in used and cell is not None
    }
    merged = row.cells.get(matched.get("metadata", ""))
    if isinstance(merged, Mapping):
        found |= {str(key): clean(cell, note) for key, cell in cast("Mapping[str, Any]", merged).items()}
    elif merged is not None:
        found["metadata"] = clean(merged, note)
    return {key: value for key, value in found.items() if value is not None}


def _number(cell: str) -> str | int | float:
    """A cell of a CSV: a number where it is plainly one."""
    try:
        return int(cell) if cell.strip().lstrip("-").isdecimal() and len(cell) < 16 else float(cell)
    except ValueError:
        return cell


def _with_id(sample: Sample, seen: Counter[str], line: int, reading: Reading) -> Sample:
    given = sample.id
    if not given:
        reading.derived_ids += 1
        return replace(sample, id=_derived(sample, seen))
    seen[given] += 1
    assigned = given
    while seen[given] > 1 and (assigned == given or assigned in seen):
        assigned = f"{given}#{seen[given]}"
        if assigned in seen:
            seen[given] += 1
    if assigned == given:
        return sample
    seen[assigned] += 1
    reading.renamed.append(Renamed(line=line, given=given, assigned=assigned))
    return replace(sample, id=assigned)


def _derived(sample: Sample, seen: Counter[str]) -> str:
    """A digest of question, history and how often they came before."""
    base = repr((sample.question, sample.history))
    while True:
        key = f"\0{base}"
        seen[key] += 1
        name = blake2b(f"{base}{seen[key]}".encode("utf-8", errors="replace"), digest_size=6).hexdigest()
        if name not in seen:
            seen[name] += 1
            return name
