"""The child process that runs one SQL query. It is started as a script and does not import the rest of ragboard.

It reads a request as JSON from standard input and writes the result as an Arrow stream to standard output. The metadata
of the stream's schema contains the DuckDB type of each column and whether rows were left out. If the query fails, the
process writes one line to standard error, and the exit code says why.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from bisect import bisect_right
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

import duckdb
from filelock import FileLock, Timeout

REFUSED, TOO_LONG, WRITER_WAITS, NO_MEMORY = 3, 4, 5, 6
"""Exit codes: the statement is forbidden or invalid, takes too long, blocks a writing process, or needs more memory."""

ALLOWED = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
LOCKED_DOWN = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "temp_directory": "",
    "threads": "1",
    "lock_configuration": "true",
}
"""Settings with which DuckDB reads no other files and no query can change the settings."""
TYPES_AS_TEXT = frozenset(("interval", "bit", "bignum", "union", "variant", "map", "geometry"))
"""DuckDB types that Arrow or Python do not have; they are returned as text."""
NESTED_TYPES = ("list", "array", "struct", "tuple")
CHECK_SECONDS = 0.1
"""Seconds between checks for a process that waits to write."""
LOCKED_CHECKS = 8
"""If the lock is held in this many consecutive checks, another process waits to write: readers release it at once."""
BATCH_ROWS = 500
"""Number of rows fetched at a time."""


class RefusedError(Exception):
    """A forbidden or invalid statement; the message says what to write instead."""


def main() -> None:
    """Read one request from standard input and write its result to standard output."""
    request = json.load(sys.stdin)
    _limit_memory(request["memory"])
    try:
        connection = _open(request)
        result = _run(connection, request)
    except RefusedError as refused:
        _end(REFUSED, str(refused))
    except (duckdb.OutOfMemoryException, MemoryError):
        _end(NO_MEMORY, "")
    except Timeout:
        _end(WRITER_WAITS, "")
    except duckdb.Error as error:
        busy = isinstance(error, duckdb.IOException) and any(sign in str(error) for sign in request["busy"])
        _end(WRITER_WAITS if busy else REFUSED, "" if busy else _first_line(error))
    else:
        sys.stdout.buffer.write(result)
        sys.stdout.flush()
        os._exit(0)


def _open(request: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    """Open the database read-only while holding the store's lock file (see `ragboard.database`)."""
    config: dict[str, Any] = {**LOCKED_DOWN, "memory_limit": f"{request['memory'] // 4}MB"}
    with _lock(request["lock"], request["wait"]):
        return duckdb.connect(request["path"], read_only=True, config=config)


def _lock(path: str, wait: float) -> AbstractContextManager[object]:
    """Acquire the lock file. If it cannot be created, no process can write to the store, so no lock is needed."""
    try:
        return FileLock(path, timeout=wait, is_singleton=False).acquire()
    except Timeout:
        raise
    except OSError:
        return nullcontext()


def _run(connection: duckdb.DuckDBPyConnection, request: dict[str, Any]) -> bytes:
    """Return the first rows of the result as an Arrow stream."""
    statement = _only_statement(connection, request["sql"])
    import pyarrow as pa  # slow, so not imported for a refused statement

    _start_watchdog(request)
    relation = connection.sql(statement)
    reader = _with_readable_types(relation).to_arrow_reader(BATCH_ROWS)
    limit, size = request["limit"], request["size"]
    batches: list[Any] = []
    rows = size_so_far = 0
    more = False
    for batch in reader:
        fitting = batch.slice(0, _rows_that_fit(batch, size - size_so_far))
        batches.append(fitting)
        rows, size_so_far = rows + fitting.num_rows, size_so_far + fitting.nbytes
        more = rows > limit or fitting.num_rows < batch.num_rows
        if more:
            break
    if more and not rows:
        raise RefusedError(
            f"the first row has more than {size:,} bytes: select fewer columns, or shorten texts with left(text, 1000)"
        )
    metadata = {"types": json.dumps([str(kind) for kind in relation.types]), "truncated": str(int(more))}
    table = pa.Table.from_batches(batches, reader.schema).slice(0, limit)
    table = table.rename_columns(_distinct_names(relation.columns)).replace_schema_metadata(metadata)
    with pa.BufferOutputStream() as sink, pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def _with_readable_types(relation: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Return the relation with columns of `TYPES_AS_TEXT` converted to text."""
    as_text = [_contains_type(kind, TYPES_AS_TEXT) for kind in relation.types]
    if not any(as_text):
        return relation
    columns = (f"#{n}::VARCHAR AS c{n}" if convert else f"#{n} AS c{n}" for n, convert in enumerate(as_text, 1))
    return relation.project(", ".join(columns))


def _contains_type(kind: Any, names: frozenset[str]) -> bool:
    """Return whether a type is one of these types, or contains one of them or a blob."""
    if kind.id in names:
        return True
    parts = [part for _, part in kind.children if hasattr(part, "id")] if kind.id in NESTED_TYPES else []
    return any(_contains_type(part, names | {"blob"}) for part in parts)


def _rows_that_fit(batch: Any, size: int) -> int:
    """Return the number of rows of the batch that fit into `size` bytes."""
    return bisect_right(range(1, batch.num_rows + 1), size, key=lambda rows: batch.slice(0, rows).nbytes)


def _only_statement(connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    """Parse the SQL. Raises RefusedError unless it is a single statement of an allowed type."""
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise RefusedError(
            f"{len(statements)} statements: write one SELECT"
            if statements
            else "the SQL has no statement: write a SELECT"
        )
    kind = statements[0].type
    if kind == duckdb.StatementType.MULTI:
        raise RefusedError("PIVOT needs its columns by name: PIVOT t ON c IN ('a', 'b') USING count(*)")
    if kind not in ALLOWED:
        raise RefusedError(
            f"{kind.name} is not allowed because queries only read: write a SELECT, DESCRIBE, SHOW or EXPLAIN"
        )
    if statements[0].named_parameters:
        raise RefusedError("the statement has parameters: write the values instead")
    return statements[0]


def _distinct_names(names: list[str]) -> list[str]:
    """Return the names, with numbers for repeated ones: `a`, `a_2`."""
    distinct: list[str] = []
    for name in names:
        number, candidate = 1, name
        while candidate in distinct:
            number += 1
            candidate = f"{name}_{number}"
        distinct.append(candidate)
    return distinct


def _start_watchdog(request: dict[str, Any]) -> None:
    """Start a thread that ends this process at the time limit, or earlier if another process waits to write."""
    threading.Thread(target=_end_in_time, args=(request, time.monotonic()), daemon=True).start()


def _end_in_time(request: dict[str, Any], start: float) -> None:
    locked_checks = 0
    while (elapsed := time.monotonic() - start) < request["seconds"]:
        time.sleep(CHECK_SECONDS)
        locked_checks = locked_checks + 1 if _is_locked(request["lock"]) else 0
        if locked_checks >= LOCKED_CHECKS and elapsed >= request["grace"]:
            os._exit(WRITER_WAITS)
    os._exit(TOO_LONG)


def _is_locked(path: str) -> bool:
    try:
        with FileLock(path, timeout=0, is_singleton=False):
            return False
    except Timeout:
        return True
    except OSError:
        return False


def _limit_memory(megabytes: int) -> None:
    """Limit the memory of this process; on Windows and macOS only DuckDB's limit applies."""
    try:
        import resource
    except ImportError:
        return
    size = megabytes * 2**20
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__


def _end(code: int, message: str) -> None:
    sys.stderr.buffer.write(message.encode("utf-8", errors="replace"))
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
