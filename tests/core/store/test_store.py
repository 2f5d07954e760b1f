"""Tests of the store: runs are stored as a whole and recognised again; the database is not kept open."""

from __future__ import annotations

import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from tests.core.conftest import PlainJudge, make_run, make_sample

from ragboard import (
    DEFAULT_METRICS,
    EmbeddedJudge,
    NotFoundError,
    Panel,
    Passage,
    Run,
    RunExistsError,
    Sample,
    SettingError,
    Store,
    StoreError,
    Turn,
    evaluate_run,
)
from ragboard.analysis import leaderboard, runs_matching
from ragboard.database import Database
from ragboard.metrics import metrics_named

FULL = Sample(
    id="../etc/passwd",
    question="Wer? \N{PILE OF POO}",
    answer="a\0b",
    contexts=(Passage(id="c#1", text="text", rank=1, score=1.5), Passage(id="c#2", text="", rank=2)),
    reference="ref",
    reference_contexts=("one", "two"),
    history=(Turn(role="user", text="before"), Turn(role="assistant", text="after")),
    metadata={"latency": 0.25, "tags": ["x"], "deep": {"a": None}},
)


def test_a_sample_comes_back_as_it_was(store: Store) -> None:
    bare = Sample(id="bare", question="q")
    empty = Sample(id="empty", question="q", answer="", contexts=(), reference_contexts=())
    run_id = store.add_runs([Run(name="r", samples=(FULL, bare, empty))])[0].id
    assert [sample for _, sample in store.samples(run_id)] == [FULL, bare, empty]


def test_a_folder_may_be_named_by_a_text(store: Store) -> None:
    store.add_runs([make_run("first")])
    assert Store(str(store.folder)).resolve("first").name == "first"


def test_samples_come_in_order_over_page_borders(store: Store) -> None:
    run_id = store.add_runs([make_run(samples=600)])[0].id
    assert [position for position, _ in store.samples(run_id)] == list(range(600))
    assert [sample.id for _, sample in store.samples(run_id)] == [f"s{number}" for number in range(600)]


def test_the_same_run_twice_is_one_run(store: Store) -> None:
    first, second = store.add_runs([make_run()])[0], store.add_runs([make_run()])[0]
    assert (first.added, second.added) == (True, False)
    assert first.id == second.id
    assert len(list(store.samples(first.id))) == 3


def test_another_run_of_the_same_name_is_rejected_and_nothing_is_kept(store: Store) -> None:
    store.add_runs([make_run("a")])
    with pytest.raises(RunExistsError, match="already called 'a'"):
        store.add_runs([make_run("b"), make_run("a", samples=5)])
    with pytest.raises(NotFoundError, match="there are a"):
        store.resolve("b")


def test_a_run_without_samples_or_name_is_rejected(store: Store) -> None:
    with pytest.raises(SettingError, match="has no sample"):
        store.add_runs([Run(name="empty", samples=())])
    with pytest.raises(SettingError, match="needs a name"):
        store.add_runs([replace(make_run(), name=" ")])


@pytest.mark.parametrize("run", [replace(make_run(), name="\ud800"), replace(make_run(), config={"t": float("nan")})])
def test_a_name_or_setting_that_cannot_be_stored_is_rejected(store: Store, run: Run) -> None:
    with pytest.raises(SettingError, match="cannot be stored"):
        store.add_runs([run])


def test_a_name_with_an_at_sign_is_found_before_it_is_read_as_an_evaluation(store: Store) -> None:
    run_id = store.add_runs([make_run("a@b")])[0].id
    done = evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    assert store.resolve("a@b").run_id == run_id
    assert store.resolve(f"a@b@{done.evaluation.id[:6]}").evaluation_id == done.evaluation.id
    with pytest.raises(NotFoundError, match=done.evaluation.id):
        store.resolve("a@b@nope")


def test_an_evaluation_is_named_by_its_judge_where_that_is_the_only_one(store: Store) -> None:
    run_id = store.add_runs([make_run("a")])[0].id
    metrics = metrics_named(["faithfulness"])
    plain = evaluate_run(store, run_id, metrics, Panel(judge=PlainJudge())).evaluation
    assert store.resolve(f"a@{plain.judge}").evaluation_id == plain.id
    other = evaluate_run(store, run_id, metrics, Panel(judge=EmbeddedJudge())).evaluation
    assert store.resolve("a@embedded").evaluation_id == other.id
    with pytest.raises(NotFoundError, match=rf"the run has {other.id} \(embedded\), {plain.id}"):
        store.resolve("a@nobody")


def test_removing_a_run_removes_all_of_it_and_no_other_run(store: Store) -> None:
    kept, gone = (store.add_runs([make_run(name)])[0].id for name in ("kept", "gone"))
    for run_id in (kept, gone):
        evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    evaluation = store.resolve("gone").evaluation_id
    store.remove_runs([gone])
    with store.database.read() as connection:
        tables = [row[0] for row in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        for table in tables:
            text = str(connection.execute(f"SELECT * FROM {table}").fetchall())
            assert gone not in text
            assert str(evaluation) not in text
    assert not list(store.folder.glob(f"journals/{evaluation}*.json*"))
    assert len(list(store.samples(kept))) == 3


def test_the_version_changes_with_every_write_and_with_no_read(store: Store) -> None:
    store.add_runs([make_run("a")])
    version = store.version
    list(store.samples(store.resolve("a").run_id))
    assert store.version == version
    store.add_runs([make_run("b")])
    assert store.version != version


def test_a_failed_write_changes_nothing(store: Store) -> None:
    store.add_runs([make_run("a")])
    with pytest.raises(duckdb.CatalogException), store.database.write() as connection:
        connection.execute("DELETE FROM runs; DELETE FROM absent")
    assert store.resolve("a").name == "a"


def test_a_database_of_a_newer_version_is_not_touched(store: Store) -> None:
    store.add_runs([make_run()])
    with store.database.write() as connection:
        connection.execute("INSERT INTO migrations VALUES ('999_later.sql', now()::TIMESTAMP)")
    with pytest.raises(StoreError, match="newer ragboard"):
        store.resolve("run")


def test_a_file_that_is_no_database_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "ragboard.duckdb").write_text("hello " * 500, encoding="utf-8")
    with pytest.raises(StoreError, match="not a valid DuckDB"):
        Store(tmp_path).resolve("x")


WRITER = """
import sys
from pathlib import Path
from ragboard import Store
from tests.core.conftest import make_run
store = Store(Path(sys.argv[1]))
for number in range(8):
    store.add_runs([make_run(f"{sys.argv[2]}-{number}")])
"""


def test_writers_and_readers_of_several_processes_and_threads_take_turns(python: str, store: Store) -> None:
    store.add_runs([make_run("first")])
    root = Path(__file__).parents[3]
    commands = [[python, "-c", WRITER, str(store.folder), name] for name in ("a", "b")]
    writers = [subprocess.Popen(command, cwd=root) for command in commands]
    errors: list[Exception] = []

    def read() -> None:
        try:
            while any(writer.poll() is None for writer in writers):
                assert store.resolve("first").name == "first"
        except Exception as error:  # noqa: BLE001 - whatever it is, the test names it
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [writer.wait() for writer in writers] == [0, 0]
    assert errors == []
    with store.database.read() as connection:
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (17,)


def test_a_database_another_program_keeps_open_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "ragboard.duckdb"
    with duckdb.connect(path), pytest.raises(StoreError, match="has the file open"), Database(path, wait=0.1).read():
        pass


def test_a_sample_keeps_its_question(store: Store) -> None:
    run_id = store.add_runs([Run(name="one", samples=(make_sample(7),))])[0].id
    ((position, sample),) = store.samples(run_id)
    assert (position, sample.question) == (0, "What is thing 7?")


def test_a_renamed_run_keeps_its_results_and_is_recognised(store: Store) -> None:
    run_id = store.add_runs([make_run("before")])[0].id
    evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    evaluation = store.resolve("before").evaluation_id
    store.rename_run(run_id, "after")
    assert store.resolve("after").evaluation_id == evaluation
    again = store.add_runs([make_run("before")])[0]
    assert (again.id, again.name, again.added) == (run_id, "after", False)


def test_a_name_that_is_taken_blank_or_cannot_be_stored_is_rejected(store: Store) -> None:
    first, _ = store.add_runs([make_run("first"), make_run("second")])
    store.rename_run(first.id, "first")
    with pytest.raises(RunExistsError, match="already called 'second'"):
        store.rename_run(first.id, "second")
    for name in (" ", "\ud800"):
        with pytest.raises(SettingError, match="name"):
            store.rename_run(first.id, name)
    with pytest.raises(NotFoundError, match="no longer"):
        store.rename_run("gone", "other")
    assert store.resolve("first").run_id == first.id


def test_tags_and_notes_are_kept_as_given(store: Store) -> None:
    run_id = store.add_runs([make_run()])[0].id
    store.set_tags(run_id, [" a ", "", "b", "a"])
    store.set_notes(run_id, "k was 3\nby mistake")
    (summary,) = leaderboard(store)
    assert (summary.tags, summary.notes) == (("a", "b"), "k was 3\nby mistake")
    assert store.change_tags(run_id, add=["c"], drop=["a"]) == ("b", "c")
    for change in (lambda: store.set_tags("gone", []), lambda: store.set_notes("gone", "")):
        with pytest.raises(NotFoundError):
            change()


@pytest.mark.parametrize(
    ("search", "found"), [("", 2), ("FIRST", 1), ("draft", 1), ("questions", 2), ("first draft", 0)]
)
def test_runs_match_by_the_words_of_name_tags_and_dataset(store: Store, search: str, found: int) -> None:
    _, second = store.add_runs([make_run("first"), make_run("second")])
    store.set_tags(second.id, ["draft"])
    assert len(runs_matching(leaderboard(store), search)) == found
