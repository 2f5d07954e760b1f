"""Tests of `ragboard rm`: not while a run is evaluated, and with all files of its evaluations."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from click.testing import CliRunner, Result
from starlette.requests import Request
from starlette.responses import Response
from tests.chat_server import Asked, ChatServer, chat_server, completion
from tests.core.evaluation.test_interrupted import PATIENCE, At, ended, evaluate_here, kept, start

from ragboard import Store, StoreBusyError
from ragboard.cli import main

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="sends SIGKILL"),
    pytest.mark.plain_database,
]


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


def rm(store: Store) -> Result:
    return CliRunner().invoke(main, ["rm", "run", "--yes", "--store", str(store.folder)])


def files(store: Store) -> list[str]:
    return sorted(path.name for path in store.folder.glob("journals/*"))


@pytest.mark.parametrize("before", [False, True], ids=["first", "second"])
def test_a_run_under_evaluation_is_not_deleted_and_the_evaluation_continues(
    python: str, tmp_path: Path, server: ChatServer, *, before: bool
) -> None:
    """A first evaluation is in no table of the store yet: its journal's header alone names the run."""
    store = kept(Store(tmp_path), 10)
    if before:
        assert evaluate_here(store, server, "--no-cache")[0] == 0
    go_on = threading.Event()

    async def held(_request: Request, _asked: Asked, good: str) -> Response:
        while not go_on.is_set():
            await anyio.sleep(0.02)
        return completion(good)

    server.asked.clear()
    server.chance = lambda _: None if go_on.is_set() else held
    at = At(1, lambda: None)
    server.rules = [at]
    process = start(python, store, server, "--judge", "openai:other")
    assert at.done.wait(PATIENCE)
    there = files(store)
    refused = rm(store)
    with pytest.raises(StoreBusyError):
        store.remove_runs([store.resolve("run").run_id])
    assert (refused.exit_code, refused.stderr.count("\n")) == (75, 1)
    assert re.search(r"is running in process \d+; stop it \(Ctrl\+C", refused.stderr)
    assert files(store) == there
    go_on.set()
    code, said = ended(process)
    assert code == 0, said
    assert len(server.asked) == 5 * 10
    assert rm(store).exit_code == 0
    assert files(store) == []


def test_what_a_killed_first_evaluation_left_goes_with_its_run(python: str, tmp_path: Path, server: ChatServer) -> None:
    store = kept(Store(tmp_path), 10)
    process = start(python, store, server)
    server.rules = [At(20, process.kill)]
    ended(process)
    (store.folder / "journals" / "agree-a.json").write_text('{"agreement": "a"}', encoding="utf-8")
    (store.folder / "journals" / "other.json").write_text("[1]", encoding="utf-8")
    assert rm(store).exit_code == 0
    assert files(store) == ["agree-a.json", "other.json"]
