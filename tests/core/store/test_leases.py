"""Connections to the database that several reads share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from tests.core.conftest import make_run

from ragboard import NotFoundError, Store

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
