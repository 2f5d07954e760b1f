"""What a collector of traces must know of the samples in the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from ragboard.store.queries.query import Connection

__all__ = ["recent_turns", "stored_ids"]

MAX_TURNS = 20_000
"""Number of turns of sessions to read at most."""


def stored_ids(connection: Connection, sample_ids: Sequence[str], first: datetime, last: datetime) -> frozenset[str]:
    """Return which of these ids samples of any run have that were asked from `first` to `last`."""
    rows = connection.execute(
        "SELECT sample_id FROM samples WHERE time BETWEEN ? AND ? AND sample_id IN (SELECT unnest(?))",
        [first, last, list(sample_ids)],
    ).fetchall()
    return frozenset(sample_id for (sample_id,) in rows)


def recent_turns(connection: Connection, source: str, since: datetime) -> Iterator[tuple[str, str, str, str]]:
    """Yield dataset, session, question and answer of samples of sessions since a time, oldest first.

    Only of runs with this source, and only the last ones. A missing answer is empty.
    """
    rows = connection.execute(
        "SELECT dataset, metadata ->> 'session_id', question, coalesce(answer, '') FROM samples JOIN runs"
        " USING (run_id) WHERE source = ? AND time >= ? AND metadata ->> 'session_id' <> '' ORDER BY time DESC LIMIT ?",
        [source, since, MAX_TURNS],
    ).fetchall()
    yield from reversed(rows)
