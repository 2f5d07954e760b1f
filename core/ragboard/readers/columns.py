"""Matches a file's columns to the fields of a sample, by name and by the format of the tool that wrote it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ragboard.errors import RunFileError, SettingError
from ragboard.readers.formats import format_of
from ragboard.readers.report import ColumnUse

__all__ = ["FIELDS", "MEANINGS", "column_uses", "format_name", "list_columns", "match_columns", "unclear_answer"]

_NAMES = {
    "id": "id query_id item_id sample_id question_id qid",
    "question": "question user_input query prompt input user_query",
    "answer": "answer response output actual_output generated_answer predicted_answer agent_answer prediction"
    " completion",
    "contexts": "contexts retrieved_contexts retrieved_context retrieval_context context passages documents docs chunks"
    " document passage source_documents source_nodes",
    "reference": "reference ground_truth ground_truths gt_answer gold_answer expected_output expected_answer"
    " reference_answer",
    "reference_contexts": "reference_contexts gold_contexts",
    "history": "history chat_history conversation",
    "nuggets": "nuggets",
    "metadata": "metadata",
}
FIELDS: dict[str, tuple[str, ...]] = {field: tuple(names.split()) for field, names in _NAMES.items()}
"""The column names that each field of a sample is read from, most likely first."""

MEANINGS: Mapping[str, str] = {
    "question": "what the user asked",
    "answer": "what the system answered",
    "contexts": "the passages it retrieved",
    "reference": "the right answer, where known",
    "reference_contexts": "the right passages, where known",
    "history": "earlier turns of the conversation",
    "nuggets": "short facts that a good answer has",
    "id": "an id of the sample",
    "metadata": "an object with all else",
}
"""What each field of a sample holds, in the order in which pages ask for it."""

NAMED = 40
"""Most columns that a message names, and most characters of each name."""

_WHOSE = " model predicted generated actual system agent bot llm rag candidate"
_WHAT = "answer response output prediction completion"
_OTHER = "result results prediction predictions predictedanswers generation generatedtext hypothesis pred"
ANSWER_NAMES = frozenset(f"{whose}{what}" for whose in _WHOSE.split(" ") for what in _WHAT.split()) | {*_OTHER.split()}
"""Column names, without underscores, that suggest that a column `answer` beside them is the reference."""


def format_name(columns: Sequence[str], kind: str, *, ours: bool) -> str:
    """Return the format and kind of the file, in words: `ragas (CSV)`, `table (JSONL)`."""
    known = format_of(columns)
    return f"{'ragboard' if ours else known.name if known else 'table'} ({kind})"


def match_columns(
    path: Path, columns: Sequence[str], mapping: Mapping[str, str | None], *, ours: bool = False
) -> dict[str, str]:
    """Match fields of a sample to columns: first by `mapping`, then by the tool's format, then by column name.

    A field mapped to None is read from no column. Columns that `unclear_answer` returns are not matched. Raises
    SettingError for an unknown field or a column that is mapped twice, RunFileError for an unknown column.
    """
    if unknown := next((name for name in mapping if name not in FIELDS), None):
        raise SettingError(f"a sample has no field {unknown!r}; it has {', '.join(FIELDS)}")
    matched = {name: column for name, column in mapping.items() if column is not None}
    mapped = list(matched.values())
    for column in mapped:
        if column not in columns:
            raise RunFileError(path, f"has no column {column!r}; it has {list_columns(columns)}")
        if mapped.count(column) > 1:
            raise SettingError(f"two fields are mapped to the column {column!r}, expected each column once")
    known = None if ours else format_of(columns)
    meant = known.fields if known else {}
    references = [column for column in columns if _plain(column) in FIELDS["reference"]]
    for name, column in meant.items():
        better = name == "reference" and references and column not in references
        if name not in mapping and column in columns and column not in mapped and not better:
            matched[name] = column
    taken = {*matched.values(), *unclear_answer(columns, mapping, ours=ours)}
    free = [column for column in reversed(columns) if column not in taken]
    plain = {_plain(column): column for column in free} | {column: column for column in free}
    for name, names in FIELDS.items():
        if name not in mapping and name not in matched:
            matched |= next(({name: plain[one]} for one in names if one in plain), {})
    return matched


def unclear_answer(columns: Sequence[str], mapping: Mapping[str, str | None], *, ours: bool) -> tuple[str, ...]:
    """Columns of which one may hold the system's answer and another the reference, most likely answer first.

    Haystack and LangChain's QA evaluation call the reference `answer`; most other tools call the system's answer so.
    Empty if the format decides, if the file is ragboard's own, or if the mapping leaves only one such column.
    """
    known = format_of(columns)
    if ours or "answer" in mapping or (known and "answer" in known.fields):
        return ()
    plain = {_plain(column): column for column in reversed(columns) if column not in mapping.values()}
    found = [plain[name] for name in FIELDS["answer"] if name in plain]
    if "answer" in plain:
        found += [column for name, column in plain.items() if name.replace("_", "") in ANSWER_NAMES]
    unique = tuple(dict.fromkeys(found))
    return unique if len(unique) > 1 else ()


def column_uses(columns: Sequence[str], matched: Mapping[str, str]) -> tuple[ColumnUse, ...]:
    """Return every column with the field it is read as."""
    fields = {column: field for field, column in matched.items()}
    return tuple(ColumnUse(column=column, field=fields.get(column)) for column in columns)


def list_columns(columns: Sequence[str]) -> str:
    """Return the first column names, separated by commas, for a one-line message."""
    more = f" and {len(columns) - NAMED} more" if len(columns) > NAMED else ""
    return ", ".join(" ".join(column.split())[:NAMED] for column in columns[:NAMED]) + more


def _plain(column: str) -> str:
    return column.strip().lower().replace(" ", "_").replace("-", "_")
