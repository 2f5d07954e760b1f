"""Definitions of other tools' file formats: how a file is recognised, and how it is read.

A `Format` is a table with a row for each sample. A `FileFormat` is any other file, which is read as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from ragboard.readers.scores import FileRow, ScoreColumns
from ragboard.records import Direction, JsonValue, Outcome, RecordedSample, Side, Statement, Verdict
from ragboard.text.quotes import locate

__all__ = ["FileFormat", "Format", "ParsedFile", "PassageRows", "ToolFile", "ToolSample", "statements_of"]


@dataclass(frozen=True, kw_only=True)
class ParsedFile:
    """A parsed file, before a format reads samples from it."""

    path: Path
    kind: str
    """JSON, JSONL, CSV, TSV or Parquet; SQLite, zip or protobuf, which the format opens itself."""
    value: Any = None
    """The value of a JSON file, else the rows as mappings by column; None if the format opens the file."""
    lines: Sequence[int] = ()
    """The line of each row; empty if rows have none."""
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
        """Return the line of a row; its number if rows have no lines."""
        return self.lines[index] if index < len(self.lines) else index + 1

    def line_in(self, key: str, index: int) -> int:
        """Return the line of an element of the list under a key; for another value, the line where it begins."""
        lines = self.lines_by_key.get(key) or (1,)
        return lines[index] if index < len(lines) else lines[0]


NOTHING_RECORDED = RecordedSample()


@dataclass(frozen=True, kw_only=True)
class ToolSample:
    """A sample of another tool's file."""

    cells: Mapping[str, JsonValue]
    """Values by field of a sample, as in ragboard's own run files: passages are texts, or objects with text, id and
    score; history is a list of messages; `metadata` is an object with everything else worth keeping. None: missing."""
    line: int
    location: str = ""
    """Where the sample is in a JSON file: `testCases[3]`."""
    run: str = ""
    """The run that the sample belongs to; empty if a file of the format always has only one run."""
    scores: Mapping[str, Outcome] = field(default_factory=dict[str, Outcome])
    """The tool's scores, by its name of the metric."""
    recorded: RecordedSample = NOTHING_RECORDED
    """Statements, verdicts and reasons of the tool's judge."""
    notes: tuple[str, ...] = ()
    """What was changed to read the sample, for the import report."""


@dataclass(frozen=True, kw_only=True)
class ToolFile:
    """The samples and settings in another tool's file."""

    tool: str
    """Name of the tool: `DeepEval`."""
    samples: Sequence[ToolSample]
    version: str = ""
    """Version of the tool; empty if the file does not say."""
    name: str = ""
    """Name of the run; empty if the file does not say."""
    config: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    configs: Mapping[str, Mapping[str, JsonValue]] = field(default_factory=dict[str, Mapping[str, JsonValue]])
    """Configuration of each run, if the file has several."""
    judge: str = ""
    """The model that judged; empty if the file does not say."""
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """How each part of the file is used, by its path: a field of a sample, `score`, `statements`, `judgement`,
    `configuration`, `run`, `metadata`, or `left out: ...` with the reason."""
    directions: Mapping[str, Direction] = field(default_factory=dict[str, Direction])
    """Which scores are better, by metric; `higher` if the file does not say."""
    same_as: Mapping[str, str] = field(default_factory=dict[str, str])
    """Metrics of the tool that are the share of supported statements of the answer or reference, each with the metric
    of ragboard that has the same formula. Its scores count as that metric's only if this share is the file's score for
    every sample."""
    notes: Sequence[str] = ()


def statements_of(
    side: Side, text: JsonValue, judged: Sequence[tuple[str, Verdict | None]]
) -> tuple[tuple[Statement, Verdict | None], ...]:
    """Return the statements with their verdicts, each with its span in the answer or reference if it is found there."""
    source = text if isinstance(text, str) else ""
    return tuple(
        (Statement(side=side, text=statement, span=locate(statement, source)), verdict) for statement, verdict in judged
    )


@dataclass(frozen=True, kw_only=True)
class FileFormat:
    """A format that is recognised by its structure and turned into samples as a whole."""

    name: str
    """The name for users: `DeepEval test run`."""
    recognises: Callable[[ParsedFile], bool]
    """Returns whether a file has this format. Quick: it checks only types, keys and the first rows. Never raises."""
    read: Callable[[ParsedFile], ToolFile]
    """Reads the samples. Raises RunFileError if there are none; the message says which file to import instead."""


@dataclass(frozen=True, kw_only=True)
class PassageRows:
    """The columns of a table that has a row for each passage: those of the sample, and those of the passage."""

    sample: tuple[str, ...]
    """Columns that are the same in all rows of a sample."""
    text: str
    id: str = ""
    score: str = ""
    order: str = ""


def no_scores(_columns: Sequence[str], _rows: Sequence[FileRow]) -> ScoreColumns | None:
    """Return None: no column has scores of the tool."""
    return None


def no_totals(_rest: Mapping[str, Any]) -> dict[str, float]:
    """Return an empty dict: the file has no means over all samples."""
    return {}


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format that is recognised by its columns."""

    name: str
    """The name for users, with the version if versions differ: `ragas 0.1`."""
    columns: frozenset[str]
    """The format is recognised if the file has all of these columns."""
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """The column of each field whose column name means something else in other tools."""
    passage_rows: PassageRows | None = None
    """The columns, if a row is a passage and not a sample; else None."""
    joined: str = ""
    """The separator of passages that are joined in one cell; empty if they are not."""
    refused: str = ""
    """Why such a file has no samples, and what to import instead; empty if it can be read."""
    sample_keys: tuple[str, ...] = ()
    """Keys under which a JSON object of this tool keeps its samples."""
    scores: Callable[[Sequence[str], Sequence[FileRow]], ScoreColumns | None] = no_scores
    """Finds the tool's scores among the columns that no field is read from."""
    totals: Callable[[Mapping[str, Any]], dict[str, float]] = no_totals
    """Finds the tool's means, in percent by metric, in the file outside the samples."""
