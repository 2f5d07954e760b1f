"""SQL queries together with the values of their parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import duckdb

__all__ = ["STATEMENT_KEYS", "Connection", "Query", "StatementKey", "key_values"]

Connection: TypeAlias = duckdb.DuckDBPyConnection


StatementKey: TypeAlias = tuple[str, int, int]
"""A statement of an answer: its evaluation, the position of its sample and its number, both from 0."""

STATEMENT_KEYS = (
    "WITH keys AS (SELECT unnest($evaluations) AS evaluation_id, unnest($positions) AS position,"
    " unnest($numbers) AS statement)"
)
"""The beginning of a query: a table `keys` with a row for each statement. `key_values` returns its parameters."""


def key_values(keys: Iterable[StatementKey]) -> dict[str, Sequence[str | int]]:
    """Return the parameters of `STATEMENT_KEYS` for at least one key."""
    evaluations, positions, numbers = zip(*keys, strict=True)
    return {"evaluations": evaluations, "positions": positions, "numbers": numbers}


@dataclass(frozen=True, kw_only=True)
class Query:
    """SQL with parameters. `str(query)` has the values in their place, for users to copy and run."""

    sql: str
    """The SQL, with `$name` for each parameter."""
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The values of the parameters, by name."""

    def on(self, connection: Connection) -> Connection:
        """Execute the query. Fetch the result from the returned connection."""
        return connection.execute(self.sql, dict(self.given))

    def after(self, **tables: Query) -> Query:
        """Return this query after common table expressions with these names."""
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
