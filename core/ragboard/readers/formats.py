"""Which column means what: the names that the tools of the field give them, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ragboard.errors import RunFileError, SettingError
from ragboard.readers.report import ColumnUse

__all__ = ["FIELDS", "column_uses", "format_name", "match_columns", "named"]

FIELDS: dict[str, tuple[str, ...]] = {
    "id": ("id", "query_id", "item_id", "sample_id", "question_id", "qid"),
    "question": ("question", "user_input", "query", "prompt", "input", "user_query"),
    "answer": ("answer", "response", "output", "actual_output", "generated_answer", "prediction", "completion"),
    "contexts": (
        "contexts",
        "retrieved_contexts",
        "retrieved_context",
        "retrieval_context",
        "context",
        "passages",
        "documents",
        "docs",
        "chunks",
        "document",
        "passage",
        "source_documents",
    ),
    "reference": (
        "reference",
        "ground_truth",
        "ground_truths",
        "gt_answer",
        "gold_answer",
        "expected_output",
        "expected_answer",
        "reference_answer",
    ),
    "reference_contexts": ("reference_contexts", "gold_contexts"),
    "history": ("history", "chat_history", "conversation"),
    "metadata": ("metadata",),
}
"""For each field of a sample the column names it is found under, likeliest first."""

NAMED = 40
"""At most so many columns are named in a message, each by so many characters."""

SIGNATURES: tuple[tuple[str, frozenset[str]], ...] = (
    ("RAGChecker output", frozenset({"query", "retrieved_context", "response_claims"})),
    ("RAGChecker input", frozenset({"query", "retrieved_context"})),
    ("ragas 0.2 or later", frozenset({"user_input"})),
    ("ragas 0.0", frozenset({"question", "contexts", "ground_truths"})),
    ("ragas 0.1", frozenset({"question", "contexts", "ground_truth"})),
    ("ragas 0.0 or 0.1", frozenset({"question", "contexts", "answer_relevancy"})),
    ("ragas 0.0 or 0.1", frozenset({"question", "contexts", "context_relevancy"})),
    ("ragas 0.0", frozenset({"question", "contexts", "context_ relevancy"})),
    ("ragas 0.0", frozenset({"question", "contexts", "context_relavency"})),
)
"""Columns that together give a format away, the surest first."""


def format_name(columns: Sequence[str], kind: str, *, ours: bool) -> str:
    """What the file is taken for, in words."""
    names = frozenset(columns)
    known = next((name for name, needed in SIGNATURES if needed <= names), None)
    return f"{'ragboard' if ours else known or 'table'} ({kind})"


def match_columns(path: Path, columns: Sequence[str], mapping: Mapping[str, str | None]) -> dict[str, str]:
    """Which column each field is read from: as mapped (to None from no column), else by its names.

    Raises SettingError for a field that samples do not have, RunFileError for a column that is not there.
    """
    if unknown := next((field for field in mapping if field not in FIELDS), None):
        raise SettingError(f"a sample has no field {unknown!r}; it has {', '.join(FIELDS)}")
    found = {field: column for field, column in mapping.items() if column is not None}
    taken = list(found.values())
    for column in taken:
        if column not in columns:
            raise RunFileError(path, f"has no column {column!r}; it has {named(columns)}")
        if taken.count(column) > 1:
            raise SettingError(f"two fields are mapped to the column {column!r}, expected each column once")
    free = [column for column in reversed(columns) if column not in taken]
    plain = {_plain(column): column for column in free} | {column: column for column in free}
    for field, names in FIELDS.items():
        if field not in mapping:
            found |= next(({field: plain[name]} for name in names if name in plain), {})
    return found


def column_uses(columns: Sequence[str], matched: Mapping[str, str]) -> tuple[ColumnUse, ...]:
    """Every column with the field it is read as."""
    fields = {column: field for field, column in matched.items()}
    return tuple(ColumnUse(column=column, field=fields.get(column)) for column in columns)


def named(columns: Sequence[str]) -> str:
    """The first columns by name, for a message of one line."""
    more = f" and {len(columns) - NAMED} more" if len(columns) > NAMED else ""
    return ", ".join(" ".join(column.split())[:NAMED] for column in columns[:NAMED]) + more


def _plain(column: str) -> str:
    return column.strip().lower().replace(" ", "_").replace("-", "_")
