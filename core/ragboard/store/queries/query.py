"""A question to the database: SQL, and the values bound in it."""

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
    """SQL with `$name` for each value; as a string with the values written in, to be read, run and changed."""

    sql: str
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def on(self, connection: Connection) -> Connection:
        """Run it; what is left is to fetch the rows."""
        return connection.execute(self.sql, dict(self.given))

    def after(self, **tables: Query) -> Query:
        """The same where what it reads from was not made before: these become parts of one question."""
        parts = ",\n".join(f"{name} AS (\n{part.sql}\n)" for name, part in tables.items())
        given = {name: value for part in (*tables.values(), self) for name, value in part.given.items()}
        return Query(sql=f"WITH {parts}\n{self.sql}", given=given)

    def __str__(self) -> str:
        """Nothing in a value means anything but itself."""
        return re.sub(r"\$(\w+)", lambda found: _literal(self.given[found[1]]), self.sql)


def _literal(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return "NULL" if value is None else repr(value)
