"""Tests of evaluations in batches: same scores, each request sent once, nothing lost after faults."""

from __future__ import annotations

import json
import os
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

import pytest
from click.testing import CliRunner, Result
from tests.batch_server import NEVER, BatchServer, batch_server
from tests.chat_server import ChatServer, chat_server, refuses, replies, spoils, status
from tests.core.conftest import make_run

from ragboard import EmbeddedJudge, JudgeOptions, SettingError, Store, evaluate
from ragboard.analysis import SampleQuery, sample_rows
from ragboard.cli import main
from ragboard.errors import ExitCode
from ragboard.evaluation.progress import read_progress, stop_file
from ragboard.records import Outcome

ROOT = Path(__file__).parents[3]
PATIENCE = 60.0
"""Seconds until a process that should have ended is said to hang."""
SAMPLES = 6


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests that come together are known by the turns of the loop; batches here take no time."""
    monkeypatch.setattr("ragboard.judges.llm.batches.QUIET_SECONDS", 0.01)


@pytest.fixture
def server() -> Iterator[BatchServer]:
    with batch_server() as running:
        yield running


@pytest.fixture
def live() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


def kept(folder: Path, samples: int = SAMPLES) -> Store:
    """A run in which no two samples ask the same."""
    store = Store(folder)
    run = make_run(samples=samples)
    own = [replace(one, answer=f"Thing {at} is red. Thing {at} is old.") for at, one in enumerate(run.samples)]
    store.add_runs([replace(run, samples=tuple(own))])
    return store


def words(store: Store, server: ChatServer, *given: object) -> list[str]:
    asked = ["evaluate", "run", "--store", str(store.folder), "--judge", "openai:m", "--embed", "openai:e"]
    return [*asked, "--base-url", server.url, *map(str, given)]


CHAT = ("--embed", "embedded")
BATCH = ("--batch", "--batch-interval", "0.01")


def ragboard(store: Store, server: ChatServer, *given: object, key: str = "key") -> Result:
    return CliRunner().invoke(main, words(store, server, *given), env={"OPENAI_API_KEY": key})


def in_batches(store: Store, server: ChatServer, *given: object) -> Result:
    done = ragboard(store, server, *BATCH, *given)
    assert done.exit_code == 0, done.output
    return done


def scores(store: Store) -> dict[str, dict[str, Outcome]]:
    rows = sample_rows(store, store.resolve("run"), SampleQuery(limit=1000)).rows
    return {row.sample_id: dict(row.scores) for row in rows}


def bodies(server: ChatServer) -> Counter[str]:
    """What was asked, and how many times."""
    return Counter(json.dumps(asked, sort_keys=True) for asked in server.asked)


def cost(done: Result) -> float:
    return sum(model["cost"] for model in json.loads(done.stdout)["evaluations"][0]["spent"])


def record(store: Store) -> list[Path]:
    return list((store.folder / "journals").glob("*.batches"))


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, dict[str, Outcome]], Counter[str]]:
    """The scores of the live way, and what it asks."""
    store = kept(tmp_path_factory.mktemp("live"))
    with chat_server() as live:
        assert ragboard(store, live).exit_code == 0
        return scores(store), bodies(live)


Expected = tuple[dict[str, dict[str, Outcome]], Counter[str]]


def test_scores_are_those_of_the_live_way_and_each_request_is_asked_once(
    tmp_path: Path, server: BatchServer, expected: Expected
) -> None:
    """Two waves of chat, and one of embeddings."""
    store = kept(tmp_path / "batch")
    in_batches(store, server)
    assert (scores(store), bodies(server)) == expected
    assert [batch["endpoint"] for batch in server.batches].count("/v1/chat/completions") == 2
    assert len(server.batches) == 3
    assert record(store) == []


def test_the_evaluation_is_the_same_one_and_takes_up_either_way(
    tmp_path: Path, server: BatchServer, expected: Expected
) -> None:
    store = kept(tmp_path / "batch")
    assert ragboard(store, server, "--sample", 2).exit_code == 0
    in_batches(store, server)
    assert (scores(store), bodies(server)) == expected
    assert len(store.evaluations(store.resolve("run").run_id)) == 1


def test_a_batch_costs_half_and_the_user_can_say_otherwise(tmp_path: Path, server: BatchServer) -> None:
    prices = tmp_path / "prices.toml"
    costs: list[float] = []
    said: list[str] = []
    for at, (share, batch) in enumerate([("", False), ("", True), ("batch = 0.25", True)]):
        prices.write_text(f'["m"]\nprompt = 1\ncompletion = 4\n{share}\n')
        store = kept(tmp_path / str(at))
        done = ragboard(store, server, "--json", "--prices", prices, *CHAT, *(BATCH if batch else ()))
        costs.append(cost(done))
        said.append(done.stderr)
    assert ["sent in batches for " in one for one in said] == [False, True, True]
    assert "sent in batches for 25% of the price of m: replies can take up to 24 hours" in said[-1]
    assert costs == pytest.approx([costs[0], costs[0] / 2, costs[0] / 4])


def test_what_was_asked_live_keeps_its_price(tmp_path: Path, server: BatchServer) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('["m"]\nprompt = 1\ncompletion = 4\n')
    store = kept(tmp_path / "s")
    live, both = (
        cost(ragboard(store, server, "--json", "--prices", prices, *CHAT, *given))
        for given in (("--sample", SAMPLES // 2), BATCH)
    )
    assert both == pytest.approx(1.5 * live)


def test_a_plan_has_the_price_of_batches(tmp_path: Path, server: BatchServer) -> None:
    store = kept(tmp_path / "s")
    asked = ["plan", "run", "--store", str(store.folder), "--judge", "openai:gpt-4o-mini", "--embed", "embedded"]
    costs = []
    for given in ([], ["--batch"]):
        done = CliRunner().invoke(main, [*asked, *given, "--json"])
        costs.append(json.loads(done.stdout)["plans"]["run"]["total"]["expected"]["cost"])
    assert costs[1] == pytest.approx(costs[0] / 2)
    assert "in batches: 50% of the price of gpt-4o-mini" in CliRunner().invoke(main, [*asked, "--batch"]).output
    assert server.count == 0


def test_replies_of_the_wrong_form_are_asked_again_in_the_next_batch(
    tmp_path: Path, server: BatchServer, expected: Expected
) -> None:
    store = kept(tmp_path / "batch")
    server.faults = [replies("no"), spoils(lambda good: good[:-9], "length"), *[status(500)] * 2, status(429)]
    in_batches(store, server)
    assert scores(store) == expected[0]
    assert server.count == expected[1].total() + 5
    assert len(server.batches) == 5, "repairs and repeated requests go with the next wave"
    asked = [line["custom_id"] for line in server.lines]
    assert len(set(asked)) == len(asked)


def test_a_request_that_the_server_refuses_fails_as_in_the_live_way(tmp_path: Path, server: BatchServer) -> None:
    store = kept(tmp_path / "s")
    server.faults = [status(400, "this text is too odd")]
    done = in_batches(store, server)
    assert "status 400: this text is too odd" in done.stderr
    failed = [score for row in scores(store).values() for score in row.values() if "too odd" in str(score)]
    assert failed


def test_a_format_that_the_server_refuses_is_given_up_by_all_requests_of_the_wave(
    tmp_path: Path, server: BatchServer, expected: Expected
) -> None:
    store = kept(tmp_path / "s")
    server.rules = [refuses("json_schema", "response_format is not supported")]
    in_batches(store, server)
    assert scores(store) == expected[0]


def test_a_format_that_is_rejected_without_a_reason_is_given_up_by_all_requests_of_the_wave(
    tmp_path: Path, server: BatchServer, expected: Expected
) -> None:
    store = kept(tmp_path / "s")
    server.rules = [refuses("response_format", "bad request")]
    in_batches(store, server)
    assert scores(store) == expected[0]


def test_a_parameter_that_the_model_refuses_is_left_out(
    tmp_path: Path, server: BatchServer, expected: Expected
) -> None:
    store = kept(tmp_path / "s")
    server.rules = [refuses("temperature", "temperature is not supported", param="temperature")]
    in_batches(store, server)
    assert scores(store) == expected[0]


def test_requests_of_an_expired_batch_that_were_not_run_are_submitted_again(
    tmp_path: Path, server: BatchServer, expected: Expected
) -> None:
    store = kept(tmp_path / "s")
    server.expires_after = [SAMPLES // 2, 0]
    in_batches(store, server)
    assert (scores(store), bodies(server)) == expected


def test_a_request_that_no_file_of_its_batch_mentions_is_asked_again(
    tmp_path: Path, server: BatchServer, expected: Expected
) -> None:
    store = kept(tmp_path / "s")
    server.loses = {2}
    in_batches(store, server)
    assert scores(store) == expected[0]
    assert server.count == expected[1].total() + 1


def test_a_batch_that_fails_validation_is_one_line_with_what_the_server_said(
    tmp_path: Path, server: BatchServer
) -> None:
    store = kept(tmp_path / "s")
    server.refusals = [{"code": "invalid_json_line", "message": "Line 3 is odd", "line": 3}]
    done = ragboard(store, server, *BATCH)
    assert done.exit_code == ExitCode.ERROR
    lines = [line for line in done.stderr.splitlines() if line.startswith("ragboard: ")]
    assert len(lines) == 1
    assert re.search(r"batch batch_\d was rejected: Line 3 is odd \(line 3\)$", lines[0]), lines
    server.refusals = []
    in_batches(store, server)
    assert len(scores(store)) == SAMPLES


def test_too_many_tokens_for_the_server_make_smaller_batches_one_after_the_other(
    tmp_path: Path, server: BatchServer, expected: Expected
) -> None:
    store = kept(tmp_path / "s")
    server.most_requests = 4
    in_batches(store, server)
    assert (scores(store), bodies(server)) == expected


def test_a_batch_that_somebody_cancelled_ends_the_evaluation_which_can_be_resumed(
    tmp_path: Path, server: BatchServer, expected: Expected
) -> None:
    store = kept(tmp_path / "s")
    server.cancelled_after = [2]
    done = ragboard(store, server, *BATCH)
    assert done.exit_code == ExitCode.ERROR
    assert re.search(
        r"batch batch_\d was cancelled; run the same command again to submit its open requests", done.stderr
    )
    in_batches(store, server)
    assert (scores(store), bodies(server)) == expected


def test_a_server_without_batches_is_one_line(tmp_path: Path, live: ChatServer) -> None:
    store = kept(tmp_path / "s")
    done = ragboard(store, live, *BATCH)
    assert done.exit_code == ExitCode.ERROR
    assert f"ragboard: {live.url} does not support batches (status 404); leave out --batch" in done.stderr
    assert live.count == 0


def test_a_refused_key_is_one_line(tmp_path: Path, server: BatchServer) -> None:
    store = kept(tmp_path / "s")
    server.faults = [status(401, "no")] * 100
    done = ragboard(store, server, *BATCH)
    assert done.exit_code == ExitCode.ERROR
    assert "the key is refused" in done.stderr


def test_a_batch_whose_acceptance_got_lost_is_not_submitted_twice(
    tmp_path: Path, server: BatchServer, expected: Expected
) -> None:
    store = kept(tmp_path / "s")
    server.lost_responses = 1
    server.failing_looks = 3
    in_batches(store, server)
    assert (scores(store), bodies(server)) == expected
    assert len(server.batches) == 3


def test_a_process_that_ended_before_it_knew_the_id_of_its_batch_finds_it(
    tmp_path: Path, server: BatchServer, expected: Expected
) -> None:
    store = kept(tmp_path / "s")
    server.holds = 0
    assert ragboard(store, server, *BATCH, "--max-minutes", "0.05").exit_code == 3
    (path,) = record(store)
    lines = path.read_text().splitlines()
    path.write_text("".join(f"{line}\n" for line in lines if '"batch"' not in line) + '{"torn')
    server.holds = NEVER
    before = len(server.batches)
    in_batches(store, server)
    assert (scores(store), bodies(server)) == expected
    assert len(server.batches) == before + 2, "a wave of embeddings and the second of chat"


def test_redacted_texts_stay_redacted_in_the_file(tmp_path: Path, server: BatchServer) -> None:
    store = kept(tmp_path / "s")
    in_batches(store, server, "--redact", "Thing", "--header", "X-Team=search", "--judge-param", "seed=7")
    uploaded = b"".join(server.files[batch["input_file_id"]] for batch in server.batches)
    assert b"Thing" not in uploaded
    assert "█" in json.loads(uploaded.splitlines()[0])["body"]["messages"][0]["content"]
    assert all(headers["x-team"] == "search" for headers in server.headers if headers)
    assert all(line["body"]["seed"] == 7 for line in server.lines if "messages" in line["body"])


def test_a_cost_limit_submits_what_fits_and_is_not_exceeded(tmp_path: Path, server: BatchServer) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('["m"]\nprompt = 1\ncompletion = 4\n')
    given = ("--json", "--prices", prices, *CHAT, *BATCH, "--judge-param", "max_completion_tokens=10")
    whole = cost(ragboard(kept(tmp_path / "whole", 20), server, *given))
    server.asked.clear()
    store = kept(tmp_path / "s", 20)
    limit = 0.4 * whole
    done = ragboard(store, server, *given, "--max-cost", limit)
    assert done.exit_code == 3, done.output
    assert limit / 2 < cost(done) <= limit
    assert cost(ragboard(store, server, *given)) == pytest.approx(whole)
    assert max(bodies(server).values()) == 1


def test_a_limit_of_calls_holds(tmp_path: Path, server: BatchServer) -> None:
    store = kept(tmp_path / "s")
    done = ragboard(store, server, "--max-calls", 7, *BATCH)
    assert done.exit_code == 3
    assert server.count <= 7
    in_batches(store, server)
    assert max(bodies(server).values()) == 1


def start(python: str, store: Store, server: BatchServer, **how: Any) -> subprocess.Popen[str]:
    """An evaluation in a process of its own, which can be killed."""
    command = [python, "-m", "ragboard", *words(store, server, *BATCH)]
    environment = os.environ | {"OPENAI_API_KEY": "key", "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=-1, stderr=-1, text=True, **how)


def heed_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    try:
        _, said = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    return process.returncode, said


def until(true: Callable[[], Any]) -> None:
    for _ in range(int(PATIENCE / 0.02)):
        if true():
            return
        threading.Event().wait(0.02)
    raise AssertionError("it never came to that")


def waits(store: Store, batches: int) -> bool:
    """Whether that many batches are recorded, and the status file says that requests wait."""
    found = [read_progress(path) for path in (store.folder / "journals").glob("*.status.json")]
    progress = found[0] if found else None
    recorded = record(store)[0].read_text() if record(store) else ""
    return recorded.count('"batch"') >= batches and progress is not None and progress.at_server > 0


@pytest.mark.plain_database
@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGKILL")
def test_a_process_killed_in_each_wave_continues_where_it_was(
    python: str, tmp_path: Path, server: BatchServer, expected: Expected
) -> None:
    store = kept(tmp_path / "s")
    for first_held, batches in ((0, 1), (1, 3)):
        server.holds = first_held
        process = start(python, store, server)
        until(lambda batches=batches: waits(store, batches))
        process.kill()
        assert ended(process)[0] == -signal.SIGKILL
    server.holds = NEVER
    code, said = ended(start(python, store, server))
    assert code == 0, said
    assert (scores(store), bodies(server)) == expected


@pytest.mark.plain_database
@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_says_how_many_requests_wait_and_how_to_collect_them(
    python: str, tmp_path: Path, server: BatchServer, expected: Expected
) -> None:
    store = kept(tmp_path / "s")
    server.holds = 0
    process = start(python, store, server, preexec_fn=heed_ctrl_c)
    until(lambda: waits(store, 1))
    process.send_signal(signal.SIGINT)
    code, said = ended(process)
    assert (code, "Traceback" in said) == (130, False)
    assert re.search(r"\d+ requests wait at the server; run the same command to collect them", said)
    server.holds = NEVER
    in_batches(store, server)
    assert (scores(store), bodies(server)) == expected


@pytest.mark.plain_database
def test_a_stopped_evaluation_does_not_wait_for_its_batches(
    python: str, tmp_path: Path, server: BatchServer, expected: Expected
) -> None:
    store = kept(tmp_path / "s")
    server.holds = 0
    process = start(python, store, server)
    until(lambda: waits(store, 1))
    (status_file,) = (store.folder / "journals").glob("*.status.json")
    stop_file(status_file).touch()
    code, said = ended(process)
    assert code == 3, said
    assert "requests wait at the server; run the same command to collect them" in said
    assert "may still be billed" not in said
    server.holds = NEVER
    in_batches(store, server)
    assert (scores(store), bodies(server)) == expected


def test_python_evaluates_in_batches(tmp_path: Path, server: BatchServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    rows = [{"question": "How high is it?", "answer": "It is 30 m high.", "contexts": ["It is 30 m high."]}]
    judge = JudgeOptions(judge="openai:m", embed="embedded", base_url=server.url, batch_interval=0.01)
    found = evaluate(rows, judge=judge, batch=True, store=tmp_path / "s")
    live = evaluate(rows, judge=judge)
    assert [found[spec].mean for spec in found.summary.metrics] == [live[spec].mean for spec in live.summary.metrics]
    assert len(server.batches) == 2
    with pytest.raises(SettingError, match="batch can be used only with the name of a judge"):
        evaluate(rows, judge=EmbeddedJudge(), batch=True)


def test_a_batch_that_the_server_does_not_have_says_what_to_do(tmp_path: Path, server: BatchServer) -> None:
    store = kept(tmp_path / "s")
    server.holds = 0
    assert ragboard(store, server, *BATCH, "--max-minutes", "0.05").exit_code == 3
    (path,) = record(store)
    path.write_text(path.read_text().replace('"batch_', '"batch_gone'))
    done = ragboard(store, server, *BATCH)
    assert done.exit_code == ExitCode.ERROR
    assert f"delete {path} to submit its requests again" in done.stderr
    path.unlink()
    server.holds = NEVER
    in_batches(store, server)
    assert len(scores(store)) == SAMPLES


def test_without_batch_a_line_says_that_requests_wait_at_the_server(tmp_path: Path, server: BatchServer) -> None:
    store = kept(tmp_path / "s")
    server.holds = 0
    assert ragboard(store, server, *BATCH, "--max-minutes", "0.05").exit_code == 3
    line = "the server may have batches of this evaluation; --batch collects their replies"
    assert line in ragboard(store, server, "--sample", 1).stderr
    server.holds = NEVER
    assert line not in in_batches(store, server).stderr


def test_a_classic_azure_address_is_one_line(tmp_path: Path) -> None:
    store = kept(tmp_path / "s")
    address = "https://n.openai.azure.com/openai/deployments/d?api-version=2024-10-21"
    asked = ["evaluate", "run", "--store", str(store.folder), "--judge", "openai:m", "--embed", "embedded", "--batch"]
    done = CliRunner().invoke(main, [*asked, "--base-url", address], env={"OPENAI_API_KEY": "key"})
    assert "ragboard: --batch: a classic Azure address has no batches" in done.stderr


def test_retry_asks_failed_tasks_again_in_batches(tmp_path: Path, server: BatchServer, expected: Expected) -> None:
    store = kept(tmp_path / "s")
    server.faults = [status(400, "odd")] * 3
    in_batches(store, server)
    done = CliRunner().invoke(
        main, ["retry", "run", "--store", str(store.folder), *BATCH], env={"OPENAI_API_KEY": "key"}
    )
    assert done.exit_code == 0, done.output
    assert scores(store) == expected[0]


def test_batch_without_a_model_at_a_server_says_that_it_does_nothing(tmp_path: Path) -> None:
    store = kept(tmp_path / "s", 1)
    done = CliRunner().invoke(main, ["evaluate", "run", "--store", str(store.folder), "--batch"])
    assert done.exit_code == 0
    assert "--batch has no effect: no judge is a model on a server" in done.stderr
