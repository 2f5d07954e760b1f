"""The GitHub Action: its steps, run as a runner does."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
EXPRESSION = re.compile(r"\$\{\{ inputs\.([a-z-]+) \}\}")

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")

GOOD = [
    {
        "question": f"What is the gate {number} made of?",
        "answer": f"The gate {number} is made of oak.",
        "contexts": [f"The gate {number} is made of oak."],
    }
    for number in range(12)
]
BAD = [row | {"answer": "It cost nine million euros in July."} for row in GOOD]


class Runner:
    """A runner with a working directory and the files that steps write to."""

    def __init__(self, folder: Path, program: Path) -> None:
        self.folder = folder
        self.output, self.summary = folder / "output", folder / "summary"
        self.bin = folder / "bin"
        self.bin.mkdir()
        self._program("ragboard", f'exec "{program}" "$@"')
        self._program("python", 'printf "%s\\n" "$@" > "$RUNNER_TEMP/installed"')
        for name, rows in (("good", GOOD), ("bad", BAD)):
            (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")

    def _program(self, name: str, script: str) -> None:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)

    def run(self, step: dict[str, Any], **given: str) -> subprocess.CompletedProcess[str]:
        """Run a step with these inputs, `_` for `-` in their names, and the defaults of the others."""
        inputs = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
        inputs |= {name.replace("_", "-"): value for name, value in given.items()}
        assert inputs.keys() == ACTION["inputs"].keys()
        env = {name: EXPRESSION.sub(lambda found: inputs[found[1]], text) for name, text in step["env"].items()}
        for file in (self.output, self.summary):
            file.write_text("", encoding="utf-8")
        own = {
            "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
            "RUNNER_TEMP": str(self.folder),
            "GITHUB_OUTPUT": str(self.output),
            "GITHUB_STEP_SUMMARY": str(self.summary),
        }
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder,
            env=os.environ | own | env,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )

    def gate(self, **given: str) -> tuple[int, str]:
        """The exit code and the verdict of the last step."""
        self.done = self.run(STEPS[-1], **given)
        return self.done.returncode, self.output.read_text(encoding="utf-8").strip().removeprefix("verdict=")


@pytest.fixture
def runner(tmp_path: Path, program: Path) -> Runner:
    return Runner(tmp_path, program)


def test_no_input_is_part_of_a_script() -> None:
    for step in STEPS:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]
        assert all(EXPRESSION.fullmatch(value) for value in step["env"].values())


def test_every_input_is_used_and_described() -> None:
    used = {name for step in STEPS for value in step["env"].values() for name in EXPRESSION.findall(value)}
    assert used == ACTION["inputs"].keys()
    assert all(one["description"] for one in (*ACTION["inputs"].values(), *ACTION["outputs"].values()))


def test_the_requirement_is_installed(runner: Runner) -> None:
    assert runner.run(STEPS[0], requirement="ragboard==0.1.0; echo x").returncode == 0
    installed = (runner.folder / "installed").read_text(encoding="utf-8").splitlines()
    assert installed == ["-m", "pip", "install", "ragboard==0.1.0; echo x"]


def test_thresholds_pass_fail_or_warn(runner: Runner) -> None:
    limits = "faithfulness=0.5\n  \ncontext_relevance=0.5\n"
    assert runner.gate(file="good.jsonl", min=limits, junit="out.xml") == (0, "pass")
    summary = runner.summary.read_text(encoding="utf-8")
    assert "ragas.faithfulness ≥ 0.5" in summary
    assert "ragas.context\\_relevance ≥ 0.5" in summary
    assert (runner.folder / "out.xml").read_text(encoding="utf-8").count("<testcase") == 2
    assert runner.gate(file="bad.jsonl", min=limits) == (1, "fail")
    assert runner.gate(file="good.jsonl", min="faithfulness=0.999") == (0, "inconclusive")
    assert "::warning::inconclusive" in runner.done.stdout
    assert runner.gate(file="good.jsonl", min="faithfulness=0.999", inconclusive="fail") == (4, "inconclusive")


def test_a_comparison_fails_where_the_file_is_worse(runner: Runner) -> None:
    compared = {"baseline": "good.jsonl", "fail_if": "faithfulness < -0.1", "metrics": "faithfulness"}
    assert runner.gate(file="bad.jsonl", **compared) == (1, "fail")
    assert runner.gate(file="good.jsonl", **compared | {"fail_if": "faithfulness < -0.5"}) == (0, "pass")


def test_without_a_verdict_the_step_fails(runner: Runner) -> None:
    assert runner.gate(file="good.jsonl") == (2, "error")
    assert runner.gate(file="good.jsonl", fail_if="faithfulness < 0") == (2, "error")
    assert runner.gate(file="good.jsonl", min="faithfulness=0.5", inconclusive="maybe") == (2, "error")
    assert runner.gate(file="absent.jsonl", min="faithfulness=0.5") == (2, "error")
    assert runner.gate(file="good.jsonl", min="token_f1=0.5") == (5, "error")


def test_an_input_is_text_never_a_command_or_an_option(runner: Runner) -> None:
    hostile = '$(touch hacked); `touch hacked`; "; touch hacked'
    assert runner.gate(file=hostile, min="faithfulness=0.5")[1] == "error"
    assert runner.gate(file="good.jsonl", min=hostile)[1] == "error"
    assert runner.gate(file="--help", min="faithfulness=0.5")[1] == "error"
    assert not (runner.folder / "hacked").exists()


def test_the_documented_workflow_gives_inputs_that_there_are() -> None:
    page = (ROOT / "docs" / "tasks" / "gate-in-ci.md").read_text(encoding="utf-8")
    (workflow,) = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    (step,) = [step for step in workflow["jobs"]["gate"]["steps"] if step.get("uses") == "./ragboard"]
    assert step["with"].keys() <= ACTION["inputs"].keys()
    assert all(isinstance(value, str) for value in step["with"].values())
