"""Tests of damaged, foreign and read-only stores and of a full disk: one line of error, and `doctor`."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
from errno import EROFS
from importlib import import_module
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result
from tests.core.conftest import PlainJudge, make_run

from ragboard import DEFAULT_METRICS, Panel, Run, Store, StoreError, evaluate_run
from ragboard.cli import main
from ragboard.evaluation import cache
from ragboard.evaluation.cache import cache_contents, open_cache, read_cache

pytestmark = pytest.mark.plain_database

READING = [
    ["runs"],
    ["show", "run", "s1"],
    ["compare", "run", "other"],
    ["export", "run", "--what", "statements"],
    ["hallucinations"],
    ["query", "SELECT sum(length(text)) FROM passages"],
    ["plan", "run"],
    ["labels", "export"],
]
WRITING = [["tag", "run", "+x"], ["rename", "run", "new"], ["rm", "run", "--yes"]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two evaluated runs."""
    store = Store(tmp_path_factory.mktemp("whole") / "store")
    first = make_run(samples=60)
    for added in store.add_runs([first, Run(name="other", samples=first.samples, config={"k": 3})]):
        evaluate_run(store, added.id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    return store.folder


def ragboard(folder: Path, *words: str) -> Result:
    return CliRunner().invoke(main, [*words, "--store", str(folder)])


def one_line(result: Result) -> bool:
    """Whether a command did its work, or said in one line why not."""
    return result.exit_code == 0 or (isinstance(result.exception, SystemExit) and result.stderr.count("\n") == 1)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.8, 0.95])
def test_a_truncated_store_is_one_line_and_doctor_says_what_to_do(whole: Path, tmp_path: Path, share: float) -> None:
    content = (whole / "ragboard.duckdb").read_bytes()
    for words in (*READING, *WRITING, ["doctor"]):
        (tmp_path / "ragboard.duckdb").write_bytes(content[: int(len(content) * share) or 5])
        result = ragboard(tmp_path, *words)
        assert words == ["doctor"] or one_line(result), (words, result.exception)
    assert result.exit_code == 6
    wrong = [line for line in result.stdout.splitlines() if line.startswith("WRONG")]
    assert wrong
    assert any("Restore ragboard.duckdb from a backup" in line or "not a valid DuckDB" in line for line in wrong)


def test_damage_in_the_middle_of_a_table_is_named_by_doctor(whole: Path, tmp_path: Path) -> None:
    content = bytearray((whole / "ragboard.duckdb").read_bytes())
    for at in range(len(content) // 3, len(content), 997):
        content[at] ^= 0xFF
    for words in (*READING, *WRITING, ["doctor", "--json"]):
        (tmp_path / "ragboard.duckdb").write_bytes(content)
        result = ragboard(tmp_path, *words)
        assert words[0] == "doctor" or one_line(result), (words, result.exception)
    found = {one["what"]: one for one in json.loads(result.stdout)}
    assert not found["tables"]["ok"]
    assert "verdicts" in found["tables"]["said"]


def test_doctor_reads_every_table_as_far_as_time_allows(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with duckdb.connect(whole / "ragboard.duckdb", read_only=True) as connection:
        ((tables,),) = connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall()
    assert f"tables: {tables} read in full, nothing damaged\n" in ragboard(whole, "doctor").stdout
    monkeypatch.setattr(import_module("ragboard.cli.housekeeping"), "CHECK_SECONDS", 0.0)
    assert (
        f"tables: 0 read in full, nothing damaged; {tables} not fully read within" in ragboard(whole, "doctor").stdout
    )


def test_a_file_of_sqlite_has_nothing_fetched_from_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with sqlite3.connect(tmp_path / "ragboard.duckdb") as connection:
        connection.execute("CREATE TABLE runs (name)")
    connection.close()
    with socket.socket() as proxy:
        proxy.bind(("127.0.0.1", 0))
        proxy.listen()
        proxy.settimeout(0)
        for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        for words in (["runs"], ["tag", "run", "+x"], ["query", "SELECT 1"], ["doctor"]):
            result = ragboard(tmp_path, *words)
            assert "not a valid DuckDB database" in result.output
            assert "xtension" not in result.output
        with pytest.raises(BlockingIOError):
            proxy.accept()


def test_no_connection_loads_extensions(store: Store) -> None:
    names = "autoinstall_known_extensions", "autoload_known_extensions"
    for connect in (store.database.write, store.database.read):
        with connect() as connection:
            found = [connection.execute("SELECT current_setting(?)", [name]).fetchone() for name in names]
        assert found == [(False,), (False,)]


LIMITED = """
import resource, sys
sys.dont_write_bytecode = True  # a module's cut off byte code would break every later program
from ragboard.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
main(sys.argv[2:])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no bound on the size of files")
@pytest.mark.parametrize("kilobytes", [0, 4, 13, 300, 500])
def test_a_disk_that_fills_while_a_store_is_made_leaves_none_that_never_opens(
    python: str, tmp_path: Path, kilobytes: int
) -> None:
    folder = tmp_path / "store"
    command = [python, "-c", LIMITED, str(kilobytes * 1024), "runs", "--store", str(folder)]
    full = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (full.returncode, full.stderr.count("\n")) == (6, 1), full.stderr
    assert [path.name for path in folder.iterdir() if path.name != "ragboard.lock"] == []
    assert ragboard(folder, "runs").exit_code == 0


def test_an_empty_database_file_is_recreated(tmp_path: Path) -> None:
    (tmp_path / "ragboard.duckdb").touch()
    assert ragboard(tmp_path, "runs").exit_code == 0


@pytest.fixture
def read_only(whole: Path, tmp_path: Path) -> Path:
    """A store in whose folder no lock can be made, as on a read-only file system, which binds root too."""
    folder = Path(shutil.copytree(whole, tmp_path / "store"))
    (folder / "ragboard.lock").unlink()
    (folder / "ragboard.lock").mkdir()
    return folder


@pytest.mark.parametrize("words", READING, ids=lambda words: words[0])
def test_a_store_in_a_folder_without_write_access_is_read(read_only: Path, whole: Path, words: list[str]) -> None:
    found = ragboard(read_only, *words)
    assert (found.exit_code, found.stdout) == (0, ragboard(whole, *words).stdout), found.stderr


@pytest.mark.parametrize("words", WRITING, ids=lambda words: words[0])
def test_writing_there_is_rejected_in_one_line(read_only: Path, words: list[str]) -> None:
    result = ragboard(read_only, *words)
    assert (result.exit_code, result.stderr.count("\n")) == (6, 1)
    assert "ragboard.lock: Is a directory; choose another folder with --store" in result.stderr


def test_doctor_says_that_it_can_be_read_and_not_written(read_only: Path) -> None:
    said = ragboard(read_only, "doctor").stdout
    assert "WRONG store: " in said
    assert "readable but not writable; use `ragboard serve --read-only`" in said
    assert re.search(r"tables: \d\d read in full, nothing damaged", said)


def test_an_older_store_there_says_that_it_has_to_be_migrated(read_only: Path) -> None:
    (read_only / "ragboard.lock").rmdir()
    with Store(read_only).database.write() as connection:
        connection.execute("DELETE FROM migrations WHERE name = (SELECT max(name) FROM migrations)")
    (read_only / "ragboard.lock").unlink()
    (read_only / "ragboard.lock").mkdir()
    result = ragboard(read_only, "runs")
    assert (result.exit_code, result.stderr.count("\n")) == (6, 1)
    assert "made by an older ragboard, and migrating it failed" in result.stderr
    assert "copy the store to a writable folder" in result.stderr


def test_a_lock_that_a_file_system_refuses_is_none_to_wait_for(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def refused(path: str, flags: int, mode: int = 0o777, **more: int) -> int:
        if str(path).endswith(".lock"):
            raise OSError(EROFS, os.strerror(EROFS), str(path))
        return opened(path, flags, mode, **more)

    monkeypatch.setattr(os, "open", refused)
    assert Store(whole).resolve("run").name == "run"
    with pytest.raises(StoreError, match=r"lock: Read-only file system; choose another folder with --store"):
        Store(whole).set_notes(Store(whole).resolve("run").run_id, "x")


def test_a_cache_in_a_folder_that_cannot_be_written_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "answers.sqlite"
    with open_cache(path):
        pass
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO answers VALUES (x'00', 'judge', 'task', '{}', 1.0)")
    connection.close()

    def refused(_path: Path) -> sqlite3.Connection:
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(cache, "_connect", refused)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert [one.judge for one in cache_contents(path)] == ["judge"]
    with read_cache(path) as answers:
        assert answers is not None


def test_serve_check_says_that_the_store_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "ragboard.duckdb").write_bytes(b"no database" * 100)
    result = ragboard(tmp_path, "serve", "--check")
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (
        6,
        "ragboard: the dashboard answers, but the store cannot be read: see the server's log, or run `ragboard doctor`",
    )


def test_serve_check_answers_for_a_read_only_store(read_only: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(read_only.parent)
    Path("click.py").write_text("raise SystemExit('a file of this folder was run')", encoding="utf-8")
    result = ragboard(read_only, "serve", "--check", "--read-only")
    assert (result.exit_code, result.stdout) == (0, "the dashboard answers\n")
