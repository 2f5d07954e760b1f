"""One query in a process of its own, which ends it: run as a file, so that it starts without the rest of ragboard.

A request comes as JSON on standard input; the result leaves as an Arrow stream on standard output, its schema
saying what the columns are and whether rows were left out. What cannot be answered leaves as one line on
standard error, and the exit code says why.
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
"""Exit codes. 3: the statement is not allowed or wrong; 4: it took too long; 5: a writer waits; 6: no memory."""

ALLOWED = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
LOCKED_DOWN = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "temp_directory": "",
    "threads": "1",
    "lock_configuration": "true",
}
AS_TEXT = frozenset(("interval", "bit", "bignum", "union", "variant", "map", "geometry"))
NESTED = ("list", "array", "struct", "tuple")
LOOK_SECONDS = 0.1
"""Seconds between checks for a waiting writer."""
HELD_LOOKS = 8
"""Checks with a closed gate in a row that mean that a writer waits; readers pass in milliseconds."""
BATCH = 500
"""Rows to fetch at a time."""


class RefusedError(Exception):
    """A statement that is not allowed; the message says what to do instead."""


def main() -> None:
    """Read one request, and write its result."""
    request = json.load(sys.stdin)
    _bound_memory(request["memory"])
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
        _end(WRITER_WAITS if busy else REFUSED, "" if busy else _told(error))
    else:
        sys.stdout.buffer.write(result)
        sys.stdout.flush()
        os._exit(0)


def _open(request: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    """Open the database read-only, through the gate if there is one."""
    config: dict[str, Any] = {**LOCKED_DOWN, "memory_limit": f"{request['memory'] // 4}MB"}
    with _gate(request["gate"], request["wait"]):
        return duckdb.connect(request["path"], read_only=True, config=config)


def _gate(path: str, wait: float) -> AbstractContextManager[object]:
    """Hold the gate; if no file can be made, nobody writes either."""
    try:
        return FileLock(path, timeout=wait, is_singleton=False).acquire()
    except Timeout:
        raise
    except OSError:
        return nullcontext()


def _run(connection: duckdb.DuckDBPyConnection, request: dict[str, Any]) -> bytes:
    """Return the first rows of a result as an Arrow stream."""
    statement = _only(connection, request["sql"])
    import pyarrow as pa  # a third of the time that a process takes: not for what is refused

    _watch(request)
    relation = connection.sql(statement)
    reader = _readable(relation).to_arrow_reader(BATCH)
    limit, size = request["limit"], request["size"]
    batches: list[Any] = []
    rows = held = 0
    more = False
    for batch in reader:
        fitting = batch.slice(0, _fitting(batch, size - held))
        batches.append(fitting)
        rows, held = rows + fitting.num_rows, held + fitting.nbytes
        more = rows > limit or fitting.num_rows < batch.num_rows
        if more:
            break
    if more and not rows:
        raise RefusedError(f"its first row alone takes more than {size:,} bytes: ask for less, with left(text, 1000)")
    said = {"types": json.dumps([str(kind) for kind in relation.types]), "truncated": str(int(more))}
    table = pa.Table.from_batches(batches, reader.schema).slice(0, limit)
    table = table.rename_columns(_distinct(relation.columns)).replace_schema_metadata(said)
    with pa.BufferOutputStream() as sink, pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def _readable(relation: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Return the relation with columns of unusual types as DuckDB's text."""
    odd = [_odd(kind, AS_TEXT) for kind in relation.types]
    if not any(odd):
        return relation
    columns = (f"#{at}::VARCHAR AS c{at}" if is_odd else f"#{at} AS c{at}" for at, is_odd in enumerate(odd, 1))
    return relation.project(", ".join(columns))


def _odd(kind: Any, odd: frozenset[str]) -> bool:
    """Return whether a type is unusual, or contains an unusual one; a blob is unusual only there."""
    if kind.id in odd:
        return True
    made_of = [part for _, part in kind.children if hasattr(part, "id")] if kind.id in NESTED else []
    return any(_odd(part, odd | {"blob"}) for part in made_of)


def _fitting(batch: Any, size: int) -> int:
    """Count the rows of the batch that fit into these bytes."""
    return bisect_right(range(1, batch.num_rows + 1), size, key=lambda rows: batch.slice(0, rows).nbytes)


def _only(connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    """Return the statement if its type is allowed."""
    found = connection.extract_statements(sql)
    if len(found) != 1:
        raise RefusedError(
            f"{len(found)} statements: write one SELECT" if found else "there is no statement: write a SELECT"
        )
    kind = found[0].type
    if kind == duckdb.StatementType.MULTI:
        raise RefusedError("PIVOT needs its columns named here: PIVOT t ON c IN ('a', 'b') USING count(*)")
    if kind not in ALLOWED:
        raise RefusedError(f"{kind.name} is not allowed: this console reads; write a SELECT, DESCRIBE, SHOW or EXPLAIN")
    if found[0].named_parameters:
        raise RefusedError("the statement has parameters: write their values")
    return found[0]


def _distinct(names: list[str]) -> list[str]:
    """Number repeated names: `a`, `a_2`."""
    found: list[str] = []
    for name in names:
        number, one = 1, name
        while one in found:
            number += 1
            one = f"{name}_{number}"
        found.append(one)
    return found


def _watch(request: dict[str, Any]) -> None:
    """End this process at its time limit, or earlier if a writer waits."""
    threading.Thread(target=_end_in_time, args=(request, time.monotonic()), daemon=True).start()


def _end_in_time(request: dict[str, Any], begun: float) -> None:
    closed = 0
    while (spent := time.monotonic() - begun) < request["seconds"]:
        time.sleep(LOOK_SECONDS)
        closed = closed + 1 if _closed(request["gate"]) else 0
        if closed >= HELD_LOOKS and spent >= request["grace"]:
            os._exit(WRITER_WAITS)
    os._exit(TOO_LONG)


def _closed(gate: str) -> bool:
    try:
        with FileLock(gate, timeout=0, is_singleton=False):
            return False
    except Timeout:
        return True
    except OSError:
        return False


def _bound_memory(megabytes: int) -> None:
    """Limit the memory of this process; on Windows and macOS only DuckDB's limit applies."""
    try:
        import resource
    except ImportError:
        return
    size = megabytes * 2**20
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _told(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__


def _end(code: int, message: str) -> None:
    sys.stderr.buffer.write(message.encode("utf-8", errors="replace"))
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
