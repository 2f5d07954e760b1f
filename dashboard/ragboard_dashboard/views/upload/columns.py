"""Matches the columns of an uploaded file to fields of a sample, and asks if the file does not tell."""

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
    "FieldMap",
    "Matched",
    "draw_columns",
    "draw_suggestions",
    "field_of",
    "has_no_passages",
    "match_columns",
]

FieldMap = dict[str, str | None]
"""Columns by field where a person changed what was detected; None for no column."""

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
TEXT = 4
"""Words from which on a cell may be a passage."""
CELL = 60
"""Most characters of the example cell beside a column's name."""
CHOSEN = "columns-chosen"
"""Session key of what a person chose, by the columns of a file: the next file with the same columns is read alike."""


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """What a person chose for the columns of a file."""

    file: UploadedFile
    mapping: FieldMap
    turned_down: frozenset[str] = frozenset()
    """Columns that stay metadata though they look like a field."""


@dataclass(frozen=True, kw_only=True)
class Matched:
    """A file's preview with its columns matched to fields."""

    file: UploadedFile
    seen: Preview
    own_columns: frozenset[str]
    """The file's columns, without the paths that are mapped."""
    mapping: FieldMap
    columns: FieldMap
    """The column of every field."""
    asked: tuple[str, ...]
    """Fields that the page asks for because the file does not tell, matched or not."""
    missing: tuple[str, ...]
    """Required fields without a column: the file cannot be read yet."""
    asks_for_passages: bool
    """Whether nothing was read as the passages though a column may hold them, and no person has said which."""
    taken_from: str = ""
    """The earlier file that the columns were chosen for; empty for a file whose columns were not chosen, or here."""
    error: RagboardError | None = None
    """Why this mapping cannot be used."""


def match_columns(path: Path, table: Table, file: UploadedFile) -> Matched:
    """Match the columns as a person chose for this file or one with the same columns, else as detected.

    Raises RunFileError.
    """
    seen = preview(path, table=table)
    own_columns = frozenset(use.column for use in seen.columns)
    chosen = _chosen(file, own_columns)
    unclear: FieldMap = {"answer": None, "reference": None} if seen.unclear else {}
    mapping = unclear | chosen.mapping
    columns = dict.fromkeys(MEANINGS) | {use.field: use.column for use in seen.columns if use.field} | mapping
    asked = seen.missing if "question" in seen.missing else tuple(unclear)
    needed = ("question", *(("answer",) if seen.unclear else ()))
    missing = tuple(field for field in needed if columns[field] is None)
    passages = ("contexts",) if not table.tool and _may_hold_passages(seen, columns, chosen) else ()
    asked = tuple(dict.fromkeys((*asked, *missing, *passages)))
    error: RagboardError | None = None
    try:
        seen = preview(path, mapping=mapping, table=table)
    except RagboardError as found:
        asked, error = tuple(mapping), found
    return Matched(
        file=file,
        seen=seen,
        own_columns=own_columns,
        mapping=mapping,
        columns=columns,
        asked=asked,
        missing=missing,
        asks_for_passages=bool(passages),
        taken_from=chosen.file.name if chosen.mapping and chosen.file.file_id != file.file_id else "",
        error=error,
    )


def _may_hold_passages(seen: Preview, columns: FieldMap, chosen: Chosen) -> bool:
    """Whether nothing is read as the passages, and a column that is nothing else holds texts in most rows."""
    if columns["contexts"] is not None or "contexts" in chosen.mapping:
        return False
    other = {column for column, field in seen.suggested.items() if field != "contexts"}
    taken = {*columns.values(), *seen.unclear, *other, *chosen.turned_down}
    free = [place for place, use in enumerate(seen.columns) if use.column not in taken]
    return any(2 * sum(len(row[place].split()) >= TEXT for row in seen.rows) > len(seen.rows) for place in free)


def has_no_passages(matched: Matched) -> None:
    """Keep that a person says of this file that no column holds passages."""
    _choose(matched, {"contexts": None})


def _chosen(file: UploadedFile, own_columns: frozenset[str]) -> Chosen:
    kept: dict[frozenset[str], Chosen] = st.session_state.get(CHOSEN, {})
    return kept.get(own_columns) or Chosen(file=file, mapping={})


def _choose(matched: Matched, mapping: FieldMap, turned_down: Collection[str] = ()) -> None:
    before = _chosen(matched.file, matched.own_columns)
    now = Chosen(file=matched.file, mapping=before.mapping | mapping, turned_down=before.turned_down.union(turned_down))
    st.session_state[CHOSEN] = st.session_state.get(CHOSEN, {}) | {matched.own_columns: now}


def field_of(error: RunFileError) -> tuple[str, ...]:
    """The field of a sample that an error is about, if any."""
    name = (error.field or "").rpartition(".")[2]
    return (name,) if name in MEANINGS else ()


def draw_columns(matched: Matched, asked: Collection[str], above: DeltaGenerator) -> None:
    """Draw a select box for each field: those asked for in `above`, the others in an expander with the first rows."""
    columns = [use.column for use in matched.seen.columns]
    first = dict(zip(columns, matched.seen.rows[0], strict=True)) if matched.seen.rows else {}

    def box(field: str, label: str) -> None:
        key = f"map-{field}"
        st.session_state[key] = matched.columns[field]
        st.selectbox(
            label,
            [None, *columns],
            format_func=lambda column: "(none)" if column is None else _named(column, first),
            help=f"{MEANINGS[field]}; a column, or type a path into one: outputs.documents[].text",
            key=key,
            on_change=lambda: _choose(matched, {field: st.session_state[key]}),
            accept_new_options=True,
        )

    with above:
        for field, beside in zip(asked, st.columns(max(2, len(asked))) if asked else (), strict=False):
            with beside:
                box(field, f"Which column holds the {LABELS[field].lower()}?")
    with st.expander("Columns and first rows", icon=":material/table:", expanded=bool(asked)):
        st.dataframe(pd.DataFrame(matched.seen.rows, columns=columns), hide_index=True)
        boxes = st.columns(4)
        for place, field in enumerate(field for field in MEANINGS if field not in asked):
            with boxes[place % len(boxes)]:
                box(field, LABELS[field])


def _named(column: str, first: Mapping[str, str]) -> str:
    cell = " ".join(first.get(column, "").split())
    shown = f"{cell[:CELL]}…" if len(cell) > CELL else cell
    return strip_bidi_controls(f"{column}: {shown}" if shown else column)


def draw_suggestions(matched: Matched) -> None:
    """Ask for each column that looks like a field that nothing was read as whether to read it so."""
    turned_down = _chosen(matched.file, matched.own_columns).turned_down
    for column, field in matched.seen.suggested.items():
        if column in turned_down:
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
