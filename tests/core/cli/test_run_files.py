"""Tests of `check` and `compare` on run files: nothing is stored; exit codes and JUnit XML."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result
from tests.chat_server import chat_server

from ragboard import Store
from ragboard.cli import main

GOOD = [
    {
        "id": str(number),
        "question": f"What is the gate {number} made of?",
        "answer": f"The gate {number} is made of oak.",
        "contexts": [f"The gate {number} is made of oak."],
    }
    for number in range(12)
]
BAD = [row | {"answer": "It cost nine million euros in July."} for row in GOOD]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, rows in (("good", GOOD), ("bad", BAD)):
        write(Path(f"{name}.jsonl"), rows)
    return tmp_path


def write(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def ragboard(*arguments: str, **given: str) -> Result:
    return CliRunner().invoke(main, arguments, catch_exceptions=False, **given)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("file", "code", "verdict"), [("good.jsonl", 0, "pass"), ("bad.jsonl", 1, "fail")])
def test_a_file_is_checked_without_a_store(file: str, code: int, verdict: str) -> None:
    done = ragboard("check", file, "--min", "faithfulness=0.5")
    assert (done.exit_code, done.stdout.startswith(f"{verdict}: ragas.faithfulness = ")) == (code, True)
    assert "rule-based" in done.stderr
    assert not Path(".ragboard").exists()


@pytest.mark.usefixtures("here")
def test_only_the_metrics_of_the_thresholds_are_evaluated() -> None:
    done = json.loads(ragboard("check", "good.jsonl", "--min", "token_f1=0", "--json").stdout)
    assert [gate["metric"] for gate in done["gates"]] == ["overlap.token_f1"]
    named = ragboard("check", "good.jsonl", "--min", "faithfulness=0.5", "--metrics", "context_relevance")
    assert (named.exit_code, "available: ragas.context_relevance" in named.stderr) == (5, True)


@pytest.mark.usefixtures("here")
def test_two_files_are_compared_without_a_store() -> None:
    done = ragboard("compare", "good.jsonl", "bad.jsonl", "--fail-if", "faithfulness < -0.1")
    assert done.exit_code == 1
    assert "12 pairs" in done.stdout
    assert "ragas.context_relevance" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("fail: ragas.faithfulness, B - A = -1.000")
    assert not Path(".ragboard").exists()


@pytest.mark.usefixtures("here")
def test_files_of_the_same_name_are_two_runs() -> None:
    write(Path("old/answers.jsonl"), GOOD)
    write(Path("new/answers.jsonl"), BAD)
    done = ragboard("compare", "old/answers.jsonl", "new/answers.jsonl", "--json")
    compared = json.loads(done.stdout)["comparison"]
    assert (compared["a"]["name"], compared["b"]["name"]) == ("answers", "answers (B)")
    assert compared["metrics"][0]["pairs"]["difference"] == -1


@pytest.mark.usefixtures("here")
def test_a_file_is_compared_with_a_stored_run_and_the_store_stays_unchanged() -> None:
    ragboard("evaluate", "good.jsonl", "--name", "baseline")
    before = Store(Path(".ragboard")).version
    done = ragboard("compare", "baseline", "bad.jsonl", "--fail-if", "faithfulness < -0.1")
    assert (done.exit_code, "12 pairs" in done.stdout) == (1, True)
    assert Store(Path(".ragboard")).version == before


@pytest.mark.usefixtures("here")
def test_a_name_of_the_store_comes_before_a_file() -> None:
    write(Path("run"), BAD)
    ragboard("evaluate", "good.jsonl", "--name", "run")
    assert ragboard("check", "run", "--min", "faithfulness=0.5").exit_code == 0


@pytest.mark.usefixtures("here")
def test_stored_thresholds_hold_for_a_file_too() -> None:
    assert ragboard("check", "good.jsonl").exit_code == 2
    ragboard("evaluate", "good.jsonl", "--name", "baseline")
    ragboard("threshold", "ragas.faithfulness", "0.5")
    assert ragboard("check", "bad.jsonl").exit_code == 1


@pytest.mark.usefixtures("here")
def test_an_option_that_would_do_nothing_is_rejected() -> None:
    ragboard("evaluate", "good.jsonl", "--name", "run")
    done = ragboard("check", "run", "--min", "faithfulness=0.5", "--judge", "embedded", "--map", "answer=x")
    assert done.exit_code == 2
    assert "--judge, --map can be used only with run files, but run is in the store" in done.stderr


@pytest.mark.usefixtures("here")
def test_a_file_that_is_not_there_is_one_line() -> None:
    done = ragboard("check", "absent.jsonl", "--min", "faithfulness=0.5")
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr


def test_the_judge_of_a_file_is_chosen_and_limited(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with chat_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        judged = ("check", "good.jsonl", "--min", "faithfulness=0", "--judge", "openai:m")
        assert ragboard(*judged).exit_code in (0, 4)
        assert server.count == 24
        assert ragboard(*judged, "--max-calls", "1").exit_code == 3
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert ragboard(*judged, "--max-minutes", "0.05").exit_code in (3, 6)
    assert not (here / ".ragboard").exists()


@pytest.mark.usefixtures("here")
def test_junit_has_a_case_for_each_gate() -> None:
    name = "a & <b>\x07"
    ragboard("import", "good.jsonl", "--name", name)
    ragboard("evaluate", name)
    gates = ("--min", "faithfulness=0.5", "--min", "faithfulness=0.999", "--max", "faithfulness=0.1")
    for _ in range(2):  # the second time it is overwritten
        assert ragboard("check", name, *gates, "--junit", "out.xml").exit_code == 1
    root = ET.parse("out.xml").getroot()
    (suite,) = root
    assert (root.tag, suite.tag) == ("testsuites", "testsuite")
    for counted in (root, suite):
        assert {key: counted.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
            "tests": "3",
            "failures": "1",
            "errors": "0",
            "skipped": "1",
        }
    assert suite.get("name") == "a & <b>\N{REPLACEMENT CHARACTER}"
    passed, inconclusive, failed = suite
    assert [case.get("name") for case in suite] == [
        "ragas.faithfulness >= 0.5",
        "ragas.faithfulness >= 0.999",
        "ragas.faithfulness <= 0.1",
    ]
    assert [child.tag for case in (passed, inconclusive, failed) for child in case] == [
        "system-out",
        "skipped",
        "failure",
    ]
    assert failed[0].get("message", "").startswith("fail: ragas.faithfulness = 1.000, 95% CI")
