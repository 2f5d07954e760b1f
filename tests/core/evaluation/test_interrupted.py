"""Tests of killed and stopped evaluations and of a full disk: replies are kept, and the next run resumes."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner
from starlette.requests import Request
from starlette.responses import Response
from tests.chat_server import Asked, ChatServer, chat_server, completion
from tests.core.conftest import make_run

from ragboard import Store
from ragboard.analysis import SampleQuery, sample_rows
from ragboard.cli import main
from ragboard.errors import ExitCode
from ragboard.evaluation.progress import read_progress
from ragboard.records import Outcome

pytestmark = pytest.mark.plain_database

ROOT = Path(__file__).parents[3]
CONCURRENCY = 8
PATIENCE = 300.0
"""Seconds until a process that should have ended is said to hang."""

Key = tuple[str, str]
"""A task of the runs made here: what is asked, and the number of the sample."""

ASKED_BY = {
    "Break an answer into statements": "ExtractStatements",
    "Hold statements against passages": "Verify",
    "Write the questions that an answer answers": "GenerateQuestions",
    "Choose the sentences that help to answer a question": "SelectSentences",
}


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


def kept(store: Store, samples: int) -> Store:
    """A run in which every task tells of which sample it is."""
    run = make_run(samples=samples)
    own = [replace(one, answer=f"Thing {at} is red. Thing {at} is old.") for at, one in enumerate(run.samples)]
    store.add_runs([replace(run, samples=tuple(own))])
    return store


def command_line(store: Store, server: ChatServer, *given: str) -> list[str]:
    words = ["evaluate", "run", "--store", str(store.folder)]
    words += ["--judge", "openai:m", "--embed", "openai:e", "--base-url", server.url]
    return [*words, "--concurrency", str(CONCURRENCY), *given]


def start(python: str, store: Store, server: ChatServer, *given: str, **how: Any) -> subprocess.Popen[str]:
    """An evaluation in a process of its own, which can be killed."""
    command = [python, "-m", "ragboard", *command_line(store, server, "--no-cache", *given)]
    environment = os.environ | {"OPENAI_API_KEY": "key", "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=-1, stderr=-1, text=True, **how)


def evaluate_here(store: Store, server: ChatServer, *given: str) -> tuple[int, str]:
    """The same command in this process, which takes a tenth of the time: its exit code and what it said on stderr."""
    done = CliRunner().invoke(main, command_line(store, server, *given), env={"OPENAI_API_KEY": "key"})
    return done.exit_code, done.stderr


def heed_ctrl_c() -> None:
    """A shell has what it starts in the background ignore Ctrl-C, which each process passes on to its own."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit code and what was said on stderr."""
    try:
        _, said = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    return process.returncode, said


def journalled(store: Store) -> list[Key]:
    """The tasks of the whole lines of the journal."""
    found: list[Key] = []
    for path in (store.folder / "journals").glob("*.jsonl"):
        lines = path.read_bytes().split(b"\n")[:-1]
        found += [(line["task"], line["sample"].removeprefix("s")) for line in map(json.loads, lines)]
    return found


def task_of(asked: Asked) -> Key:
    text = json.dumps(asked["input"]) if "input" in asked else asked["messages"][0]["content"]
    title = "Similarity" if "input" in asked else ASKED_BY[text.split("\n")[0].removeprefix("# ")]
    numbers = re.findall(r"[Tt]hing (\d+)", text.rpartition("## Now")[2])
    return title, numbers[0]


def scores(store: Store) -> dict[str, dict[str, Outcome]]:
    rows = sample_rows(store, store.resolve("run"), SampleQuery(limit=1000)).rows
    return {row.sample_id: dict(row.scores) for row in rows}


class At:
    """Does something, once, when so many requests have come."""

    def __init__(self, count: int, act: Callable[[], None]) -> None:
        self._left, self._act = count, act
        self.done = threading.Event()

    def __call__(self, _: Asked) -> Response | None:
        self._left -= 1
        if self._left == 0:
            self._act()
            self.done.set()
        return None


def killed_at(python: str, store: Store, server: ChatServer, count: int) -> bool:
    """Evaluate, and kill -9 the process at that request; whether it came so far."""
    known = set(journalled(store))
    before = len(server.asked)
    process = start(python, store, server)
    at = At(count, process.kill)
    server.rules = [at]
    code, said = ended(process)
    server.rules = []
    assert code in (0, -signal.SIGKILL), said
    asked = list(map(task_of, server.asked[before:]))
    assert not known & set(asked), "a journalled task was asked again"
    answered = journalled(store)
    assert len(answered) == len(set(answered))
    assert len(set(asked) - set(answered)) <= CONCURRENCY
    return code != 0


def check_kills(python: str, folder: Path, server: ChatServer, samples: int, kills: int) -> None:
    undisturbed, store = (kept(Store(folder / name), samples) for name in ("undisturbed", "killed"))
    assert ended(start(python, undisturbed, server))[0] == 0
    whole = Counter(map(task_of, server.asked))
    server.asked.clear()
    rng = random.Random(kills)
    done = sum(killed_at(python, store, server, rng.randint(1, 2 * len(whole) // (kills + 1))) for _ in range(kills))
    assert done >= kills - 2
    code, said = ended(start(python, store, server))
    assert code == 0, said
    assert scores(store) == scores(undisturbed)
    again = Counter(map(task_of, server.asked)) - whole
    assert not set(map(task_of, server.asked)) ^ set(whole)
    assert again.total() <= CONCURRENCY * done


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGKILL")
def test_an_evaluation_killed_three_times_is_as_if_it_never_was(
    python: str, tmp_path: Path, server: ChatServer
) -> None:
    check_kills(python, tmp_path, server, samples=25, kills=3)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGKILL")
def test_an_evaluation_of_500_samples_killed_thirty_times_is_as_if_it_never_was(
    python: str, tmp_path: Path, server: ChatServer
) -> None:
    check_kills(python, tmp_path, server, samples=500, kills=30)


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGKILL")
def test_results_that_a_killed_evaluation_left_are_deleted_by_the_next_of_any_run(
    python: str, tmp_path: Path, server: ChatServer
) -> None:
    store = kept(Store(tmp_path), 10)
    process = start(python, store, server)
    server.rules = [At(20, process.kill)]
    assert ended(process)[0] == -signal.SIGKILL
    server.rules = []
    (left,) = store.folder.glob("staging/results-*")
    (store.folder / "staging" / "results-of-an-older-version").mkdir()
    assert evaluate_here(store, server, "--no-cache", "--judge", "openai:other")[0] == 0
    assert not left.exists()
    assert not list(store.folder.glob("staging/*"))


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_keeps_all_that_was_answered(python: str, tmp_path: Path, server: ChatServer) -> None:
    store = kept(Store(tmp_path), 60)
    process = start(python, store, server, preexec_fn=heed_ctrl_c)
    server.rules = [At(120, lambda: process.send_signal(signal.SIGINT))]
    code, said = ended(process)
    assert (code, "Traceback" in said) == (130, False)
    answered = journalled(store)
    assert len(server.asked) - CONCURRENCY <= len(answered) <= len(server.asked)
    (status,) = (store.folder / "journals").glob("*.status.json")
    last = read_progress(status)
    assert last is not None
    assert (last.state, last.message) == ("stopped", "stopped; run the same command to resume")
    server.rules = []
    known, before = set(answered), len(server.asked)
    assert evaluate_here(store, server, "--no-cache")[0] == 0
    assert not known & set(map(task_of, server.asked[before:]))
    assert len(scores(store)) == 60


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_does_not_wait_for_a_server_that_does_not_answer(
    python: str, tmp_path: Path, server: ChatServer
) -> None:
    """The server would take ten minutes for each response, twice as long as the test waits."""
    store = kept(Store(tmp_path), 20)
    server.delay = lambda: 2 * PATIENCE
    process = start(python, store, server, preexec_fn=heed_ctrl_c)
    server.rules = [At(CONCURRENCY, lambda: process.send_signal(signal.SIGINT))]
    assert ended(process)[0] == 130
    assert journalled(store) == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files")
def test_a_disk_that_is_full_is_one_line_and_nothing_is_damaged(
    python: str, tmp_path: Path, server: ChatServer
) -> None:
    import resource

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    store = kept(Store(tmp_path), 40)
    code, said = ended(start(sys.executable, store, server, preexec_fn=little_room))
    assert (code, said.count("\n") - said.count("sent to ")) == (ExitCode.ERROR, 1), said
    assert re.search(r"(?m)^ragboard: .*\.jsonl: cannot write the journal: ", said)
    answered = journalled(store)
    assert answered
    before = len(server.asked)
    code, said = ended(start(python, store, server))
    assert code == 0, said
    assert not set(answered) & set(map(task_of, server.asked[before:]))
    assert len(scores(store)) == 40


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_read_only_is_one_line(python: str, tmp_path: Path, server: ChatServer) -> None:
    store = kept(Store(tmp_path / "store"), 3)
    store.folder.chmod(0o555)
    try:
        code, said = ended(start(python, store, server))
    finally:
        store.folder.chmod(0o755)
    assert (code, said.count("\n") - said.count("sent to ")) == (1, 1), said
    assert server.asked == []
    assert ended(start(python, store, server))[0] == 0


def test_a_second_evaluation_of_a_run_at_once_is_rejected(python: str, tmp_path: Path, server: ChatServer) -> None:
    store = kept(Store(tmp_path), 20)
    go_on = threading.Event()

    async def held(_request: Request, _asked: Asked, good: str) -> Response:
        while not go_on.is_set():
            await anyio.sleep(0.02)
        return completion(good)

    server.chance = lambda _: None if go_on.is_set() else held
    at = At(1, lambda: None)
    server.rules = [at]
    first = start(python, store, server)
    assert at.done.wait(PATIENCE)
    code, said = evaluate_here(store, server, "--no-cache")
    go_on.set()
    assert (code, said.count("\n") - said.count("sent to ")) == (75, 1), said
    assert "running in another process" in said
    assert ended(first)[0] == 0
    assert len(journalled(store)) == len(server.asked) == 100
