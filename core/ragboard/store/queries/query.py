"""SQL queries with bound values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import duckdb

__all__ = ["Connection", "Query"]

Connection: TypeAlias = duckdb.DuckDBPyConnection


@dataclass(frozen=True, kw_only=True)
class Query:
    """SQL with a `$name` for each value. Its string form contains the values, so that people can run it."""

    sql: str
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def on(self, connection: Connection) -> Connection:
        """Execute the query; the result is ready to fetch."""
        return connection.execute(self.sql, dict(self.given))

    def after(self, **tables: Query) -> Query:
        """Return the query with these tables as common table expressions, so that it runs on its own."""
        parts = ",\n".join(f"{name} AS (\n{part.sql}\n)" for name, part in tables.items())
        given = {name: value for part in (*tables.values(), self) for name, value in part.given.items()}
        return Query(sql=f"WITH {parts}\n{self.sql}", given=given)

    def __str__(self) -> str:
        """Return the SQL with literals for its values."""
        return re.sub(r"\$(\w+)", lambda found: _literal(self.given[found[1]]), self.sql)


def _literal(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return "NULL" if value is None else repr(value)
