"""Read the scores in result files of other tools, to store them next to ragboard's scores.

A column has scores if the file has the format of a tool, the column is named after one of its metrics, and every cell
is a number or empty. Any other column is metadata.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeGuard, cast

from ragboard.records import Direction, FileScores, JsonValue, MetricDescription, Outcome, Score, Unscored

__all__ = [
    "NO_VALUE",
    "FileRow",
    "ScoreColumns",
    "describe_file_metric",
    "file_scores",
    "inconsistent_means",
    "is_score",
    "object_at",
    "read_score",
]

FileRow: TypeAlias = Mapping[str, JsonValue]
"""The cells of a row, by column."""

ROUNDED = 0.051
"""Maximum difference between a percentage with one decimal and the exact percentage."""

LARGEST = 2**53
"""A larger whole number is not a score."""

_ACRONYMS = "ap bleu f1 gpt hhem id llm mrr ndcg nli nv rouge sql umbrela"
SPELLING = {word: word.upper() for word in _ACRONYMS.split()} | {
    "chrf": "chrF",
    "deepeval": "DeepEval",
    "ragas": "ragas",
    "trulens": "TruLens",
}
"""Words with a fixed spelling in names of metrics, such as acronyms."""

SPELT = re.compile(rf"\b(?:{'|'.join(SPELLING)})\b")
UNUSUAL = re.compile(r"[^\w()=.,@-]+")
"""Characters that are removed from the name of a metric before it is shown."""

METRIC_RESULT = re.compile(r"MetricResult\(value=(.+)\)")

NO_VALUE = Unscored(reason="skipped", detail="the file has no value")


@dataclass(frozen=True, kw_only=True)
class ScoreColumns:
    """The columns of a file that have scores."""

    tool: str
    columns: Mapping[str, str]
    """By metric, the column with its scores, or its key in the objects of the column `key`."""
    file_columns: frozenset[str]
    """Columns of the file that have scores and nothing else."""
    key: str = ""
    """The column with an object of all scores; empty if each metric has a column."""
    directions: Mapping[str, Direction] = field(default_factory=dict[str, Direction])
    """Which scores of a metric are better: `higher` (the default), `lower` or `neutral`."""

    def outcomes(self, cells: FileRow) -> dict[str, Outcome]:
        """Return the scores of one row. A missing score is unscored, with the reason."""
        scores = object_at(cells, self.key) if self.key else cells
        return {metric: read_score(scores.get(column)) for metric, column in self.columns.items()}

    def without_scores(self, cells: FileRow) -> dict[str, JsonValue]:
        """Return the row without its scores."""
        names = set(self.columns.values())
        if not self.key:
            return {column: cell for column, cell in cells.items() if column not in names}
        other = {key: value for key, value in object_at(cells, self.key).items() if key not in names}
        return {key: other or None if key == self.key else cell for key, cell in cells.items()}


def file_scores(
    file_format: str, scores: ScoreColumns | None, outcomes: Sequence[Mapping[str, Outcome]]
) -> FileScores | None:
    """Return the scores that a file has for one run; None if it has no scores. `outcomes` has an item per sample."""
    if scores is None:
        return None
    return FileScores(
        tool=scores.tool,
        format=file_format,
        columns=scores.columns,
        metrics=tuple(
            describe_file_metric(scores.tool, spec, column, scores.directions)
            for spec, column in scores.columns.items()
        ),
        outcomes=tuple(outcomes),
    )


def describe_file_metric(tool: str, spec: str, written: str, directions: Mapping[str, Direction]) -> MetricDescription:
    """Return the description of another tool's metric. `written` is its name in the file."""
    source, _, name = spec.partition(".")
    plain = name.partition("(")[0]
    return MetricDescription(
        spec=spec,
        label=f"{_label(written)} ({tool} file)",
        source=source,
        name=plain,
        text=f"A score computed by {tool} and read from the run file; ragboard did not compute it.",
        formula=f"as computed by {tool}",
        paper=f"{tool}, the version that wrote the file",
        requires=(),
        low=None,
        high=None,
        direction=directions.get(plain, "higher"),
        calls="nothing",
        settings=(),
    )


def _label(written: str) -> str:
    """Return a metric's name as pages show it. A name in lower case gets sentence case."""
    plain, bracket, settings = (UNUSUAL.sub(" ", part).strip() for part in written.partition("("))
    shown = " ".join(plain.replace("_", " ").split()) or "score"
    if shown == shown.lower():
        begins = shown if SPELT.match(shown) else shown.capitalize()
        shown = SPELT.sub(lambda found: SPELLING[found[0]], begins)
    return f"{shown} ({settings}" if bracket else shown


def inconsistent_means(means: Mapping[str, float], outcomes: Iterable[Mapping[str, Outcome]]) -> list[str]:
    """Return the metrics whose mean in the file, a percentage, is not the mean of their scores."""
    values: dict[str, list[float]] = {}
    for row in outcomes:
        for metric, outcome in row.items():
            if isinstance(outcome, Score):
                values.setdefault(metric.partition(".")[2], []).append(outcome.value)
    return [
        name
        for name, mean in means.items()
        if name in values and abs(100 * math.fsum(values[name]) / len(values[name]) - mean) > ROUNDED
    ]


def object_at(cells: FileRow, key: str) -> FileRow:
    """Return the object in a cell; empty if there is none."""
    found = cells.get(key)
    return cast("FileRow", found) if isinstance(found, Mapping) else {}


def _is_number(value: JsonValue) -> TypeGuard[int | float]:
    return isinstance(value, float) or (type(value) is int and abs(value) < LARGEST)


def is_score(value: JsonValue) -> bool:
    """Return whether a cell has a number, a number written as text, or nothing."""
    return value is None or _is_number(value) or (isinstance(value, str) and _parse_number(value) is not None)


def _parse_number(text: str) -> float | None:
    """Return the number in a text or in a text `MetricResult(value=..)` of ragas; NaN if empty, None if no number."""
    printed = METRIC_RESULT.fullmatch(text.strip())
    number = printed[1] if printed else text.strip()
    try:
        return float(number) if number else math.nan
    except ValueError:
        return None


def read_score(value: JsonValue) -> Outcome:
    """Return the score in a cell; unscored if it is not a finite number."""
    number = _parse_number(value) if isinstance(value, str) else float(value) if _is_number(value) else math.nan
    return (
        NO_VALUE if number is None or not math.isfinite(number) else Score(value=number, counted="as the file has it")
    )
