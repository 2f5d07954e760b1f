"""The cache of models' replies, which all evaluations of a store share.

It is a SQLite file, because several processes write it concurrently. The key of a task covers everything that can
change the reply. Failures are not cached.

An evaluation claims a key before it calls the model, and other evaluations wait for the reply. A claim names the
journal of its evaluation, and is valid while a process writes this journal.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from ragboard.errors import StoreError
from ragboard.evaluation.journal import is_being_written
from ragboard.tasks import Reply, Task, decode_reply, encode

__all__ = ["CachedReplies", "ReplyCache", "cache_contents", "open_cache", "prune_cache", "read_cache"]

WAIT_SECONDS = 30.0
"""Seconds to wait while another process writes."""

WRITE_SECONDS = 0.2
"""Seconds between two writes of new replies. Writing each reply separately would take three times the CPU time."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    key BLOB PRIMARY KEY, judge TEXT NOT NULL, task TEXT NOT NULL, reply BLOB NOT NULL, kept REAL NOT NULL
)
"""
CLAIM = """
INSERT OR IGNORE INTO claims SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM answers WHERE key = ?)
"""
CLAIMS = "CREATE TABLE IF NOT EXISTS claims (key BLOB PRIMARY KEY, journal TEXT NOT NULL) WITHOUT ROWID"


@dataclass(frozen=True, kw_only=True)
class CachedReplies:
    """The number, size and age of the cached replies of one judge to one task type."""

    judge: str
    task: str
    answers: int
    bytes: int
    oldest: float
    """Seconds since the epoch."""
    newest: float


class ReplyCache:
    """The cached replies by task key. Methods raise StoreError if the cache cannot be read or written.

    New replies are written together. A claim is released when its reply is written. If the process is killed before
    that, the replies are in the journal.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, journal: Path | None = None) -> None:
        self._path = path
        self._connection = connection
        self._journal = journal
        self._claimed: set[str] = set()
        self._unwritten: dict[str, tuple[Reply, tuple[object, ...]]] = {}
        """New replies by task key, each with its row."""
        self._written = time.monotonic()
        """The time of the last write."""

    def get(self, key: str) -> Reply | None:
        """Return the reply with this task key; None if it is missing or malformed."""
        if key in self._unwritten:
            return self._unwritten[key][0]
        with _store_errors(self._path):
            cursor = self._connection.execute("SELECT task, reply FROM answers WHERE key = ?", [bytes.fromhex(key)])
            row = cursor.fetchone()
        if row is None:
            return None
        task, reply = row
        try:
            return decode_reply(task, json.loads(reply))
        except (ValueError, TypeError, RecursionError):
            self.discard(key)
            return None

    def discard(self, key: str) -> None:
        """Delete the reply with this task key, because it cannot be used. Without a journal, do nothing."""
        if self._journal:
            with _store_errors(self._path):
                self._connection.execute("DELETE FROM answers WHERE key = ?", [bytes.fromhex(key)])

    def has(self, key: str) -> bool:
        """Return whether there is an entry with this task key."""
        if key in self._unwritten:
            return True
        with _store_errors(self._path):
            cursor = self._connection.execute("SELECT 1 FROM answers WHERE key = ?", [bytes.fromhex(key)])
            return cursor.fetchone() is not None

    def put(self, key: str, judge: str, task: Task, reply: Reply, encoded: bytes | None = None) -> None:
        """Store a reply for all processes. It is written now or by a later `put` or `write`.

        `encoded` is the result of `encode(reply)`, if it is known.
        """
        row = (bytes.fromhex(key), judge, type(task).__name__, encoded or encode(reply), time.time())
        self._unwritten[key] = reply, row
        if time.monotonic() - self._written > WRITE_SECONDS:
            self.write()

    def write(self) -> None:
        """Write the new replies, and release the claims on their keys."""
        if self._unwritten:
            rows = [row for _, row in self._unwritten.values()]
            with self._transaction():
                self._connection.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)", rows)
                self._delete_claims(self._unwritten)
            self._unwritten.clear()
        self._written = time.monotonic()

    def claim(self, key: str) -> bool:
        """Claim the key for this evaluation. Return False if it has a reply, or while another evaluation claims it."""
        if self._journal is None:
            return True
        if key in self._unwritten:
            return False
        own, digest = self._journal.name, bytes.fromhex(key)
        with _store_errors(self._path):
            claimed = self._connection.execute(CLAIM, [digest, own, digest]).rowcount
            if not claimed:
                row = self._connection.execute("SELECT journal FROM claims WHERE key = ?", [digest]).fetchone()
                name = str(row[0]) if row else ""
                if name and name != own and not is_being_written(self._journal.parent / Path(name).name):
                    taken_over = "UPDATE claims SET journal = ? WHERE key = ? AND journal = ?"
                    claimed = self._connection.execute(taken_over, [own, digest, name]).rowcount
        if claimed:
            self._claimed.add(key)
        return key in self._claimed

    def release(self, key: str) -> None:
        """Release this evaluation's claim on the key. If there is none, or a reply is not written yet, do nothing."""
        if key in self._claimed and key not in self._unwritten:
            with self._transaction():
                self._delete_claims([key])

    def _delete_claims(self, keys: Iterable[str]) -> None:
        claimed = self._claimed.intersection(keys)
        if self._journal and claimed:
            mine = [(bytes.fromhex(key), self._journal.name) for key in claimed]
            self._connection.executemany("DELETE FROM claims WHERE key = ? AND journal = ?", mine)
            self._claimed -= claimed

    def release_all(self) -> None:
        """Release the claims that an earlier, killed process of this evaluation left."""
        with self._transaction():
            self._connection.execute(CLAIMS)
            if self._journal:
                self._connection.execute("DELETE FROM claims WHERE journal = ?", [self._journal.name])

    @contextmanager
    def _transaction(self) -> Generator[None]:
        with _store_errors(self._path), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            yield


@contextmanager
def open_cache(path: Path, journal: Path | None = None) -> Generator[ReplyCache]:
    """Open or create the cache at `path`. Claims name `journal`, which this process writes.

    Raises StoreError if the cache cannot be opened or written.
    """
    with _store_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = _connect(path)
    with closing(connection):
        cache = ReplyCache(path, connection, journal)
        cache.release_all()
        try:
            yield cache
        finally:
            cache.write()


@contextmanager
def read_cache(path: Path) -> Generator[ReplyCache | None]:
    """Open the cache at `path` for reading; None if it does not exist yet."""
    with _store_errors(path):
        connection = _connect_to_read(path) if path.exists() else None
    if connection is None:
        yield None
        return
    with closing(connection):
        yield ReplyCache(path, connection)


def cache_contents(path: Path) -> tuple[CachedReplies, ...]:
    """Return the contents of the cache by judge and task type; empty if there is no cache."""
    if not path.exists():
        return ()
    with _store_errors(path), closing(_connect_to_read(path)) as connection:
        rows = connection.execute(
            "SELECT CAST(judge AS TEXT), CAST(task AS TEXT), count(*), sum(length(reply)),"
            " min(CAST(kept AS REAL)), max(CAST(kept AS REAL)) FROM answers GROUP BY 1, 2 ORDER BY 1, 2"
        ).fetchall()
    return tuple(
        CachedReplies(judge=judge, task=task, answers=answers, bytes=size, oldest=oldest, newest=newest)
        for judge, task, answers, size, oldest, newest in rows
    )


def prune_cache(path: Path, *, older_than: float = 0.0, judge: str | None = None) -> int:
    """Delete the replies that are at least `older_than` seconds old, of one judge or all; return their number."""
    if not path.exists():
        return 0
    with _store_errors(path), closing(_connect(path)) as connection:
        deleted = connection.execute(
            "DELETE FROM answers WHERE kept <= ? AND (? IS NULL OR judge = ?)",
            [time.time() - older_than, judge, judge],
        ).rowcount
        connection.execute("VACUUM")
    return deleted


@contextmanager
def _store_errors(path: Path) -> Generator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"{path}: cannot use the cache: {error}; evaluate without it with --no-cache") from error


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=WAIT_SECONDS, check_same_thread=False, isolation_level=None)
    try:
        # SQLite does not wait if two processes change the mode of a new file at the same time.
        with FileLock(path.with_name(f"{path.name}.lock"), timeout=WAIT_SECONDS):
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(SCHEMA)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """Connect for reading. In a read-only folder, no process can write, so the file is opened as immutable."""
    if os.access(path.parent, os.W_OK):
        return _connect(path)
    return sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True, check_same_thread=False)
