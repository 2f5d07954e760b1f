"""Turn a table into runs, one sample per row, with a report of what was read, converted, renamed and left out."""

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
from typing import cast

from ragboard.errors import RunFileError
from ragboard.readers.cells import (
    NAMES_ONLY,
    BadCellError,
    Conversation,
    Note,
    UniqueIds,
    messages_in,
    read_answer,
    read_history,
    read_ids,
    read_nuggets,
    read_passages,
    read_question,
    read_reference,
    read_time,
    storable,
)
from ragboard.readers.columns import FIELDS, column_uses, format_name, list_columns, match_columns, unclear_answer
from ragboard.readers.formats import Format, format_of
from ragboard.readers.formats.base import PassageRows, ToolSample
from ragboard.readers.formats.ragchecker import UnusableError, read_file_verdicts
from ragboard.readers.formats.shapes import as_object, decode_json
from ragboard.readers.labels import GRADES, human_grades
from ragboard.readers.paths import with_paths
from ragboard.readers.report import Coerced, ColumnUse, ImportReport, ReadResult, Renamed, RowNote
from ragboard.readers.scores import ScoreColumns, disagreeing, file_scores
from ragboard.readers.tables import BadRow, RawRow, Table
from ragboard.readers.tools import tool_notes, tool_scores
from ragboard.records import JsonValue, Outcome, Run, Sample

__all__ = [
    "SHOWN",
    "SUGGESTED_FIELDS",
    "RowNotes",
    "SampleIds",
    "column_of_answers",
    "empty_file_error",
    "format_of_table",
    "match_table",
    "question_key",
    "read_row",
    "report_notes",
    "report_of",
    "require_samples",
    "runs_from_table",
    "splitting_column",
    "suggested_fields",
    "unique_id",
]

MAX_SEARCHED_ROWS = 10
"""Number of rows that are searched for columns that look like a field."""
GRADED_ROWS = 20
"""Number of rows in which human grades are looked for."""
MAX_VARIANTS = 20
"""Maximum number of values of a column that tells the answers to a question apart."""
MIN_PASSAGE_WORDS = 4
"""Minimum number of words of a text that may be a passage."""
PASSAGE_NAMES = frozenset(
    f"{before}{what}{after}"
    for before in ("", "retrieved", "search")
    for what in ("retrieved", "retrieval", "text", "chunk", "doc", "document", "result", "snippet", "evidence")
    for after in ("", "s")
)
"""Column names, without underscores, that suggest passages; the names in `FIELDS` are read as passages
automatically."""
SUGGESTED_FIELDS = {
    "contexts": "the passages that were retrieved",
    "history": "earlier turns",
    "question": "a conversation, of which the user's last message is the question and those before it the history",
}
"""What a column looks like, in words, by the field that it can be read as."""
SHOWN = ("question", "answer", "contexts", "reference")
MEANT = {"question": "question", "answer": "answer", "contexts": "passages", "reference": "reference answer"}
FIRST_LINES = 5
AMBIGUOUS = re.compile(r"\s\||\|\s|\|\||^\||\|$")
"""A | that may be part of a passage, as in a table, rather than a separator."""
ID_LISTS = frozenset({"reference_context_ids", "retrieved_context_ids"})
"""Columns with lists of ids, which are texts in a CSV."""


@dataclass(frozen=True, kw_only=True)
class _Layout:
    """A table with one row for each sample and its passages as a list in one cell."""

    table: Table
    read: frozenset[str] = frozenset()
    """Columns that were merged into the passages: id, score, order."""
    left_out: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


@dataclass
class RowNotes:
    """What the report says about the rows of a table, added up while they are read."""

    rows: int = 0
    dropped: list[RowNote] = field(default_factory=list[RowNote])
    renamed: list[Renamed] = field(default_factory=list[Renamed])
    derived_ids: int = 0
    has_text: bool = False
    """Whether a passage is a text, and not a file name or an address."""
    first_name: str = ""
    """The first passage that is a file name or an address; empty if there is none."""
    _coerced: dict[str, tuple[int, tuple[int, ...]]] = field(default_factory=dict[str, "tuple[int, tuple[int, ...]]"])
    """Each conversion in words, with its count and the first lines it happened on."""

    def add(self, line: int, sample: Sample, notes: Sequence[str]) -> None:
        """Add a sample and the conversions on its line."""
        self.add_conversions(line, notes)
        if not self.has_text:
            texts = [passage.text for passage in sample.contexts or () if passage.text.strip()]
            self.has_text = len(texts) > notes.count(f"contexts: {NAMES_ONLY}")
            self.first_name = self.first_name or next(iter(texts), "")

    def add_conversions(self, line: int, notes: Iterable[str]) -> None:
        """Add the conversions on a line."""
        for what in notes:
            self._add_conversion(what, 1, (line,))

    def merge(self, other: RowNotes) -> None:
        """Add what was noted of the rows after these."""
        self.rows += other.rows
        self.dropped += other.dropped
        self.renamed += other.renamed
        self.derived_ids += other.derived_ids
        self.has_text = self.has_text or other.has_text
        self.first_name = self.first_name or other.first_name
        for what, (count, lines) in other._coerced.items():
            self._add_conversion(what, count, lines)

    def _add_conversion(self, what: str, count: int, lines: tuple[int, ...]) -> None:
        before, first = self._coerced.get(what, (0, ()))
        if len(first) < FIRST_LINES:
            first = tuple(dict.fromkeys((*first, *lines)))[:FIRST_LINES]
        self._coerced[what] = (before + count, first)

    @property
    def coerced(self) -> tuple[Coerced, ...]:
        """The conversions, in the order in which they first occurred."""
        return tuple(Coerced(what=what, count=count, lines=lines) for what, (count, lines) in self._coerced.items())


@dataclass
class _Reading:
    """The samples by the value of the run column (None without one), and what the report says about them."""

    notes: RowNotes = field(default_factory=RowNotes)
    samples: dict[str | None, list[Sample]] = field(default_factory=dict[str | None, list[Sample]])
    scores: dict[str | None, list[dict[str, Outcome]]] = field(
        default_factory=dict[str | None, list[dict[str, Outcome]]]
    )
    """The file's own scores of these samples, in the same order."""
    of_tool: dict[str | None, list[ToolSample]] = field(default_factory=dict[str | None, list[ToolSample]])
    """These samples as the format of another tool read them."""


@dataclass
class SampleIds(UniqueIds):
    """The unique ids of the samples of one run."""

    questions: Counter[bytes] = field(default_factory=Counter[bytes])
    """How often each question with its history has occurred, by a digest of both."""

    def derive(self, key: str) -> str:
        """Return an id for a sample without one, whose `question_key` this is: a digest that counts its occurrences."""
        digest = blake2b(key.encode(), digest_size=16).digest()
        self.questions[digest] += 1
        return self.assign(blake2b(f"{key}{self.questions[digest]}".encode(), digest_size=6).hexdigest())


def question_key(sample: Sample) -> str:
    """Return the text that stands for the question and history of a sample."""
    return json.dumps([sample.question, [[turn.role, turn.text] for turn in sample.history]])


def runs_from_table(
    path: Path,
    table: Table,
    base: Run,
    *,
    mapping: Mapping[str, str | None],
    run_column: str | None = None,
    prefixed: bool = False,
    skip_bad: bool = False,
) -> ReadResult:
    """Read a table as runs, one for each value of `run_column`, each a copy of `base` with its samples.

    `path` names the file in errors and in the report. With `prefixed` a run is named `BASE/VALUE` instead of `VALUE`.
    Raises RunFileError if a row cannot be read (with `skip_bad`, if none can), or if it is unclear which column is
    which.
    """
    known = None if table.tool else format_of(table.columns)
    table = with_paths(path, table, mapping)
    if known and known.refused:
        raise RunFileError(path, f"is a file of {known.name}: it {known.refused}")
    matched = match_table(path, table, mapping, run_column)
    layout = _lay_out(path, table, known, matched)
    free = [column for column in table.columns if column not in matched.values() and column != run_column]
    rows = [row.cells for row in table.rows if isinstance(row, RawRow)]
    scores = known.scores(free, rows) if known and not table.ours else None
    reading = _read_rows(path, layout.table, matched, scores=scores, run_column=run_column, skip_bad=skip_bad)
    require_samples(path, table, matched, reading.notes)
    file_format = format_of_table(table)
    runs: list[Run] = []
    for group, samples in reading.samples.items():
        if table.tool:
            file = tool_scores(table.tool, file_format, reading.of_tool[group])
        else:
            file = file_scores(file_format, scores, reading.scores.get(group, ()))
        run = replace(base, samples=tuple(samples), scores=file)
        if group is not None:
            told = {run_column: group} if run_column else table.tool.configs.get(group, {}) if table.tool else {}
            run = replace(run, name=f"{base.name}/{group}" if prefixed else group, config={**base.config, **told})
        runs.append(run)
    used = {*matched.values(), run_column, *layout.read, *layout.left_out, *(scores.taken if scores else ())}
    other = [column for column in table.columns if column not in used]
    outcomes = (row for rows in reading.scores.values() for row in rows)
    notes = (*layout.notes, *report_notes(table, matched, other, scores, reading.notes, outcomes))
    report = report_of(path, table, matched, run_column, other, reading.notes, notes, rows_read=len(table.rows))
    column = None if run_column else splitting_column(runs)
    if column:
        report = replace(report, suggestions=(*report.suggestions, _split_suggestion(table, column)))
    return ReadResult(runs=tuple(runs), report=report)


def report_of(
    path: Path,
    table: Table,
    matched: Mapping[str, str],
    run_column: str | None,
    other: Sequence[str],
    rows: RowNotes,
    notes: Sequence[str],
    *,
    rows_read: int,
) -> ImportReport:
    """Return the report on a file. `other`: the columns kept as metadata; `table` may have only the first rows."""
    return ImportReport(
        path=storable(path.name),
        format=format_of_table(table),
        encoding=table.encoding,
        rows_read=rows_read,
        columns=_column_uses(table, matched, run_column),
        dropped=tuple(rows.dropped),
        coerced=rows.coerced,
        duplicated=tuple(rows.renamed),
        notes=tuple(notes),
        suggestions=tuple(_suggestions(table, matched, other)),
    )


def format_of_table(table: Table) -> str:
    """Return the format and kind of the file, in words: `DeepEval test run 4.3.1 (JSON)`."""
    if table.tool:
        return f"{table.format} ({table.kind})"
    return format_name(table.columns, table.kind, ours=table.ours)


def _column_uses(table: Table, matched: Mapping[str, str], run_column: str | None) -> tuple[ColumnUse, ...]:
    if table.tool:
        return tuple(ColumnUse(column=path, field=use) for path, use in table.tool.fields.items())
    return column_uses(table.columns, {**matched, **({"run": run_column} if run_column else {})})


def empty_file_error(path: Path, table: Table) -> RunFileError:
    """Return the error for a table without a readable row."""
    first = next((row for row in table.rows if isinstance(row, BadRow)), None)
    if first:
        return RunFileError(path, first.message, line=first.line, field=first.location or None)
    return RunFileError(path, "is empty, expected samples")


def match_table(path: Path, table: Table, mapping: Mapping[str, str | None], run_column: str | None) -> dict[str, str]:
    """Return the column of each field. Raises RunFileError if there is no question, or it is unclear which is which."""
    if not table.rows or not table.columns:
        raise empty_file_error(path, table)
    if run_column is not None and run_column not in table.columns:
        raise RunFileError(path, f"has no column {run_column!r}; it has {list_columns(table.columns)}")
    columns = [column for column in table.columns if column != run_column]
    matched = match_columns(path, columns, mapping, ours=table.ours_by_name)
    if "question" not in matched:
        there = list_columns(table.columns)
        how = _option(table, {"question": _likely_question(table, matched)})
        raise RunFileError(path, f"no column is read as the question; it has {there}: {how}")
    unclear = unclear_answer(columns, mapping, ours=table.ours_by_name)
    if unclear:
        raise RunFileError(path, _which_answer(table, unclear, {*matched, *mapping}))
    return matched


def _likely_question(table: Table, matched: Mapping[str, str]) -> str:
    """Return the column of a conversation, or the path into an object, that looks like the question; else `COLUMN`."""
    free = [column for column in table.columns if column not in matched.values()]
    found = suggested_fields(table, matched, free)
    talk = next((column for column, field in found.items() if field == "question"), "")
    row = next((row.cells for row in table.rows if isinstance(row, RawRow)), {})
    inside = (
        f"{column}.{key}"
        for column in free
        for key, value in as_object(decode_json(row.get(column))).items()
        if key in FIELDS["question"] and isinstance(value, str)
    )
    return talk or next(inside, "COLUMN")


def _which_answer(table: Table, unclear: Sequence[str], mapped: Collection[str]) -> str:
    """Return the message for two columns that could be the answer, with the options to choose from."""
    answer, other = unclear[:2]
    both = ({"answer": other, "reference": answer}, {"answer": answer, "reference": other})
    ways = [_option(table, {name: column for name, column in way.items() if name not in mapped}) for way in both]
    beside = ", ".join(repr(column) for column in unclear[1:])
    return f"columns {answer!r} and {beside} could each be the answer or the reference; choose with {' or '.join(ways)}"


def _option(table: Table, mapping: Mapping[str, str]) -> str:
    """A mapping as the user writes it: `mapping=...` in Python (empty becomes None), `--map` on the command line."""
    if table.kind == "memory":
        return f"mapping={ {field: column or None for field, column in mapping.items()} }"
    return " ".join(f"--map {quote(f'{field}={column}')}" for field, column in mapping.items())


def require_samples(path: Path, table: Table, matched: Mapping[str, str], rows: RowNotes) -> None:
    """Raise RunFileError if no row could be read, or every passage is a file name or an address instead of a text."""
    if len(rows.dropped) == rows.rows:
        first = rows.dropped[0]
        raise RunFileError(
            path, f"no row can be read; the first error: {first.message}", line=first.line, field=first.field
        )
    if rows.first_name and not rows.has_text:
        raise RunFileError(
            path,
            f"column {matched['contexts']!r} holds file names or addresses ({rows.first_name[:60]!r}), not the texts of"
            " the passages: add a column with the texts",
            field="contexts",
            remedy=f", or leave it out with {_option(table, {'contexts': ''})}",
        )


def report_notes(
    table: Table,
    matched: Mapping[str, str],
    other: Sequence[str],
    scores: ScoreColumns | None,
    rows: RowNotes,
    outcomes: Iterable[Mapping[str, Outcome]],
) -> Iterator[str]:
    """Yield the notes of the report on columns, ids and scores. `outcomes`: the file's scores of its samples."""
    yield from table.notes
    absent = [shown for shown in SHOWN if shown not in matched]
    if table.tool:
        yield from (f"the file has no {MEANT[shown]}" for shown in absent)
        yield from tool_notes(table.tool)
        if rows.derived_ids:
            yield _derived(rows.derived_ids)
        return
    yield from (f"no {shown} found in the file" for shown in absent)
    if other:
        yield f"kept as metadata: {list_columns(other)}"
    if rows.derived_ids:
        yield _derived(rows.derived_ids)
    if scores:
        yield f"scores by {scores.tool}, kept next to ragboard's own: {', '.join(scores.columns.values())}"
    elif table.totals:
        yield "the file's table of means was left out: the file has no scores of single samples"
    odd = disagreeing(table.totals, outcomes)
    if odd and not rows.dropped:
        yield f"the file's table of means does not match its samples' scores: {', '.join(odd)}"


def _suggestions(table: Table, matched: Mapping[str, str], other: Sequence[str]) -> Iterator[str]:
    for column, meant in suggested_fields(table, matched, other).items():
        how = _option(table, {meant: column})
        yield f"column {column!r} looks like {SUGGESTED_FIELDS[meant]}: to read it that way, {how}"
    rows = (row.cells for row in table.rows[:GRADED_ROWS] if isinstance(row, RawRow))
    if table.kind != "memory" and not set(other).isdisjoint(GRADES) and any(map(human_grades, rows)):
        yield "it has human grades: to compare metrics with them, `ragboard agree FILE`"


def _split_suggestion(table: Table, column: str) -> str:
    how = f"run_column={column!r}" if table.kind == "memory" else f"--run-column {quote(column)}"
    return f"each question has one answer for each {column!r}: to read these as several runs, {how}"


def column_of_answers(questions: Sequence[str], metadata: Sequence[Mapping[str, JsonValue]]) -> str | None:
    """Return the metadata column that tells the answers to a question apart, such as the model; None if none does.

    Each sample has its question and its metadata. Each of the column's 2 to 20 values has at most one answer to a
    question, and most questions have several answers. Of several columns, the one with the fewest values.
    """
    if 2 * sum(count > 1 for count in Counter(questions).values()) <= len(set(questions)):
        return None
    found: dict[str, int] = {}
    for column in metadata[0]:
        values = [cells.get(column) for cells in metadata]
        if not all(isinstance(value, (str, int, float)) and str(value).strip() for value in values):
            continue
        names = [str(value) for value in values]
        if 2 <= len(set(names)) <= MAX_VARIANTS and len(set(zip(questions, names, strict=True))) == len(names):
            found[column] = len(set(names))
    return min(found, key=found.__getitem__, default=None)


def splitting_column(runs: Sequence[Run]) -> str | None:
    """Return the metadata column by which the only run looks like several runs over the same questions; else None."""
    if len(runs) != 1:
        return None
    samples = runs[0].samples
    return column_of_answers([question_key(sample) for sample in samples], [sample.metadata for sample in samples])


def _derived(count: int) -> str:
    if count == 1:
        return "1 sample without an id got one from its question"
    return f"{count} samples without an id got one from their question"


def suggested_fields(table: Table, matched: Mapping[str, str], free: Sequence[str]) -> dict[str, str]:
    """Return the columns among `free` that look like a field that no column was read as, with that field.

    Lists of texts look like `contexts`, and so do texts in a column with a name such as `retrieved`. Messages look like
    `history`; or like `question`, if they include the sample's question or no column is matched to the question. Looks
    at the first `MAX_SEARCHED_ROWS` rows.
    """
    rows = [row.cells for row in table.rows[:MAX_SEARCHED_ROWS] if isinstance(row, RawRow)]
    found: dict[str, str] = {}
    if "contexts" not in matched:
        found |= {column: "contexts" for column in free if _may_be_passages(column, [row.get(column) for row in rows])}
    if "history" in matched:
        return found
    for column in free:
        talks = [(row, messages) for row in rows if (messages := messages_in(column, row.get(column)))]
        if talks:
            asked = matched.get("question")
            whole = asked is None or any(str(row.get(asked)).strip() in messages for row, messages in talks)
            found[column] = "question" if whole else "history"
    return found


def _may_be_passages(column: str, cells: Sequence[object]) -> bool:
    named = column.casefold().replace("_", "").replace(" ", "") in PASSAGE_NAMES
    return _are_texts(cells) or (named and all(len(str(cell).split()) >= MIN_PASSAGE_WORDS for cell in cells if cell))


def _are_texts(cells: Sequence[object]) -> bool:
    """Return whether most cells are lists of texts, as long as sentences."""
    lists = [cast("list[object]", cell) for cell in cells if isinstance(cell, list) and cell]
    texts = [item for cell in lists for item in cell]
    return 2 * len(lists) > len(cells) and all(
        isinstance(text, str) and len(text.split()) >= MIN_PASSAGE_WORDS for text in texts
    )


def _lay_out(path: Path, table: Table, known: Format | None, matched: Mapping[str, str]) -> _Layout:
    """Return the table with one row a sample and passages as lists.

    Raises RunFileError if rows of one sample differ.
    """
    if known and known.passage_rows and matched.get("contexts") == known.passage_rows.text:
        return _one_row_a_sample(path, table, known.passage_rows, matched)
    if known and known.joined:
        columns = {field: matched[field] for field in ("contexts", "reference_contexts") if field in matched}
        rows = tuple(_split(row, columns, known.joined) for row in table.rows)
        return _Layout(table=replace(table, rows=rows))
    return _Layout(table=table)


def _split(row: RawRow | BadRow, columns: Mapping[str, str], joined: str) -> RawRow | BadRow:
    """Split passages that a CSV joined into one text; a bad row if it is unclear where to split."""
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
            return BadRow(line=row.line, message=message, location=".".join(filter(None, (row.location, name))))
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
    rest = {"id": row.cells.get(names.id), "score": None if math.isnan(score) else score}
    return {"text": row.cells[names.text], **{key: value for key, value in rest.items() if value is not None}}


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
    """Read every row. Raises RunFileError at the first bad row, unless `skip_bad`."""
    reading = _Reading()
    ids: dict[str | None, SampleIds] = {}
    if table.run:
        reading.notes.add_conversions(table.run.line, table.run.notes)
    for row in table.rows:
        found = read_row(path, row, matched, reading.notes, scores=scores, run_column=run_column, skip_bad=skip_bad)
        if found is None:
            continue
        group, sample = found
        sample_id = unique_id(sample, ids.setdefault(group, SampleIds()), row.line, reading.notes)
        reading.samples.setdefault(group, []).append(replace(sample, id=sample_id))
        if isinstance(row, RawRow) and row.of_tool:
            reading.of_tool.setdefault(group, []).append(row.of_tool)
        elif scores and isinstance(row, RawRow):
            reading.scores.setdefault(group, []).append(scores.outcomes(row.cells))
    return reading


def read_row(
    path: Path,
    row: RawRow | BadRow,
    matched: Mapping[str, str],
    rows: RowNotes,
    *,
    scores: ScoreColumns | None = None,
    run_column: str | None = None,
    skip_bad: bool = False,
) -> tuple[str | None, Sample] | None:
    """Return the sample of a row, without an id if it has none, and its run; note what the report says of it in `rows`.

    For a bad row, return None with `skip_bad`, else raise RunFileError.
    """
    rows.rows += 1
    notes: list[str] = []
    try:
        if isinstance(row, BadRow):
            raise BadCellError("", row.message)  # noqa: TRY301 - bad rows and bad cells are reported alike
        rest = replace(row, cells=scores.rest(row.cells)) if scores else row
        group, sample = _sample(rest, matched, run_column, notes.append)
    except BadCellError as error:
        location = ".".join(filter(None, (row.location, error.field))) or None
        if not skip_bad:
            raise RunFileError(path, str(error), line=row.line, field=location) from error
        rows.dropped.append(RowNote(line=row.line, field=location, message=str(error)))
        return None
    rows.add(row.line, sample, notes)
    return group, sample


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
    metadata = _metadata(row, matched, run_column, note)
    sample = Sample(
        id="" if given is None else str(given).strip(),
        question=question.question,
        answer=answer,
        contexts=contexts,
        reference=reference,
        reference_contexts=None
        if reference_passages is None
        else tuple(reference_passage.text for reference_passage in reference_passages),
        history=(*history, *question.before),
        nuggets=read_nuggets("nuggets", cells.get("nuggets"), note),
        time=read_time(metadata),
        metadata=metadata,
    )
    try:
        read_file_verdicts(sample)
    except UnusableError as error:
        raise BadCellError(error.column, str(error)) from error
    return _group(row, run_column), sample


def _group(row: RawRow, run_column: str | None) -> str | None:
    if run_column is None:
        return row.of_tool.run if row.of_tool and row.of_tool.run else None
    value = row.cells.get(run_column)
    if value is None or not isinstance(value, (str, int, float)) or not str(value).strip():
        raise BadCellError(run_column, "is empty or a list, expected the name of a run")
    return str(value)


def _answer(value: JsonValue, asked: Conversation, note: Note) -> str | None:
    """Return the answer; without one, the reply that ends the conversation."""
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
            note("metadata: a key has the name of a column; its value was taken instead of the column's")
        return {**found, **inner}
    return found if merged is None else {**found, "metadata": merged}


def _kept(column: str, cell: JsonValue, note: Note) -> JsonValue:
    """Return a CSV cell that is kept as metadata."""
    return read_ids(cell, note) if column in ID_LISTS else _number(cell)


def _number(cell: JsonValue) -> JsonValue:
    """Return a CSV cell as a number, if that number is written with the same text; else the text."""
    for kind in (int, float):
        try:
            number = kind(str(cell))
        except ValueError:
            continue
        if str(number) == cell and abs(number) != math.inf:
            return number
    return cell


def unique_id(sample: Sample, ids: SampleIds, line: int, rows: RowNotes) -> str:
    """Return a unique id for a sample, and note where it is not the id that the file gives."""
    if not sample.id:
        rows.derived_ids += 1
        return ids.derive(question_key(sample))
    assigned = ids.assign(sample.id)
    if assigned != sample.id:
        rows.renamed.append(Renamed(line=line, given=sample.id, assigned=assigned))
    return assigned
