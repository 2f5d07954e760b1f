"""Tests of the shared cache: concurrent evaluations, and evaluations after a kill."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.chat_server import ChatServer, chat_server
from tests.core.evaluation.test_interrupted import PATIENCE, ROOT, At, command_line, ended, evaluate_here, kept, task_of

from ragboard import Store

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="sends SIGKILL"),
    pytest.mark.plain_database,
]

SAMPLES = 30


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


def start(python: str, store: Store, server: ChatServer, embedder: str) -> subprocess.Popen[str]:
    """An evaluation of its own for each embedder, all by one judge."""
    command = [python, "-m", "ragboard", *command_line(store, server, "--embed", embedder)]
    environment = os.environ | {"OPENAI_API_KEY": "key", "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=-1, stderr=-1, text=True)


def chats(server: ChatServer) -> Counter[tuple[str, str]]:
    return Counter(task_of(asked) for asked in server.asked if "messages" in asked)


def test_after_a_kill_another_evaluation_asks_the_judge_nothing_again(
    python: str, tmp_path: Path, server: ChatServer
) -> None:
    store = kept(Store(tmp_path), SAMPLES)
    process = start(python, store, server, "openai:e")
    server.rules = [At(3 * SAMPLES, process.kill)]
    assert ended(process)[0] == -signal.SIGKILL
    server.rules = []
    assert evaluate_here(store, server)[0] == 0
    server.asked.clear()
    assert evaluate_here(store, server, "--embed", "openai:other")[0] == 0
    assert not chats(server)


def test_a_journal_whose_answers_are_not_in_the_cache_brings_them_there(tmp_path: Path, server: ChatServer) -> None:
    store = kept(Store(tmp_path), 5)
    assert evaluate_here(store, server)[0] == 0
    store.cache_path.unlink()
    for journal in store.folder.glob("journals/*.jsonl"):
        journal.touch()  # its results count as not loaded, as after a kill
    assert evaluate_here(store, server)[0] == 0
    server.asked.clear()
    assert evaluate_here(store, server, "--embed", "openai:other")[0] == 0
    assert not chats(server)


def test_two_evaluations_at_once_by_one_judge_ask_everything_once(
    python: str, tmp_path: Path, server: ChatServer
) -> None:
    store, rng = kept(Store(tmp_path), SAMPLES), random.Random(1)
    server.delay = lambda: rng.uniform(0.0, 0.2)
    both = [start(python, store, server, embedder) for embedder in ("openai:e", "openai:other")]
    assert [ended(one)[0] for one in both] == [0, 0]
    assert set(chats(server).values()) == {1}
    assert sum(chats(server).values()) == 4 * SAMPLES


def test_a_waiting_evaluation_makes_the_call_if_the_other_is_killed(
    python: str, tmp_path: Path, server: ChatServer
) -> None:
    store, go_on = kept(Store(tmp_path), 4), threading.Event()
    server.delay = lambda: 0.0 if go_on.is_set() else 2 * PATIENCE
    asked = At(4, lambda: None)
    server.rules = [asked]
    first = start(python, store, server, "openai:e")
    assert asked.done.wait(PATIENCE)
    second = start(python, store, server, "openai:other")
    go_on.set()
    first.kill()
    assert ended(first)[0] == -signal.SIGKILL
    assert ended(second)[0] == 0
