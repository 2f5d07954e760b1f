"""Tests of exit codes, and of their table in the documentation."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.chat_server import chat_server

from ragboard import Run, Sample, Store
from ragboard.cli import main
from ragboard.errors import ExitCode

ROOT = Path(__file__).parents[3]
ROWS = [
    {
        "question": f"What is the gate {number} made of?",
        "answer": f"The gate {number} is made of oak.",
        "contexts": [f"The gate {number} is made of oak."],
    }
    for number in range(12)
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run file, and a store with its run, `run`, evaluated."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "run.jsonl").write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    assert code(folder / "store", "evaluate", folder / "run.jsonl") == ExitCode.DONE
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A store with one evaluated run, `run`, beside its file."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "store"


def code(folder: Path, *arguments: object, typed: str = "") -> int:
    done = CliRunner(env={"RAGBOARD_STORE": str(folder)}).invoke(main, list(map(str, arguments)), input=typed)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code


def test_the_documentation_lists_the_codes_of_the_program() -> None:
    page = (ROOT / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\d+) \| (.+) \|$", page, re.MULTILINE)
    assert listed == [(str(int(one)), one.meaning) for one in ExitCode]


def test_a_gate_passes_fails_or_is_inconclusive(folder: Path) -> None:
    assert code(folder, "check", "run", "--min", "faithfulness=0.5") == 0
    assert code(folder, "check", "run", "--max", "faithfulness=0.2") == 1
    assert code(folder, "check", "run", "--min", "faithfulness=0.999") == 4
    assert code(folder, "compare", "run", "run", "--fail-if", "faithfulness > -0.5") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("evaluate", "absent.jsonl"),
        ("import", "absent.jsonl"),
        ("evaluate", "run", "--metrics", "nonsense"),
        ("evaluate", "run", "--judge", "oracle"),
        ("evaluate", "run", "--sample", "0"),
        ("check", "run"),
        ("check", "run", "--min", "faithfulness=high"),
        ("query", "SELECT nonsense"),
        ("rename", "run", " "),
        ("no-such-command",),
    ],
)
def test_a_bad_file_or_argument_is_2(folder: Path, arguments: tuple[str, ...]) -> None:
    assert code(folder, *arguments) == 2


def test_a_name_that_is_taken_is_2(folder: Path) -> None:
    Store(folder).add_runs([Run(name="other", samples=(Sample(id="s", question="q"),))])
    assert code(folder, "rename", "other", "run") == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "nope"),
        ("show", "run", "nope"),
        ("show", "run@nope"),
        ("evaluate", "nope"),
        ("check", "nope", "--min", "faithfulness=1"),
        ("check", "run", "--min", "nope=1"),
        ("compare", "run", "nope"),
        ("compare", "run", "run", "--metrics", "nope"),
        ("compare", "run", "run", "--fail-if", "nope < 0"),
        ("diagnose", "nope"),
        ("hallucinations", "nope"),
        ("export", "nope"),
        ("report", "nope", "-o", "out.html"),
        ("retry", "nope"),
        ("rm", "nope", "--yes"),
        ("tag", "nope", "+a"),
        ("threshold", "nope", "0.5"),
        ("label", "run", "nope", "1", "supported"),
        ("prefer", "run", "nope"),
        ("estimate", "nope"),
    ],
)
def test_what_the_store_does_not_have_is_5(folder: Path, arguments: tuple[str, ...]) -> None:
    assert code(folder, *arguments) == 5


def test_a_limit_is_3(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with chat_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        limited = ("--judge", "openai:m", "--embed", "embedded", "--max-calls", "1")
        assert code(folder, "evaluate", "run", "--metrics", "faithfulness", *limited) == 3


def test_any_other_error_is_6_and_never_looks_like_a_gate(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert code(folder, "evaluate", "run", "--judge", "openai:m") == 6
    (folder / "ragboard.duckdb").write_text("not a database " * 100, encoding="utf-8")
    assert code(folder, "check", "run", "--min", "faithfulness=0.5") == 6
    assert code(folder, "doctor") == 6


def test_a_crash_is_6_with_its_traceback(tmp_path: Path) -> None:
    broken = tmp_path / "sitecustomize.py"
    broken.write_text(
        "import ragboard.store.store as store\n"
        "def resolve(self, name): raise ZeroDivisionError('a defect')\n"
        "store.Store.resolve = resolve\n",
        encoding="utf-8",
    )
    path = os.pathsep.join(map(str, (tmp_path, ROOT / "core", ROOT / "dashboard")))
    done = subprocess.run(
        [sys.executable, "-m", "ragboard", "show", "run", "--store", str(tmp_path / "store")],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 6
    assert "ZeroDivisionError: a defect" in done.stderr


def test_no_to_a_question_is_130(folder: Path) -> None:
    assert code(folder, "rm", "run", typed="n\n") == 130
    assert code(folder, "rm", "run", typed="") == 130
