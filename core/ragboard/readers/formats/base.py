"""What a file format of another tool is: how it is recognised, and what is read from it.

A `Format` is a table with a row for each sample. A `FileFormat` is anything else, and turned into samples as a whole.
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
    """A file as parsed, before anything is read from it."""

    path: Path
    kind: str
    """JSON, JSONL, CSV, TSV, Parquet; SQLite, zip or protobuf, which a format opens by the path."""
    value: Any = None
    """The value of a JSON file, else the rows as mappings by column; None where the format opens the file."""
    lines: Sequence[int] = ()
    """The line of each row; empty where rows have none."""
    lines_by_key: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    """Of a JSON object: the lines of the elements of each list in it, and the line where any other value begins."""

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The rows; empty for a JSON value that is not a list of objects."""
        value = cast("list[Any]", self.value) if isinstance(self.value, list) else []
        return value if all(isinstance(row, dict) for row in value) else []

    @cached_property
    def columns(self) -> frozenset[str]:
        """The keys of the first rows; of a JSON object its keys."""
        return frozenset(self.value) if isinstance(self.value, dict) else frozenset().union(*self.rows[:20])

    def line(self, place: int) -> int:
        """The line of a row, or its number where rows have no line."""
        return self.lines[place] if place < len(self.lines) else place + 1

    def line_in(self, key: str, place: int) -> int:
        """The line of an element of the list under a key, or the line where what is under that key begins."""
        lines = self.lines_by_key.get(key) or (1,)
        return lines[place] if place < len(lines) else lines[0]


NOTHING_RECORDED = RecordedSample()


@dataclass(frozen=True, kw_only=True)
class ToolSample:
    """A sample of another tool's file."""

    cells: Mapping[str, JsonValue]
    """By field of a sample, as a run file of ours has them: passages as texts, or as objects with text, id, score;
    history as messages; all else that is worth keeping in an object `metadata`. None where the file has nothing."""
    line: int
    place: str = ""
    """Where it is in a JSON file: `testCases[3]`."""
    run: str = ""
    """Which of several runs in the file it belongs to; empty if a file of the format always holds one."""
    scores: Mapping[str, Outcome] = field(default_factory=dict[str, Outcome])
    """By the tool's name of the metric."""
    recorded: RecordedSample = NOTHING_RECORDED
    """Statements, verdicts and reasons of the tool's judge."""
    notes: tuple[str, ...] = ()
    """What had to be changed to read it, in words."""


@dataclass(frozen=True, kw_only=True)
class ToolFile:
    """What another tool's file holds."""

    tool: str
    """Name of the tool: `DeepEval`."""
    samples: Sequence[ToolSample]
    version: str = ""
    """Version of the tool; empty if the file does not say."""
    name: str = ""
    """Name of the run; empty if the file does not say."""
    config: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    configs: Mapping[str, Mapping[str, JsonValue]] = field(default_factory=dict[str, Mapping[str, JsonValue]])
    """Configuration of each run, where the file has several."""
    judge: str = ""
    """The model that judged; empty if the file does not say."""
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """What became of each part of the file, by its path: a field of a sample, `score`, `statements`, `judgement`,
    `configuration`, `run`, `metadata`, or `left out: ...` with the reason."""
    directions: Mapping[str, Direction] = field(default_factory=dict[str, Direction])
    """By metric; `higher` where it is not said."""
    same_as: Mapping[str, str] = field(default_factory=dict[str, str])
    """Metrics that are the share of supported statements of the answer or reference, each with our metric of the same
    formula. They count as ours only if that share is the file's score for every sample."""
    notes: Sequence[str] = ()


def statements_of(
    side: Side, text: JsonValue, judged: Sequence[tuple[str, Verdict | None]]
) -> tuple[tuple[Statement, Verdict | None], ...]:
    """Statements with their verdicts, each at its place in the answer or reference where its words are found there."""
    within = text if isinstance(text, str) else ""
    return tuple((Statement(side=side, text=one, span=locate(one, within)), verdict) for one, verdict in judged)


@dataclass(frozen=True, kw_only=True)
class FileFormat:
    """A format that is recognised by its structure and turned into samples as a whole."""

    name: str
    """As a person names it: `DeepEval test run`."""
    recognises: Callable[[ParsedFile], bool]
    """Quick and sure: looks at kinds, keys and the first rows, and does not raise."""
    read: Callable[[ParsedFile], ToolFile]
    """Raises RunFileError where the file has no samples to read, saying which file to bring instead."""


@dataclass(frozen=True, kw_only=True)
class PassageRows:
    """How a table with a row for each passage tells its samples apart, and what its rows say of a passage."""

    sample: tuple[str, ...]
    """Columns that are the same in all rows of a sample."""
    text: str
    id: str = ""
    score: str = ""
    order: str = ""


def no_scores(_columns: Sequence[str], _rows: Sequence[FileRow]) -> ScoreColumns | None:
    """No column holds scores of the tool."""
    return None


def no_totals(_rest: Mapping[str, Any]) -> dict[str, float]:
    """No mean over the whole file stands beside the samples."""
    return {}


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format that is recognised by its columns."""

    name: str
    """As a person names it, with the version where files differ: `ragas 0.1`."""
    columns: frozenset[str]
    """The format is recognised where all of these are columns of the file."""
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """Column by field, where the tool gives a name another meaning than most tools."""
    passage_rows: PassageRows | None = None
    """Where a row is a passage, not a sample."""
    joined: str = ""
    """What separates the passages within a cell."""
    refused: str = ""
    """Why such a file holds no samples, and what to bring instead; empty where it can be read."""
    sample_keys: tuple[str, ...] = ()
    """Keys under which a JSON object of this tool keeps its samples."""
    scores: Callable[[Sequence[str], Sequence[FileRow]], ScoreColumns | None] = no_scores
    """Find the scores that the file brings, among columns that nothing else is read from."""
    totals: Callable[[Mapping[str, Any]], dict[str, float]] = no_totals
    """Find the file's own means, in percent by metric, in what stands beside its samples."""
