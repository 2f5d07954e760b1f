"""Short leases on the DuckDB file, and its migrations.

DuckDB lets one writing process shut out all others, so nobody keeps the file open: a lease opens it
late and closes it early. A lock file is the gate: whoever opens the database holds it while opening,
and a writer keeps it while it waits for the readers inside to leave, so that new readers cannot
starve it.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
from filelock import FileLock, Timeout

from ragboard.errors import StoreBusyError, StoreError

__all__ = ["BUSY", "WAIT_SECONDS", "Database"]

WAIT_SECONDS = 60.0
"""Seconds that a lease waits for others."""

BUSY = (
    "Could not set lock on file",
    "different configuration",
    "being used by another process",
    "Conflicting lock",
)
"""Parts of DuckDB's message if another process has the file."""

OFFLINE: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
"""Settings that keep DuckDB from downloading an extension for another kind of file."""
DAMAGE = (
    duckdb.IOException,
    duckdb.FatalException,
    duckdb.InternalException,
    duckdb.SerializationException,
)
MAGIC = slice(8, 12), b"DUCK"
"""The magic bytes of a DuckDB file, and their place."""


class Database:
    """A DuckDB file that many processes and threads use in turn."""

    def __init__(self, path: Path, *, writable: bool = True, wait: float = WAIT_SECONDS) -> None:
        self.path = path
        self.gate_path = path.with_suffix(".lock")
        self._writable = writable
        self._wait = wait

    @contextmanager
    def read(self) -> Generator[duckdb.DuckDBPyConnection]:
        """Lease a read-only connection, shared with other readers. Raises StoreError for a damaged database."""
        with self._current() as connection, _damage_told(self.path):
            yield connection

    @contextmanager
    def write(self) -> Generator[duckdb.DuckDBPyConnection]:
        """Lease a connection in a transaction: committed at the end, rolled back on any error.

        Raises StoreError where this database was opened for reading alone.
        """
        self.require_writable()
        self._make_folder()
        with self._gate():
            if not self._is_made():
                self._make()
            with self._connect(read_only=False) as connection, _damage_told(self.path):
                _migrate(connection, self.path)
                with _transaction(connection):
                    yield connection

    def require_writable(self) -> None:
        """Raise StoreError if the database was opened read-only."""
        if not self._writable:
            raise StoreError("the store is open for reading alone: nothing is changed here (serve --read-only)")

    def _current(self) -> duckdb.DuckDBPyConnection:
        """Return a read-only connection to a database of this version's schema, created or migrated if needed."""
        if self._is_made():
            with self._gate(needed=False):
                connection = self._connect(read_only=True)
            try:
                current = _applied(connection, self.path) == len(_migrations())
            except BaseException:
                connection.close()
                raise
            if current:
                return connection
            connection.close()
        self._bring_up()
        return self._current()

    def _is_made(self) -> bool:
        """Return whether there is a database; an empty file is an interrupted creation."""
        try:
            return self.path.stat().st_size > 0
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be read: {error.strerror or error}") from error

    def _bring_up(self) -> None:
        """Create or migrate the database, which readers may do too."""
        try:
            with Database(self.path, wait=self._wait).write():
                pass
        except StoreBusyError:
            raise
        except StoreError as error:
            if not self._is_made():
                raise
            raise StoreError(
                f"{self.path}: made by an older ragboard, and migrating it failed: {error};"
                " copy the store to a folder that can be written"
            ) from error

    def _make(self) -> None:
        """Create the database beside its place and move it there, so that a full disk leaves no broken file."""
        try:
            with TemporaryDirectory(dir=self.path.parent, prefix=".new-", ignore_cleanup_errors=True) as folder:
                made = Path(folder) / self.path.name
                with duckdb.connect(made, config=OFFLINE) as connection:
                    _migrate(connection, self.path)
                    connection.execute("CHECKPOINT")
                made.replace(self.path)
        except (OSError, duckdb.Error) as error:
            raise StoreError(f"{self.path}: cannot make the store: {_first_line(error)}") from error

    def _make_folder(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self.path.parent}: cannot make the store: {error.strerror or error}") from error

    @contextmanager
    def _gate(self, *, needed: bool = True) -> Generator[None]:
        """Hold the gate. If it is not `needed` (for reading), skip it if no file can be made."""
        try:
            held: AbstractContextManager[object] = FileLock(
                self.gate_path, timeout=self._wait, is_singleton=False
            ).acquire()
        except Timeout:
            raise StoreBusyError(f"{self.path}: another process kept the store for {self._wait:.0f} s") from None
        except OSError as error:
            if needed:
                said = "no permission" if isinstance(error, PermissionError) else error.strerror or error
                raise StoreError(
                    f"{error.filename or self.gate_path}: {said}; choose another folder with --store"
                ) from error
            held = nullcontext()
        with held:
            yield

    def _connect(self, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        self._check_kind()
        until = time.monotonic() + self._wait
        pause = 0.002
        while True:
            try:
                return duckdb.connect(self.path.absolute(), read_only=read_only, config=OFFLINE)
            except (duckdb.IOException, duckdb.ConnectionException) as error:
                if not any(sign in str(error) for sign in BUSY):
                    raise _damaged(self.path, error) from error
                if time.monotonic() > until:
                    raise StoreBusyError(f"{self.path}: another process keeps it open: {_first_line(error)}") from error
            except duckdb.Error as error:
                raise _damaged(self.path, error) from error
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)

    def _check_kind(self) -> None:
        """Raise StoreError for another kind of file, for which DuckDB would download an extension."""
        place, sign = MAGIC
        try:
            with self.path.open("rb") as file:
                begin = file.read(place.stop)
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be read: {error.strerror or error}") from error
        if begin[place] != sign:
            raise StoreError(f"{self.path}: not a valid DuckDB database; move it away, or name another --store")


@contextmanager
def _transaction(connection: duckdb.DuckDBPyConnection) -> Generator[None]:
    connection.execute("BEGIN")
    try:
        yield
    except BaseException:
        with suppress(duckdb.Error):  # of a damaged database
            connection.execute("ROLLBACK")
        raise
    try:
        connection.execute("COMMIT")
    except duckdb.Error as error:
        raise StoreError(f"cannot write to the store: {_first_line(error)}") from error


@contextmanager
def _damage_told(path: Path) -> Generator[None]:
    """Turn errors of reading and writing into StoreError; errors of statements stay as they are."""
    try:
        yield
    except duckdb.Error as error:
        if isinstance(error, DAMAGE) or type(error) is duckdb.Error:  # a wrong checksum has no type of its own
            raise _damaged(path, error) from error
        raise


def _damaged(path: Path, error: Exception) -> StoreError:
    return StoreError(f"{path}: {_first_line(error)}; see `ragboard doctor`")


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:300]


@cache
def _migrations() -> tuple[tuple[str, str], ...]:
    folder = files("ragboard") / "schema"
    found = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple((name, (folder / name).read_text("utf-8")) for name in found)


def _applied(connection: duckdb.DuckDBPyConnection, path: Path) -> int:
    """Return the number of migrations applied. Raises StoreError if it is larger than we know."""
    try:
        with _damage_told(path):
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
