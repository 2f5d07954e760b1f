"""Tests of queries: read-only, limited time and memory, and priority of writers."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from io import BytesIO
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from tests.core.conftest import make_run

from ragboard import Store
from ragboard.cli import main
from ragboard.errors import QueryError, StoreBusyError, StoreError
from ragboard.export import table_bytes
from ragboard.query import QueryColumn, QueryLimits, run_query
from ragboard.query.runner import _environment

pytestmark = pytest.mark.plain_database

SHORT = QueryLimits(seconds=1, grace=0.5)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = Store(tmp_path_factory.mktemp("kept") / "store")
    store.add_runs([make_run()])
    return store


def test_a_result_has_its_columns_types_and_rows(kept: Store) -> None:
    sql = "SELECT name, samples AS n, 2.50 AS d, NULL AS nothing, [1, 2] AS n FROM runs -- a comment"
    result = run_query(kept, sql)
    assert result.sql == sql
    assert result.columns == (
        QueryColumn(name="name", type="VARCHAR"),
        QueryColumn(name="n", type="INTEGER"),
        QueryColumn(name="d", type="DECIMAL(3,2)"),
        QueryColumn(name="nothing", type='"NULL"'),
        QueryColumn(name="n_2", type="INTEGER[]"),
    )
    assert result.rows == (("run", 3, Decimal("2.50"), None, [1, 2]),)
    assert not result.truncated


@pytest.mark.parametrize("sql", ["DESCRIBE runs", "SHOW TABLES", "SUMMARIZE runs", "EXPLAIN SELECT 1", "FROM runs"])
def test_what_only_reads_is_answered(kept: Store, sql: str) -> None:
    assert run_query(kept, sql).rows


def test_rows_past_the_limit_are_left_out_and_that_is_reported(kept: Store) -> None:
    result = run_query(kept, "SELECT * FROM range(1000000000000)", QueryLimits(rows=7))
    assert result.rows == tuple((n,) for n in range(7))
    assert result.truncated
    assert not run_query(kept, "SELECT * FROM range(7)", QueryLimits(rows=7)).truncated


def test_rows_past_the_bytes_are_left_out_and_that_is_reported(kept: Store) -> None:
    sql = "SELECT repeat('x', 1000) FROM range(400)"
    result = run_query(kept, sql, QueryLimits(size=20_000))
    assert 10 < len(result.rows) < 20
    assert result.table.nbytes <= 20_000
    assert result.truncated
    assert not run_query(kept, sql, QueryLimits(size=2**20)).truncated
    with pytest.raises(QueryError, match="the first row has more than 900 bytes"):
        run_query(kept, sql, QueryLimits(size=900))


def test_no_row_is_a_result_too(kept: Store) -> None:
    result = run_query(kept, "SELECT name, 1 AS one FROM runs WHERE false")
    assert (result.rows, len(result.columns), result.truncated) == ((), 2, False)


FORBIDDEN = {
    "ATTACH '{folder}/other.duckdb'": "ATTACH is not allowed",
    "ATTACH ':memory:' AS m": "ATTACH is not allowed",
    "DETACH ragboard": "DETACH is not allowed",
    "COPY runs TO '{folder}/stolen.csv'": "COPY is not allowed",
    "EXPORT DATABASE '{folder}/stolen'": "EXPORT is not allowed",
    "PRAGMA database_list": "PRAGMA is not allowed",
    "SET memory_limit = '100GB'": "SET is not allowed",
    "RESET threads": "SET is not allowed",
    "SET VARIABLE a = 1": "SET is not allowed",
    "USE memory": "SET is not allowed",
    "INSTALL httpfs": "LOAD is not allowed",
    "LOAD httpfs": "LOAD is not allowed",
    "DELETE FROM runs": "DELETE is not allowed",
    "UPDATE runs SET name = 'x'": "UPDATE is not allowed",
    "INSERT INTO runs SELECT * FROM runs": "INSERT is not allowed",
    "DROP TABLE runs": "DROP is not allowed",
    "CREATE TABLE t (i INTEGER)": "CREATE is not allowed",
    "CREATE TEMP TABLE t AS SELECT 1": "CREATE is not allowed",
    "CREATE TEMP MACRO f(a) AS a": "CREATE is not allowed",
    "CHECKPOINT": "CALL is not allowed",
    "CALL pragma_version()": "CALL is not allowed",
    "VACUUM": "VACUUM is not allowed",
    "BEGIN": "TRANSACTION is not allowed",
    "PREPARE q AS SELECT 1": "PREPARE is not allowed",
    "PIVOT runs ON name USING count(*)": "PIVOT needs its columns by name",
    "SELECT 1; DELETE FROM runs": "2 statements: write one SELECT",
    "": "the SQL has no statement",
    "-- nothing": "the SQL has no statement",
    "SELECT $1": "the statement has parameters",
    "SELEC 1": "Parser Error: syntax error",
    "SELECT * FROM no_such_table": "Table with name no_such_table does not exist",
    "WITH gone AS (DELETE FROM runs RETURNING *) SELECT * FROM gone": "attached in read-only mode",
    "EXPLAIN ANALYZE DELETE FROM runs": "attached in read-only mode",
    "EXPLAIN ANALYZE COPY runs TO '{folder}/stolen.csv'": "file system operations are disabled",
    "SELECT * FROM read_csv('{folder}/secret.csv')": "file system operations are disabled",
    "SELECT * FROM read_text('{folder}/secret.csv')": "file system operations are disabled",
    "SELECT * FROM read_blob('{folder}/*')": "file system operations are disabled",
    "SELECT * FROM read_json('{folder}/secret.csv')": "file system operations are disabled",
    "SELECT * FROM read_parquet('https://example.com/x.parquet')": "disabled",
    "SELECT * FROM glob('{folder}/*')": "file system operations are disabled",
    "SELECT * FROM sniff_csv('{folder}/secret.csv')": "file system operations are disabled",
    "SELECT * FROM '{folder}/secret.csv'": "file system operations are disabled",
    "SELECT * FROM query('SELECT * FROM read_text(''{folder}/secret.csv'')')": "file system operations are disabled",
    "SELECT * FROM duckdb_secrets()": "file system operations are disabled",
    "SELECT getenv('HOME')": "does not exist",
    "SELECT * FROM enable_logging()": "configuration has been locked",
    "SELECT repeat('x', 3000000000)": "of memory",
    "SELECT range(2000000000)": "of memory",
    "SELECT list(i) FROM range(1000000000) t(i)": "stopped",
}


def test_everything_else_is_rejected_in_one_line(kept: Store, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("secret\n1\n", encoding="utf-8")

    def said(sql: str) -> str:
        limits = SHORT if FORBIDDEN[sql] == "stopped" else QueryLimits(grace=5)
        with pytest.raises(QueryError) as refused:
            run_query(kept, sql.format(folder=tmp_path.as_posix()), limits)
        return str(refused.value)

    with ThreadPoolExecutor(3) as pool:
        found = dict(zip(FORBIDDEN, pool.map(said, FORBIDDEN), strict=True))
    assert {sql: message for sql, message in found.items() if FORBIDDEN[sql] not in message or "\n" in message} == {}
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]
    assert kept.sample_count(kept.resolve("run").run_id) == 3


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM range(1000000000000)",
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t",
        "SELECT lpad('', 2000000000, 'x')",
        "SELECT * FROM range(1000000) a, range(1000000) b ORDER BY hash(a.range + b.range)",
    ],
)
def test_a_query_without_end_is_stopped(kept: Store, sql: str) -> None:
    begun = time.monotonic()
    with pytest.raises(QueryError, match="stopped"):
        run_query(kept, sql, SHORT)
    assert time.monotonic() - begun < 30


@pytest.fixture
def endless(kept: Store) -> Iterator[list[Exception]]:
    """A query without end in a thread of its own; what it ended with, when it has."""
    ended: list[Exception] = []

    def ask() -> None:
        try:
            run_query(kept, "SELECT count(*) FROM range(1000000000000)", QueryLimits(seconds=60, grace=0.2))
        except (QueryError, StoreError) as error:
            ended.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    yield ended
    thread.join(90)


def test_a_query_leaves_when_a_writer_waits(kept: Store, endless: list[Exception]) -> None:
    deadline = time.monotonic() + 50
    while not endless and time.monotonic() < deadline:
        kept.set_notes(kept.resolve("run").run_id, "written")
        time.sleep(0.05)
    assert [type(error) for error in endless] == [StoreBusyError]
    assert "another process is writing" in str(endless[0])


def test_a_store_of_older_make_is_brought_up_first_and_one_that_is_not_there_is_made(tmp_path: Path) -> None:
    assert run_query(Store(tmp_path / "new"), "SELECT count(*) FROM runs").rows == ((0,),)


def test_no_key_reaches_the_process_of_a_query(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    assert "secret" not in _environment().values()


def test_a_frame_keeps_integers_with_nulls_and_turns_other_types_into_text(kept: Store) -> None:
    sql = (
        "SELECT * FROM (VALUES (1, 1::HUGEINT, 2.5, true, INTERVAL 3 DAY, MAP([1], [2]), TIMESTAMP '2026-01-02', '=1'),"
        " (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)) t(i, h, d, b, v, m, t, f)"
    )
    frame = run_query(kept, sql).frame()
    assert table_bytes(frame, "json").decode() == (
        '[{"i":1,"h":1,"d":2.5,"b":true,"v":"3 days","m":"{1=2}",'
        '"t":"2026-01-02T00:00:00.000","f":"=1"},'
        '{"i":null,"h":null,"d":null,"b":null,"v":null,"m":null,"t":null,"f":null}]'
    )
    assert table_bytes(frame, "csv").decode().splitlines()[2] == "," * 7
    assert ",'=1" in table_bytes(frame, "csv").decode()
    assert pq.read_table(BytesIO(table_bytes(frame, "parquet"))).column("i").to_pylist() == [1, None]


@pytest.mark.parametrize(
    "sql",
    ["DATE 'infinity'", "TIMESTAMP '290000-01-01'", "TIMESTAMP '-infinity'", "TIME '24:00'", "union_value(n := 1)"],
)
def test_a_value_that_python_does_not_know_is_shown_as_text(kept: Store, sql: str) -> None:
    result = run_query(kept, f"SELECT {sql} AS at, NULL AS nothing")
    assert [len(row) for row in result.rows] == [2]
    assert isinstance(result.frame()["at"][0], str)
    assert table_bytes(result.frame(), "csv")


ODD = """INTERVAL 3 DAY; uuid(); 1.5::DECIMAL(38, 10); 99999999999999999999999999999999999999::DECIMAL(38, 0);
'\\xFF\\x00'::BLOB; ['\\xFF'::BLOB]; {'b': ['\\xFF'::BLOB]}; [INTERVAL 1 DAY]; {'a': 1, 'b': INTERVAL 1 DAY};
[uuid()]; [DATE 'infinity']; {'d': DATE '5877642-06-25 (BC)'}; [TIMESTAMP '290000-01-01']; [TIME '24:00'];
MAP(['a'], [1]); [MAP(['a'], [1])]; MAP([1], [[DATE 'infinity']]); [union_value(n := 1)]; [[union_value(n := 'x')]];
'infinity'::DOUBLE; ['nan'::DOUBLE]; {'x': '-infinity'::FLOAT}; '101'::BIT; ['101'::BIT]; 1::VARIANT; [1::VARIANT];
'12345678901234567890123456789012345678901234567890'::BIGNUM; 170141183460469231731687303715884105727::HUGEINT;
340282366920938463463374607431768211455::UHUGEINT; [18446744073709551615::UBIGINT]; TIMESTAMP 'infinity';
TIMESTAMP_NS '1677-09-22 00:00:00'; TIMESTAMPTZ 'infinity'; TIMETZ '12:34:56+05:30'; 'a'::ENUM ('a', 'b');
array_value(INTERVAL 1 DAY, NULL); array_value(DATE 'infinity'); ROW(1, INTERVAL 1 DAY); ROW(1, 'a'); [];
{'a': NULL}; '{"a": 1}'::JSON; NULL; chr(0)"""


def test_a_value_of_any_type_is_written_in_every_format(kept: Store) -> None:
    values = [value.strip() for value in ODD.split(";")]
    columns = ", ".join(f"{value} AS c{at}" for at, value in enumerate(values))
    result = run_query(kept, f"SELECT {columns} UNION ALL SELECT {', '.join(['NULL'] * len(values))}")
    assert [len(row) for row in result.rows] == [len(values)] * 2
    for kind in ("csv", "json", "jsonl", "parquet"):
        assert table_bytes(result.frame(), kind)
    first, second = json.loads(table_bytes(result.frame(), "json"))
    assert (first["c0"], first["c7"], first["c14"], set(second.values())) == ("3 days", "[1 day]", "{a=1}", {None})
    assert first["c8"] == "{'a': 1, 'b': 1 day}"


@pytest.mark.parametrize("sql", ["FROM test_all_types()", "FROM duckdb_settings()", "FROM pragma_storage_info('runs')"])
def test_system_tables_are_written_as_json(kept: Store, sql: str) -> None:
    words = ["query", sql, "--format", "json", "--store", str(kept.folder)]
    done = CliRunner().invoke(main, words, catch_exceptions=False)
    assert (done.exit_code, bool(json.loads(done.stdout))) == (0, True)


def test_the_order_of_rows_stays_where_a_column_becomes_text(kept: Store) -> None:
    sql = "SELECT i, to_days(i::INTEGER) AS d FROM range(5000) t(i) ORDER BY i DESC"
    rows = run_query(kept, sql, QueryLimits(rows=5000)).rows
    assert [row[0] for row in rows] == list(range(4999, -1, -1))
    assert rows[0][1] == "4999 days"


def test_what_parquet_does_not_take_is_one_line(kept: Store, tmp_path: Path) -> None:
    words = ["query", "FROM test_all_types()", "-o", str(tmp_path / "x.parquet")]
    done = CliRunner().invoke(main, [*words, "--store", str(kept.folder)])
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "cannot be written as Parquet" in done.stderr
    assert list(tmp_path.iterdir()) == []
