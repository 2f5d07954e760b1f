"""Tests of `--unscored`, thresholds and `show --calls`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.conftest import Once
from tests.core.analysis.test_unscored import FAITHFULNESS, scored_run
from tests.core.conftest import PlainJudge, make_run

from ragboard import Panel, Store, evaluate_run
from ragboard.analysis import UnscoredPolicy
from ragboard.cli import main
from ragboard.export import table, table_bytes
from ragboard.metrics import metrics_named


def keep(store: Store) -> None:
    store.add_runs([scored_run("gaps", [1.0] * 60 + [None] * 20), scored_run("other", [1.0] * 60 + [0.5] * 20)])


@pytest.fixture
def runs(store: Store, once: Once) -> Store:
    return once(keep, store)


def keep_few(store: Store) -> None:
    store.add_runs([scored_run("gaps", [1.0] * 6 + [None] * 2), scored_run("other", [1.0] * 6 + [0.5] * 2)])


@pytest.fixture
def few(store: Store, once: Once) -> Store:
    return once(keep_few, store)


def call(store: Store, *words: str) -> Result:
    return CliRunner().invoke(main, [*words, "--store", str(store.folder)])


@pytest.mark.parametrize(
    ("policy", "shown", "code"),
    [("excluded", "1.00 (", 0), ("zero", "20 unscored count as 0", 1), ("bounds", "0.75 to 1.00 (", 4)],
)
def test_list_page_and_gate_count_unscored_samples_the_same_way(
    runs: Store, policy: str, shown: str, code: int
) -> None:
    chosen = ("--unscored", policy)
    assert shown in call(runs, "runs", *chosen).output
    assert shown in call(runs, "show", "gaps", *chosen).output
    assert call(runs, "check", "gaps", "--min", f"{FAITHFULNESS}=0.9", *chosen).exit_code == code
    gated = json.loads(call(runs, "check", "gaps", "--min", f"{FAITHFULNESS}=0.9", "--json", *chosen).stdout)
    assert gated["unscored"] == policy


def test_a_comparison_says_how_they_counted(runs: Store) -> None:
    condition = ("--fail-if", f"{FAITHFULNESS} > 0.02")
    assert call(runs, "compare", "gaps", "other", *condition).exit_code == 4
    zero = call(runs, "compare", "gaps", "other", *condition, "--unscored", "zero")
    assert zero.exit_code == 1
    assert "Unscored samples count as zero, or as the worst value where lower is better." in zero.output
    assert (
        "count as anything from the worst to the best value"
        in call(runs, "compare", "gaps", "other", "--unscored", "bounds", "--markdown").output
    )


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("excluded", ("1.000", "Unscored samples are left out.")),
        ("zero", ("0.750", "2 unscored count as 0", "Unscored samples count as zero")),
        ("bounds", ("0.750 to 1.000", "2 unscored from worst to best value", "Unscored samples count as anything")),
    ],
)
def test_the_report_for_others_counts_them_so_and_says_so(
    few: Store, tmp_path: Path, policy: str, said: tuple[str, ...]
) -> None:
    def written(*names: str) -> str:
        file = tmp_path / "report.html"
        assert call(few, "report", *names, "-o", str(file), "--force", "--unscored", policy).exit_code == 0
        return file.read_text(encoding="utf-8")

    one, two = written("gaps"), written("gaps", "other")
    assert [text for text in said if text not in one] == []
    assert (said[-1] in two) == (policy != "excluded")


@pytest.mark.parametrize(
    ("policy", "mean", "least", "difference"),
    [("excluded", 1, None, 0), ("zero", 0.75, None, 0.125), ("bounds", 1, 0.75, 0)],
)
def test_tables_for_others_count_them_so_and_say_so(
    runs: Store, policy: UnscoredPolicy, mean: float, least: float | None, difference: float
) -> None:
    refs = [runs.resolve(name) for name in ("gaps", "other")]
    gaps = json.loads(table_bytes(table(runs, "runs", refs[:1], unscored=policy), "json"))[0]
    assert (gaps["mean"], gaps["unscored_count_as"], gaps["mean_least"]) == (mean, policy, least)
    (compared,) = json.loads(table_bytes(table(runs, "comparison", refs, unscored=policy), "json"))
    assert (compared["difference"], compared["unscored_count_as"]) == (difference, policy)
    assert (compared["difference_least"] is None) == (policy != "bounds")


def test_a_run_is_checked_by_the_thresholds_that_are_set(runs: Store) -> None:
    assert call(runs, "check", "gaps").exit_code == 2
    assert "no thresholds" in call(runs, "threshold").output
    assert "at least 0.9" in call(runs, "threshold", "ragas.faithfulness", "0.9").output
    assert call(runs, "check", "gaps").exit_code == 0
    assert call(runs, "check", "gaps", "--unscored", "zero").exit_code == 1
    assert "✓ met: at least 0.9" in call(runs, "show", "gaps").output
    (kept,) = json.loads(call(runs, "threshold", "--json").stdout)["thresholds"]
    assert kept == {"metric": FAITHFULNESS, "value": 0.9, "fail": "below"}
    call(runs, "threshold", FAITHFULNESS, "--remove")
    assert call(runs, "check", "gaps").exit_code == 2


@pytest.mark.parametrize(
    "words",
    [("nope", "0.5"), (FAITHFULNESS,), (FAITHFULNESS, "0.5", "--remove"), (FAITHFULNESS, "1.5"), ("--remove",)],
)
def test_what_makes_no_threshold_is_rejected_in_one_line(runs: Store, words: tuple[str, ...]) -> None:
    result = call(runs, "threshold", *words)
    assert result.exit_code == (5 if "nope" in words else 2)
    assert len(result.output.strip().splitlines()) == 1


def test_the_calls_of_a_sample_are_printed(store: Store) -> None:
    run_id = store.add_runs([make_run(samples=1)])[0].id
    evaluate_run(store, run_id, metrics_named(["ragas.faithfulness"]), Panel(judge=PlainJudge(name="bad\x1b[2J")))
    printed = call(store, "show", "run", "s0", "--calls").output
    assert "1. Split the answer into statements" in printed
    assert "parsed as: together: 1 supported, 1 unsupported" in printed
    assert "\x1b" not in printed
    kept = json.loads(call(store, "show", "run", "s0", "--calls", "--json").stdout)
    assert [one["origin"] for one in kept["tasks"]] == ["nobody", "nobody"]
    assert call(store, "show", "run", "--calls").exit_code == 2
