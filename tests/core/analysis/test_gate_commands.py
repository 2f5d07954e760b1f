"""Tests of the commands that the Compare page shows: they run as shown, with any run name."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import yaml
from tests.action_runner import ACTION, Runner
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


def keep(store: Store, *metrics: str, **said: str) -> None:
    for name, answer in said.items():
        samples = tuple(make_sample(number, answer=answer) for number in range(40))
        (added,) = store.add_runs([Run(name={"hostile": HOSTILE, "dash": "-b"}.get(name, name), samples=samples)])
        evaluate_run(store, added.id, metrics_named(metrics or METRICS), Panel(judge=PlainJudge()))


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
    assert (failed.returncode, "fail: ragas.faithfulness, B - A = -0.500" in failed.stdout) == (1, True), failed
    held = shell(check_command(better, name))
    assert (held.returncode, "pass: ragas.faithfulness = " in held.stdout) == (0, True), held
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
    assert (compare_command(found, "a", "b"), check_command(found, "b"), gate_workflow(found, None)) == ("", "", "")


def rows(answer: str) -> list[dict[str, object]]:
    return [
        {"question": sample.question, "answer": answer, "contexts": [one.text for one in sample.contexts or ()]}
        for sample in (make_sample(number) for number in range(40))
    ]


def step_of(workflow: str) -> dict[str, Any]:
    """The step that uses the action, with its inputs as GitHub gives them."""
    step = yaml.safe_load(workflow)["jobs"]["gate"]["steps"][-1]
    assert step["with"].keys() <= ACTION["inputs"].keys()
    inputs = {name: expressions(text) for name, text in step["with"].items()}
    return {**step, "with": inputs}


@pytest.mark.parametrize("name", ["b", HOSTILE], ids=["plain", "hostile"])
def test_the_action_runs_with_the_inputs_of_the_workflow(
    store: Store, tmp_path: Path, program: Path, name: str
) -> None:
    texts = {"a": "It is red. It is old.", name: "It is red."}
    keep(store, a=texts["a"], **{"b" if name == "b" else "hostile": texts[name]})
    (tmp_path / "runner").mkdir()
    runner = Runner(tmp_path / "runner", program)
    for first, second, code in (("a", name, 0), (name, "a", 1)):
        text = gate_workflow(compared(store, first, second), JudgeOptions(judge="embedded"))
        step = step_of(text)
        assert (step["uses"], "env" in step) == ("./ragboard", False)
        assert "ragas.faithfulness < -0.03" in step["with"]["fail-if"]
        runner.write("answers", rows(texts[second]))
        runner.write("main", rows(texts[first]))
        assert runner.gate(**step["with"] | {"min": ""})[0] == code, runner.done
        assert runner.gate(**step["with"] | {"baseline": "", "fail-if": ""})[1] != "error", runner.done
    assert not (tmp_path / "owned").exists()
    asked = step_of(gate_workflow(compared(store, "a", name), JudgeOptions(judge="openai:m")))
    assert asked["env"] == {"OPENAI_API_KEY": "${{ secrets.OPENAI_API_KEY }}"}


def test_the_workflow_asks_the_server_of_the_baseline_and_redacts_as_it_did(store: Store) -> None:
    keep(store, a="It is red. It is old.", b="It is red.")
    options = JudgeOptions(
        judge="openai:m",
        extract="embedded",
        embed="embedded",
        base_url="http://judge.local:8000/v1?api_key=secret",
        parameters={"temperature": 0.5, "stop": ["${{ secrets.KEY }}"]},
        headers={"x-team": "search", "Authorization": "Bearer secret"},
        redact=("[A-Z]{9}", "@home", HOSTILE),
    )
    text = gate_workflow(compared(store, "a", "b", "zero"), options)
    given = step_of(text)["with"]
    assert (given["judge"], given["embed"], given["unscored"]) == ("openai:m", "embedded", "zero")
    assert given["base-url"] == "http://judge.local:8000/v1"
    assert given["options"].splitlines() == [
        "--judge-param=temperature=0.5",
        '--judge-param=stop=["${{ secrets.KEY }}"]',
        "--header=x-team=search",
        "--redact=[A-Z]{9}",
        "--redact=@@home",
        f"--redact={HOSTILE}".replace("\n", r"\n"),
        "--extract=embedded",
    ]
    assert "Bearer" not in text
    assert "api_key" not in text


def test_the_documented_workflow_is_what_the_page_writes(store: Store) -> None:
    keep(store, "faithfulness", "context_relevance", a="It is red. It is old.", b="It is red.")
    set_threshold(store, "ragas.faithfulness", 0.8)
    set_threshold(store, "ragas.context_relevance", 0.1)
    options = JudgeOptions(judge="openai:gpt-4o-mini", embed="openai:text-embedding-3-small")
    page = (Path(__file__).parents[3] / "docs/tasks/gate-in-ci.md").read_text(encoding="utf-8")
    (documented,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert gate_workflow(compared(store, "a", "b"), options, allowed=0.02) == documented


def test_without_judges_that_a_command_can_name_the_workflow_says_that_its_own_are_an_example(store: Store) -> None:
    keep(store, a="It is red. It is old.", b="It is red.")
    text = gate_workflow(compared(store, "a", "b"), None)
    assert "# These judges are an example" in text
    assert step_of(text)["with"]["judge"] == "openai:gpt-4o-mini"


def expressions(script: str) -> str:
    """A text after GitHub put in the values of its expressions: of ours the quoted brackets, of others a secret."""
    return re.sub(r"\$\{\{(.*?)\}\}", lambda found: "${{" if found[1] == " '${{' " else "SECRET", script)
