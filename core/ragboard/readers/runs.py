"""Turn a table into runs with one sample per row, and report what was read, converted, renamed and dropped."""

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
    OnNote,
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
from ragboard.readers.labels import GRADE_COLUMNS, human_grades
from ragboard.readers.paths import with_paths
from ragboard.readers.report import Coerced, ColumnUse, DroppedRow, ImportReport, ReadResult, Renamed
from ragboard.readers.scores import ScoreColumns, file_scores, inconsistent_means
from ragboard.readers.tables import BadRow, RawRow, Table
from ragboard.readers.tools import tool_notes, tool_scores
from ragboard.records import JsonValue, Outcome, Run, Sample

__all__ = [
    "MAIN_FIELDS",
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
SEARCHED_GRADE_ROWS = 20
"""Number of rows that are searched for human grades."""
MAX_VARIANTS = 20
"""Maximum number of values of a column that distinguishes the answers to a question."""
MIN_PASSAGE_WORDS = 4
"""Minimum number of words of a text that may be a passage."""
PASSAGE_NAMES = frozenset(
    f"{before}{what}{after}"
    for before in ("", "retrieved", "search")
    for what in ("retrieved", "retrieval", "text", "chunk", "doc", "document", "result", "snippet", "evidence")
    for after in ("", "s")
)
"""Column names, without underscores, that may mean passages. Columns with a name in `FIELDS` certainly do."""
SUGGESTED_FIELDS = {
    "contexts": "the retrieved passages",
    "history": "earlier turns",
    "question": "a conversation that ends with the question",
}
"""What a column that looks like a field seems to have, by field."""
MAIN_FIELDS = {"question": "question", "answer": "answer", "contexts": "passages", "reference": "reference answer"}
"""The fields that reports list as missing, with their name in sentences."""
MAX_LISTED_LINES = 5
AMBIGUOUS = re.compile(r"\s\||\|\s|\|\||^\||\|$")
"""Matches a | that may not be a separator, but part of a passage, such as a table."""
ID_LISTS = frozenset({"reference_context_ids", "retrieved_context_ids"})
"""Columns with lists of ids; in a CSV, these lists are text."""


@dataclass(frozen=True, kw_only=True)
class _SampleTable:
    """A table with one row for each sample, which has its passages as a list in one cell."""

    table: Table
    merged_columns: frozenset[str] = frozenset()
    """Columns that were merged into the passages: their id, score and order."""
    dropped_columns: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


@dataclass
class RowNotes:
    """What the import report says about the rows of a table, collected while they are read."""

    rows_read: int = 0
    dropped: list[DroppedRow] = field(default_factory=list[DroppedRow])
    renamed: list[Renamed] = field(default_factory=list[Renamed])
    derived_ids: int = 0
    has_text: bool = False
    """Whether any passage is text. If not, all are file names or URLs."""
    first_passage: str = ""
    """The first passage, to quote in an error if all are file names or URLs."""
    _coerced: dict[str, tuple[int, tuple[int, ...]]] = field(default_factory=dict[str, "tuple[int, tuple[int, ...]]"])
    """The count and the first lines of each conversion, by its description."""

    def add(self, line: int, sample: Sample, notes: Sequence[str]) -> None:
        """Add a sample and the conversions that were made to read it."""
        self.add_conversions(line, notes)
        if not self.has_text:
            texts = [passage.text for passage in sample.contexts or () if passage.text.strip()]
            self.has_text = len(texts) > notes.count(f"contexts: {NAMES_ONLY}")
            self.first_passage = self.first_passage or next(iter(texts), "")

    def add_conversions(self, line: int, notes: Iterable[str]) -> None:
        """Add the conversions on a line."""
        for what in notes:
            self._add_conversion(what, 1, (line,))

    def merge(self, other: RowNotes) -> None:
        """Add the notes on later rows of the same table."""
        self.rows_read += other.rows_read
        self.dropped += other.dropped
        self.renamed += other.renamed
        self.derived_ids += other.derived_ids
        self.has_text = self.has_text or other.has_text
        self.first_passage = self.first_passage or other.first_passage
        for what, (count, lines) in other._coerced.items():
            self._add_conversion(what, count, lines)

    def _add_conversion(self, what: str, count: int, lines: tuple[int, ...]) -> None:
        before, first = self._coerced.get(what, (0, ()))
        if len(first) < MAX_LISTED_LINES:
            first = tuple(dict.fromkeys((*first, *lines)))[:MAX_LISTED_LINES]
        self._coerced[what] = (before + count, first)

    @property
    def coerced(self) -> tuple[Coerced, ...]:
        """The conversions, in the order in which they first occurred."""
        return tuple(Coerced(what=what, count=count, lines=lines) for what, (count, lines) in self._coerced.items())


@dataclass
class _RowsByRun:
    """The samples of a table by name of their run (None if the rows do not name it), and the notes on the rows."""

    notes: RowNotes = field(default_factory=RowNotes)
    samples: dict[str | None, list[Sample]] = field(default_factory=dict[str | None, list[Sample]])
    scores: dict[str | None, list[dict[str, Outcome]]] = field(
        default_factory=dict[str | None, list[dict[str, Outcome]]]
    )
    """The scores in the file of the same samples, in the same order."""
    tool_samples: dict[str | None, list[ToolSample]] = field(default_factory=dict[str | None, list[ToolSample]])
    """The same samples with the scores and verdicts of another tool's file."""


@dataclass
class SampleIds(UniqueIds):
    """The unique ids of the samples of one run."""

    questions: Counter[bytes] = field(default_factory=Counter[bytes])
    """How often each question with its history occurred, by their digest."""

    def derive(self, key: str) -> str:
        """Return an id for a sample without one: a digest of its `question_key` and how often it occurred so far."""
        digest = blake2b(key.encode(), digest_size=16).digest()
        self.questions[digest] += 1
        return self.assign(blake2b(f"{key}{self.questions[digest]}".encode(), digest_size=6).hexdigest())


def question_key(sample: Sample) -> str:
    """Return the question and history of a sample as one text, to compare and count them."""
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
    """Return the runs of a table: copies of `base` with samples, one run for each value of `run_column`.

    - `path`: the name of the file in errors and in the report.
    - `prefixed`: name the runs `BASE/VALUE` instead of `VALUE`.
    - `skip_bad`: skip rows that cannot be read.

    Raises RunFileError if a row cannot be read, if no row is left, or if it is unclear which columns to read.
    """
    known = None if table.tool else format_of(table.columns)
    table = with_paths(path, table, mapping)
    if known and known.refused:
        raise RunFileError(path, f"is a {known.name} file: it {known.refused}")
    matched = match_table(path, table, mapping, run_column)
    by_sample = _one_row_per_sample(path, table, known, matched)
    free = [column for column in table.columns if column not in matched.values() and column != run_column]
    rows = [row.cells for row in table.rows if isinstance(row, RawRow)]
    scores = known.scores(free, rows) if known and not table.ours else None
    reading = _read_rows(path, by_sample.table, matched, scores=scores, run_column=run_column, skip_bad=skip_bad)
    require_samples(path, table, matched, reading.notes)
    file_format = format_of_table(table)
    runs: list[Run] = []
    for name, samples in reading.samples.items():
        if table.tool:
            file = tool_scores(table.tool, file_format, reading.tool_samples[name])
        else:
            file = file_scores(file_format, scores, reading.scores.get(name, ()))
        run = replace(base, samples=tuple(samples), scores=file)
        if name is not None:
            config = {run_column: name} if run_column else table.tool.configs.get(name, {}) if table.tool else {}
            run = replace(run, name=f"{base.name}/{name}" if prefixed else name, config={**base.config, **config})
        runs.append(run)
    used = {
        *matched.values(),
        run_column,
        *by_sample.merged_columns,
        *by_sample.dropped_columns,
        *(scores.file_columns if scores else ()),
    }
    other = [column for column in table.columns if column not in used]
    outcomes = (row for rows in reading.scores.values() for row in rows)
    notes = (*by_sample.notes, *report_notes(table, matched, other, scores, reading.notes, outcomes))
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
    row_notes: RowNotes,
    notes: Sequence[str],
    *,
    rows_read: int,
) -> ImportReport:
    """Return the import report of a file. `other` are the columns kept as metadata.

    `table` may have only the first rows of the file; `rows_read` is the number of all rows.
    """
    return ImportReport(
        path=storable(path.name),
        format=format_of_table(table),
        encoding=table.encoding,
        rows_read=rows_read,
        columns=_column_uses(table, matched, run_column),
        dropped=tuple(row_notes.dropped),
        coerced=row_notes.coerced,
        duplicated=tuple(row_notes.renamed),
        notes=tuple(notes),
        suggestions=tuple(_suggestions(table, matched, other)),
    )


def format_of_table(table: Table) -> str:
    """Return the format and kind of the file: `DeepEval test run 4.3.1 (JSON)`."""
    if table.tool:
        return f"{table.format} ({table.kind})"
    return format_name(table.columns, table.kind, ours=table.ours)


def _column_uses(table: Table, matched: Mapping[str, str], run_column: str | None) -> tuple[ColumnUse, ...]:
    if table.tool:
        return tuple(ColumnUse(column=path, field=use) for path, use in table.tool.fields.items())
    return column_uses(table.columns, {**matched, **({"run": run_column} if run_column else {})})


def empty_file_error(path: Path, table: Table) -> RunFileError:
    """Return the error of the first bad row, or that the file is empty."""
    first = next((row for row in table.rows if isinstance(row, BadRow)), None)
    if first:
        return RunFileError(path, first.message, line=first.line, field=first.location or None)
    return RunFileError(path, "is empty, expected samples")


def match_table(path: Path, table: Table, mapping: Mapping[str, str | None], run_column: str | None) -> dict[str, str]:
    """Return the column of each field. Raises RunFileError without a question, or if two columns may be the answer."""
    if not table.rows or not table.columns:
        raise empty_file_error(path, table)
    if run_column is not None and run_column not in table.columns:
        raise RunFileError(path, f"has no column {run_column!r}; it has {list_columns(table.columns)}")
    columns = [column for column in table.columns if column != run_column]
    matched = match_columns(path, columns, mapping, ours=table.has_field_names)
    if "question" not in matched:
        columns_text = list_columns(table.columns)
        option = _option(table, {"question": _likely_question(table, matched)})
        raise RunFileError(
            path, f"no column has the name of the question; it has {columns_text}; choose one with {option}"
        )
    unclear = unclear_answer(columns, mapping, ours=table.has_field_names)
    if unclear:
        raise RunFileError(path, _unclear_answer_message(table, unclear, {*matched, *mapping}))
    return matched


def _likely_question(table: Table, matched: Mapping[str, str]) -> str:
    """Return a column or path that looks like the question, for an error message; `COLUMN` if there is none."""
    free = [column for column in table.columns if column not in matched.values()]
    found = suggested_fields(table, matched, free)
    conversation = next((column for column, field in found.items() if field == "question"), "")
    row = next((row.cells for row in table.rows if isinstance(row, RawRow)), {})
    inside = (
        f"{column}.{key}"
        for column in free
        for key, value in as_object(decode_json(row.get(column))).items()
        if key in FIELDS["question"] and isinstance(value, str)
    )
    return conversation or next(inside, "COLUMN")


def _unclear_answer_message(table: Table, unclear: Sequence[str], mapped: Collection[str]) -> str:
    """Return an error message about columns that may be the answer, with the options to choose between them."""
    answer, other = unclear[:2]
    choices = ({"answer": other, "reference": answer}, {"answer": answer, "reference": other})
    options = [
        _option(table, {name: column for name, column in mapping.items() if name not in mapped}) for mapping in choices
    ]
    others = ", ".join(repr(column) for column in unclear[1:])
    return (
        f"columns {answer!r} and {others} could each be the answer or the reference; choose with {' or '.join(options)}"
    )


def _option(table: Table, mapping: Mapping[str, str]) -> str:
    """Return a mapping as users write it: `mapping=...` for rows in memory, `--map` options for a file.

    An empty column means that the field stays empty.
    """
    if table.kind == "memory":
        return f"mapping={ {field: column or None for field, column in mapping.items()} }"
    return " ".join(f"--map {quote(f'{field}={column}')}" for field, column in mapping.items())


def require_samples(path: Path, table: Table, matched: Mapping[str, str], row_notes: RowNotes) -> None:
    """Raise RunFileError if no row could be read, or if all passages are file names or URLs instead of texts."""
    if len(row_notes.dropped) == row_notes.rows_read:
        first = row_notes.dropped[0]
        raise RunFileError(
            path, f"no row can be read; the first error: {first.message}", line=first.line, field=first.field
        )
    if row_notes.first_passage and not row_notes.has_text:
        raise RunFileError(
            path,
            f"column {matched['contexts']!r} has file names or URLs ({row_notes.first_passage[:60]!r}), not the texts"
            " of the passages: add a column with the texts",
            field="contexts",
            remedy=f", or import the run without passages: {_option(table, {'contexts': ''})}",
        )


def report_notes(
    table: Table,
    matched: Mapping[str, str],
    other: Sequence[str],
    scores: ScoreColumns | None,
    row_notes: RowNotes,
    outcomes: Iterable[Mapping[str, Outcome]],
) -> Iterator[str]:
    """Yield the report's notes on columns, ids and scores. `outcomes` are the scores in the file, by sample."""
    yield from table.notes
    absent = [field for field in MAIN_FIELDS if field not in matched]
    if table.tool:
        yield from (f"the file has no {MAIN_FIELDS[field]}" for field in absent)
        yield from tool_notes(table.tool)
        if row_notes.derived_ids:
            yield _derived_ids_note(row_notes.derived_ids)
        return
    yield from (f"no {field} found in the file" for field in absent)
    if other:
        yield f"kept as metadata: {list_columns(other)}"
    if row_notes.derived_ids:
        yield _derived_ids_note(row_notes.derived_ids)
    if scores:
        yield f"scores by {scores.tool}, kept next to ragboard's scores: {', '.join(scores.columns.values())}"
    elif table.means:
        yield "the means in the file were dropped, because it has no scores of samples"
    inconsistent = inconsistent_means(table.means, outcomes)
    if inconsistent and not row_notes.dropped:
        yield f"these means in the file differ from the means of its scores: {', '.join(inconsistent)}"


def _suggestions(table: Table, matched: Mapping[str, str], other: Sequence[str]) -> Iterator[str]:
    for column, name in suggested_fields(table, matched, other).items():
        option = _option(table, {name: column})
        yield f"column {column!r} looks like {SUGGESTED_FIELDS[name]}; to read it as {name}: {option}"
    rows = (row.cells for row in table.rows[:SEARCHED_GRADE_ROWS] if isinstance(row, RawRow))
    if table.kind != "memory" and not set(other).isdisjoint(GRADE_COLUMNS) and any(map(human_grades, rows)):
        yield "the file has human grades; to compare metrics with them: ragboard agree FILE"


def _split_suggestion(table: Table, column: str) -> str:
    option = f"run_column={column!r}" if table.kind == "memory" else f"--run-column {quote(column)}"
    return f"each question has one answer for each value of {column!r}; to read one run for each value: {option}"


def column_of_answers(questions: Sequence[str], metadata: Sequence[Mapping[str, JsonValue]]) -> str | None:
    """Return the metadata column, such as the model, whose values could each be a run; None if there is none.

    The arguments have one element for each sample. Most questions must have several answers, and a value of the column
    at most one answer to each question. Of several columns, returns the one with the fewest values (2 to 20).
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
    """Return the metadata column that could split a single run into several; None if there is none."""
    if len(runs) != 1:
        return None
    samples = runs[0].samples
    return column_of_answers([question_key(sample) for sample in samples], [sample.metadata for sample in samples])


def _derived_ids_note(count: int) -> str:
    if count == 1:
        return "1 sample without an id: its id is derived from its question"
    return f"{count} samples without an id: their ids are derived from their questions"


def suggested_fields(table: Table, matched: Mapping[str, str], free: Sequence[str]) -> dict[str, str]:
    """Return the unused columns (`free`) that look like a field without a column, with that field.

    - `contexts`: lists of texts, or texts in a column with a name such as `retrieved`.
    - `question`: messages that include the question of their sample, or all messages if no column is the question.
    - `history`: other messages.

    Only the first `MAX_SEARCHED_ROWS` rows are checked.
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
            question = matched.get("question")
            has_question = question is None or any(
                str(row.get(question)).strip() in messages for row, messages in talks
            )
            found[column] = "question" if has_question else "history"
    return found


def _may_be_passages(column: str, cells: Sequence[object]) -> bool:
    named = column.casefold().replace("_", "").replace(" ", "") in PASSAGE_NAMES
    return _are_texts(cells) or (named and all(len(str(cell).split()) >= MIN_PASSAGE_WORDS for cell in cells if cell))


def _are_texts(cells: Sequence[object]) -> bool:
    """Return whether most cells are lists of texts that are as long as sentences."""
    lists = [cast("list[object]", cell) for cell in cells if isinstance(cell, list) and cell]
    texts = [item for cell in lists for item in cell]
    return 2 * len(lists) > len(cells) and all(
        isinstance(text, str) and len(text.split()) >= MIN_PASSAGE_WORDS for text in texts
    )


def _one_row_per_sample(path: Path, table: Table, known: Format | None, matched: Mapping[str, str]) -> _SampleTable:
    """Return the table with one row for each sample and passages as lists.

    Raises RunFileError if rows with the passages of one sample have different questions or answers.
    """
    if known and known.passage_rows and matched.get("contexts") == known.passage_rows.text:
        return _merge_passage_rows(path, table, known.passage_rows, matched)
    if known and known.joined:
        columns = {field: matched[field] for field in ("contexts", "reference_contexts") if field in matched}
        rows = tuple(_split(row, columns, known.joined) for row in table.rows)
        return _SampleTable(table=replace(table, rows=rows))
    return _SampleTable(table=table)


def _split(row: RawRow | BadRow, columns: Mapping[str, str], joined: str) -> RawRow | BadRow:
    """Split passages that a CSV has as one text joined by `joined`. Returns a BadRow if a passage may contain it."""
    if isinstance(row, BadRow):
        return row
    cells, notes = dict(row.cells), list(row.notes)
    for name, column in columns.items():
        cell = cells.get(column)
        if not isinstance(cell, str) or joined not in cell or cell.strip().startswith("["):
            continue
        if AMBIGUOUS.search(cell):
            message = (
                f"has passages joined by {joined}, and one may contain {joined} itself; save the file as JSON instead"
                f" (`save_as('json')`)"
            )
            return BadRow(line=row.line, message=message, location=".".join(filter(None, (row.location, name))))
        cells[column] = cell.split(joined)
        notes.append(f"{name}: split at {joined}")
    return replace(row, cells=cells, notes=tuple(notes))


def _merge_passage_rows(path: Path, table: Table, names: PassageRows, matched: Mapping[str, str]) -> _SampleTable:
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
                f"column {column!r} has several values in the rows of one sample (rows with the same {by})",
                line=different[column],
                field=name,
            )
    rows: list[RawRow | BadRow] = [_merged(group, names, {*parts, *different}) for group in groups.values()]
    notes = [f"{len(table.rows)} rows, one for each passage, read as {len(rows)} samples"]
    if different:
        notes.append(f"dropped, because they differ between the passages of a sample: {', '.join(sorted(different))}")
    ordered = tuple(sorted([*rows, *bad], key=lambda row: row.line))
    return _SampleTable(
        table=replace(table, rows=ordered),
        merged_columns=parts,
        dropped_columns=frozenset(different),
        notes=tuple(notes),
    )


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
) -> _RowsByRun:
    """Read every row. Raises RunFileError at the first bad row, unless `skip_bad`."""
    reading = _RowsByRun()
    ids: dict[str | None, SampleIds] = {}
    if table.run:
        reading.notes.add_conversions(table.run.line, table.run.notes)
    for row in table.rows:
        found = read_row(path, row, matched, reading.notes, scores=scores, run_column=run_column, skip_bad=skip_bad)
        if found is None:
            continue
        run_name, sample = found
        sample_id = unique_id(sample, ids.setdefault(run_name, SampleIds()), row.line, reading.notes)
        reading.samples.setdefault(run_name, []).append(replace(sample, id=sample_id))
        if isinstance(row, RawRow) and row.tool_sample:
            reading.tool_samples.setdefault(run_name, []).append(row.tool_sample)
        elif scores and isinstance(row, RawRow):
            reading.scores.setdefault(run_name, []).append(scores.outcomes(row.cells))
    return reading


def read_row(
    path: Path,
    row: RawRow | BadRow,
    matched: Mapping[str, str],
    row_notes: RowNotes,
    *,
    scores: ScoreColumns | None = None,
    run_column: str | None = None,
    skip_bad: bool = False,
) -> tuple[str | None, Sample] | None:
    """Return the run's name and the sample of a row, and add the notes on the row to `row_notes`.

    The name is None if the row does not name its run; the id of the sample is empty if the row has no id. For a bad
    row, returns None with `skip_bad`, else raises RunFileError.
    """
    row_notes.rows_read += 1
    notes: list[str] = []
    try:
        if isinstance(row, BadRow):
            raise BadCellError("", row.message)  # noqa: TRY301 - bad rows and bad cells are reported alike
        rest = replace(row, cells=scores.without_scores(row.cells)) if scores else row
        run_name, sample = _sample(rest, matched, run_column, notes.append)
    except BadCellError as error:
        location = ".".join(filter(None, (row.location, error.field))) or None
        if not skip_bad:
            raise RunFileError(path, str(error), line=row.line, field=location) from error
        row_notes.dropped.append(DroppedRow(line=row.line, field=location, message=str(error)))
        return None
    row_notes.add(row.line, sample, notes)
    return run_name, sample


def _sample(row: RawRow, matched: Mapping[str, str], run_column: str | None, note: OnNote) -> tuple[str | None, Sample]:
    for what in row.notes:
        note(what)
    cells = {name: row.cells.get(column) for name, column in matched.items()}
    question = read_question(cells.get("question"), note)
    given = cells.get("id")
    if given is not None and not isinstance(given, (str, int, float)):
        raise BadCellError("id", "got a list or an object, expected text or a number")
    answer = _answer(cells.get("answer"), question, note)
    contexts = read_passages("contexts", cells.get("contexts"), note, lists_as_text=row.lists_as_text)
    reference = read_reference(cells.get("reference"), note, lists_as_text=row.lists_as_text)
    reference_passages = read_passages(
        "reference_contexts", cells.get("reference_contexts"), note, lists_as_text=row.lists_as_text
    )
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
        time=(row.tool_sample.time if row.tool_sample else None) or read_time(metadata),
        metadata=metadata,
    )
    try:
        read_file_verdicts(sample)
    except UnusableError as error:
        raise BadCellError(error.column, str(error)) from error
    return _run_name(row, run_column), sample


def _run_name(row: RawRow, run_column: str | None) -> str | None:
    if run_column is None:
        return row.tool_sample.run if row.tool_sample and row.tool_sample.run else None
    value = row.cells.get(run_column)
    if value is None or not isinstance(value, (str, int, float)) or not str(value).strip():
        raise BadCellError(run_column, "is empty or a list, expected the name of a run")
    return str(value)


def _answer(value: JsonValue, asked: Conversation, note: OnNote) -> str | None:
    """Return the answer; if the cell is empty, the last reply in the conversation after the question."""
    answer = read_answer(value, note)
    replies = [turn.text for turn in asked.after if turn.role == "assistant"]
    if answer is None and replies:
        note("answer: read from the last reply of the conversation")
        return replies[-1]
    if asked.after:
        note("question: later messages dropped")
    return answer


def _metadata(row: RawRow, matched: Mapping[str, str], run_column: str | None, note: OnNote) -> dict[str, JsonValue]:
    used = {*matched.values(), run_column}
    found = {
        column: _metadata_value(column, cell, note) if row.lists_as_text else cell
        for column, cell in row.cells.items()
        if column not in used and cell is not None
    }
    merged = row.cells.get(matched.get("metadata", ""))
    if isinstance(merged, Mapping):
        inner = {key: value for key, value in merged.items() if value is not None}
        if inner.keys() & found.keys():
            note("metadata: a key has the name of a column; the value of the key was kept")
        return {**found, **inner}
    return found if merged is None else {**found, "metadata": merged}


def _metadata_value(column: str, cell: JsonValue, note: OnNote) -> JsonValue:
    """Return the value of a CSV cell for the metadata."""
    return read_ids(cell, note) if column in ID_LISTS else _number(cell)


def _number(cell: JsonValue) -> JsonValue:
    """Return a CSV cell as a number if the number is written back as the same text, else the text."""
    for kind in (int, float):
        try:
            number = kind(str(cell))
        except ValueError:
            continue
        if str(number) == cell and abs(number) != math.inf:
            return number
    return cell


def unique_id(sample: Sample, ids: SampleIds, line: int, row_notes: RowNotes) -> str:
    """Return a unique id for a sample, and add a note to `row_notes` if it differs from the id in the file."""
    if not sample.id:
        row_notes.derived_ids += 1
        return ids.derive(question_key(sample))
    assigned = ids.assign(sample.id)
    if assigned != sample.id:
        row_notes.renamed.append(Renamed(line=line, given=sample.id, assigned=assigned))
    return assigned
