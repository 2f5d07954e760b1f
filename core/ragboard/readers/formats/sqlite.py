"""Read the SQLite database of another tool."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ragboard.errors import RunFileError
from ragboard.readers.files import MAX_ROW

__all__ = ["open_database", "table_columns"]


@contextmanager
def open_database(path: Path) -> Generator[sqlite3.Connection]:
    """Yield a connection that cannot change the database. Raises RunFileError if it cannot be read.

    If the database has a write-ahead log, the connection is to a temporary copy of both.
    """
    log = path.with_name(f"{path.name}-wal")
    try:
        with TemporaryDirectory() as folder:
            database = path.absolute()
            if log.exists() and log.stat().st_size:
                database = Path(shutil.copy(path, folder))
                shutil.copy(log, database.with_name(f"{database.name}-wal"))
            parameter = "immutable=1" if database == path.absolute() else "mode=rw"
            with closing(sqlite3.connect(f"{database.as_uri()}?{parameter}", uri=True)) as connection:
                connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(MAX_ROW, database.stat().st_size))
                connection.execute("PRAGMA trusted_schema = OFF")
                connection.text_factory = lambda text: text.decode(errors="replace")
                yield connection
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        raise RunFileError(path, f"not readable as an SQLite database ({error})") from error


def table_columns(path: Path, table: str) -> frozenset[str]:
    """Return the columns of a table; empty if the table has no rows or cannot be read."""
    try:
        with open_database(path) as database:
            known = database.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", [table])
            rows = database.execute(f"SELECT * FROM {table} LIMIT 1") if known.fetchone() else None  # noqa: S608
            return frozenset(name for name, *_ in rows.description) if rows and rows.fetchone() else frozenset()
    except RunFileError:
        return frozenset()
