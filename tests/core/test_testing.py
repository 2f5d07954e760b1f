"""Tests of `assert_evaluation` and of the pytest plugin."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path
from typing import Any

import pytest
from tests.core.conftest import PlainJudge, make_sample

from ragboard import EvaluationOptions, InconclusiveWarning, NotFoundError, SettingError, assert_evaluation, evaluate
from ragboard.metrics.ragas import Faithfulness
from ragboard.tasks import Failure, Task
from ragboard.testing import SESSION

ROOT = Path(__file__).parents[2]
RED = [make_sample(number, answer=f"The door {number} is red. It is so red.") for number in range(24)]
HALF = [make_sample(number, answer=f"The door {number} is red. It is big.") for number in range(24)]


@pytest.fixture(autouse=True)
def no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """As without the plugin, which an installed ragboard brings to this session too: tests share no verdicts."""
    monkeypatch.setattr(SESSION, "active", False)


def check(samples: Any, **given: Any) -> Any:
    return assert_evaluation(samples, **{"judge": PlainJudge()} | given)


def test_a_gate_that_passes_returns_the_result_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = check(RED, faithfulness=">= 0.8")
    assert result["faithfulness"].mean == 1.0
    assert list(result.summary.metrics) == ["ragas.faithfulness"]


def test_a_gate_that_fails_says_the_interval_the_worst_samples_and_the_statements() -> None:
    samples = [*HALF, make_sample(99, answer="It is big.")]
    with pytest.raises(AssertionError) as failed:
        check(samples, faithfulness=">= 0.9")
    lines = str(failed.value).splitlines()
    assert lines[1].startswith("  fail: ragas.faithfulness = 0.480, 95% CI 0.")
    assert "judge plain" in lines[2]
    assert lines[3:5] == [
        "  worst ragas.faithfulness:",
        "    0.00 (0 of 1 statements), sample s99: What is thing 99?",
    ]
    statements = lines.index("  statements that no passage supports (25):")
    assert "unsupported: It is big (sample s" in lines[statements + 1]
    assert len(lines) == statements + 11


def test_an_upper_threshold_and_a_name_with_a_dot() -> None:
    with pytest.raises(AssertionError, match=r"fail: ragas\.faithfulness = 1\.000"):
        check(RED, thresholds={"ragas.faithfulness": "<= 0.2"})
    check(RED, thresholds={"ragas.faithfulness": ">= 0.2"}, context_relevance=">=0")


@pytest.mark.parametrize(
    ("threshold", "on_inconclusive", "passes"),
    [
        (">= 0.45", "mean", True),
        (">= 0.51", "mean", False),
        ("<= 0.51", "mean", True),
        ("<= 0.45", "mean", False),
        (">= 0.51", "warn", True),
        (">= 0.45", "fail", False),
    ],
)
def test_the_caller_decides_what_inconclusive_means(threshold: str, on_inconclusive: Any, passes: bool) -> None:
    few = [*RED[:3], *(make_sample(number, answer="It is big.") for number in range(50, 53))]
    given: dict[str, Any] = {"faithfulness": threshold, "on_inconclusive": on_inconclusive}
    if passes:
        with pytest.warns(InconclusiveWarning, match=r"inconclusive: ragas\.faithfulness") as caught:
            check(few, **given)
        assert caught[0].filename == __file__
    else:
        with pytest.raises(AssertionError, match=r"inconclusive: ragas\.faithfulness"):
            check(few, **given)


def test_nothing_scored_never_passes() -> None:
    silent = PlainJudge(before=lambda _: Failure(detail="down"))
    for on_inconclusive in ("mean", "warn", "fail"):
        with pytest.raises(AssertionError, match="nothing scored"):
            check(RED, judge=silent, faithfulness=">= 0", on_inconclusive=on_inconclusive)


def test_a_pass_in_which_samples_failed_warns() -> None:
    def before(task: Task) -> Failure | None:
        return Failure(detail="down") if "door 3 " in str(task) else None

    with pytest.warns(InconclusiveWarning, match=r"pass: .*\(1 samples failed\)"):
        check(RED, judge=PlainJudge(before=before), faithfulness=">= 0.5")


def test_an_evaluation_that_a_limit_stopped_fails() -> None:
    with pytest.raises(AssertionError, match="stopped: "):
        check(RED, faithfulness=">= 0", options=EvaluationOptions(max_minutes=0))


def test_a_result_is_not_evaluated_again() -> None:
    judge = PlainJudge()
    result = evaluate(RED, metrics="faithfulness", judge=judge)
    asked = len(judge.asked)
    assert assert_evaluation(result, faithfulness=">= 0.5") is result
    assert len(judge.asked) == asked
    with pytest.raises(SettingError, match="judge cannot be set for an EvaluationResult"):
        assert_evaluation(result, judge="embedded", faithfulness=">= 0.5")
    with pytest.raises(NotFoundError, match="no metric 'refusal'; available: "):
        assert_evaluation(result, refusal=">= 0.5")


def test_a_metric_of_your_own() -> None:
    class Mine(Faithfulness):
        """Another definition of the same."""

        source = "mine"
        name = "mine"

    assert check(RED, metrics=[Mine()], mine=">= 0.5")["mine"].metric == "mine.mine"


@pytest.mark.parametrize("threshold", ["> 0.9", "0.9", ">= 90%", 0.9, ">= nan", ""])
def test_a_threshold_that_cannot_be_read_is_rejected(threshold: Any) -> None:
    with pytest.raises(SettingError, match=r"faithfulness=.* is not a threshold: expected '>= NUMBER' or '<= NUMBER'"):
        check(RED, faithfulness=threshold)


def test_a_threshold_out_of_range_or_none_at_all_is_rejected() -> None:
    with pytest.raises(SettingError, match="90 is out of range"):
        check(RED, faithfulness=">= 90")
    with pytest.raises(SettingError, match="nothing to assert"):
        check(RED)
    with pytest.raises(SettingError, match="on_inconclusive is 'skip'"):
        check(RED, faithfulness=">= 0", on_inconclusive="skip")


def session(folder: Path, text: str, *arguments: str, program: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run pytest, forked beside this program if one is given, on a file of tests with ragboard installed."""
    (folder / "test_it.py").write_text(text, encoding="utf-8")
    installed = folder / "site" / "ragboard_plugin-0.dist-info"
    installed.mkdir(parents=True, exist_ok=True)
    points = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]["pytest11"]
    lines = ["[pytest11]", *(f"{name} = {target}" for name, target in points.items())]
    (installed / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    (installed / "METADATA").write_text("Name: ragboard-plugin\nVersion: 0\n", encoding="utf-8")
    path = os.pathsep.join(map(str, (installed.parent, ROOT / "core", ROOT)))
    command = [str(program.with_name("pytest"))] if program else [sys.executable, "-m", "pytest"]
    return subprocess.run(
        [*command, "-q", "-p", "no:cacheprovider", "--strict-markers", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_the_same_samples_are_judged_once_in_a_session(tmp_path: Path, program: Path) -> None:
    text = """
import pytest
from tests.core.conftest import PlainJudge, make_sample
from ragboard import assert_evaluation

JUDGE = PlainJudge()
SAMPLES = [make_sample(n, answer=f"Door {n} is red.") for n in range(24)]

@pytest.mark.parametrize("threshold", [">= 0.5", ">= 0.6"])
@pytest.mark.ragboard(judge=JUDGE)
def test_answers(threshold):
    assert_evaluation(SAMPLES, faithfulness=threshold)
    assert len(JUDGE.asked) == 48

@pytest.mark.ragboard(judge=JUDGE, on_inconclusive="fail")
def test_other_samples_are_judged_too():
    with pytest.raises(AssertionError, match="inconclusive"):
        assert_evaluation(SAMPLES[:1], faithfulness=">= 0.5")
    assert len(JUDGE.asked) == 50
    assert_evaluation(SAMPLES[:1], faithfulness=">= 0.5", on_inconclusive="warn")
    result = assert_evaluation(SAMPLES, faithfulness=">= 0.5", context_relevance=">= 0")
    assert assert_evaluation(result, faithfulness=">= 0.5") is result

def test_a_judge_of_another_test_is_not_taken():
    result = assert_evaluation(SAMPLES, faithfulness=">= 0", on_inconclusive="warn")
    assert result.summary.judged.judge == "embedded"
"""
    done = session(tmp_path, text, "-W", "ignore", program=program)
    assert "4 passed" in done.stdout, done.stdout


def test_a_failed_assertion_is_reported_without_the_inside_of_ragboard(tmp_path: Path, program: Path) -> None:
    text = """
from ragboard import assert_evaluation

def test_answers():
    rows = [{"question": f"When {n}?", "answer": "It cost 9 euros.", "contexts": ["It is red."]} for n in range(12)]
    assert_evaluation(rows, faithfulness=">= 0.9")
"""
    done = session(tmp_path, text, program=program)
    assert done.returncode == 1
    assert "fail: ragas.faithfulness = 0.000, 95% CI" in done.stdout
    assert "It cost 9 euros." in done.stdout
    assert "testing.py" not in done.stdout.replace("core/ragboard/testing.py:1", "")


def test_the_marker_selects(tmp_path: Path, program: Path) -> None:
    text = """
import pytest

@pytest.mark.ragboard
def test_answers():
    raise AssertionError

def test_other():
    pass
"""
    done = session(tmp_path, text, "-m", "not ragboard", program=program)
    assert "1 passed, 1 deselected" in done.stdout, done.stdout
    assert "ragboard(judge=..., **arguments)" in session(tmp_path, text, "--markers", program=program).stdout


def test_a_session_without_evaluations_imports_nothing_heavy(tmp_path: Path) -> None:
    text = """
import sys

def test_other():
    heavy = {"duckdb", "numpy", "pandas", "pyarrow", "pydantic", "click", "ragboard.api"}
    assert "ragboard.pytest_plugin" in sys.modules
    assert not heavy & sys.modules.keys()
"""
    done = session(tmp_path, text, "-W", "error")
    assert "1 passed" in done.stdout, done.stdout


def test_an_assertion_needs_no_plugin(tmp_path: Path, program: Path) -> None:
    text = """
from ragboard import assert_evaluation
rows = [{"question": f"When {n}?", "answer": "It is red.", "contexts": ["It is red."]} for n in range(24)]

def test_answers():
    assert_evaluation(rows, faithfulness=">= 0.5")
"""
    assert "1 passed" in session(tmp_path, text, "-p", "no:ragboard", program=program).stdout
