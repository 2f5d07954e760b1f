"""Tests of `ragboard watch` as a process: results within seconds, Ctrl-C, kill -9, and a second watch."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.core.conftest import make_sample

from ragboard import Run, Store, StoreBusyError
from ragboard.evaluation.watch import watch_lock

pytestmark = pytest.mark.plain_database  # other processes have the same store

CHAT = "chat 1 (production)"
DATASET = "chat (production)"
PATIENCE = 120
"""Seconds to wait for a process on a slow machine."""


def grow(store: Store, *numbers: int, run: str = CHAT) -> None:
    store.append(Run(name=run, dataset=DATASET, samples=tuple(make_sample(number) for number in numbers)))


def command(python: str, store: Store, *arguments: str) -> list[str]:
    return [python, "-m", "ragboard", "watch", *arguments, "--store", str(store.folder), "--every", "0.2"]


def environment() -> dict[str, str]:
    path = os.pathsep.join(str(Path(part).resolve()) for part in sys.path if part)
    return {name: value for name, value in os.environ.items() if not name.startswith("RAGBOARD_")} | {
        "PYTHONPATH": path
    }


LIMITED = ("--max-cost-per-day", "1")


@contextmanager
def watching(python: str, store: Store, *arguments: str) -> Generator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command(python, store, DATASET, *arguments),
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        preexec_fn=heed_ctrl_c,  # noqa: PLW1509 - no threads run here
    )
    try:
        yield process
    finally:
        process.kill()
        print(process.communicate()[1])  # shown if the test fails


def heed_ctrl_c() -> None:
    """A shell has what it starts in the background ignore Ctrl-C, which each process passes on to its own."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_until(true: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < until
        time.sleep(0.1)


def covered(store: Store, run: str = CHAT) -> int:
    names = {ref.name: ref for ref in store.growing_runs(DATASET)}
    evaluations = store.evaluations(names[run].run_id) if run in names else ()
    return store.covered_count(evaluations[0].id) if evaluations else 0


def is_free(store: Store) -> bool:
    try:
        with watch_lock(store):
            return True
    except StoreBusyError:
        return False


def lines(store: Store) -> list[str]:
    (journal,) = (store.folder / "journals").glob("*.jsonl")
    return re.findall(r'"key": "(\w+)"', journal.read_text(encoding="utf-8"))


def test_samples_are_evaluated_as_they_come_and_ctrl_c_ends_the_watch(python: str, store: Store) -> None:
    with watching(python, store) as process:
        grow(store, 0, 1)
        wait_until(lambda: covered(store) == 2)
        grow(store, 2)
        grow(store, 0, run="chat 2 (production)")
        wait_until(lambda: covered(store) == 3 and covered(store, "chat 2 (production)") == 1)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "2 samples evaluated" in said or "1 sample evaluated" in said
    assert "stopped; run the same command to resume" in said
    assert "Traceback" not in said


def test_a_killed_watch_continues_without_asking_again(python: str, store: Store) -> None:
    grow(store, *range(200))
    with watching(python, store, "--batch-size", "20") as process:
        wait_until(lambda: covered(store) > 0)
        process.kill()
        process.wait()
    wait_until(lambda: is_free(store))
    before = lines(store)
    with watching(python, store, "--batch-size", "50"):
        wait_until(lambda: covered(store) == 200)
    after = lines(store)
    assert after[: len(before)] == before
    assert len(after) == len(set(after))


def test_a_second_watch_is_rejected(python: str, store: Store) -> None:
    grow(store, 0)
    with watching(python, store):
        wait_until(lambda: covered(store) == 1)
        second = subprocess.run(
            command(python, store, CHAT),
            capture_output=True,
            text=True,
            env=environment(),
            timeout=PATIENCE,
            check=False,
        )
        assert second.returncode == 75
        assert re.search(r"another watch is running \(process \d+\); stop it", second.stderr)
        assert len(second.stderr.splitlines()) <= 3


def once(python: str, store: Store, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(python, store, *arguments, "--once"),
        capture_output=True,
        text=True,
        env=environment(),
        timeout=PATIENCE,
        check=False,
    )


def test_once_evaluates_what_is_there_and_ends(python: str, store: Store) -> None:
    grow(store, *range(30))
    done = once(python, store, CHAT, "--batch-size", "10", "--metrics", "overlap.length_ratio")
    assert done.returncode == 0, done.stderr
    assert covered(store) == 30
    assert done.stderr.count("10 samples evaluated") == 3
    assert "20 waiting, newest first" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nothing"], 5, "no growing run and no dataset of growing runs is called 'nothing'"),
        (
            [CHAT, "--judge", "openai:x", "--base-url", "http://127.0.0.1:9", "--embed", "embedded", *LIMITED],
            2,
            "price",
        ),
    ],
)
def test_what_cannot_be_watched_is_reported_in_one_line(
    python: str, store: Store, arguments: list[str], code: int, message: str
) -> None:
    grow(store, 0)
    failed = once(python, store, *arguments)
    assert failed.returncode == code
    assert message in failed.stderr
    assert "Traceback" not in failed.stderr
