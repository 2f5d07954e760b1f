"""Rollups: results of queries about a large run or evaluation, stored so that pages need not read its samples.

A rollup is computed in the transaction that stores the samples or results. It is stored with the state of its owner
(the run or the evaluation), and used only while the owner has this state. Otherwise the query is executed, as for small
runs, which have no rollups.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ragboard.store.queries.query import Connection

__all__ = ["Rollup", "Row", "has_large_runs", "kept_rollups", "select"]

MIN_SAMPLES = 2_000
"""Minimum number of samples of a run, or covered by an evaluation, that has rollups."""

MAX_LENGTH = 1_000_000
"""Maximum number of characters of a stored rollup, because a page reads it as a whole."""

Row: TypeAlias = Sequence[Any]
"""Values that JSON can represent."""

_STATES = {
    "run": "SELECT run_id AS owner, md5(concat_ws(chr(31), samples, next_position, imported)) AS state,"
    " samples AS size FROM runs",
    "evaluation": "SELECT evaluation_id AS owner, md5(concat_ws(chr(31), finished, covered, samples, next_position))"
    " AS state, covered AS size FROM evaluations JOIN runs USING (run_id)",
}
"""SQL for the state and the number of samples of each owner. Every write of results sets the time of the evaluation,
and samples that are added or deleted change the numbers of the run."""


@dataclass(frozen=True, kw_only=True)
class Rollup:
    """A query about runs or evaluations, whose result is stored for large ones."""

    name: str
    """Its name and version: `metadata 1`. Results that another version stored are not used."""
    owner: Literal["run", "evaluation"]
    query: Callable[[Connection, Sequence[str]], Iterable[Row]]
    """Returns the rows of these owners; the first value of each row is its owner."""

    def rows(self, connection: Connection, owners: Iterable[str]) -> dict[str, list[Row]]:
        """Return {owner: its rows without the first value}, as stored or else computed now."""
        distinct = list(dict.fromkeys(owners))
        stored = connection.execute(
            "SELECT owner, state, rows FROM rollups WHERE name = ? AND rows IS NOT NULL AND list_contains(?, owner)",
            [self.name, distinct],
        ).fetchall()
        states = dict(_states(connection, self.owner)) if stored else {}
        found: dict[str, list[Row]] = {
            owner: json.loads(rows) for owner, state, rows in stored if state == states.get(owner)
        }
        return found | self.compute(connection, [owner for owner in distinct if owner not in found])

    def refresh(self, connection: Connection) -> None:
        """Compute and store the rows of every large run or evaluation that has none for its current state."""
        owners = connection.execute(
            f"SELECT owner, state FROM ({_STATES[self.owner]})"
            " ANTI JOIN (FROM rollups WHERE name = $name) USING (owner, state) WHERE size >= $least",
            {"name": self.name, "least": MIN_SAMPLES},
        ).fetchall()
        computed = self.compute(connection, [owner for owner, _ in owners])
        for owner, state in owners:
            connection.execute("DELETE FROM rollups WHERE owner = ? AND name = ?", [owner, self.name])
            rows = json.dumps(computed[owner])
            stored = rows if len(rows) <= MAX_LENGTH else None
            connection.execute("INSERT INTO rollups VALUES (?, ?, ?, ?)", [owner, self.name, state, stored])

    def compute(self, connection: Connection, owners: Sequence[str]) -> dict[str, list[Row]]:
        """Execute the query. Return {owner: its rows without the first value}."""
        found: dict[str, list[Row]] = {owner: [] for owner in owners}
        for owner, *row in self.query(connection, owners) if owners else ():
            found[owner].append(row)
        return found


def select(sql: str) -> Callable[[Connection, Sequence[str]], Iterable[Row]]:
    """Return the query of a rollup from SQL with the parameter `$owners`."""
    return lambda connection, owners: connection.execute(sql, {"owners": list(owners)}).fetchall()


def has_large_runs(connection: Connection) -> bool:
    """Return whether any run or evaluation has rollups."""
    return bool(connection.execute("SELECT 1 FROM runs WHERE samples >= ? LIMIT 1", [MIN_SAMPLES]).fetchall())


@contextmanager
def kept_rollups(connection: Connection, evaluation_id: str) -> Generator[None]:
    """Keep the rollups of an evaluation over a change that does not affect them, such as of its time."""
    before = _state(connection, evaluation_id)
    yield
    connection.execute(
        "UPDATE rollups SET state = $after WHERE owner = $owner AND state = $before",
        {"owner": evaluation_id, "before": before, "after": _state(connection, evaluation_id)},
    )


def _states(connection: Connection, owner: Literal["run", "evaluation"]) -> list[tuple[str, str]]:
    return connection.execute(f"SELECT owner, state FROM ({_STATES[owner]})").fetchall()


def _state(connection: Connection, evaluation_id: str) -> str | None:
    return dict(_states(connection, "evaluation")).get(evaluation_id)
