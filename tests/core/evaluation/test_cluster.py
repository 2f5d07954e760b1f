"""Tests of a Ray cluster of two nodes: same scores as one process, faults, and limits over all shards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.chat_server import ChatServer, chat_server
from tests.core.evaluation.test_interrupted import CONCURRENCY, At, ended, kept, task_of
from tests.local_models import nli_model

from ragboard import Store, sample_runs
from ragboard.evaluation.progress import live_evaluations, stop_evaluation
from ragboard.export import table

pytest.importorskip("ray")

pytestmark = [pytest.mark.cluster, pytest.mark.plain_database]

ROOT = Path(__file__).parents[3]


class TwoNodes:
    """Two Ray nodes on this machine, of one core each: for each evaluation, a core is a process that imports all."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        self.add_node()

    @property
    def address(self) -> str:
        return str(self.cluster.address)

    def add_node(self) -> Callable[[], None]:
        """Add a node, and return a function that kills every process of it at once."""
        node = self.cluster.add_node(num_cpus=1)
        self.cluster.wait_for_nodes()
        return partial(self.cluster.remove_node, node, allow_graceful=False)


@contextmanager
def two_nodes() -> Iterator[TwoNodes]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "key")
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        nodes = TwoNodes()
        try:
            yield nodes
        finally:
            nodes.cluster.shutdown()


@pytest.fixture(scope="module")
def nodes() -> Iterator[TwoNodes]:
    with two_nodes() as both:
        yield both


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


def by(server: ChatServer) -> list[str]:
    return [
        "--judge",
        "openai:m",
        "--embed",
        "openai:e",
        "--base-url",
        server.url,
        "--no-cache",
        "--concurrency",
        str(CONCURRENCY),
    ]


@pytest.fixture(autouse=True)
def quick_python(python: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes that start evaluations start quickly; those of the cluster are Ray's."""
    monkeypatch.setitem(PYTHON, "path", python)


PYTHON: dict[str, str] = {}


def start(store: Store, *given: str) -> subprocess.Popen[str]:
    command = [PYTHON["path"], "-m", "ragboard", "evaluate", "run", "--store", str(store.folder), *given]
    environment = os.environ | {"OPENAI_API_KEY": "key", "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=-1, stderr=-1, text=True)


def evaluate(store: Store, *given: str) -> tuple[int, str]:
    """Exit code and what was said on stderr."""
    return ended(start(store, *given))


def results(store: Store) -> dict[str, pd.DataFrame]:
    return {what: table(store, what, [store.resolve("run")]) for what in ("samples", "statements")}


def assert_same(store: Store, other: Store) -> None:
    for what, expected in results(other).items():
        assert len(expected)
        pd.testing.assert_frame_equal(results(store)[what], expected, check_exact=True)


def chats(server: ChatServer) -> Counter[tuple[str, str]]:
    return Counter(task_of(asked) for asked in server.asked if "messages" in asked)


def shard_tasks(store: Store) -> set[tuple[str, str]]:
    """The tasks whose answers are in the files of the shards."""
    lines = [
        json.loads(line)
        for path in (store.folder / "shards").rglob("lines/*.jsonl")
        for line in path.read_bytes().split(b"\n")[:-1]
    ]
    return {(line["task"], line["sample"].removeprefix("s")) for line in lines if "reply" in line}


def once_recorded(recorded: Callable[[], object], act: Callable[[], None]) -> threading.Thread:
    """A thread that acts as soon as a file of a shard is there."""

    def wait() -> None:
        while not recorded():
            time.sleep(0.01)
        act()

    return threading.Thread(target=wait, daemon=True)


def with_sample(folder: Path) -> Store:
    """A store with a sample run, named `run`."""
    store = Store(folder)
    store.add_runs([replace(sample_runs()[0], name="run")])
    return store


def test_the_embedded_judge_scores_as_in_one_process(tmp_path: Path, nodes: TwoNodes) -> None:
    here, there = with_sample(tmp_path / "here"), with_sample(tmp_path / "there")
    metrics = ("--metrics", "ragas.faithfulness,ragas.context_relevance,ragchecker")
    assert evaluate(here, *metrics)[0] == 0
    assert evaluate(there, *metrics, "--ray", nodes.address, "--shards", "5")[0] == 0
    assert_same(there, here)
    assert not list((there.folder / "shards").iterdir())


def test_a_model_at_a_server_scores_as_in_one_process_and_is_asked_as_often(
    tmp_path: Path, nodes: TwoNodes, server: ChatServer
) -> None:
    here, there = kept(Store(tmp_path / "here"), 40), kept(Store(tmp_path / "there"), 40)
    assert evaluate(here, *by(server))[0] == 0
    asked = chats(server)
    server.asked.clear()
    code, said = evaluate(there, *by(server), "--ray", nodes.address, "--shards", "6")
    assert code == 0, said
    assert chats(server) == asked
    assert_same(there, here)
    code, said = evaluate(there, *by(server))
    assert (code, chats(server)) == (0, asked), "the journal has the answers of all shards"


@pytest.mark.slow
def test_a_local_model_scores_as_in_one_process(tmp_path: Path, nodes: TwoNodes) -> None:
    folder = nli_model(tmp_path / "model")
    judge = ("--judge", f"local:{folder}", "--threads", "1", "--metrics", "ragas.faithfulness")
    here, there = with_sample(tmp_path / "here"), with_sample(tmp_path / "there")
    code, said = evaluate(here, *judge)
    assert code == 0, said
    code, said = evaluate(there, *judge, "--ray", nodes.address, "--shards", "4")
    assert code == 0, said
    assert_same(there, here)


@pytest.mark.parametrize("samples", [200, pytest.param(5000, marks=pytest.mark.slow)])
def test_a_node_that_is_killed_loses_no_sample_and_asks_no_recorded_task_again(
    tmp_path: Path, nodes: TwoNodes, server: ChatServer, samples: int
) -> None:
    store = kept(Store(tmp_path), samples)
    recorded: set[tuple[str, str]] = set()
    kill_node = nodes.add_node()

    def kill() -> None:
        recorded.update(shard_tasks(store))
        kill_node()

    server.delay = lambda: 0.2 if samples < 1000 else 0.05
    process = start(store, *by(server), "--ray", nodes.address)
    server.rules = [At(samples, once_recorded(lambda: shard_tasks(store), kill).start)]
    code, said = ended(process)
    assert code == 0, said
    asked = chats(server)
    assert len({sample for _, sample in asked}) == samples
    assert recorded
    assert not [task for task in recorded if asked[task] > 1]
    assert results(store)["samples"]["sample_id"].nunique() == samples


def test_a_killed_driver_resumes_from_the_shards(tmp_path: Path, nodes: TwoNodes, server: ChatServer) -> None:
    samples = 120
    store = kept(Store(tmp_path), samples)
    server.delay = lambda: 0.2
    process = start(store, *by(server), "--ray", nodes.address, "--shards", "4")
    server.rules = [At(100, once_recorded(lambda: shard_tasks(store), process.kill).start)]
    assert ended(process)[0] == -signal.SIGKILL
    recorded = shard_tasks(store)
    assert recorded
    code, said = evaluate(store, *by(server), "--ray", nodes.address, "--shards", "7")
    assert code == 0, said
    asked = chats(server)
    assert not [task for task in recorded if asked[task] > 1]
    assert results(store)["samples"]["sample_id"].nunique() == samples


LOADS = """
import os
from dataclasses import dataclass, replace
from pathlib import Path

import ragboard
from ragboard import EmbeddedJudge, EvaluationOptions, Panel, sample_runs


class Heavy(EmbeddedJudge):
    "Writes a line for each time that it is sent to a process."

    def __setstate__(self, state):
        vars(self).update(state)
        with open({loads!r}, "a") as file:
            file.write(f"{{os.getpid()}}\\n")

    def __getstate__(self):
        return dict(vars(self))


options = EvaluationOptions(ray={address!r}, shards=12, workers=1)
ragboard.evaluate(sample_runs()[0], metrics="ragas.faithfulness", judge=Heavy(), options=options)
"""


def test_a_judge_is_loaded_once_in_each_process(tmp_path: Path, nodes: TwoNodes) -> None:
    loads, script = tmp_path / "loads", tmp_path / "mine.py"
    script.write_text(LOADS.format(loads=str(loads), address=nodes.address))
    done = subprocess.run([PYTHON["path"], script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pids = loads.read_text().split()
    assert 1 <= len(pids) < 12
    assert len(pids) == len(set(pids))


def test_without_the_process_that_grants_requests_nothing_more_is_sent(
    tmp_path: Path, nodes: TwoNodes, server: ChatServer
) -> None:
    store = kept(Store(tmp_path), 60)
    server.delay = lambda: 0.2
    process = start(store, *by(server), "--ray", nodes.address, "--shards", "4", "--max-calls", "10000")
    counts: list[int] = []

    def kill() -> None:
        found = subprocess.run(["pgrep", "-f", "ray::_Limits"], capture_output=True, text=True, check=True)
        for pid in found.stdout.split():
            os.kill(int(pid), signal.SIGKILL)
        counts.append(len(server.asked))

    server.rules = [At(60, kill)]
    code, said = ended(process)
    assert code not in (0, 3), said
    assert len(server.asked) <= counts[0] + 2 * CONCURRENCY
    assert evaluate(store, *by(server))[0] == 0


@pytest.mark.parametrize("calls", [1, 57])
def test_a_limit_of_calls_holds_over_all_shards(
    tmp_path: Path, nodes: TwoNodes, server: ChatServer, calls: int
) -> None:
    store = kept(Store(tmp_path), 40)
    code, said = evaluate(store, *by(server), "--ray", nodes.address, "--shards", "4", "--max-calls", str(calls))
    assert (code, f"the limit of {calls} calls is reached" in said) == (3, True), said
    assert len(server.asked) == calls


def test_a_rate_holds_over_all_shards(tmp_path: Path, nodes: TwoNodes, server: ChatServer) -> None:
    """At 300 a minute: 10 at once at the start, then 5 a second.

    On a busy machine, the first requests can arrive seconds later than they were admitted, hence half of the time. With
    a limit for each of the four shards, 60 requests would take a second.
    """
    store = kept(Store(tmp_path), 12)
    code, said = evaluate(store, *by(server), "--ray", nodes.address, "--shards", "4", "--requests-per-minute", "300")
    assert code == 0, said
    assert server.last - server.first >= 0.5 * (len(server.asked) - 11) / 5


def test_the_evaluation_is_followed_and_stopped_as_any_other(
    tmp_path: Path, nodes: TwoNodes, server: ChatServer
) -> None:
    store = kept(Store(tmp_path), 200)
    server.delay = lambda: 0.1
    process = start(store, *by(server), "--ray", nodes.address, "--shards", "4")
    seen: list[Any] = []

    def look() -> None:
        (live,) = live_evaluations(store)
        seen.append(live)
        stop_evaluation(store, live.evaluation_id)

    server.rules = [At(200, look)]
    code, said = ended(process)
    (live,) = live_evaluations(store)
    assert (code, live.state) == (3, "stopped"), said
    assert seen[0].state == "running"
    assert 0 < live.progress.done < 200
    assert live.progress.calls >= 200
    assert "stopped by the user" in said


def test_shards_are_kept_at_an_address_of_s3(tmp_path: Path, server: ChatServer) -> None:
    pytest.importorskip("s3fs")
    server_module = pytest.importorskip("moto.server")
    moto = server_module.ThreadedMotoServer(port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "a",
            "AWS_SECRET_ACCESS_KEY": "b",
            "AWS_DEFAULT_REGION": "us-east-1",
        }.items():
            patch.setenv(name, value)
        import s3fs

        files = s3fs.S3FileSystem(skip_instance_cache=True)
        files.mkdir("shards")
        store, other = kept(Store(tmp_path / "s3"), 40), kept(Store(tmp_path / "here"), 40)
        with two_nodes() as nodes:
            place = ("--ray", nodes.address, "--shards", "4", "--shard-folder", "s3://shards/mine")
            server.delay = lambda: 0.3
            process = start(store, *by(server), *place)
            kept_there = partial(files.find, "shards/mine", refresh=True)
            server.rules = [At(20, once_recorded(kept_there, process.kill).start)]
            assert ended(process)[0] == -signal.SIGKILL
            server.rules = []
            assert files.find("shards/mine")
            code, said = evaluate(store, *by(server), *place)
            assert code == 0, said
            files.invalidate_cache()
            assert not files.find("shards/mine")
        assert evaluate(other, *by(server))[0] == 0
    moto.stop()
    assert_same(store, other)


def test_what_cannot_be_reached_is_reported_in_one_line(tmp_path: Path) -> None:
    store = kept(Store(tmp_path), 2)
    code, said = evaluate(store, "--ray", "127.0.0.1:1")
    assert code != 0
    assert "cannot reach the Ray cluster" in said.strip().splitlines()[-1]
