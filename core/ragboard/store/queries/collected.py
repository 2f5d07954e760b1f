"""Queries of the trace collector: ids and conversations of samples that are stored already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from ragboard.store.queries.query import Connection

__all__ = ["recent_turns", "stored_ids"]

MAX_TURNS = 20_000
"""Maximum number of turns that `recent_turns` yields."""


def stored_ids(connection: Connection, sample_ids: Sequence[str], first: datetime, last: datetime) -> frozenset[str]:
    """Return those of these ids that the store already has, among samples from `first` to `last`."""
    rows = connection.execute(
        "SELECT sample_id FROM samples WHERE time BETWEEN ? AND ? AND sample_id IN (SELECT unnest(?))",
        [first, last, list(sample_ids)],
    ).fetchall()
    return frozenset(sample_id for (sample_id,) in rows)


def recent_turns(connection: Connection, source: str, since: datetime) -> Iterator[tuple[str, str, str, str]]:
    """Yield (dataset, session, question, answer) of the last turns of sessions since a time, oldest first.

    Only runs with this source count. A missing answer is empty.
    """
    rows = connection.execute(
        "SELECT dataset, metadata ->> 'session_id', question, coalesce(answer, '') FROM samples JOIN runs"
        " USING (run_id) WHERE source = ? AND time >= ? AND metadata ->> 'session_id' <> '' ORDER BY time DESC LIMIT ?",
        [source, since, MAX_TURNS],
    ).fetchall()
    yield from reversed(rows)
