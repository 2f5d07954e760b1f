"""What a file format of another tool is: how it is recognised, and what is read differently in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragboard.readers.scores import FileRow, ScoreColumns

__all__ = ["Format", "PassageRows"]


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
