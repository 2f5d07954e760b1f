"""The tables of the store for whoever queries it: what they are and what is in them."""

from __future__ import annotations

from dataclasses import dataclass

from ragboard.store import Store

__all__ = ["StoreColumn", "StoreTable", "store_tables"]


@dataclass(frozen=True, kw_only=True)
class StoreColumn:
    """A column of a table."""

    name: str
    type: str
    """As DuckDB calls it."""
    comment: str
    """Empty where its name says it."""


@dataclass(frozen=True, kw_only=True)
class StoreTable:
    """A table or a view of the store."""

    name: str
    view: bool
    comment: str
    columns: tuple[StoreColumn, ...]


def store_tables(store: Store) -> tuple[StoreTable, ...]:
    """Every view and table with its columns, the views first, as the comments in the database describe them."""
    with store.database.read() as connection:
        tables = connection.execute(
            "SELECT view_name, true, comment FROM duckdb_views() WHERE NOT internal"
            " UNION ALL SELECT table_name, false, comment FROM duckdb_tables() WHERE NOT internal ORDER BY 2 DESC, 1"
        ).fetchall()
        columns = connection.execute(
            "SELECT table_name, column_name, data_type, comment FROM duckdb_columns() WHERE NOT internal"
            " ORDER BY table_name, column_index"
        ).fetchall()
    return tuple(
        StoreTable(
            name=name,
            view=view,
            comment=comment or "",
            columns=tuple(
                StoreColumn(name=column, type=kind, comment=said or "")
                for table, column, kind, said in columns
                if table == name
            ),
        )
        for name, view, comment in tables
    )
