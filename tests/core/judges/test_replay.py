"""Tests of replaying recorded replies; a task without a recording fails."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.core.conftest import make_run

from ragboard import (
    DEFAULT_METRICS,
    EmbeddedJudge,
    Panel,
    RecordingJudge,
    ReplayJudge,
    RunFileError,
    Store,
    evaluate_run,
)
from ragboard.cli import main
from ragboard.errors import SettingError
from ragboard.evaluation.budget import Budget
from ragboard.evaluation.options import EvaluationOptions
from ragboard.evaluation.plan import plan_run
from ragboard.judges import judge_named
from ragboard.judges.base import ModelJudge
from ragboard.judges.llm import Endpoint, LlmJudge
from ragboard.tasks import ExtractStatements, Failure, Verify

ALL = DEFAULT_METRICS


def test_an_evaluation_replayed_has_the_scores_of_the_one_recorded(tmp_path: Path) -> None:
    means = []
    for name in ("recorded", "replayed"):
        store = Store(tmp_path / name)
        file = tmp_path / "recording.jsonl"
        judge = RecordingJudge(EmbeddedJudge(), file) if name == "recorded" else judge_named(f"replay:{file}")
        done = evaluate_run(store, store.add_runs([make_run()])[0].id, ALL, Panel(judge=judge))
        assert done.failed == 0
        with store.database.read() as connection:
            means.append(connection.execute("SELECT position, metric, value FROM scores ORDER BY ALL").fetchall())
    assert means[0] == means[1]
    assert len(means[0]) == 9


def test_an_unknown_task_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("", encoding="utf-8")
    judge = ReplayJudge.from_file(tmp_path / "empty.jsonl")
    (reply,) = asyncio.run(judge.answer([ExtractStatements(question="q", text="a")]))
    assert reply == Failure(detail="no recorded reply to this ExtractStatements")


def test_another_recording_is_another_judge(tmp_path: Path) -> None:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    line = '{"task": "ExtractStatements", "asked": {"question": "q", "text": "a"}, "failure": "why"}'
    first.write_text(line, encoding="utf-8")
    second.write_text(line.replace("why", "not"), encoding="utf-8")
    assert ReplayJudge.from_file(first).identity(Verify) != ReplayJudge.from_file(second).identity(Verify)


@pytest.mark.parametrize("line", ["{", "[]", '{"task": "Guess", "asked": {}}', '{"task": "Verify", "asked": {}}'])
def test_a_line_that_is_no_reply_is_reported_with_its_place(tmp_path: Path, line: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text("\n" + line, encoding="utf-8")
    with pytest.raises(RunFileError, match=r"bad\.jsonl:2: not a recorded reply"):
        ReplayJudge.from_file(path)


def test_a_recording_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match="expected a recording"):
        judge_named(f"replay:{tmp_path / 'absent.jsonl'}")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files")
@pytest.mark.parametrize("kind", ["device", "pipe", "folder"])
def test_what_is_no_regular_file_is_rejected_and_not_read(tmp_path: Path, store: Store, kind: str) -> None:
    store.add_runs([make_run()])
    path = Path("/dev/zero") if kind == "device" else tmp_path / kind
    if kind == "pipe":
        os.mkfifo(path)
    if kind == "folder":
        path.mkdir()
    done = CliRunner().invoke(main, ["evaluate", "run", "--judge", f"replay:{path}", "--store", str(store.folder)])
    assert done.exit_code == 2
    assert done.stderr == f"ragboard: {path}: is not a regular file; expected a recording of replies\n"


def test_a_recorder_of_a_local_judge_is_local(tmp_path: Path, store: Store) -> None:
    """So it needs no price, and its answers are in no cache."""
    run_id = store.add_runs([make_run()])[0].id
    panel = Panel(judge=RecordingJudge(EmbeddedJudge(), tmp_path / "recording.jsonl"))
    assert plan_run(store, run_id, ALL, panel).local_judges == ("embedded",)
    done = evaluate_run(store, run_id, ALL, panel, EvaluationOptions(max_cost=0.01))
    assert (done.stopped, done.failed) == ("", 0)
    assert not store.cache_path.exists()


def test_a_recorder_around_a_model_is_that_model(tmp_path: Path) -> None:
    model = LlmJudge("m", Endpoint("http://127.0.0.1:9/v1", "key"))
    recorder = RecordingJudge(model, tmp_path / "recording.jsonl")
    assert isinstance(recorder, ModelJudge)
    assert (recorder.model, recorder.name) == ("m", "openai:m")
    assert recorder.request(ExtractStatements(question="q", text="A b.")) is not None
    with pytest.raises(SettingError, match="--max-cost needs a price for m"):
        Budget.for_panel(EvaluationOptions(max_cost=1, prices={}), Panel(judge=recorder))
