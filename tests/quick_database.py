"""The database of a test's store, without the two costs that most tests pay again and again.

Making a database takes 0.2 s of computing, opening one 0.03 s, and a test opens its own a hundred times. Tests of
the database itself, and those in which another process has the same store, take it as it is: see `plain_database`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pytest

from ragboard.database import Database

__all__ = ["quick"]

State: TypeAlias = tuple[Path, int, int, int]


def state_of(path: Path) -> State:
    """What is no longer the same once something else wrote to a file or took its place."""
    found = path.stat()
    return path.absolute(), found.st_ino, found.st_mtime_ns, found.st_size


class LastOpened:
    """The database that was opened last, which stays open.

    DuckDB shares an open database among the connections of a process, so another lease costs little. It is closed when
    another is opened, when its file is not as the last lease left it, and before a process starts, which may read the
    same store. After a write the file is whole, as after closing, and a lease for reading refuses to write.
    """

    def __init__(self) -> None:
        self._connect, self._write = Database._connect, Database.write
        self._kept: dict[State, duckdb.DuckDBPyConnection] = {}

    def lease(self, database: Database, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        state = state_of(database.path)
        if state not in self._kept:
            self.close()
            self._kept[state] = self._connect(database, read_only=False)
            self._kept[state].execute("SET GLOBAL checkpoint_threshold = '1B'; SET GLOBAL threads = 1")
        lease = self._connect(database, read_only=False)
        if read_only:
            lease.execute("BEGIN TRANSACTION READ ONLY")
        return lease

    @contextmanager
    def write(self, database: Database) -> Generator[duckdb.DuckDBPyConnection]:
        try:
            with self._write(database) as connection:
                yield connection
        finally:
            for state in list(self._kept):
                if state[0] == database.path.absolute() and (kept := self._kept.pop(state, None)):
                    self._kept[state_of(database.path)] = kept

    def close(self) -> None:
        for state in list(self._kept):
            if kept := self._kept.pop(state, None):
                kept.close()


@contextmanager
def quick(made: Path) -> Generator[None]:
    """Make each database as a copy of the first, `made`, and keep the last one open."""
    make, start, opened = Database._create, subprocess.Popen.__init__, LastOpened()

    def copied(self: Database) -> None:
        if not made.exists():
            make(self)
            shutil.copy(self.path, made)
            return
        new = self.path.with_suffix(f".{os.getpid()}")
        shutil.copy(made, new)
        new.replace(self.path)

    def leased(self: Database, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        return opened.lease(self, read_only=read_only)

    def written(self: Database) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        return opened.write(self)

    def started(self: subprocess.Popen[Any], *given: Any, **named: Any) -> None:
        opened.close()
        start(self, *given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "__init__", started)
        patch.setattr(Database, "_create", copied)
        patch.setattr(Database, "_connect", leased)
        patch.setattr(Database, "write", written)
        yield
    opened.close()
