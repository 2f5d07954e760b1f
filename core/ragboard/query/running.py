"""Run one SQL statement over the store in a separate process with limits of time, memory and rows."""

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
"""Seconds to start the process and to wait for the database."""
AT_A_TIME = 3
"""Most queries of this process at a time."""
_turns = threading.BoundedSemaphore(AT_A_TIME)


@dataclass(frozen=True, kw_only=True)
class QueryLimits:
    """Limits of one query."""

    rows: int = 1000
    """Most rows of the result."""
    seconds: float = 5.0
    grace: float = 1.0
    """Seconds that a query may take in any case; after them it ends as soon as a writer waits."""
    memory: int = 2048
    """Memory of the process in megabytes; DuckDB may use a quarter."""
    size: int = 64 * 2**20
    """Approximate size of the result in bytes; later rows are left out."""


@dataclass(frozen=True, kw_only=True)
class QueryColumn:
    """A column of a result."""

    name: str
    """Name; repeated names are numbered: `a`, `a_2`."""
    type: str
    """Type, as DuckDB names it."""


@dataclass(frozen=True, kw_only=True)
class QueryResult:
    """Run one SELECT, DESCRIBE, SHOW or EXPLAIN over the store, and return its result."""

    sql: str
    columns: tuple[QueryColumn, ...]
    table: pa.Table
    truncated: bool
    """Whether rows were left out."""

    @property
    def rows(self) -> tuple[tuple[Any, ...], ...]:
        """Return the rows as Python values; times that Python cannot represent are text, null is None."""
        values = [_dated(column).to_pylist() for column in self.table.columns]
        return tuple(zip(*values, strict=True))

    def frame(self) -> pd.DataFrame:
        """Return the rows as a DataFrame; integers stay integers beside nulls, unknown types become text."""
        import pandas as pd

        kinds = {pa.int8(): pd.Int8Dtype(), pa.int16(): pd.Int16Dtype(), pa.int32(): pd.Int32Dtype()}
        kinds |= {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
        columns = [_known(column) for column in self.table.columns]
        frame: pd.DataFrame = pa.table(columns, names=self.table.column_names).to_pandas(types_mapper=kinds.get)
        return frame


def _known(column: Any) -> Any:
    """Convert an Arrow column for pandas: decimals to floats, blobs to text."""
    kind = column.type
    if pa.types.is_decimal(kind):
        return _number(column)
    if pa.types.is_binary(kind):
        return pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())
    return _dated(column)


def _dated(column: Any) -> Any:
    """Convert an Arrow column for Python: dates and times outside its range to text."""
    dated = _dates_as_text(column.type)
    if dated == column.type:
        return column
    try:
        column.to_pylist()
        column.to_pandas()
    except (OverflowError, ValueError, pa.ArrowException):
        return column.cast(dated)
    return column


def _dates_as_text(kind: Any) -> Any:
    """Return the type with text in place of dates and times, at any depth."""
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
    """Run one SELECT, DESCRIBE, SHOW or EXPLAIN over the store, and return its result.

    Raises QueryError for any other statement, a wrong one, and one that takes more than it may; StoreBusyError
    if too many run already, or a writer waits; StoreError where the store cannot be read.
    """
    limits = limits or QueryLimits()
    store.check()
    if not _turns.acquire(timeout=limits.seconds):
        raise StoreBusyError(f"{AT_A_TIME} queries run already: try again in a moment")
    try:
        code, out, said = _ask(_request(store, sql, limits), limits)
    finally:
        _turns.release()
    if code == 0:
        return _result(sql, out)
    raise _refusal(code, said, limits)


def _request(store: Store, sql: str, limits: QueryLimits) -> bytes:
    data = vars(limits) | {
        "sql": sql,
        "path": str(store.database.path.absolute()),
        "busy": BUSY_MESSAGES,
        "gate": str(store.database.lock_path),
        "wait": START_SECONDS / 2,
        "limit": limits.rows,
    }
    return json.dumps(data).encode()


def _ask(request: bytes, limits: QueryLimits) -> tuple[int, bytes, str]:
    """Return exit code, result and message of the child, which is killed if it does not end in time."""
    process = subprocess.Popen(  # noqa: S603 - our own file
        [sys.executable, "-P", str(Path(child.__file__))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(),
    )
    with process:
        try:
            out, said = process.communicate(request, timeout=limits.seconds + START_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return child.TOO_LONG, b"", ""
        except BaseException:
            process.kill()
            raise
    return process.returncode, out, said.decode("utf-8", errors="replace")


def _environment() -> dict[str, str]:
    """Return the environment that Python needs, without keys or tokens."""
    kept = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH", "TMPDIR", "TEMP", "HOME", "USERPROFILE")
    return {name: value for name, value in os.environ.items() if name in kept or name.startswith("PYTHON")}


def _result(sql: str, out: bytes) -> QueryResult:
    table = pa.ipc.open_stream(out).read_all()
    said = table.schema.metadata
    types = json.loads(said[b"types"])
    return QueryResult(
        sql=sql,
        columns=tuple(QueryColumn(name=name, type=kind) for name, kind in zip(table.column_names, types, strict=True)),
        table=table.replace_schema_metadata(None),
        truncated=said[b"truncated"] == b"1",
    )


def _refusal(code: int, said: str, limits: QueryLimits) -> QueryError | StoreBusyError:
    match code:
        case child.REFUSED:
            return QueryError(said)
        case child.TOO_LONG:
            return QueryLimitError(f"stopped after {limits.seconds:g} s: ask for less, with WHERE or over one run")
        case child.WRITER_WAITS:
            return StoreBusyError("stopped, because something is being written: try again")
        case child.NO_MEMORY:
            most = f"{limits.memory:,} MB of memory"
            return QueryLimitError(f"stopped: it took more than {most}; ask for less, with WHERE")
        case _:
            last = said.strip().splitlines()[-1:]
            return QueryError(f"its process ended with code {code}: {''.join(last) or 'it took too much'}")
