"""Match a file's columns to the fields of a sample, by name and by the format of the tool that wrote the file."""

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
"""Column names that are read as each field of a sample, most likely first."""

MEANINGS: Mapping[str, str] = {
    "question": "what the user asked",
    "answer": "what the system answered",
    "contexts": "the passages it retrieved",
    "reference": "the correct answer, if known",
    "reference_contexts": "the correct passages, if known",
    "history": "earlier turns of the conversation",
    "nuggets": "short facts that a good answer contains",
    "id": "an id of the sample",
    "metadata": "an object with other data",
}
"""The meaning of each field of a sample, in the order in which pages show them."""

MAX_LISTED = 40
"""Maximum number of columns in a message, and maximum characters of each name."""

_PREFIXES = " model predicted generated actual system agent bot llm rag candidate"
_NOUNS = "answer response output prediction completion"
_OTHER = "result results prediction predictions predictedanswers generation generatedtext hypothesis pred"
ANSWER_NAMES = frozenset(f"{prefix}{noun}" for prefix in _PREFIXES.split(" ") for noun in _NOUNS.split()) | {
    *_OTHER.split()
}
"""Column names, without underscores, of a system's answer. Next to one of them, `answer` may be the reference."""


def format_name(columns: Sequence[str], kind: str, *, ours: bool) -> str:
    """Return the format and kind of the file: `ragas (CSV)`, `table (JSONL)`."""
    tool_format = format_of(columns)
    return f"{'ragboard' if ours else tool_format.name if tool_format else 'table'} ({kind})"


def match_columns(
    path: Path, columns: Sequence[str], mapping: Mapping[str, str | None], *, ours: bool = False
) -> dict[str, str]:
    """Return the column of each field of a sample: from `mapping`, else the tool's format, else the column names.

    - `mapping`: a field mapped to None stays empty.
    - `ours`: the columns have ragboard's names, so ignore the formats of other tools.

    Columns that `unclear_answer` returns are not matched. Raises SettingError for an unknown field or a column that is
    mapped twice, RunFileError for an unknown column.
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
    tool_format = None if ours else format_of(columns)
    format_fields = tool_format.fields if tool_format else {}
    references = [column for column in columns if _normalized(column) in FIELDS["reference"]]
    for name, column in format_fields.items():
        better = name == "reference" and references and column not in references
        if name not in mapping and column in columns and column not in mapped and not better:
            matched[name] = column
    excluded = {*matched.values(), *unclear_answer(columns, mapping, ours=ours)}
    unmatched = [column for column in reversed(columns) if column not in excluded]
    by_normalized = {_normalized(column): column for column in unmatched} | {column: column for column in unmatched}
    for name, names in FIELDS.items():
        if name not in mapping and name not in matched:
            matched |= next(({name: by_normalized[alias]} for alias in names if alias in by_normalized), {})
    return matched


def unclear_answer(columns: Sequence[str], mapping: Mapping[str, str | None], *, ours: bool) -> tuple[str, ...]:
    """Return columns that may be the system's answer or the reference, the most likely answer first; empty if clear.

    In Haystack and LangChain's QA evaluation, `answer` is the reference; in most other tools it is the system's answer.
    It is clear if the file has the format of a tool or of ragboard, or if the mapping leaves only one such column.
    """
    tool_format = format_of(columns)
    if ours or "answer" in mapping or (tool_format and "answer" in tool_format.fields):
        return ()
    by_normalized = {_normalized(column): column for column in reversed(columns) if column not in mapping.values()}
    candidates = [by_normalized[name] for name in FIELDS["answer"] if name in by_normalized]
    if "answer" in by_normalized:
        candidates += [column for name, column in by_normalized.items() if name.replace("_", "") in ANSWER_NAMES]
    unique = tuple(dict.fromkeys(candidates))
    return unique if len(unique) > 1 else ()


def column_uses(columns: Sequence[str], matched: Mapping[str, str]) -> tuple[ColumnUse, ...]:
    """Return for every column which field it is read as."""
    fields = {column: field for field, column in matched.items()}
    return tuple(ColumnUse(column=column, field=fields.get(column)) for column in columns)


def list_columns(columns: Sequence[str]) -> str:
    """Return column names, separated by commas, for a message. Long lists are cut."""
    more = f" and {len(columns) - MAX_LISTED} more" if len(columns) > MAX_LISTED else ""
    return ", ".join(" ".join(column.split())[:MAX_LISTED] for column in columns[:MAX_LISTED]) + more


def _normalized(column: str) -> str:
    return column.strip().lower().replace(" ", "_").replace("-", "_")
