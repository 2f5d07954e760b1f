"""The database of a test's store, without the two costs that most tests pay again and again.

Making a database takes 0.2 s of computing, opening one 0.02 s, and a test opens its own a hundred times. Tests of
the database itself, and those in which another process has the same store, take it as it is: see `plain_database`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from ragboard.database import Database

__all__ = ["quick"]


@contextmanager
def quick(made: Path) -> Generator[None]:
    """Make each database as a copy of the first, `made`, and open one for reading at once if it was just read.

    DuckDB shares an open database among the connections of a process. So one connection is kept after a read lease,
    until something is written, another database is read, or the file is no longer the same.
    """
    make, connect = Database._make, Database._connect
    kept: dict[tuple[Path, int, int, int], duckdb.DuckDBPyConnection] = {}

    def forget() -> None:
        for place in list(kept):
            if connection := kept.pop(place, None):
                connection.close()

    def copied(self: Database) -> None:
        if not made.exists():
            make(self)
            shutil.copy(self.path, made)
            return
        new = self.path.with_suffix(f".{os.getpid()}")
        shutil.copy(made, new)
        new.replace(self.path)

    def connected(self: Database, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        if not read_only:
            forget()
            return connect(self, read_only=False)
        found = self.path.stat()
        place = (self.path.absolute(), found.st_ino, found.st_mtime_ns, found.st_size)
        if place not in kept:
            forget()
            kept[place] = connect(self, read_only=True)
        return connect(self, read_only=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "_make", copied)
        patch.setattr(Database, "_connect", connected)
        yield
    forget()
