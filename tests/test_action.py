"""Tests of the steps of the GitHub Action."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.action_runner import ACTION, EXPRESSION, STEPS, Runner

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


@pytest.fixture
def runner(tmp_path: Path, program: Path) -> Runner:
    runner = Runner(tmp_path, program)
    runner.write("good", GOOD)
    runner.write("bad", BAD)
    return runner


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


def test_further_options_reach_the_evaluation(runner: Runner) -> None:
    gate = {"file": "good.jsonl", "min": "faithfulness=0.5"}
    assert runner.gate(**gate, options="--max-calls=9\n\n  \n--sample=11\n") == (0, "pass")
    assert "n = 11" in runner.summary.read_text(encoding="utf-8") or "11" in runner.done.stdout
    assert runner.gate(**gate, options="other.jsonl") == (2, "error")
    assert runner.gate(**gate, options="--sample=$(touch hacked)") == (2, "error")
    assert not (runner.folder / "hacked").exists()


def test_samples_without_a_score_count_as_asked(runner: Runner) -> None:
    runner.write("silent", [*GOOD, *({**row, "question": f"{row['question']} Really?", "answer": ""} for row in GOOD)])
    assert runner.gate(file="silent.jsonl", min="faithfulness=0.7") == (0, "pass")
    assert runner.gate(file="silent.jsonl", min="faithfulness=0.7", unscored="zero")[1] != "pass"


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
