"""A faster database for most tests.

Creating a database takes 0.15 s, starting DuckDB 0.015 s, and a checkpoint 0.003 s; many tests would do this a dozen
times. Tests of the database, and tests in which another process uses the same store, use `plain_database` instead.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import count
from pathlib import Path
from threading import RLock
from typing import Any, TypeAlias
from weakref import WeakSet

import duckdb
import pytest

from ragboard import database as database_module
from ragboard.database import OFFLINE, Database

__all__ = ["close_databases", "quick"]

SETTINGS = {"threads": "1", "temp_directory": "", "checkpoint_on_detach": "DISABLED", "fsync_mode": "NONE"}
State: TypeAlias = tuple[Path, int, int, int]


def state_of(path: Path) -> State:
    """What is no longer the same once something else wrote to a file or took its place."""
    found = path.stat()
    return path.absolute(), found.st_ino, found.st_mtime_ns, found.st_size


class Attached:
    """A database that one DuckDB, in memory, has attached."""

    def __init__(self, engine: duckdb.DuckDBPyConnection, name: str, path: Path) -> None:
        self._engine, self._name, self.path = engine, name, path
        self.wal = path.with_name(f"{path.name}.wal")
        self.current = False
        self._leases: WeakSet[duckdb.DuckDBPyConnection] = WeakSet()
        engine.execute(f"ATTACH '{str(path).replace(chr(39), chr(39) * 2)}' AS {name}")

    def lease(self) -> duckdb.DuckDBPyConnection:
        lease = self._engine.cursor()
        lease.execute(f"USE {self._name}")
        self._leases.add(lease)
        return lease

    def leased(self) -> bool:
        for lease in list(self._leases):
            with suppress(duckdb.ConnectionException):  # it is closed
                lease.execute("SELECT 1")
                return True
        return False

    def close(self, *, whole: bool) -> None:
        if whole:
            self._engine.execute(f"CHECKPOINT {self._name}")
        self._engine.execute(f"DETACH {self._name}")

    def written(self) -> int:
        return self.wal.stat().st_size if self.wal.exists() else 0


class LastOpened:
    """The database that was opened last, which stays open.

    One DuckDB attaches one database after the other, and a lease is a cursor of it. A database is closed when another
    is opened, when its file is not as the last lease left it, and before a process starts, which may read the same
    store. Only then its file is whole: else what was written may be in the log beside it, which DuckDB reads too. The
    file's time says so. A lease for reading refuses to write.
    """

    def __init__(self) -> None:
        self._connect, self._write, self._applied = Database._connect, Database.write, database_module._applied
        self._engine: duckdb.DuckDBPyConnection | None = None
        self._kept: dict[State, Attached] = {}
        self._names = (f"store_{number}" for number in count())
        self._lock = RLock()

    def engine(self) -> duckdb.DuckDBPyConnection:
        if self._engine is None:
            self._engine = duckdb.connect(config=OFFLINE | SETTINGS)
        return self._engine

    def lease(self, database: Database, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        with self._lock:
            state = state_of(database.path)
            if state not in self._kept:
                self.close(whole=False)
                database._check_kind()
                try:
                    self._kept[state] = Attached(self.engine(), next(self._names), database.path.absolute())
                except duckdb.Error:
                    return self._connect(database, read_only=read_only)  # waits, or says what is wrong
            lease = self._kept[state].lease()
        if read_only:
            lease.execute("BEGIN TRANSACTION READ ONLY")
        return lease

    def applied(self, connection: duckdb.DuckDBPyConnection, path: Path) -> int:
        kept = next((one for one in list(self._kept.values()) if one.path == path.absolute()), None)
        if kept and kept.current:
            return len(database_module._migrations())
        found = self._applied(connection, path)
        if kept:
            kept.current = found == len(database_module._migrations())
        return found

    @contextmanager
    def write(self, database: Database) -> Generator[duckdb.DuckDBPyConnection]:
        path, before = database.path.absolute(), {state: kept.written() for state, kept in list(self._kept.items())}
        try:
            with self._write(database) as connection:
                yield connection
        finally:
            with self._lock:
                for state, kept in list(self._kept.items()):
                    if kept.path == path:
                        if state_of(path) == state and kept.written() != before.get(state, 0):
                            now = time.time_ns()
                            os.utime(path, ns=(now, now))
                        self._kept[state_of(path)] = self._kept.pop(state)

    def close(self, *, whole: bool = True) -> None:
        with self._lock:
            for state, kept in list(self._kept.items()):
                if not kept.leased():
                    del self._kept[state]
                    kept.close(whole=whole)


OPENED = LastOpened()


def close_databases() -> None:
    """Let the files of the databases be whole, for whoever copies them."""
    OPENED.close()


@contextmanager
def quick(made: Path) -> Generator[None]:
    """Make each database as a copy of the first, `made`, and keep the last one open."""
    make, start = Database._create, subprocess.Popen.__init__

    def copied(self: Database) -> None:
        if not made.exists():
            make(self)
            shutil.copy(self.path, made)
            return
        new = self.path.with_suffix(f".{os.getpid()}")
        shutil.copy(made, new)
        new.replace(self.path)

    def leased(self: Database, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        return OPENED.lease(self, read_only=read_only)

    def written(self: Database) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        return OPENED.write(self)

    def started(self: subprocess.Popen[Any], *given: Any, **named: Any) -> None:
        OPENED.close()
        start(self, *given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "__init__", started)
        patch.setattr(Database, "_create", copied)
        patch.setattr(Database, "_connect", leased)
        patch.setattr(Database, "write", written)
        patch.setattr(database_module, "_applied", OPENED.applied)
        patch.setattr(database_module._shared, "borrow", lambda _, connect: connect())  # files are copied
        yield
    OPENED.close(whole=False)
