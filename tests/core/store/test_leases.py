"""Connections to the database that several reads share."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import duckdb
import pytest
from tests.core.conftest import make_run

from ragboard import NotFoundError, Store, database

pytestmark = pytest.mark.plain_database
WRITE = """
import sys
from ragboard import Run, Sample, Store
Store(sys.argv[1], wait=0.5).add_runs([Run(name="other", samples=(Sample(id="a", question="?"),))])
"""


def write_elsewhere(store: Store) -> bool:
    """Write to a store in another process; whether it could."""
    command = [sys.executable, "-c", WRITE, str(store.folder)]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def opened(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The databases that are opened from now on."""
    found: list[object] = []
    connect = duckdb.connect

    def counted(path: Path, **options: object) -> object:
        found.append(path)
        return connect(path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(duckdb, "connect", counted)
    return found


def test_reads_in_a_block_open_the_database_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = store.add_runs([make_run("first", samples=3)])[0].id
    found = opened(monkeypatch)
    with store.database.keep_open():
        with store.database.keep_open():
            assert store.sample_count(run_id) == 3
        assert Store(store.folder).resolve("first").run_id == run_id
    assert len(found) == 1
    assert store.sample_count(run_id) == 3
    assert len(found) == 2


def test_a_block_sees_its_own_writes(store: Store) -> None:
    run_id = store.add_runs([make_run("first")])[0].id
    with store.database.keep_open():
        assert store.resolve("first").run_id == run_id
        store.rename_run(run_id, "second")
        assert store.resolve("second").run_id == run_id


def test_another_process_can_write_after_the_block_and_before_its_first_read(store: Store) -> None:
    store.add_runs([make_run("first")])
    with store.database.keep_open():
        assert write_elsewhere(store)
        assert store.resolve("other")
        assert not write_elsewhere(store)
    assert write_elsewhere(store)


def test_an_error_in_a_block_closes_its_connection(store: Store) -> None:
    store.add_runs([make_run("first")])
    with pytest.raises(NotFoundError), store.database.keep_open():
        store.resolve("missing")
    assert write_elsewhere(store)


def wait_until_writable(store: Store) -> None:
    """Fail unless another process can write after a while."""
    for _ in range(20):
        if write_elsewhere(store):
            return
    pytest.fail("the shared connection was not closed")


def test_shared_reads_of_several_threads_open_the_database_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = store.add_runs([make_run("first", samples=3)])[0].id
    monkeypatch.setattr(database, "LINGER_SECONDS", 60)
    monkeypatch.setattr(database, "MAX_SHARED_SECONDS", 60)
    reader = Store(store.folder, shares_reads=True)
    assert reader.sample_count(run_id) == 3
    found = opened(monkeypatch)
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda _: reader.sample_count(run_id), range(20))) == [3] * 20
    assert not found


def test_a_shared_connection_is_closed_after_the_last_read(store: Store) -> None:
    store.add_runs([make_run("first")])
    reader = Store(store.folder, shares_reads=True)
    assert reader.resolve("first")
    wait_until_writable(store)
    assert reader.resolve("other")


def test_reads_without_a_pause_let_another_process_write(store: Store) -> None:
    store.add_runs([make_run("first")])
    reader, done = Store(store.folder, shares_reads=True), Event()

    def read() -> None:
        while not done.is_set():
            assert reader.resolve("first")

    with ThreadPoolExecutor(2) as threads:
        reads = [threads.submit(read) for _ in range(2)]
        Store(store.folder).check()
        try:
            command = [sys.executable, "-c", WRITE.replace("wait=0.5", "wait=60"), str(store.folder)]
            subprocess.run(command, check=True)
        finally:
            done.set()
        for one in reads:
            one.result()
    assert reader.resolve("other")


def test_a_write_after_a_shared_read_is_seen_by_the_next(store: Store) -> None:
    run_id = store.add_runs([make_run("first")])[0].id
    writer = Store(store.folder, shares_reads=True)
    for name in ("second", "third"):
        assert writer.resolve(run_id)
        writer.rename_run(run_id, name)
        assert writer.resolve(name).run_id == run_id


def test_a_store_that_was_replaced_is_opened_anew(store: Store, tmp_path: Path) -> None:
    store.add_runs([make_run("first")])
    other = Store(tmp_path / "elsewhere")
    other.add_runs([make_run("second")])
    reader = Store(store.folder, shares_reads=True)
    assert reader.resolve("first")
    other.database.path.replace(store.database.path)
    assert reader.resolve("second")


def test_an_error_in_a_shared_read_does_not_keep_the_database_open(store: Store) -> None:
    store.add_runs([make_run("first")])
    with pytest.raises(NotFoundError):
        Store(store.folder, shares_reads=True).resolve("missing")
    wait_until_writable(store)


def test_opening_the_database_again_does_not_end_the_lock_of_an_open_connection(store: Store) -> None:
    store.add_runs([make_run("first")])
    with store.database.read():
        Store(store.folder).check()
        assert not write_elsewhere(store)
    assert write_elsewhere(store)


def test_a_change_that_needs_more_memory_than_its_limit_is_made_without_a_limit(store: Store) -> None:
    store.add_runs([make_run("first", samples=1)])
    limits: list[str] = []

    def change(connection: duckdb.DuckDBPyConnection) -> int:
        limits.extend(connection.execute("SELECT current_setting('memory_limit')").fetchall()[0])
        connection.execute("UPDATE runs SET notes = notes || 'once'")
        connection.execute("CREATE TABLE texts AS SELECT repeat('long ', 2000000) AS text FROM range(12)")
        return 7

    assert store.database.write_within("32MB", change) == 7
    assert (len(limits), limits[0]) == (2, "30.5 MiB")
    with store.database.read() as connection:
        assert connection.execute("SELECT notes FROM runs").fetchall() == [("once",)]


def test_a_change_within_its_memory_limit_is_made_once(store: Store) -> None:
    store.add_runs([make_run("first", samples=1)])
    store.database.write_within(
        "64MB", lambda connection: connection.execute("UPDATE runs SET notes = notes || 'once'")
    )
    with store.database.read() as connection:
        assert connection.execute("SELECT notes FROM runs").fetchall() == [("once",)]
