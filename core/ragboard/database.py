"""Short connections to the DuckDB file, and its migrations.

While a process writes to a DuckDB file, no other process can open it. So processes open it only for a short time, and
take turns with a lock file. A reader holds the lock while it opens the database. A writer holds the lock until it has
finished, so that new readers cannot delay it. Opening takes 20 ms or more, so a process with many small reads can share
a connection among them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias, TypeVar

import duckdb
from filelock import FileLock, Timeout

from ragboard.errors import StoreBusyError, StoreError

__all__ = ["BUSY_MESSAGES", "LOAD_MEMORY", "WAIT_SECONDS", "Database"]

WAIT_SECONDS = 60.0
"""Maximum seconds to wait for other processes; then StoreBusyError is raised."""

LOAD_MEMORY = "256MB"
"""DuckDB's memory limit while the samples of a run are loaded. DuckDB also uses memory that it does not count."""

BUSY_MESSAGES = (
    "Could not set lock on file",
    "different configuration",
    "being used by another process",
    "Conflicting lock",
)
"""Parts of DuckDB's error messages that mean that another process has the file open."""

OFFLINE: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
"""Settings that keep DuckDB from downloading extensions."""

DAMAGE_ERRORS = (
    duckdb.IOException,
    duckdb.FatalException,
    duckdb.InternalException,
    duckdb.SerializationException,
)
"""The errors that DuckDB raises for a damaged file."""

MAGIC_BYTES = slice(8, 12), b"DUCK"
"""The position and the value of the bytes that identify a DuckDB file."""


T = TypeVar("T")

LINGER_SECONDS = 0.1
"""How long a shared connection stays open after a read, for the next one."""

MAX_SHARED_SECONDS = 1.0
"""Maximum age of a shared connection for a new read, so that writers of other processes get their turn."""


FileState: TypeAlias = tuple[int, int, int, int]


class _Shared:
    """A read-only connection that reads of this process share."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, path: Path) -> None:
        self.connection = connection
        self.path = path
        self.file = _file_state(path)
        self.opened = time.monotonic()
        self.users = 0
        self.uses = 0
        """Number of reads so far."""

    def is_current(self) -> bool:
        return time.monotonic() - self.opened < MAX_SHARED_SECONDS and self.file == _file_state(self.path)


class _SharedConnections:
    """The shared connection of each database that this process reads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_path: dict[Path, _Shared] = {}

    @contextmanager
    def borrow(
        self, path: Path, connect: Callable[[], duckdb.DuckDBPyConnection]
    ) -> Generator[duckdb.DuckDBPyConnection]:
        """Yield a cursor of the shared connection. `connect` opens it if there is none that may be used."""
        shared = self._take(path) or self._add(path, connect())
        try:
            with shared.connection.cursor() as cursor:
                yield cursor
        finally:
            self._give_back(shared)

    def release(self, path: Path) -> None:
        """Let no further read use the shared connection. It is closed now, or when its last read ends."""
        with self._lock:
            shared = self._by_path.pop(path, None)
            if shared is not None and not shared.users:
                shared.connection.close()

    def _take(self, path: Path) -> _Shared | None:
        with self._lock:
            shared = self._by_path.get(path)
            if shared is not None and shared.is_current():
                shared.users += 1
                shared.uses += 1
                return shared
        self.release(path)
        return None

    def _add(self, path: Path, connection: duckdb.DuckDBPyConnection) -> _Shared:
        shared = _Shared(connection, path)
        shared.users = 1
        with self._lock:
            self._by_path.setdefault(path, shared)  # another thread may have opened one meanwhile
        return shared

    def _give_back(self, shared: _Shared) -> None:
        with self._lock:
            shared.users -= 1
            if shared.users:
                return
            if self._by_path.get(shared.path) is shared:
                closer = threading.Timer(LINGER_SECONDS, self._close_if_unused, (shared, shared.uses))
                closer.start()  # not a daemon: closing DuckDB while Python exits would crash
            else:
                shared.connection.close()

    def _close_if_unused(self, shared: _Shared, uses: int) -> None:
        """Close the connection unless it was used again."""
        with self._lock:
            if self._by_path.get(shared.path) is shared and shared.uses == uses:
                del self._by_path[shared.path]
                shared.connection.close()


_shared = _SharedConnections()

_checked: dict[Path, FileState | None] = {}
"""The state of each file when it was last found to be a DuckDB file."""
_checking = threading.Lock()


def _file_state(path: Path) -> FileState | None:
    """Return what changes when the file at a path is written or replaced; None if there is none."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_size


class _KeptConnections(threading.local):
    """The connections that this thread keeps open; None for one that is not opened yet."""

    def __init__(self) -> None:
        self.connections: dict[Path, duckdb.DuckDBPyConnection | None] = {}


_kept = _KeptConnections()


class Database:
    """A DuckDB file that many processes and threads use in turn."""

    def __init__(
        self, path: Path, *, writable: bool = True, wait: float = WAIT_SECONDS, shares_reads: bool = False
    ) -> None:
        """Do not open the database yet.

        `shares_reads`: reads of this process share a connection, which stays open for a moment after the last of them.
        """
        self.path = path
        self.lock_path = path.with_suffix(".lock")
        self._writable = writable
        self._wait = wait
        self._shares_reads = shares_reads

    @contextmanager
    def read(self) -> Generator[duckdb.DuckDBPyConnection]:
        """Yield a read-only connection; several processes can read at once.

        Raises StoreError if the database is damaged.
        """
        with self._read_connection() as connection, _damage_as_store_error(self.path):
            yield connection

    @contextmanager
    def keep_open(self) -> Generator[None]:
        """Use one connection for all reads of this thread in the block, because opening a database is slow.

        The connection is opened at the first read, and closed before a write and at the end of the block. No other
        process can write meanwhile, so the block must not wait for anything, such as a request or another thread.
        """
        if self.path in _kept.connections:
            yield
            return
        _kept.connections[self.path] = None
        try:
            yield
        finally:
            self._close_kept_connection()
            del _kept.connections[self.path]

    def _read_connection(self) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        """Return the connection that this thread keeps open, else a new one."""
        if self.path not in _kept.connections:
            if self._shares_reads:
                return _shared.borrow(self.path, self._connect_migrated)
            return self._connect_migrated()
        connection = _kept.connections[self.path]
        if connection is None:
            connection = _kept.connections[self.path] = self._connect_migrated()
        return nullcontext(connection)

    def _close_kept_connection(self) -> None:
        connection = _kept.connections.get(self.path)
        if connection is not None:
            connection.close()
            _kept.connections[self.path] = None

    @contextmanager
    def write(self) -> Generator[duckdb.DuckDBPyConnection]:
        """Yield a connection in a transaction, which is committed at the end or rolled back on an error.

        Raises StoreError if this database was opened read-only.
        """
        self.require_writable()
        self._close_kept_connection()
        _shared.release(self.path)
        self._create_folder()
        with self._lock():
            if not self._exists():
                self._create()
            with self._connect(read_only=False) as connection, _damage_as_store_error(self.path):
                _migrate(connection, self.path)
                with _transaction(connection):
                    yield connection

    def write_within(self, memory: str, change: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Call `change` in a transaction in which DuckDB has one thread and a memory limit, such as `256MB`.

        One thread needs less memory than several, and loads rows as fast. If the limit is too low, as for very long
        texts, nothing is changed, and `change` is called again without a limit. Raises StoreError as `write` does.
        """
        try:
            with self.write() as connection:
                connection.execute(f"SET memory_limit = '{memory}'; SET threads = 1")
                return change(connection)
        except duckdb.OutOfMemoryException:
            pass
        except StoreError as error:
            if not isinstance(error.__cause__, duckdb.TransactionException):  # a commit needs memory, too
                raise
        with self.write() as connection:
            return change(connection)

    def require_writable(self) -> None:
        """Raise StoreError if the database was opened read-only."""
        if not self._writable:
            raise StoreError("the store is read-only (serve --read-only): nothing can be changed")

    def _connect_migrated(self) -> duckdb.DuckDBPyConnection:
        """Return a read-only connection. Create the database, or migrate it to the current schema, if needed."""
        if self._exists():
            with self._lock(needed=False):
                connection = self._connect(read_only=True)
            try:
                current = _applied(connection, self.path) == len(_migrations())
            except BaseException:
                connection.close()
                raise
            if current:
                return connection
            connection.close()
        self._migrate_for_reading()
        return self._connect_migrated()

    def _exists(self) -> bool:
        """Return whether the database exists. An empty file counts as missing: its creation was interrupted."""
        try:
            return self.path.stat().st_size > 0
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be read: {error.strerror or error}") from error

    def _migrate_for_reading(self) -> None:
        """Create or migrate the database, even if this instance is read-only."""
        try:
            with Database(self.path, wait=self._wait).write():
                pass
        except StoreBusyError:
            raise
        except StoreError as error:
            if not self._exists():
                raise
            raise StoreError(
                f"{self.path}: made by an older ragboard, and migrating it failed: {error};"
                " copy the store to a writable folder"
            ) from error

    def _create(self) -> None:
        """Create the database in a temporary folder and move it into place, so that an error leaves no broken file."""
        try:
            with TemporaryDirectory(dir=self.path.parent, prefix=".new-", ignore_cleanup_errors=True) as folder:
                new = Path(folder) / self.path.name
                with duckdb.connect(new, config=OFFLINE) as connection:
                    _migrate(connection, self.path)
                    connection.execute("CHECKPOINT")
                new.replace(self.path)
        except (OSError, duckdb.Error) as error:
            raise StoreError(f"{self.path}: cannot create the store: {_first_line(error)}") from error

    def _create_folder(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self.path.parent}: cannot create the store: {error.strerror or error}") from error

    @contextmanager
    def _lock(self, *, needed: bool = True) -> Generator[None]:
        """Hold the lock. If the lock file cannot be created, raise StoreError, or continue if it is not `needed`."""
        try:
            held: AbstractContextManager[object] = FileLock(
                self.lock_path, timeout=self._wait, is_singleton=False
            ).acquire()
        except Timeout:
            raise StoreBusyError(
                f"{self.path}: another process has been using the store for {self._wait:.0f} s; try again later"
            ) from None
        except OSError as error:
            if needed:
                why = "no permission" if isinstance(error, PermissionError) else error.strerror or error
                raise StoreError(
                    f"{error.filename or self.lock_path}: {why}; choose another folder with --store"
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
                if not any(message in str(error) for message in BUSY_MESSAGES):
                    raise _damaged(self.path, error) from error
                if time.monotonic() > until:
                    raise StoreBusyError(
                        f"{self.path}: another process has the file open: {_first_line(error)}"
                    ) from error
            except duckdb.Error as error:
                raise _damaged(self.path, error) from error
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)

    def _check_kind(self) -> None:
        """Raise StoreError unless this is a DuckDB file. For some other files, DuckDB would download an extension.

        A file is checked once after each change: closing it would end the locks that DuckDB's open connections of this
        process have on it (POSIX), and other processes could write while they read.
        """
        position, magic = MAGIC_BYTES
        with _checking:
            state = _file_state(self.path)
            if state is not None and _checked.get(self.path) == state:
                return
            try:
                with self.path.open("rb") as file:
                    header = file.read(position.stop)
            except OSError as error:
                raise StoreError(f"{self.path}: cannot be read: {error.strerror or error}") from error
            if header[position] != magic:
                raise StoreError(
                    f"{self.path}: not a valid DuckDB database; move the file away, or choose another folder with"
                    " --store"
                )
            _checked[self.path] = state


@contextmanager
def _transaction(connection: duckdb.DuckDBPyConnection) -> Generator[None]:
    connection.execute("BEGIN")
    try:
        yield
    except BaseException:
        with suppress(duckdb.Error):  # rolling back fails if the database is damaged
            connection.execute("ROLLBACK")
        raise
    try:
        connection.execute("COMMIT")
    except duckdb.Error as error:
        raise StoreError(f"cannot write to the store: {_first_line(error)}") from error


@contextmanager
def _damage_as_store_error(path: Path) -> Generator[None]:
    """Turn errors about a damaged file into StoreError. Errors in SQL statements are not changed."""
    try:
        yield
    except duckdb.Error as error:
        # DuckDB raises the base class for a wrong checksum
        if isinstance(error, DAMAGE_ERRORS) or type(error) is duckdb.Error:
            raise _damaged(path, error) from error
        raise


def _damaged(path: Path, error: Exception) -> StoreError:
    return StoreError(f"{path}: {_first_line(error)}; run `ragboard doctor`")


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:300]


@cache
def _migrations() -> tuple[tuple[str, str], ...]:
    folder = files("ragboard") / "schema"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple((name, (folder / name).read_text("utf-8")) for name in names)


def _applied(connection: duckdb.DuckDBPyConnection, path: Path) -> int:
    """Return the number of migrations applied. Raises StoreError if a newer ragboard applied more."""
    try:
        with _damage_as_store_error(path):
            rows = connection.execute("SELECT count(*) FROM migrations").fetchall()
    except duckdb.CatalogException:
        return 0
    count: int = rows[0][0]
    if count > len(_migrations()):
        raise StoreError(f"{path}: written by a newer ragboard (schema {count}); upgrade ragboard")
    return count


def _migrate(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    applied = _applied(connection, path)
    if not applied:
        connection.execute("CREATE TABLE IF NOT EXISTS migrations (name VARCHAR PRIMARY KEY, applied TIMESTAMP)")
    for name, sql in _migrations()[applied:]:
        with _transaction(connection):
            connection.execute(sql)
            connection.execute("INSERT INTO migrations VALUES (?, now()::TIMESTAMP)", [name])
