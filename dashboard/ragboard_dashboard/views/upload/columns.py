"""Match the columns of an uploaded file to the fields of a sample, and ask the user if a match is unclear."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.uploaded_file_manager import UploadedFile

from ragboard.errors import RagboardError, RunFileError
from ragboard.readers import MEANINGS, SUGGESTED_FIELDS, Preview, Table, preview
from ragboard.spans import strip_bidi_controls
from ragboard_dashboard.text import plain

__all__ = [
    "LABELS",
    "FieldMap",
    "Matched",
    "draw_columns",
    "draw_suggestions",
    "field_of",
    "match_columns",
    "record_no_passages",
]

FieldMap = dict[str, str | None]
"""The column of each field; None for no column."""

LABELS = {
    "question": "Question",
    "answer": "Answer",
    "contexts": "Passages",
    "reference": "Reference",
    "reference_contexts": "Gold passages",
    "history": "Earlier turns",
    "nuggets": "Nuggets",
    "id": "Id",
    "metadata": "Metadata",
}
MIN_WORDS = 4
"""Minimum number of words in a cell that may be a passage."""
MAX_CELL = 60
"""Maximum number of characters of the example cell next to a column's name."""
CHOSEN = "columns-chosen"
"""Session key of {columns of a file: the user's choices}. Files with the same columns are read in the same way."""


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The user's choices for the columns of a file."""

    file: UploadedFile
    mapping: FieldMap
    declined: frozenset[str] = frozenset()
    """Columns that look like a field, but that the user keeps as metadata."""


@dataclass(frozen=True, kw_only=True)
class Matched:
    """The preview of a file, and its columns matched to fields."""

    file: UploadedFile
    preview: Preview
    own_columns: frozenset[str]
    """The columns of the file, without paths inside columns."""
    mapping: FieldMap
    columns: FieldMap
    """The column of each field, chosen or detected."""
    fields_to_ask: tuple[str, ...]
    """Fields for which the page asks for a column because the match is unclear."""
    missing: tuple[str, ...]
    """Required fields without a column. The file cannot be read until they have one."""
    asks_for_passages: bool
    """Whether a column may contain the passages, but none was detected or chosen."""
    choices_from: str = ""
    """The name of the earlier file whose choices are used; empty if there is none."""
    error: RagboardError | None = None
    """Why this mapping cannot be used; None if it can."""


def match_columns(path: Path, table: Table, file: UploadedFile) -> Matched:
    """Match the columns as the user chose for a file with the same columns, or as detected.

    Raises RunFileError.
    """
    previewed = preview(path, table=table)
    own_columns = frozenset(use.column for use in previewed.columns)
    chosen = _chosen(file, own_columns)
    unclear: FieldMap = {"answer": None, "reference": None} if previewed.unclear else {}
    mapping = unclear | chosen.mapping
    columns = dict.fromkeys(MEANINGS) | {use.field: use.column for use in previewed.columns if use.field} | mapping
    fields_to_ask = previewed.missing if "question" in previewed.missing else tuple(unclear)
    required = ("question", *(("answer",) if previewed.unclear else ()))
    missing = tuple(field for field in required if columns[field] is None)
    passages = ("contexts",) if not table.tool and _may_have_passages(previewed, columns, chosen) else ()
    fields_to_ask = tuple(dict.fromkeys((*fields_to_ask, *missing, *passages)))
    error: RagboardError | None = None
    try:
        previewed = preview(path, mapping=mapping, table=table)
    except RagboardError as raised:
        fields_to_ask, error = tuple(mapping), raised
    return Matched(
        file=file,
        preview=previewed,
        own_columns=own_columns,
        mapping=mapping,
        columns=columns,
        fields_to_ask=fields_to_ask,
        missing=missing,
        asks_for_passages=bool(passages),
        choices_from=chosen.file.name if chosen.mapping and chosen.file.file_id != file.file_id else "",
        error=error,
    )


def _may_have_passages(previewed: Preview, columns: FieldMap, chosen: Chosen) -> bool:
    """Return whether no column is read as passages, but an unused column has texts in most rows."""
    if columns["contexts"] is not None or "contexts" in chosen.mapping:
        return False
    other = {column for column, field in previewed.suggested.items() if field != "contexts"}
    taken = {*columns.values(), *previewed.unclear, *other, *chosen.declined}
    free = [index for index, use in enumerate(previewed.columns) if use.column not in taken]
    return any(
        2 * sum(len(row[index].split()) >= MIN_WORDS for row in previewed.rows) > len(previewed.rows) for index in free
    )


def record_no_passages(matched: Matched) -> None:
    """Record that this file has no passages."""
    _choose(matched, {"contexts": None})


def _chosen(file: UploadedFile, own_columns: frozenset[str]) -> Chosen:
    by_columns: dict[frozenset[str], Chosen] = st.session_state.get(CHOSEN, {})
    return by_columns.get(own_columns) or Chosen(file=file, mapping={})


def _choose(matched: Matched, mapping: FieldMap, declined: Collection[str] = ()) -> None:
    previous = _chosen(matched.file, matched.own_columns)
    changed = Chosen(file=matched.file, mapping=previous.mapping | mapping, declined=previous.declined.union(declined))
    st.session_state[CHOSEN] = st.session_state.get(CHOSEN, {}) | {matched.own_columns: changed}


def field_of(error: RunFileError) -> tuple[str, ...]:
    """Return the field that an error is about, as a tuple; empty if there is none."""
    name = (error.field or "").rpartition(".")[2]
    return (name,) if name in MEANINGS else ()


def draw_columns(matched: Matched, fields_to_ask: Collection[str], above: DeltaGenerator) -> None:
    """Draw a select box for each field: `fields_to_ask` in the container `above`, the others below the first rows."""
    columns = [use.column for use in matched.preview.columns]
    first = dict(zip(columns, matched.preview.rows[0], strict=True)) if matched.preview.rows else {}

    def draw_box(field: str, label: str) -> None:
        key = f"map-{field}"
        st.session_state[key] = matched.columns[field]
        st.selectbox(
            label,
            [None, *columns],
            format_func=lambda column: "(none)" if column is None else _column_title(column, first),
            help=f"{MEANINGS[field]}. Choose a column, or enter a path such as outputs.documents[].text",
            key=key,
            on_change=lambda: _choose(matched, {field: st.session_state[key]}),
            accept_new_options=True,
        )

    with above:
        beside = st.columns(max(2, len(fields_to_ask))) if fields_to_ask else ()
        for field, container in zip(fields_to_ask, beside, strict=False):
            with container:
                draw_box(field, f"Which column holds the {LABELS[field].lower()}?")
    with st.expander("Columns and first rows", icon=":material/table:", expanded=bool(fields_to_ask)):
        st.dataframe(pd.DataFrame(matched.preview.rows, columns=columns), hide_index=True)
        boxes = st.columns(4)
        for index, field in enumerate(field for field in MEANINGS if field not in fields_to_ask):
            with boxes[index % len(boxes)]:
                draw_box(field, LABELS[field])


def _column_title(column: str, first: Mapping[str, str]) -> str:
    cell = " ".join(first.get(column, "").split())
    shown = f"{cell[:MAX_CELL]}…" if len(cell) > MAX_CELL else cell
    return strip_bidi_controls(f"{column}: {shown}" if shown else column)


def draw_suggestions(matched: Matched) -> None:
    """For each unused column that looks like a field, draw a button that reads it as this field."""
    declined = _chosen(matched.file, matched.own_columns).declined
    for column, field in matched.preview.suggested.items():
        if column in declined:
            continue
        with st.container(border=True):
            plain(f"Column {column} looks like {SUGGESTED_FIELDS[field]}. Read it that way?")
            row = st.container(horizontal=True)
            row.button(
                f"Read it as {LABELS[field].lower()}",
                key=f"turns-{column}",
                type="primary" if field == "contexts" else "secondary",
                on_click=_choose,
                args=(matched, {field: column}),
            )
            row.button(
                "Keep it as metadata",
                key=f"no-turns-{column}",
                type="tertiary",
                on_click=_choose,
                args=(matched, {}, (column,)),
            )
