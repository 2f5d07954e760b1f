"""An evaluation in a process of its own does what the caller's options say, whatever lies about."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.chat_server import chat_server
from tests.core.conftest import make_run
from tests.plugin_file import write_plugin

from ragboard import JudgeOptions, Store
from ragboard.evaluation.background import evaluation_command, evaluation_environment
from ragboard.evaluation.engine import evaluation_of
from ragboard.judges import panel_named
from ragboard.metrics import metrics_named
from ragboard.metrics.plugins import metrics_with
from ragboard.store import RunRef

SECRET = "sk-verysecret"
SPECS = ("ragas.faithfulness", "mine.brevity")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory in which a file and a variable say other things than the caller."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(str(Path(part).resolve()) for part in sys.path if part))
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("RAGBOARD_VERIFY", "nobody:x")
    (tmp_path / "ragboard.toml").write_text("[judge-param]\nseed = 9\n", encoding="utf-8")
    return tmp_path


def test_it_takes_every_option_and_no_key_on_its_command_line(store: Store, folder: Path) -> None:
    run = store.add_runs([make_run()])[0]
    ref = RunRef(run_id=run.id, name=run.name, evaluation_id=None)
    plugin = write_plugin(folder)
    with chat_server() as server:
        judging = JudgeOptions(
            judge="openai:j",
            extract="openai:x",
            embed="embedded",
            parameters={"reasoning_effort": "low", "max_completion_tokens": 4000},
            base_url=server.url,
        )
        command = evaluation_command(store, ref, judging, SPECS, [plugin])
        subprocess.run(command, env=evaluation_environment(judging), check=True, capture_output=True)
        assert {asked["model"] for asked in server.asked} == {"j", "x"}
        assert all(asked["reasoning_effort"] == "low" and "seed" not in asked for asked in server.asked)
        assert server.keys[0] == f"Bearer {SECRET}"
        expected = evaluation_of(run.id, panel_named(judging), metrics_named(SPECS, metrics_with([plugin])))
    assert store.evaluation_metrics(expected.id) == SPECS
    assert SECRET not in " ".join(command)
    assert server.url not in " ".join(command)
