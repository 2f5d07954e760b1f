"""RAGChecker: input and output files, with samples under `results` that may have scores, claims and verdicts.

- `response_claims`, `gt_answer_claims`: texts, or triplets, which are joined by spaces.
- `answer2response`, `response2answer`: a label for each claim.
- `retrieved2response`, `retrieved2answer`: for each claim, a label for each passage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ragboard.readers.formats.base import Format
from ragboard.readers.scores import FileRow, ScoreColumns, is_score, object_at
from ragboard.records import Direction, Label, Sample, Side, Verdict, VerdictTarget

__all__ = [
    "CLAIMS",
    "FORMATS",
    "LABELS",
    "METRICS",
    "SCORES_KEY",
    "FileVerdicts",
    "UnusableError",
    "read_file_verdicts",
]

METRICS = (
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
"""The eleven metrics, in RAGChecker's order."""

SCORES_KEY = "metrics"
"""The key of the scores in a sample of an output file."""

_DIRECTIONS: dict[str, Direction] = {
    "hallucination": "lower",
    "noise_sensitivity_in_irrelevant": "lower",
    "noise_sensitivity_in_relevant": "lower",
    "self_knowledge": "neutral",
}


def _scores(_columns: Sequence[str], rows: Sequence[FileRow]) -> ScoreColumns | None:
    present = {key for row in rows for key in object_at(row, SCORES_KEY)}
    invalid = {key for row in rows for key, value in object_at(row, SCORES_KEY).items() if not is_score(value)}
    columns = {f"ragchecker-file.{name}": name for name in METRICS if name in present - invalid}
    file_columns = frozenset() if present - set(columns.values()) else frozenset({SCORES_KEY})
    if not columns:
        return None
    return ScoreColumns(
        tool="RAGChecker", columns=columns, file_columns=file_columns, key=SCORES_KEY, directions=_DIRECTIONS
    )


def _means(rest: Mapping[str, Any]) -> dict[str, float]:
    """Return the means in the groups of `metrics`. The names of the groups differ between versions."""
    groups = rest.get("metrics")
    tables = [table for table in groups.values() if isinstance(table, dict)] if isinstance(groups, dict) else []
    return {name: float(value) for table in tables for name, value in table.items() if isinstance(value, float)}


def _format(name: str, *columns: str) -> Format:
    keys = ("results", "input_data")
    return Format(name=name, columns=frozenset(columns), sample_keys=keys, scores=_scores, means=_means)


FORMATS = (
    _format("RAGChecker output", "query", "retrieved_context", "response_claims"),
    _format("RAGChecker input", "query", "retrieved_context"),
)

VerdictTable = tuple[tuple[Verdict, ...], ...]
"""For each claim: one verdict, or, if it is checked against passages, a verdict for each passage."""

LABELS: dict[str, Label] = {"Entailment": "supported", "Contradiction": "contradicted", "Neutral": "unsupported"}

CLAIMS: dict[Side, str] = {"response": "response_claims", "reference": "gt_answer_claims"}

VERDICT_COLUMNS: dict[tuple[Side, VerdictTarget], str] = {
    ("response", "reference"): "answer2response",
    ("reference", "response"): "response2answer",
    ("response", "passages"): "retrieved2response",
    ("reference", "passages"): "retrieved2answer",
}
"""The columns of the verdicts, by the side of the claims and what they are checked against."""


class UnusableError(ValueError):
    """A column of claims or verdicts with values that cannot be used."""

    def __init__(self, column: str, message: str) -> None:
        self.column = column
        super().__init__(message)


@dataclass(frozen=True, kw_only=True)
class FileVerdicts:
    """The claims and verdicts that the run file has for one sample."""

    claims: Mapping[Side, tuple[str, ...]] = field(default_factory=dict[Side, tuple[str, ...]])
    verdicts: Mapping[tuple[Side, VerdictTarget], VerdictTable] = field(
        default_factory=dict[tuple[Side, VerdictTarget], VerdictTable]
    )
    """The verdicts by the side of the claims and by what they are checked against."""


def read_file_verdicts(sample: Sample) -> FileVerdicts:
    """Return the claims and verdicts in a sample's metadata. Raises UnusableError if one is missing or malformed."""
    metadata = sample.metadata
    claims: dict[Side, tuple[str, ...]] = {
        side: _claims(column, metadata[column]) for side, column in CLAIMS.items() if metadata.get(column) is not None
    }
    verdicts: dict[tuple[Side, VerdictTarget], VerdictTable] = {}
    for (side, against), column in VERDICT_COLUMNS.items():
        if metadata.get(column) is not None:
            if side not in claims:
                raise UnusableError(column, f"has verdicts, but the sample has no {CLAIMS[side]}")
            width = len(sample.contexts or ()) if against == "passages" else None
            verdicts[side, against] = _verdict_table(column, metadata[column], len(claims[side]), width)
    return FileVerdicts(claims=claims, verdicts=verdicts)


def _claims(column: str, value: object) -> tuple[str, ...]:
    return tuple(_claim(column, number, claim) for number, claim in enumerate(_list(column, value, "claims"), 1))


def _claim(column: str, number: int, value: object) -> str:
    parts = [value] if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)) or not all(isinstance(part, str) for part in cast("list[Any]", parts)):
        raise UnusableError(column, f"claim {number} is not a text or a list of texts")
    text = " ".join(part.strip() for part in cast("list[str]", parts)).strip()
    if not text:
        raise UnusableError(column, f"claim {number} is empty")
    return text


def _verdict_table(column: str, value: object, claims: int, labels_per_claim: int | None) -> VerdictTable:
    """Return the verdicts of each claim. `labels_per_claim` is None if a claim has one label instead of a list."""
    rows = _list(column, value, "labels")
    _count(column, "", len(rows), claims, "claims")
    if labels_per_claim is None:
        return tuple((_verdict(column, number, label),) for number, label in enumerate(rows, 1))
    result: list[tuple[Verdict, ...]] = []
    for number, row in enumerate(rows, 1):
        labels = _list(column, row, "labels")
        _count(column, f"claim {number}: ", len(labels), labels_per_claim, "passages")
        result.append(tuple(_verdict(column, number, label) for label in labels))
    return tuple(result)


def _verdict(column: str, number: int, label: object) -> Verdict:
    if not isinstance(label, str) or label not in LABELS:
        raise UnusableError(column, f"claim {number}: got {str(label)[:40]!r}, expected one of {', '.join(LABELS)}")
    return Verdict(label=LABELS[label], reason=f"The run file says {label}.")


def _list(column: str, value: object, noun: str) -> Sequence[object]:
    if not isinstance(value, (list, tuple)):
        raise UnusableError(column, f"is not a list of {noun}")
    return cast("Sequence[object]", value)


def _count(column: str, prefix: str, count: int, expected: int, noun: str) -> None:
    if count != expected:
        raise UnusableError(column, f"{prefix}{count} verdicts for {expected} {noun}")
