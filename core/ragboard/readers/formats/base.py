"""How to recognise and read the files of other tools.

A `Format` describes a table of samples. A `FileFormat` reads any other file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from ragboard.readers.scores import FileRow, ScoreColumns
from ragboard.records import Direction, JsonValue, Outcome, RecordedSample, Side, Statement, Verdict
from ragboard.text.quotes import locate

__all__ = ["FileFormat", "Format", "ParsedFile", "PassageRows", "ToolFile", "ToolSample", "statements_of"]


@dataclass(frozen=True, kw_only=True)
class ParsedFile:
    """A file, from which a format can read samples."""

    path: Path
    kind: str
    """JSON, JSONL, CSV, TSV, Parquet, SQLite, zip or protobuf."""
    value: Any = None
    """The value of a JSON file, or the rows of a table as mappings by column. None for SQLite, zip and protobuf, which
    the format opens."""
    lines: Sequence[int] = ()
    """The line of each row; empty if rows have no lines."""
    lines_by_key: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    """For a JSON object: the lines of the elements of each list in it, and the line where any other value begins."""

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The rows; empty for a JSON value that is not a list of objects."""
        value = cast("list[Any]", self.value) if isinstance(self.value, list) else []
        return value if all(isinstance(row, dict) for row in value) else []

    @cached_property
    def columns(self) -> frozenset[str]:
        """The keys of the first rows, or of the JSON object."""
        return frozenset(self.value) if isinstance(self.value, dict) else frozenset().union(*self.rows[:20])

    def line(self, index: int) -> int:
        """Return the line of a row; if rows have no lines, the number of the row."""
        return self.lines[index] if index < len(self.lines) else index + 1

    def line_in(self, key: str, index: int) -> int:
        """Return the line of an item of the list under a key; for any other value, the line where it begins."""
        lines = self.lines_by_key.get(key) or (1,)
        return lines[index] if index < len(lines) else lines[0]


NOTHING_RECORDED = RecordedSample()


@dataclass(frozen=True, kw_only=True)
class ToolSample:
    """A sample of another tool's file."""

    cells: Mapping[str, JsonValue]
    """Values by field of a sample, as in ragboard's run files; None if missing. Passages are texts, or objects with
    text, id and score; `history` is a list of messages; `metadata` is an object with other data."""
    line: int
    location: str = ""
    """The location of the sample in a JSON file: `testCases[3]`."""
    run: str = ""
    """Name of the run; empty if a file of this format has a single run."""
    scores: Mapping[str, Outcome] = field(default_factory=dict[str, Outcome])
    """The tool's scores, by the name of the metric in the file."""
    time: datetime | None = None
    """When the question was asked, UTC without a time zone; None if the file has no time."""
    recorded: RecordedSample = NOTHING_RECORDED
    """Statements, verdicts and reasons of the tool's judge."""
    notes: tuple[str, ...] = ()
    """Notes for the import report on what was changed to read the sample."""


@dataclass(frozen=True, kw_only=True)
class ToolFile:
    """The samples and settings in another tool's file."""

    tool: str
    """Name of the tool: `DeepEval`."""
    samples: Sequence[ToolSample]
    version: str = ""
    """Version of the tool; empty if unknown."""
    name: str = ""
    """Name of the run; empty if unknown."""
    config: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    configs: Mapping[str, Mapping[str, JsonValue]] = field(default_factory=dict[str, Mapping[str, JsonValue]])
    """Configuration of each run, if the file has several runs."""
    judge: str = ""
    """The model that the tool used as a judge; empty if unknown."""
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """How each part of the file is used, by its path: a field of a sample, `score`, `statements`, `judgement`,
    `configuration`, `run`, `metadata`, or `left out: ...` with the reason."""
    directions: Mapping[str, Direction] = field(default_factory=dict[str, Direction])
    """Which scores of a metric are better; `higher` is the default."""
    same_as: Mapping[str, str] = field(default_factory=dict[str, str])
    """Metrics of the tool that are a share of supported statements, with the metric of ragboard that has the same
    formula. Their scores are stored as ragboard's if every score equals the share that the verdicts give."""
    notes: Sequence[str] = ()
    """Notes for the import report."""


def statements_of(
    side: Side, text: JsonValue, judged: Sequence[tuple[str, Verdict | None]]
) -> tuple[tuple[Statement, Verdict | None], ...]:
    """Return statements with their verdicts. `text` is the answer or reference; each statement is located in it."""
    source = text if isinstance(text, str) else ""
    return tuple(
        (Statement(side=side, text=statement, span=locate(statement, source)), verdict) for statement, verdict in judged
    )


@dataclass(frozen=True, kw_only=True)
class FileFormat:
    """A format that is recognised by the structure of the whole file."""

    name: str
    """The name for users: `DeepEval test run`."""
    recognises: Callable[[ParsedFile], bool]
    """Returns whether a file has this format. It checks only types, keys and the first rows, and never raises."""
    read: Callable[[ParsedFile], ToolFile]
    """Reads the samples. Raises RunFileError for a file without samples; the message says what to import instead."""


@dataclass(frozen=True, kw_only=True)
class PassageRows:
    """The columns of a table with one row for each passage."""

    sample: tuple[str, ...]
    """Columns that are the same in all rows of a sample."""
    text: str
    id: str = ""
    score: str = ""
    order: str = ""


def no_scores(_columns: Sequence[str], _rows: Sequence[FileRow]) -> ScoreColumns | None:
    """Return None: the default for tools that write no scores."""
    return None


def no_means(_rest: Mapping[str, Any]) -> dict[str, float]:
    """Return an empty dict: the default for tools that write no means."""
    return {}


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format that is recognised by its columns."""

    name: str
    """The name for users, with the version if versions differ: `ragas 0.1`."""
    columns: frozenset[str]
    """The format is recognised if the file has all of these columns."""
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """{field: column}, for column names that mean something else in other tools' files."""
    passage_rows: PassageRows | None = None
    """The columns of a table with one row for each passage; None if it has one row for each sample."""
    joined: str = ""
    """The separator between passages in one cell; empty if passages are a list."""
    refused: str = ""
    """Why such a file cannot be imported, and what to import instead; empty if it can."""
    sample_keys: tuple[str, ...] = ()
    """Keys of a JSON object under which this tool writes the samples."""
    scores: Callable[[Sequence[str], Sequence[FileRow]], ScoreColumns | None] = no_scores
    """Returns the score columns, given the columns that are not fields and all rows; None if there are none."""
    means: Callable[[Mapping[str, Any]], dict[str, float]] = no_means
    """Returns the mean of each metric in percent, given the JSON object of the whole file."""
