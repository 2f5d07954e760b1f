"""Tests of evaluations in a separate process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.responses import PlainTextResponse
from tests.chat_server import chat_server
from tests.core.conftest import make_run
from tests.plugin_file import write_plugin

from ragboard import JudgeError, JudgeOptions, SettingError, Store
from ragboard.analysis import failures
from ragboard.evaluation import background
from ragboard.evaluation.background import (
    LaunchContext,
    evaluation_command,
    evaluation_environment,
    plan_choice,
    start_evaluation,
    start_retry,
)
from ragboard.evaluation.identity import Choice, choose_evaluation
from ragboard.evaluation.progress import LiveEvaluation, live_evaluation, live_evaluations
from ragboard.judges import panel_named
from ragboard.metrics import metrics_named
from ragboard.metrics.plugins import metrics_with
from ragboard.store import RunRef

pytestmark = pytest.mark.plain_database

RAGBOARD = background.RAGBOARD
"""The command as it is, which starts a process that imports for itself."""
SECRET = "sk-verysecret"
SPECS = ("ragas.faithfulness", "mine.brevity")


@pytest.fixture
def folder(tmp_path: Path, python: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory in which a file and a variable say other things than the caller."""
    monkeypatch.setattr(background, "RAGBOARD", (python, *RAGBOARD[1:]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(str(Path(part).resolve()) for part in sys.path if part))
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("RAGBOARD_VERIFY", "nobody:x")
    (tmp_path / "ragboard.toml").write_text("[judge-param]\nseed = 9\n", encoding="utf-8")
    return tmp_path


def kept(store: Store) -> RunRef:
    run = store.add_runs([make_run()])[0]
    return RunRef(run_id=run.id, name=run.name, evaluation_id=None)


def ended(store: Store, evaluation_id: str) -> LiveEvaluation:
    """The evaluation, once no process works on it."""
    for _ in range(600):
        live = live_evaluation(store, evaluation_id)
        assert live is not None
        if not live.under_way:
            return live
        time.sleep(0.1)
    raise AssertionError("it does not end")


def test_it_takes_every_option_and_no_key_on_its_command_line(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = kept(store)
    around = LaunchContext(plugins=(write_plugin(folder),))
    with chat_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        judge_options = JudgeOptions(
            judge="openai:j",
            extract="openai:x",
            embed="embedded",
            parameters={"reasoning_effort": "low", "max_completion_tokens": 4000},
            base_url=server.url,
            concurrency=3,
            device="cpu",
            threads=2,
            backend="onnx",
            redact=(r"\d{4}", "@example\\.org"),
        )
        choice = Choice(metrics=SPECS, judge_options=judge_options, limits={"sample": 2, "max_minutes": 5.0})
        command = evaluation_command(store, ref, choice, around)
        subprocess.run(command, env=evaluation_environment(judge_options), check=True, capture_output=True)
        assert {asked["model"] for asked in server.asked} == {"j", "x"}
        assert all(asked["reasoning_effort"] == "low" and "seed" not in asked for asked in server.asked)
        assert server.keys[0] == f"Bearer {SECRET}"
        known = metrics_with(around.plugins)
        expected = choose_evaluation(store, ref.run_id, panel_named(judge_options), metrics_named(SPECS, known), known)
    (live,) = live_evaluations(store)
    assert live.choice == replace(choice, limits={"sample": 2, "seed": 0, "max_minutes": 5.0})
    assert store.evaluation_metrics(expected.id) == SPECS
    assert SECRET not in " ".join(command)
    assert server.url not in " ".join(command)


@pytest.mark.usefixtures("folder")
def test_what_the_patterns_match_reaches_no_server(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ref = kept(store)
    with chat_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        judge_options = JudgeOptions(judge="openai:j", base_url=server.url, redact=("(?i)red",))
        choice = Choice(metrics=("ragas.faithfulness",), judge_options=judge_options)
        live = ended(store, start_evaluation(store, ref, choice))
        assert (live.state, len(server.asked) > 0) == ("finished", True)
        assert "It is" in json.dumps(server.asked)
        assert "red." not in json.dumps(server.asked)


@pytest.mark.usefixtures("folder")
def test_the_key_of_the_environment_goes_to_no_address_that_was_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    own = JudgeOptions(judge="openai:j")
    typed = replace(own, base_url="http://typed.example/v1")
    assert evaluation_environment(own)["OPENAI_API_KEY"] == SECRET
    assert "OPENAI_API_KEY" not in evaluation_environment(typed)
    assert evaluation_environment(typed, "sk-typed-in")["OPENAI_API_KEY"] == "sk-typed-in"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://typed.example/v1/")
    assert evaluation_environment(typed)["OPENAI_API_KEY"] == SECRET


def test_a_key_that_is_given_reaches_the_server_and_no_file(store: Store, folder: Path) -> None:
    with chat_server() as server:
        choice = Choice(
            metrics=("faithfulness",),
            judge_options=JudgeOptions(judge="openai:j", embed="embedded", base_url=server.url),
        )
        started = start_evaluation(store, kept(store), choice, key="sk-typed-in")
        live = ended(store, started)
        assert (live.state, live.progress.done) == ("finished", 3)
        assert set(server.keys) == {"Bearer sk-typed-in"}
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert all(b"sk-typed-in" not in path.read_bytes() for path in files)
    assert os.environ["OPENAI_API_KEY"] == SECRET


def test_headers_that_are_given_reach_the_server_and_no_file_and_are_no_part_of_the_identity(
    store: Store, folder: Path
) -> None:
    with chat_server() as server:
        choice = Choice(
            metrics=("faithfulness",),
            judge_options=JudgeOptions(judge="openai:j", embed="embedded", base_url=server.url),
        )
        ref = kept(store)
        started = start_evaluation(store, ref, choice, headers="X-Team: search-7c1f\n\nX-Gate: pass: word-42 \n")
        assert ended(store, started).state == "finished"
        sent = {(one["x-team"], one["x-gate"]) for one in server.headers}
        assert sent == {("search-7c1f", "pass: word-42")}
        assert start_evaluation(store, ref, choice) == started
        ended(store, started)
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert all(word not in path.read_bytes() for path in files for word in (b"search-7c1f", b"word-42"))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("headers", ["secret-word", "X-Team:", "X Team: secret-word", "X-Team: secret-word\x07"])
def test_a_line_that_is_no_header_is_rejected_without_its_value(store: Store, headers: str) -> None:
    options = JudgeOptions(judge="openai:j", embed="embedded", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(SettingError, match="the headers") as caught:
        start_evaluation(store, kept(store), Choice(metrics=("faithfulness",), judge_options=options), headers=headers)
    assert "secret-word" not in str(caught.value)
    assert live_evaluations(store) == ()


def test_no_python_file_of_the_current_folder_is_run(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "RAGBOARD", RAGBOARD)
    for module in ("click", "json", "duckdb", "ragboard"):
        (folder / f"{module}.py").write_text(f"open({module!r} + '.ran', 'w').close()\n", encoding="utf-8")
    live = ended(store, start_evaluation(store, kept(store), Choice(metrics=("faithfulness",))))
    assert live.state == "finished"
    assert list(folder.glob("*.ran")) == []


@pytest.mark.usefixtures("folder")
def test_what_failed_is_asked_again_in_the_background(store: Store) -> None:
    with chat_server() as server:
        judge_options = JudgeOptions(judge="openai:j", embed="embedded", base_url=server.url)
        server.rules = [lambda _: PlainTextResponse("teapot", 418)]
        ref = kept(store)
        started = start_evaluation(store, ref, Choice(metrics=("faithfulness",), judge_options=judge_options))
        live = ended(store, started)
        assert (live.state, live.progress.failed) == ("finished", 3)
        server.rules = []
        start_retry(store, replace(ref, evaluation_id=started), key="sk-typed-in")
        again = ended(store, started)
        assert (again.state, again.progress.message, again.progress.failed) == ("finished", "", 0)
    assert set(server.keys) == {"Bearer none", "Bearer sk-typed-in"}
    assert failures(store, replace(ref, evaluation_id=started)) == ()


@pytest.mark.usefixtures("folder")
def test_one_that_dies_before_its_first_word_says_why(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "evaluation_command", lambda *_: [sys.executable, "-c", "exit('no such thing')"])
    live = ended(store, start_evaluation(store, kept(store), Choice(metrics=("faithfulness",))))
    assert (live.state, live.progress.message) == ("failed", "no such thing")


@pytest.mark.usefixtures("folder")
def test_what_cannot_be_is_rejected_before_anything_starts(store: Store) -> None:
    ref = kept(store)
    priceless = Choice(metrics=("faithfulness",), judge_options=JudgeOptions(judge="openai:j"), limits={"max_cost": 1})
    with pytest.raises(SettingError, match="needs a price for j"):
        start_evaluation(store, ref, priceless)
    with pytest.raises(SettingError, match="no judge is called 'nobody'"):
        start_evaluation(store, ref, Choice(metrics=("faithfulness",), judge_options=JudgeOptions(judge="nobody")))
    assert live_evaluations(store) == ()


@pytest.mark.usefixtures("folder")
def test_a_plan_needs_no_key(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    choice = Choice(
        metrics=("faithfulness",), judge_options=JudgeOptions(judge="openai:gpt-4o-mini"), limits={"sample": 1}
    )
    plan = plan_choice(store, kept(store), choice)
    assert (plan.samples, plan.total.expected.chat_calls) == (1, 2)
    with pytest.raises(JudgeError, match="OPENAI_API_KEY is not set"):
        start_evaluation(store, kept(store), choice)


@pytest.mark.parametrize("address", ["http://[::1/v1", "localhost:8000", "http://me:abc@host/v1"])
def test_an_address_that_cannot_be_asked_is_rejected_before_anything_starts(store: Store, address: str) -> None:
    run = kept(store)
    choice = Choice(metrics=("faithfulness",), judge_options=JudgeOptions(judge="openai:j", base_url=address))
    with pytest.raises(SettingError, match="base URL"):
        start_evaluation(store, run, choice, key=SECRET)
    assert not live_evaluations(store)
