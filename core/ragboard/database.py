"""Short leases on the DuckDB file, and its migrations.

DuckDB lets one writing process shut out all others, so nobody keeps the file open: a lease opens it
late and closes it early. A lock file is the gate: whoever opens the database holds it while opening,
and a writer keeps it while it waits for the readers inside to leave, so that new readers cannot
starve it.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path

import duckdb
from filelock import FileLock, Timeout

from ragboard.errors import StoreBusyError, StoreError

__all__ = ["WAIT_SECONDS", "Database"]

WAIT_SECONDS = 60.0
"""How long a lease waits for others before it gives up."""

BUSY = (
    "Could not set lock on file",
    "different configuration",
    "being used by another process",
    "Conflicting lock",
)


class Database:
    """One DuckDB file that many processes and threads may lease in turn."""

    def __init__(self, path: Path, *, writable: bool = True, wait: float = WAIT_SECONDS) -> None:
        self.path = path
        self.gate_path = path.with_suffix(".lock")
        self._writable = writable
        self._wait = wait

    @contextmanager
    def read(self) -> Generator[duckdb.DuckDBPyConnection]:
        """A read-only connection, shared in time with other readers."""
        with self._current() as connection:
            yield connection

    @contextmanager
    def write(self) -> Generator[duckdb.DuckDBPyConnection]:
        """A connection in a transaction of its own: committed at the end, rolled back on any error.

        Raises StoreError where this database was opened for reading alone.
        """
        self.require_writable()
        self._make_folder()
        with self._gate(), self._connect(read_only=False) as connection:
            _migrate(connection, self.path)
            with _transaction(connection):
                yield connection

    def require_writable(self) -> None:
        """Raise StoreError where this database was opened for reading alone."""
        if not self._writable:
            raise StoreError("the store is open for reading alone: nothing is changed here (serve --read-only)")

    def _current(self) -> duckdb.DuckDBPyConnection:
        """A read-only connection to a database of this version's schema, made or migrated first."""
        if self.path.exists():
            with self._gate():
                connection = self._connect(read_only=True)
            if _applied(connection, self.path) == len(_migrations()):
                return connection
            connection.close()
        self._bring_up()
        return self._current()

    def _bring_up(self) -> None:
        """Make the database or migrate it, which whoever reads it may do too."""
        with Database(self.path, wait=self._wait).write():
            pass

    def _make_folder(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self.path.parent}: cannot make the store: {error.strerror or error}") from error

    @contextmanager
    def _gate(self) -> Generator[None]:
        try:
            held = FileLock(self.gate_path, timeout=self._wait, is_singleton=False).acquire()
        except Timeout:
            raise StoreBusyError(f"{self.path}: another process kept the store for {self._wait:.0f} s") from None
        except OSError as error:
            said = "no permission" if isinstance(error, PermissionError) else error.strerror or error
            raise StoreError(
                f"{error.filename or self.gate_path}: {said}; choose another folder with --store"
            ) from error
        with held:
            yield

    def _connect(self, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        until = time.monotonic() + self._wait
        pause = 0.002
        while True:
            try:
                return duckdb.connect(self.path, read_only=read_only)
            except (duckdb.IOException, duckdb.ConnectionException) as error:
                if not any(sign in str(error) for sign in BUSY):
                    raise StoreError(f"{self.path}: {_first_line(error)}") from error
                if time.monotonic() > until:
                    raise StoreBusyError(f"{self.path}: another process keeps it open: {_first_line(error)}") from error
            except duckdb.Error as error:
                raise StoreError(f"{self.path}: {_first_line(error)}") from error
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)


@contextmanager
def _transaction(connection: duckdb.DuckDBPyConnection) -> Generator[None]:
    connection.execute("BEGIN")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    try:
        connection.execute("COMMIT")
    except duckdb.Error as error:
        raise StoreError(f"cannot write to the store: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:300]


@cache
def _migrations() -> tuple[tuple[str, str], ...]:
    folder = files("ragboard") / "schema"
    found = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple((name, (folder / name).read_text("utf-8")) for name in found)


def _applied(connection: duckdb.DuckDBPyConnection, path: Path) -> int:
    """How many migrations the database has seen. Raises StoreError where it knows more than we do."""
    try:
        row = connection.execute("SELECT count(*) FROM migrations").fetchone()
    except duckdb.CatalogException:
        return 0
    count: int = row[0] if row else 0
    if count > len(_migrations()):
        raise StoreError(f"{path}: written by a newer ragboard (schema {count}); upgrade this one")
    return count


def _migrate(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    applied = _applied(connection, path)
    if not applied:
        connection.execute("CREATE TABLE IF NOT EXISTS migrations (name VARCHAR PRIMARY KEY, applied TIMESTAMP)")
    for name, sql in _migrations()[applied:]:
        with _transaction(connection):
            connection.execute(sql)
            connection.execute("INSERT INTO migrations VALUES (?, now()::TIMESTAMP)", [name])
