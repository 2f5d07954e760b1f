"""From a table to runs: passages laid out as lists, every row read as a sample, and a true report of how."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from shlex import quote

from ragboard.errors import RunFileError
from ragboard.readers.cells import (
    NAMES_ONLY,
    BadCellError,
    Conversation,
    Note,
    UniqueIds,
    read_answer,
    read_history,
    read_ids,
    read_passages,
    read_question,
    read_reference,
    storable,
)
from ragboard.readers.columns import column_uses, format_name, match_columns, named, unclear_answer
from ragboard.readers.formats import Format, format_of
from ragboard.readers.formats.base import PassageRows
from ragboard.readers.formats.ragchecker import UnusableError, read_file_verdicts
from ragboard.readers.report import Coerced, ImportReport, ReadResult, Renamed, RowNote
from ragboard.readers.scores import ScoreColumns, disagreeing, file_scores
from ragboard.readers.tables import BadRow, RawRow, Table
from ragboard.records import JsonValue, Outcome, Run, Sample

__all__ = ["SHOWN", "nothing_in", "runs_of"]

SHOWN = ("question", "answer", "contexts", "reference")
FIRST_LINES = 5
AMBIGUOUS = re.compile(r"\s\||\|\s|\|\||^\||\|$")
"""Where a | is part of a passage, as in a table, rather than between two."""
ID_LISTS = frozenset({"reference_context_ids", "retrieved_context_ids"})
"""Columns that hold lists of ids, which a CSV writes as text."""


@dataclass(frozen=True, kw_only=True)
class _Layout:
    """A table with a row for each sample and a list of passages in each cell of them."""

    table: Table
    read: frozenset[str] = frozenset()
    """Columns that became part of the passages."""
    left_out: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


@dataclass
class _Reading:
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
class _Ids(UniqueIds):
    """The ids of one run."""

    questions: Counter[str] = field(default_factory=Counter[str])

    def derive(self, sample: Sample) -> str:
        """A digest of question, history and how often they came before."""
        key = json.dumps([sample.question, [[turn.role, turn.text] for turn in sample.history]])
        self.questions[key] += 1
        return self.assign(blake2b(f"{key}{self.questions[key]}".encode(), digest_size=6).hexdigest())


def runs_of(
    path: Path,
    table: Table,
    base: Run,
    *,
    mapping: Mapping[str, str | None],
    run_column: str | None = None,
    prefixed: bool = False,
    skip_bad: bool = False,
) -> ReadResult:
    """The runs of a table, each as `base` with its samples; `path` is what errors and the report call it.

    With `prefixed` the name of `base` stands before the values of the run column. Raises RunFileError where a row
    cannot be read, or where it is not clear which column is which.
    """
    known = format_of(table.columns)
    if known and known.refused:
        raise RunFileError(path, f"is a file of {known.name}: it {known.refused}")
    matched = _matched(path, table, mapping, run_column)
    layout = _lay_out(path, table, known, matched)
    free = [column for column in table.columns if column not in matched.values() and column != run_column]
    rows = [row.cells for row in table.rows if isinstance(row, RawRow)]
    scores = known.scores(free, rows) if known and not table.ours else None
    reading = _read_rows(path, layout.table, matched, scores=scores, run_column=run_column, skip_bad=skip_bad)
    if not reading.samples:
        first = reading.dropped[0]
        raise RunFileError(path, f"no row can be read; the first: {first.message}", line=first.line, field=first.field)
    _require_texts(path, table, matched, reading)
    file_format = format_name(table.columns, table.kind, ours=table.ours)
    runs: list[Run] = []
    for group, samples in reading.samples.items():
        file = file_scores(file_format, scores, reading.scores.get(group, ()))
        run = replace(base, samples=tuple(samples), scores=file)
        if group is not None and run_column is not None:
            name = f"{base.name}/{group}" if prefixed else group
            run = replace(run, name=name, config={**base.config, run_column: group})
        runs.append(run)
    report = ImportReport(
        path=storable(path.name),
        format=file_format,
        encoding=table.encoding,
        rows_read=len(table.rows),
        columns=column_uses(table.columns, {**matched, **({"run": run_column} if run_column else {})}),
        dropped=tuple(reading.dropped),
        coerced=tuple(
            Coerced(what=what, count=len(lines), lines=tuple(dict.fromkeys(lines))[:FIRST_LINES])
            for what, lines in reading.coerced.items()
        ),
        duplicated=tuple(reading.renamed),
        notes=(*layout.notes, *_notes(table, layout, matched, scores, reading, run_column)),
    )
    return ReadResult(runs=tuple(runs), report=report)


def nothing_in(path: Path, table: Table) -> RunFileError:
    """Why no row of a table has a cell."""
    first = next((row for row in table.rows if isinstance(row, BadRow)), None)
    if first:
        return RunFileError(path, first.message, line=first.line, field=first.place or None)
    return RunFileError(path, "is empty, expected samples")


def _matched(path: Path, table: Table, mapping: Mapping[str, str | None], run_column: str | None) -> dict[str, str]:
    if not table.rows or not table.columns:
        raise nothing_in(path, table)
    if run_column is not None and run_column not in table.columns:
        raise RunFileError(path, f"has no column {run_column!r}; it has {named(table.columns)}")
    columns = [column for column in table.columns if column != run_column]
    matched = match_columns(path, columns, mapping, ours=table.run is not None)
    if "question" not in matched:
        there = named(table.columns)
        how = _option(table, {"question": "COLUMN"})
        raise RunFileError(path, f"no column was taken for the question; it has {there}: {how}")
    unclear = unclear_answer(columns, mapping, ours=table.run is not None)
    if unclear:
        raise RunFileError(path, _which_answer(table, unclear, {*matched, *mapping}))
    return matched


def _which_answer(table: Table, unclear: Sequence[str], told: Collection[str]) -> str:
    """That it is not clear which column is the system's answer, and what to type for each case."""
    answer, other = unclear[:2]
    both = ({"answer": other, "reference": answer}, {"answer": answer, "reference": other})
    ways = [_option(table, {name: column for name, column in way.items() if name not in told}) for way in both]
    beside = ", ".join(repr(column) for column in unclear[1:])
    return f"columns {answer!r} and {beside} could each be the answer or the reference; choose with {' or '.join(ways)}"


def _option(table: Table, mapping: Mapping[str, str]) -> str:
    """A mapping as the user writes it: an argument in Python (where empty is None), options on the command line."""
    if table.kind == "memory":
        return f"mapping={ {field: column or None for field, column in mapping.items()} }"
    return " ".join(f"--map {quote(f'{field}={column}')}" for field, column in mapping.items())


def _require_texts(path: Path, table: Table, matched: Mapping[str, str], reading: _Reading) -> None:
    """Raises RunFileError where what was taken for passages are the names of files or addresses, all of them."""
    samples = [sample for group in reading.samples.values() for sample in group]
    texts = [passage.text for sample in samples for passage in sample.contexts or () if passage.text.strip()]
    if texts and len(texts) == len(reading.coerced.get(f"contexts: {NAMES_ONLY}", ())):
        raise RunFileError(
            path,
            f"column {matched['contexts']!r} holds file names or addresses ({texts[0][:60]!r}), not the texts of the"
            f" passages: add a column with the texts, or leave it out with {_option(table, {'contexts': ''})}",
            field="contexts",
        )


def _notes(
    table: Table,
    layout: _Layout,
    matched: Mapping[str, str],
    scores: ScoreColumns | None,
    reading: _Reading,
    run_column: str | None,
) -> Iterator[str]:
    """What became of the columns, ids and scores."""
    yield from (f"no column was taken for the {shown}" for shown in SHOWN if shown not in matched)
    used = {*matched.values(), run_column, *layout.read, *layout.left_out, *(scores.taken if scores else ())}
    other = [column for column in table.columns if column not in used]
    if other:
        yield f"kept as metadata: {named(other)}"
    if reading.derived_ids:
        yield f"{reading.derived_ids} samples without an id got one from their question"
    if scores:
        yield f"kept as scores of {scores.tool}, beside ours: {', '.join(scores.columns.values())}"
    elif table.totals:
        yield "the file's table of means left out: it has no scores of single samples"
    odd = disagreeing(table.totals, (row for rows in reading.scores.values() for row in rows))
    if odd and not reading.dropped:
        yield f"the file's table of means is not that of its samples' scores: {', '.join(odd)}"


def _lay_out(path: Path, table: Table, known: Format | None, matched: Mapping[str, str]) -> _Layout:
    """The table as every other format has it. Raises RunFileError where rows of one sample contradict each other."""
    if known and known.passage_rows and matched.get("contexts") == known.passage_rows.text:
        return _one_row_a_sample(path, table, known.passage_rows, matched)
    if known and known.joined:
        columns = {field: matched[field] for field in ("contexts", "reference_contexts") if field in matched}
        rows = tuple(_split(row, columns, known.joined) for row in table.rows)
        return _Layout(table=replace(table, rows=rows))
    return _Layout(table=table)


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


def _one_row_a_sample(path: Path, table: Table, names: PassageRows, matched: Mapping[str, str]) -> _Layout:
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
    return _Layout(table=replace(table, rows=ordered), read=parts, left_out=frozenset(different), notes=tuple(notes))


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


def _read_rows(
    path: Path,
    table: Table,
    matched: Mapping[str, str],
    *,
    scores: ScoreColumns | None,
    run_column: str | None,
    skip_bad: bool,
) -> _Reading:
    """Read every row. Raises RunFileError at the first bad one, unless bad rows are to be left out."""
    reading = _Reading()
    ids: dict[str | None, _Ids] = {}
    if table.run:
        reading.note(table.run.line, table.run.notes)
    for row in table.rows:
        notes: list[str] = []
        try:
            if isinstance(row, BadRow):
                raise BadCellError("", row.message)  # noqa: TRY301 - bad rows and bad cells are told alike
            rest = replace(row, cells=scores.rest(row.cells)) if scores else row
            group, sample = _sample(rest, matched, run_column, notes.append)
        except BadCellError as error:
            place = ".".join(filter(None, (row.place, error.field))) or None
            if not skip_bad:
                raise RunFileError(path, str(error), line=row.line, field=place) from error
            reading.dropped.append(RowNote(line=row.line, field=place, message=str(error)))
            continue
        reading.note(row.line, notes)
        named = _with_id(sample, ids.setdefault(group, _Ids()), row.line, reading)
        reading.samples.setdefault(group, []).append(named)
        if scores:
            reading.scores.setdefault(group, []).append(scores.outcomes(row.cells))
    return reading


def _sample(row: RawRow, matched: Mapping[str, str], run_column: str | None, note: Note) -> tuple[str | None, Sample]:
    for what in row.notes:
        note(what)
    cells = {name: row.cells.get(column) for name, column in matched.items()}
    question = read_question(cells.get("question"), note)
    given = cells.get("id")
    if given is not None and not isinstance(given, (str, int, float)):
        raise BadCellError("id", "got a list or an object, expected text or a number")
    answer = _answer(cells.get("answer"), question, note)
    contexts = read_passages("contexts", cells.get("contexts"), note, written=row.written)
    reference = read_reference(cells.get("reference"), note, written=row.written)
    reference_passages = read_passages("reference_contexts", cells.get("reference_contexts"), note, written=row.written)
    history = read_history("history", cells.get("history"), note)
    sample = Sample(
        id="" if given is None else str(given).strip(),
        question=question.question,
        answer=answer,
        contexts=contexts,
        reference=reference,
        reference_contexts=None if reference_passages is None else tuple(one.text for one in reference_passages),
        history=(*history, *question.before),
        metadata=_metadata(row, matched, run_column, note),
    )
    try:
        read_file_verdicts(sample)
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


def _with_id(sample: Sample, ids: _Ids, line: int, reading: _Reading) -> Sample:
    if not sample.id:
        reading.derived_ids += 1
        return replace(sample, id=ids.derive(sample))
    assigned = ids.assign(sample.id)
    if assigned != sample.id:
        reading.renamed.append(Renamed(line=line, given=sample.id, assigned=assigned))
    return replace(sample, id=assigned)
