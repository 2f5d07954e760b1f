"""The Query page: query the store in SQL, beside a list of its tables."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from ragboard.analysis import EXAMPLES, StoreTable
from ragboard.errors import RagboardError
from ragboard.export import table_bytes
from ragboard.query import QueryLimits, QueryResult, run_query
from ragboard.spans import strip_bidi_controls
from ragboard_dashboard.data import get_tables, store
from ragboard_dashboard.text import plain

__all__ = ["draw"]

LIMITS = QueryLimits(size=16 * 2**20)
MAX_CELL = 300
"""Maximum number of characters of a text in the table on the page. Exports contain the whole text."""
FIRST = next(iter(EXAMPLES.values()))
RESULT = "query-answer"
"""Session key of (last statement, its result or error)."""
FORMATS = ("csv", "json", "parquet")
EXPLAIN_COLUMNS = ["explain_key", "explain_value"]


def draw() -> None:
    """Draw the page. A statement in the URL is shown, but it runs after a click."""
    query, tables = st.columns([3, 1], gap="large")
    with query:
        st.header("Query", anchor=False)
        st.html("<style>.st-key-sql textarea { font-family: monospace; white-space: pre; }</style>")
        sql, clicked = _editor()
        if clicked:
            _run(sql)
        _draw_result(sql)
    with tables:
        _tables(get_tables())


def _editor() -> tuple[str, bool]:
    """Draw the editor. Return the statement, and whether `Run` was clicked."""
    initial: dict[str, Any] = {} if "sql" in st.session_state else {"value": FIRST}
    with st.form("query", border=False):
        sql = st.text_area(
            "One SELECT, DESCRIBE, SHOW or EXPLAIN statement in DuckDB's SQL. Ctrl+Enter runs it.",
            **initial,
            key="sql",
            bind="query-params",
            height=220,
        )
        row = st.container(horizontal=True, vertical_alignment="center")
        clicked = row.form_submit_button("Run", icon=":material/play_arrow:")
        with row:
            plain(f"Read-only. Shows the first {LIMITS.rows:,} rows; stops after {LIMITS.seconds:g} s.", "note")
    has_result = RESULT in st.session_state or clicked
    with st.popover("Examples", icon=":material/lightbulb:") if has_result else st.container(gap="xxsmall"):
        for question, example in EXAMPLES.items():
            st.button(question, type="tertiary", key=f"example-{question}", on_click=partial(_load, example))
    return sql or "", clicked


def _load(sql: str) -> None:
    st.session_state["sql"] = sql


def _run(sql: str) -> None:
    found: QueryResult | RagboardError
    with st.spinner("Running"):
        try:
            found = run_query(store(), sql, LIMITS)
        except RagboardError as error:
            found = error
    st.session_state[RESULT] = sql, found


def _draw_result(sql: str) -> None:
    """Draw the result or error of the statement, if it has run."""
    last, found = st.session_state.get(RESULT, ("", None))
    if last != sql:
        return
    if isinstance(found, QueryResult):
        _draw_rows(found)
    elif found is not None:
        st.error("The query failed.", icon=":material/error:")
        plain(str(found))


def _draw_rows(found: QueryResult) -> None:
    row = st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute")
    with row:
        count = found.table.num_rows
        plain(f"First {count:,} rows; there are more." if found.truncated else f"{count:,} rows.", "note")
        with st.popover("Export", icon=":material/download:"):
            for kind in FORMATS:
                st.download_button(
                    kind.upper(),
                    partial(_file, found, kind),
                    file_name=f"query.{kind}",
                    key=f"export-{kind}",
                    on_click="ignore",
                )
    if found.table.column_names == EXPLAIN_COLUMNS:
        st.code("\n".join(str(plan) for _, plan in found.rows), language=None)
    else:
        st.dataframe(_grid(found.frame()), hide_index=True)


def _file(found: QueryResult, kind: str) -> bytes:
    return table_bytes(found.frame(), kind)


def _grid(frame: pd.DataFrame) -> pd.DataFrame:
    shown = frame.copy(deep=False)
    for name in frame.select_dtypes(include=["object", "string"]).columns:
        shown[name] = frame[name].map(_cell, na_action="ignore")
    return shown


def _cell(value: object) -> str:
    text = strip_bidi_controls(str(value))
    return text if len(text) <= MAX_CELL else f"{text[:MAX_CELL]}…"


def _tables(tables: tuple[StoreTable, ...]) -> None:
    st.subheader("Tables", anchor=False)
    st.html("".join(map(_table, tables)))


def _table(table: StoreTable) -> str:
    columns = "".join(
        f"<li><code>{escape(column.name)}</code> <small>{escape(column.type.lower())}</small>"
        f"{f'<br><small>{escape(column.comment)}</small>' if column.comment else ''}</li>"
        for column in table.columns
    )
    return (
        f'<details style="margin-bottom:0.4rem"><summary><code>{escape(table.name)}</code><br>'
        f'<small>{escape(table.comment)}</small></summary><ul style="margin:0.2rem 0 0.6rem">{columns}</ul></details>'
    )
