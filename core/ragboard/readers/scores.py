"""Scores that a result file of ragas or RAGChecker brings: which columns they are, and what they say.

ragas keeps one column for each metric, RAGChecker an object `metrics` in each item. A column counts as
scores only where the file is that tool's, the name is one it gives, and every cell is a number or
missing; any other column stays metadata.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard, cast

from ragboard.readers.formats import format_name
from ragboard.readers.tables import RawRow, Table
from ragboard.records import FileScores, JsonValue, MetricDescription, Outcome, Score, Unscored

__all__ = [
    "ITEM_SCORES",
    "RAGAS",
    "RAGCHECKER",
    "ScoreColumns",
    "disagreeing",
    "file_scores",
    "score_columns",
    "scores_in",
]

RAGAS = frozenset(
    {
        "answer_accuracy",
        "answer_correctness",
        "answer_relevance",
        "answer_relevancy",
        "answer_similarity",
        "agent_goal_accuracy",
        "bleu_score",
        "chrf_score",
        "coherence",
        "conciseness",
        "context_entity_recall",
        "context_precision",
        "context_recall",
        "context_relevance",
        "context_relevancy",
        "context_utilization",
        "correctness",
        "data_compare_score",
        "exact_match",
        "factual_correctness",
        "faithful_rate",
        "faithfulness",
        "faithfulness_with_hhem",
        "harmfulness",
        "id_based_context_precision",
        "id_based_context_recall",
        "llm_context_precision_with_reference",
        "llm_context_precision_without_reference",
        "llm_sql_equivalence_with_reference",
        "maliciousness",
        "noise_sensitivity",
        "noise_sensitivity_irrelevant",
        "noise_sensitivity_relevant",
        "non_llm_context_precision_with_reference",
        "non_llm_context_recall",
        "non_llm_string_similarity",
        "nv_accuracy",
        "nv_context_relevance",
        "nv_response_groundedness",
        "ragas_score",
        "relevance_rate",
        "response_groundedness",
        "response_relevancy",
        "rouge_score",
        "semantic_similarity",
        "string_present",
        "summary_score",
        "tool_call_accuracy",
        "tool_call_f1",
        "topic_adherence",
    }
)
"""What ragas calls its metrics, in any version; settings follow in brackets."""

RAGCHECKER = (
    "precision",
    "recall",
    "f1",
    "claim_recall",
    "context_precision",
    "context_utilization",
    "noise_sensitivity_in_relevant",
    "noise_sensitivity_in_irrelevant",
    "hallucination",
    "self_knowledge",
    "faithfulness",
)

ITEM_SCORES = "metrics"
"""Where an item of a RAGChecker output has its scores."""

NAMED = re.compile(r"(?P<name>[\w\s-]+)(?P<settings>\([\w\s=.,-]*\))?")

MISSPELT = {"context_relavency": "context_relevancy"}
"""As the first ragas wrote it."""

LOWER = frozenset(
    {
        "hallucination",
        "harmfulness",
        "maliciousness",
        "noise_sensitivity",
        "noise_sensitivity_in_irrelevant",
        "noise_sensitivity_in_relevant",
        "noise_sensitivity_irrelevant",
        "noise_sensitivity_relevant",
    }
)
NEUTRAL = frozenset({"coherence", "conciseness", "correctness", "self_knowledge"})
"""Better or worse by what one wants, or by a definition that the file does not hold."""

ROUNDED = 0.051
"""How far a percentage with one decimal may be from what it was rounded from."""

LARGEST = 2**53
"""A whole number beyond this is no score."""

NO_VALUE = Unscored(reason="skipped", detail="the file has no value")

Cells = Mapping[str, JsonValue]


@dataclass(frozen=True, kw_only=True)
class ScoreColumns:
    """Where a file's scores stand."""

    tool: str
    columns: Mapping[str, str]
    """For each metric the column, or RAGChecker's key in `metrics`."""
    nested: bool
    """Whether they stand in the object `metrics`."""
    taken: frozenset[str]
    """Columns of the file that hold nothing else."""

    def outcomes(self, cells: Cells) -> dict[str, Outcome]:
        """One row's scores; a missing one says so."""
        inside = _item(cells) if self.nested else cells
        return {metric: _outcome(inside.get(column)) for metric, column in self.columns.items()}

    def rest(self, cells: Cells) -> dict[str, JsonValue]:
        """The row without its scores."""
        taken = set(self.columns.values())
        if not self.nested:
            return {column: cell for column, cell in cells.items() if column not in taken}
        other = {key: value for key, value in _item(cells).items() if key not in taken}
        return {key: other or None if key == ITEM_SCORES else cell for key, cell in cells.items()}


def score_columns(file_format: str, columns: Sequence[str], rows: Sequence[Cells]) -> ScoreColumns | None:
    """The columns of a file that are scores; None where it has none, or is not a result of ragas or RAGChecker."""
    if file_format.startswith("RAGChecker"):
        return _in_items(rows)
    return _in_columns(columns, rows) if file_format.startswith("ragas ") else None


def scores_in(table: Table, matched: Mapping[str, str], run_column: str | None = None) -> ScoreColumns | None:
    """The scores of a table, among the columns that nothing else is read from."""
    free = [column for column in table.columns if column not in matched.values() and column != run_column]
    rows = [row.cells for row in table.rows if isinstance(row, RawRow)]
    return score_columns(format_name(table.columns, table.kind, ours=table.ours), free, rows)


def file_scores(
    table: Table, scores: ScoreColumns | None, outcomes: Sequence[Mapping[str, Outcome]]
) -> FileScores | None:
    """What a run gets of them: the outcomes of its samples, in order."""
    if scores is None:
        return None
    return FileScores(
        tool=scores.tool,
        format=format_name(table.columns, table.kind, ours=table.ours),
        columns=scores.columns,
        metrics=tuple(_described(scores.tool, spec) for spec in scores.columns),
        outcomes=tuple(outcomes),
    )


def _described(tool: str, spec: str) -> MetricDescription:
    """What is known of another tool's metric: its name, and which way is better where the name tells."""
    source, _, name = spec.partition(".")
    plain, bracket, settings = name.partition("(")
    return MetricDescription(
        spec=spec,
        label=f"{plain.replace('_', ' ').capitalize()}{f' ({settings}' if bracket else ''} ({tool} file)",
        source=source,
        name=plain,
        text=f"A score that a run file brought: {tool} counted it, nobody here.",
        formula=f"as {tool} counted it and the run file has it",
        paper=f"{tool}, the version that wrote the file",
        requires=(),
        low=None,
        high=None,
        direction="lower" if plain in LOWER else "neutral" if plain in NEUTRAL else "higher",
        calls="nothing",
        settings=(),
    )


def disagreeing(totals: Mapping[str, float], outcomes: Iterable[Mapping[str, Outcome]]) -> list[str]:
    """RAGChecker's metrics whose percentage for the whole file is not the mean of its items."""
    values: dict[str, list[float]] = {}
    for row in outcomes:
        for metric, outcome in row.items():
            if isinstance(outcome, Score):
                values.setdefault(metric.partition(".")[2], []).append(outcome.value)
    return [
        name
        for name, total in totals.items()
        if name in values and abs(100 * math.fsum(values[name]) / len(values[name]) - total) > ROUNDED
    ]


def _in_columns(columns: Sequence[str], rows: Sequence[Cells]) -> ScoreColumns | None:
    found: dict[str, str] = {}
    for column in columns:
        name = _ragas_name(column)
        if name and all(_is_score(row.get(column)) for row in rows):
            found.setdefault(f"ragas-file.{name}", column)
    return ScoreColumns(tool="ragas", columns=found, nested=False, taken=frozenset(found.values())) if found else None


def _in_items(rows: Sequence[Cells]) -> ScoreColumns | None:
    there = {key for row in rows for key in _item(row)}
    odd = {key for row in rows for key, value in _item(row).items() if not _is_score(value)}
    found = {f"ragchecker-file.{name}": name for name in RAGCHECKER if name in there - odd}
    taken = frozenset() if there - set(found.values()) else frozenset({ITEM_SCORES})
    return ScoreColumns(tool="RAGChecker", columns=found, nested=True, taken=taken) if found else None


def _item(cells: Cells) -> Mapping[str, JsonValue]:
    found = cells.get(ITEM_SCORES)
    return cast("Mapping[str, JsonValue]", found) if isinstance(found, Mapping) else {}


def _ragas_name(column: str) -> str:
    """The metric of a column in one spelling, with its settings; empty where ragas has none such."""
    found = NAMED.fullmatch(column.strip())
    if found is None:
        return ""
    plain = re.sub(r"[\s_-]+", "_", found["name"].strip().lower())
    plain = MISSPELT.get(plain, plain)
    return plain + (found["settings"] or "").replace(" ", "") if plain in RAGAS else ""


def _is_number(value: JsonValue) -> TypeGuard[int | float]:
    return isinstance(value, float) or (type(value) is int and abs(value) < LARGEST)


def _is_score(value: JsonValue) -> bool:
    """Whether a cell holds a number, as such or written, or nothing."""
    return value is None or _is_number(value) or (isinstance(value, str) and _written(value) is not None)


def _written(text: str) -> float | None:
    """The number a text is; NaN for an empty one, None for any other."""
    try:
        return float(text) if text.strip() else math.nan
    except ValueError:
        return None


def _outcome(value: JsonValue) -> Outcome:
    number = _written(value) if isinstance(value, str) else float(value) if _is_number(value) else math.nan
    return (
        NO_VALUE if number is None or not math.isfinite(number) else Score(value=number, counted="as the file has it")
    )
