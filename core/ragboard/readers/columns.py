"""Which column means what: the names that most tools give them, and what one format means by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ragboard.errors import RunFileError, SettingError
from ragboard.readers.formats import format_of
from ragboard.readers.report import ColumnUse

__all__ = ["FIELDS", "column_uses", "format_name", "match_columns", "named", "unclear_answer"]

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
    "metadata": "metadata",
}
FIELDS: dict[str, tuple[str, ...]] = {field: tuple(names.split()) for field, names in _NAMES.items()}
"""For each field of a sample the column names it is found under, likeliest first."""

NAMED = 40
"""At most so many columns are named in a message, each by so many characters."""

_WHOSE = " model predicted generated actual system agent bot llm rag candidate"
_WHAT = "answer response output prediction completion"
_OTHER = "result results prediction predictions predictedanswers generation generatedtext hypothesis pred"
BESIDE_ANSWER = frozenset(f"{whose}{what}" for whose in _WHOSE.split(" ") for what in _WHAT.split()) | {*_OTHER.split()}
"""Columns, without signs between words, beside which `answer` may be the reference."""


def format_name(columns: Sequence[str], kind: str, *, ours: bool) -> str:
    """What the file is taken for, in words."""
    known = format_of(columns)
    return f"{'ragboard' if ours else known.name if known else 'table'} ({kind})"


def match_columns(
    path: Path, columns: Sequence[str], mapping: Mapping[str, str | None], *, ours: bool = False
) -> dict[str, str]:
    """Which column each field is read from: as mapped (to None from no column), as the tool means it, by its names.

    Columns that `unclear_answer` names are matched to nothing. Raises SettingError for a field that samples do not
    have, RunFileError for a column that is not there.
    """
    if unknown := next((name for name in mapping if name not in FIELDS), None):
        raise SettingError(f"a sample has no field {unknown!r}; it has {', '.join(FIELDS)}")
    found = {name: column for name, column in mapping.items() if column is not None}
    mapped = list(found.values())
    for column in mapped:
        if column not in columns:
            raise RunFileError(path, f"has no column {column!r}; it has {named(columns)}")
        if mapped.count(column) > 1:
            raise SettingError(f"two fields are mapped to the column {column!r}, expected each column once")
    known = None if ours else format_of(columns)
    meant = known.fields if known else {}
    references = [column for column in columns if _plain(column) in FIELDS["reference"]]
    for name, column in meant.items():
        better = name == "reference" and references and column not in references
        if name not in mapping and column in columns and column not in mapped and not better:
            found[name] = column
    taken = {*found.values(), *unclear_answer(columns, mapping, ours=ours)}
    free = [column for column in reversed(columns) if column not in taken]
    plain = {_plain(column): column for column in free} | {column: column for column in free}
    for name, names in FIELDS.items():
        if name not in mapping and name not in found:
            found |= next(({name: plain[one]} for one in names if one in plain), {})
    return found


def unclear_answer(columns: Sequence[str], mapping: Mapping[str, str | None], *, ours: bool) -> tuple[str, ...]:
    """The columns of which one may hold the system's answer and another the reference, the likeliest name first.

    Haystack and LangChain's QA evaluation name the reference `answer`, most others the system's answer. Nothing is
    unclear where the format tells, in a file of ours, or where the mapping leaves one column of these.
    """
    known = format_of(columns)
    if ours or "answer" in mapping or (known and "answer" in known.fields):
        return ()
    plain = {_plain(column): column for column in reversed(columns) if column not in mapping.values()}
    found = [plain[name] for name in FIELDS["answer"] if name in plain]
    if "answer" in plain:
        found += [column for name, column in plain.items() if name.replace("_", "") in BESIDE_ANSWER]
    unique = tuple(dict.fromkeys(found))
    return unique if len(unique) > 1 else ()


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
