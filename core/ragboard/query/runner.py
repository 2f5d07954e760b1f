"""Run one SQL statement on the store in a separate process, with limits on time, memory and rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ragboard.database import BUSY_MESSAGES
from ragboard.errors import QueryError, QueryLimitError, StoreBusyError
from ragboard.query import child
from ragboard.store import Store

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["QueryColumn", "QueryLimits", "QueryResult", "run_query"]


START_SECONDS = 30.0
"""Maximum seconds to start the process and to open the database."""
MAX_CONCURRENT = 3
"""Maximum number of queries that this process runs at the same time."""
_slots = threading.BoundedSemaphore(MAX_CONCURRENT)


@dataclass(frozen=True, kw_only=True)
class QueryLimits:
    """Limits of one query."""

    rows: int = 1000
    """Maximum number of rows of the result; further rows are left out."""
    seconds: float = 5.0
    """Maximum duration in seconds."""
    grace: float = 1.0
    """The query is stopped after this many seconds if another process waits to write."""
    memory: int = 2048
    """Maximum memory of the process in megabytes; DuckDB may use a quarter of it."""
    size: int = 64 * 2**20
    """Approximate maximum size of the result in bytes; further rows are left out."""


@dataclass(frozen=True, kw_only=True)
class QueryColumn:
    """A column of a result."""

    name: str
    """Its name; repeated names are numbered: `a`, `a_2`."""
    type: str
    """Its DuckDB type."""


@dataclass(frozen=True, kw_only=True)
class QueryResult:
    """The result of a query."""

    sql: str
    columns: tuple[QueryColumn, ...]
    table: pa.Table
    truncated: bool
    """Whether rows were left out."""

    @property
    def rows(self) -> tuple[tuple[Any, ...], ...]:
        """The rows as Python values; null is None, and dates and times that Python cannot represent are text."""
        values = [_with_valid_dates(column).to_pylist() for column in self.table.columns]
        return tuple(zip(*values, strict=True))

    def frame(self) -> pd.DataFrame:
        """Return the rows as a DataFrame with nullable types. Values of types that pandas does not have become text."""
        import pandas as pd

        kinds = {pa.int8(): pd.Int8Dtype(), pa.int16(): pd.Int16Dtype(), pa.int32(): pd.Int32Dtype()}
        kinds |= {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
        columns = [_for_pandas(column) for column in self.table.columns]
        frame: pd.DataFrame = pa.table(columns, names=self.table.column_names).to_pandas(types_mapper=kinds.get)
        return frame


def _for_pandas(column: Any) -> Any:
    """Convert an Arrow column for pandas: decimals to integers or floats, blobs to text."""
    kind = column.type
    if pa.types.is_decimal(kind):
        return _number(column)
    if pa.types.is_binary(kind):
        return pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())
    return _with_valid_dates(column)


def _with_valid_dates(column: Any) -> Any:
    """Return the column, converted to text if it has a date or time that Python or pandas cannot represent."""
    type_with_text = _dates_as_text(column.type)
    if type_with_text == column.type:
        return column
    try:
        column.to_pylist()
        column.to_pandas()
    except (OverflowError, ValueError, pa.ArrowException):
        return column.cast(type_with_text)
    return column


def _dates_as_text(kind: Any) -> Any:
    """Return the type with dates and times replaced by text, also in nested types."""
    if pa.types.is_temporal(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_dates_as_text(kind.value_type))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_dates_as_text(kind.value_type), kind.list_size)
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(part.name, _dates_as_text(part.type)) for part in kind])
    return kind


def _number(column: Any) -> Any:
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column.cast(pa.float64())


def run_query(store: Store, sql: str, limits: QueryLimits | None = None) -> QueryResult:
    """Run one SELECT, DESCRIBE, SHOW or EXPLAIN on the store, and return its result.

    Raises QueryError for any other or invalid statement, QueryLimitError if it exceeds a limit on time or memory,
    StoreBusyError if too many queries are running or another process waits to write, and StoreError if the store cannot
    be read.
    """
    limits = limits or QueryLimits()
    store.check()
    if not _slots.acquire(timeout=limits.seconds):
        raise StoreBusyError(f"{MAX_CONCURRENT} queries are already running: try again in a moment")
    try:
        code, out, message = _run_child(_request(store, sql, limits), limits)
    finally:
        _slots.release()
    if code == 0:
        return _read_result(sql, out)
    raise _error_of(code, message, limits)


def _request(store: Store, sql: str, limits: QueryLimits) -> bytes:
    data = vars(limits) | {
        "sql": sql,
        "path": str(store.database.path.absolute()),
        "busy": BUSY_MESSAGES,
        "lock": str(store.database.lock_path),
        "wait": START_SECONDS / 2,
        "limit": limits.rows,
    }
    return json.dumps(data).encode()


def _run_child(request: bytes, limits: QueryLimits) -> tuple[int, bytes, str]:
    """Return exit code, result and error message of the child process, which is killed if it does not end in time."""
    process = subprocess.Popen(  # noqa: S603 - our own file
        [sys.executable, "-P", str(Path(child.__file__))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(),
    )
    with process:
        try:
            out, message = process.communicate(request, timeout=limits.seconds + START_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return child.TOO_LONG, b"", ""
        except BaseException:
            process.kill()
            raise
    return process.returncode, out, message.decode("utf-8", errors="replace")


def _environment() -> dict[str, str]:
    """Return the environment variables that Python needs; keys and tokens are left out."""
    needed = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH", "TMPDIR", "TEMP", "HOME", "USERPROFILE")
    return {name: value for name, value in os.environ.items() if name in needed or name.startswith("PYTHON")}


def _read_result(sql: str, out: bytes) -> QueryResult:
    table = pa.ipc.open_stream(out).read_all()
    metadata = table.schema.metadata
    types = json.loads(metadata[b"types"])
    return QueryResult(
        sql=sql,
        columns=tuple(QueryColumn(name=name, type=kind) for name, kind in zip(table.column_names, types, strict=True)),
        table=table.replace_schema_metadata(None),
        truncated=metadata[b"truncated"] == b"1",
    )


def _error_of(code: int, message: str, limits: QueryLimits) -> QueryError | StoreBusyError:
    match code:
        case child.REFUSED:
            return QueryError(message)
        case child.TOO_LONG:
            return QueryLimitError(
                f"stopped after {limits.seconds:g} s: select fewer rows with WHERE, for example the rows of one run"
            )
        case child.WRITER_WAITS:
            return StoreBusyError("stopped because another process is writing to the store: try again")
        case child.NO_MEMORY:
            return QueryLimitError(
                f"stopped: the query needs more than {limits.memory:,} MB of memory; select fewer rows with WHERE"
            )
        case _:
            last = message.strip().splitlines()[-1:]
            return QueryError(f"the query process ended with code {code}: {''.join(last) or 'no message'}")
