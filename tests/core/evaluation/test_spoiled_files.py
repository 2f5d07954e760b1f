"""Tests of journals, caches, status files and headers with invalid contents."""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.chat_server import ChatServer, chat_server
from tests.conftest import examples
from tests.core.conftest import make_run

from ragboard import Panel, Store, StoreError, evaluate_run
from ragboard.cli import main
from ragboard.evaluation.cache import cache_contents
from ragboard.evaluation.calls import sample_calls
from ragboard.evaluation.options import EvaluationOptions
from ragboard.evaluation.plan import plan_run
from ragboard.evaluation.progress import live_evaluations
from ragboard.judges import JudgeOptions
from ragboard.judges.llm import Endpoint, LlmJudge
from ragboard.judges.registry import uses_server
from ragboard.metrics import metrics_named

METRICS = metrics_named(["ragas.faithfulness"])
JUNK: list[Any] = [None, True, -1, 0, 2**70, 1e308, float("nan"), "x", "", [], {}, [[[1]]], {"a": {"b": [1]}}]
GONE = object()
REUSED = examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


@pytest.fixture(scope="module")
def whole(server: ChatServer, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store with an evaluation of two samples."""
    store = Store(tmp_path_factory.mktemp("whole"))
    store.add_runs([make_run(samples=2)])
    evaluate(store, server)
    return store


def panel(server: ChatServer) -> Panel:
    return Panel(judge=LlmJudge("m", Endpoint(server.url, "key")))


def evaluate(store: Store, server: ChatServer) -> None:
    judge_options = JudgeOptions(judge="openai:m", base_url=server.url)
    evaluate_run(
        store, store.resolve("run").run_id, METRICS, panel(server), EvaluationOptions(judge_options=judge_options)
    )


@pytest.fixture
def store(whole: Store, tmp_path: Path) -> Store:
    return copied(whole, tmp_path / "store")


def copied(store: Store, folder: Path) -> Store:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(store.folder, folder)
    return Store(folder)


def file(store: Store, ending: str) -> Path:
    (path,) = store.folder.glob("journals/*.jsonl")
    return path.with_suffix(ending)


def places(value: Any) -> Iterator[list[Any]]:
    """The way to every part of a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield [key]
        yield from ([key, *rest] for rest in places(part))


def spoiled(draw: st.DrawFn, value: Any) -> Any:
    """A value in which something is something else, or missing."""
    way = draw(st.sampled_from([[], *places(value)]))
    junk = draw(st.sampled_from([GONE, *JUNK]))
    if not way:
        return None if junk is GONE else junk
    found = parent = deepcopy(value)
    for key in way[:-1]:
        parent = parent[key]
    if junk is GONE:
        del parent[way[-1]]
    else:
        parent[way[-1]] = junk
    return found


@given(st.data())
@REUSED
def test_a_journal_line_with_wrong_contents_is_reported_or_read_and_the_others_stay(
    whole: Store, server: ChatServer, tmp_path: Path, data: st.DataObject
) -> None:
    store = copied(whole, tmp_path / "s")
    path = file(store, ".jsonl")
    lines = path.read_text("utf-8").splitlines()
    number = data.draw(st.sampled_from(range(len(lines))))
    lines[number] = json.dumps(data.draw(st.composite(spoiled)(json.loads(lines[number]))))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    run = store.resolve("run")
    sample_calls(store, run, "s0")
    for act in (
        lambda: plan_run(store, run.run_id, METRICS, panel(server), cache=False),
        lambda: evaluate(store, server),
    ):
        error = _refused(act)
        assert error is None or f"{path.name}: line {number + 1} is damaged; delete the line" in str(error)
    kept = path.read_text("utf-8").splitlines()
    assert kept[: len(lines)] == lines
    path.write_text("\n".join(kept[:number] + kept[number + 1 :]) + "\n", encoding="utf-8")
    evaluate(store, server)


def _refused(act: Callable[[], object]) -> StoreError | None:
    try:
        act()
    except StoreError as error:
        return error
    return None


@given(st.data(), st.sampled_from([".status.json", ".json"]))
@REUSED
def test_a_status_or_header_with_wrong_contents_is_passed_over(
    whole: Store, tmp_path: Path, data: st.DataObject, ending: str
) -> None:
    store = copied(whole, tmp_path / "s")
    path = file(store, ending)
    path.write_text(json.dumps(data.draw(st.composite(spoiled)(json.loads(path.read_text("utf-8"))))), "utf-8")
    for live in live_evaluations(store):
        assert live.rate is None or live.rate > -1
        assert live.progress.done >= 0
        assert isinstance(live.judge, str)
        assert live.choice is None or uses_server(live.choice.judge_options) in (True, False)
    store.remove_runs([store.resolve("run").run_id])


@pytest.mark.parametrize("value", [None, 5, 2.5, "x", b"\xff", "[" * 100_000, "[]", '{"statements": 3}', "null"])
def test_an_answer_in_the_cache_that_is_none_is_asked_again(store: Store, server: ChatServer, value: object) -> None:
    asked = server.count
    with closing(sqlite3.connect(store.cache_path)) as connection, connection:
        connection.execute("CREATE TABLE loose (key, judge, task, reply, kept)")
        connection.execute("INSERT INTO loose SELECT * FROM answers")
        connection.execute("DROP TABLE answers")
        connection.execute("ALTER TABLE loose RENAME TO answers")
        connection.execute("UPDATE answers SET reply = ?", [value])
    evaluate_again_elsewhere(store, server)
    assert server.count - asked == 4


def evaluate_again_elsewhere(store: Store, server: ChatServer) -> None:
    """The same samples in another run: what is asked comes from the cache."""
    file(store, ".jsonl").unlink()
    run_id = store.add_runs([make_run(name="second", samples=2)])[0].id
    evaluate_run(store, run_id, METRICS, panel(server))


@pytest.mark.parametrize("column", ["judge", "task", "kept"])
@pytest.mark.parametrize("value", [5, 2.5, "x", b"x"])
def test_other_columns_of_the_cache_with_wrong_contents_are_listed(store: Store, column: str, value: object) -> None:
    with closing(sqlite3.connect(store.cache_path)) as connection, connection:
        connection.execute(f"UPDATE answers SET {column} = ?", [value])
    assert sum(row.answers for row in cache_contents(store.cache_path)) == 4
    shown = CliRunner().invoke(main, ["cache", "--store", str(store.folder)])
    assert shown.exit_code == 0, shown.output


def test_a_reply_that_is_none_to_its_task_is_asked_again(store: Store, server: ChatServer) -> None:
    path = file(store, ".jsonl")
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for line in lines:
        if line["task"] == "Verify":
            line["reply"] = {"joint": [], "single": []}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    store.cache_path.unlink()
    asked = server.count
    evaluate(store, server)
    assert server.count - asked == sum(line["task"] == "Verify" for line in lines)


def test_a_line_that_is_there_twice_counts_once(store: Store, server: ChatServer) -> None:
    path = file(store, ".jsonl")
    path.write_bytes(path.read_bytes() * 3)
    asked = server.count
    evaluate(store, server)
    with store.database.read() as connection:
        assert connection.execute("SELECT calls FROM spending").fetchall() == [(4,)]
    assert server.count == asked


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/mem, which gives an input/output error")
@pytest.mark.parametrize("ending", [".jsonl", ".json", ".status.json"])
def test_a_disk_that_cannot_be_read_is_one_line(store: Store, server: ChatServer, ending: str) -> None:
    path = file(store, ending)
    path.unlink()
    path.symlink_to("/proc/self/mem")
    if ending == ".jsonl":
        run_id = store.resolve("run").run_id
        with pytest.raises(StoreError, match=r"^[^\n]*jsonl: cannot read the journal: Input/output error$"):
            plan_run(store, run_id, METRICS, panel(server))
        with pytest.raises(StoreError, match=r"^[^\n]*jsonl: [^\n]*$"):
            evaluate(store, server)
    assert live_evaluations(store) == () or ending == ".jsonl"
    assert sample_calls(store, store.resolve("run"), "s0").tasks or ending == ".jsonl"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/mem, which gives an input/output error")
def test_a_cache_that_cannot_be_read_is_one_line(store: Store, server: ChatServer) -> None:
    store.cache_path.unlink()
    store.cache_path.symlink_to("/proc/self/mem")
    for journal in store.folder.glob("journals/*.jsonl"):
        journal.touch()  # else there is nothing to evaluate
    with pytest.raises(StoreError, match=r"^[^\n]*cannot use the cache: [^\n]*; evaluate without it with --no-cache$"):
        evaluate(store, server)
