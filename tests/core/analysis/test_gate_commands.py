"""The commands that a page shows are run as they are shown, whatever the runs are called."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
import yaml
from tests.core.conftest import PlainJudge, make_sample

from ragboard import Panel, Run, Store, evaluate_run
from ragboard.analysis import (
    Comparison,
    UnscoredPolicy,
    check_command,
    compare_command,
    compare_runs,
    gate_workflow,
    set_threshold,
)
from ragboard.judges import JudgeOptions
from ragboard.metrics import metrics_named

Shell: TypeAlias = Callable[[str], "subprocess.CompletedProcess[str]"]
HOSTILE = "it's $(touch owned) `touch owned` ${{ secrets.KEY }} \x1b[2J\n--x: 'y' \u202e\\"
METRICS = ["faithfulness", "ragchecker.context_precision", "retrieval.precision(k=2)", "ragboard.refusal"]


def compared(store: Store, a: str, b: str, unscored: UnscoredPolicy = "excluded") -> Comparison:
    return compare_runs(store, store.resolve(a), store.resolve(b), unscored=unscored)


def keep(store: Store, **said: str) -> None:
    for name, answer in said.items():
        samples = tuple(make_sample(number, answer=answer) for number in range(40))
        (added,) = store.add_runs([Run(name={"hostile": HOSTILE, "dash": "-b"}.get(name, name), samples=samples)])
        evaluate_run(store, added.id, metrics_named(METRICS), Panel(judge=PlainJudge()))


@pytest.fixture
def shell(store: Store, tmp_path: Path, program: Path) -> Shell:
    """A function that runs a script as GitHub does."""
    own = {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "RAGBOARD_STORE": str(store.folder)}

    def run(script: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=tmp_path,
            env={**os.environ, **own, "GITHUB_STEP_SUMMARY": "out.md"},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.parametrize("name", ["b", HOSTILE, "-b"], ids=["plain", "hostile", "dash"])
def test_the_shown_commands_run_and_end_as_the_intervals_say(
    store: Store, shell: Shell, tmp_path: Path, name: str
) -> None:
    keep(store, a="It is red. It is old.", **{{"b": "b", HOSTILE: "hostile", "-b": "dash"}[name]: "It is red."})
    better, worse = compared(store, "a", name), compared(store, name, "a")
    assert shell(compare_command(better, "a", name)).returncode == 0
    failed = shell(compare_command(worse, name, "a"))
    assert (failed.returncode, "fail: ragas.faithfulness >= -0.03: -0.500" in failed.stdout) == (1, True), failed
    held = shell(check_command(better, name))
    assert (held.returncode, "pass: ragas.faithfulness >= " in held.stdout) == (0, True), held
    assert not (tmp_path / "owned").exists()


def test_what_is_on_screen_is_in_the_commands(store: Store) -> None:
    keep(store, a="It is red. It is old.", b="It is red.")
    set_threshold(store, "ragas.faithfulness", 0.8)
    found = compared(store, "a", "b", "zero")
    said = compare_command(found, "a", "b", allowed=0.05)
    assert said.splitlines()[0] == "ragboard compare a b \\"
    assert "--fail-if 'ragas.faithfulness < -0.05'" in said
    assert "--fail-if 'retrieval.precision(k=2) < -0.05'" in said
    assert "refusal" not in said, "better neither way"
    assert "--unscored zero" in said
    assert "--min ragas.faithfulness=0.8" in check_command(found, "b")
    assert check_command(found, "b@e1").startswith("ragboard check b@e1 ")


def test_nothing_to_gate_is_no_command(store: Store) -> None:
    store.add_runs([Run(name=name, samples=(make_sample(1),)) for name in "ab"])
    found = compared(store, "a", "b")
    assert (compare_command(found, "a", "b"), check_command(found, "b")) == ("", "")


@pytest.mark.parametrize("name", ["b", HOSTILE], ids=["plain", "hostile"])
def test_the_steps_of_the_workflow_run(store: Store, shell: Shell, tmp_path: Path, name: str) -> None:
    keep(store, a="It is red. It is old.", **{"b" if name == "b" else "hostile": "It is red."})
    for first, second, code in (("a", name, 0), (name, "a", 1)):
        text = gate_workflow(compared(store, first, second), JudgeOptions(judge="embedded"))
        job = yaml.safe_load(text)["jobs"]["gate"]
        scripts = {step.get("name", ""): expressions(step["run"]) for step in job["steps"] if "run" in step}
        assert shell(f"printf %s {quoted_run(scripts[''])}").stdout == second
        done = shell(scripts["Compare with the baseline"])
        assert done.returncode == code, done
        assert shell(scripts["Check the thresholds"]).returncode == 0
    assert "ragas" in (tmp_path / "out.md").read_text("utf-8")
    assert not (tmp_path / "owned").exists()
    assert "OPENAI_API_KEY" not in text
    assert "secrets.OPENAI_API_KEY" in gate_workflow(compared(store, "a", name), JudgeOptions(judge="openai:m"))


def test_the_workflow_asks_the_server_of_the_baseline_and_redacts_as_it_did(store: Store) -> None:
    keep(store, a="It is red. It is old.", b="It is red.")
    options = JudgeOptions(
        judge="openai:m",
        base_url="http://judge.local:8000/v1?api_key=secret",
        parameters={"temperature": 0.5},
        redact=("[A-Z]{9}",),
    )
    text = gate_workflow(compared(store, "a", "b"), options)
    for line in ("--judge openai:m", "--judge-param temperature=0.5", "--redact '[A-Z]{9}'"):
        assert f"          {line} \\\n" in text.replace("            --", "          --")
    assert "--base-url http://judge.local:8000/v1\n" in text
    assert "secret" not in text.replace("secrets.OPENAI_API_KEY", "")


def test_without_judges_that_a_command_can_name_the_workflow_says_that_its_own_are_an_example(store: Store) -> None:
    keep(store, a="It is red. It is old.", b="It is red.")
    text = gate_workflow(compared(store, "a", "b"), None)
    assert "# These judges are an example" in text
    assert yaml.safe_load(text)["jobs"]["gate"]["steps"][-3]["run"].startswith("ragboard evaluate answers.jsonl")


def expressions(script: str) -> str:
    """A script after GitHub put in the values of its expressions: of ours the quoted brackets, of others a secret."""
    return re.sub(r"\$\{\{(.*?)\}\}", lambda found: "${{" if found[1] == " '${{' " else "SECRET", script)


def quoted_run(script: str) -> str:
    """What the last command without a title, `ragboard evaluate`, calls the run."""
    return script.split("--name=", 1)[1].split(" \\\n", 1)[0]
