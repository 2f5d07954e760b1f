"""Tests of clustered intervals, comparisons and gates from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ragboard.cli import main

CONVERSATIONS, TURNS = 16, 4


def ragboard(store: Path, *words: object) -> Result:
    return CliRunner().invoke(
        main, [*map(str, words), "--store", str(store)], env={"COLUMNS": "200"}, catch_exceptions=False
    )


def printed(store: Path, *words: object) -> Any:
    return json.loads(ragboard(store, *words, "--json").stdout)


def add(store: Path, name: str, column: str | None, *, right: int) -> None:
    """A run that gets all turns of some conversations right and of the others wrong; `right` of every 4."""
    rows = [
        {
            "id": f"c{conversation}t{turn}",
            "question": f"Turn {turn} of conversation {conversation}?",
            "answer": "yes" if conversation % 4 < right else "no",
            "reference": "yes",
            **({column: conversation} if column else {}),
        }
        for conversation in range(CONVERSATIONS)
        for turn in range(TURNS)
    ]
    path = store.parent / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = ragboard(store, "evaluate", path, "--metrics", "overlap.exact_match", "--name", name)
    assert done.exit_code == 0, done.output


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs with a column of conversations, and the same without."""
    folder = tmp_path_factory.mktemp("clusters") / "store"
    for name, column in (("alone", None), ("turns", "conversation_id")):
        add(folder, f"{name}-a", column, right=1)
        add(folder, f"{name}-b", column, right=2)
    return folder


def width(interval: dict[str, float]) -> float:
    return interval["high"] - interval["low"]


def test_means_of_turns_have_the_interval_of_conversations(store: Path) -> None:
    runs = {run["name"]: run for run in printed(store, "runs")["runs"]}
    alone, turns = (runs[name]["metrics"]["overlap.exact_match"] for name in ("alone-a", "turns-a"))
    assert alone["mean"] == turns["mean"] == 0.25
    assert turns["interval"]["method"].endswith("16 clusters")
    # four turns that are always alike say what one would: twice as wide, or more with fewer degrees of freedom
    assert width(turns["interval"]) > 1.9 * width(alone["interval"])
    assert (runs["alone-a"]["clustered"], runs["turns-a"]["clustered"]) == ("", "16 conversations")
    said = ragboard(store, "runs").stdout
    assert "turns-a: intervals are clustered by 16 conversations" in said
    assert "alone-a: intervals" not in said
    assert "intervals are clustered by 16 conversations" in ragboard(store, "show", "turns-a").stdout


def test_a_difference_of_turns_has_the_interval_and_the_p_of_conversations(store: Path) -> None:
    found = {}
    for name in ("alone", "turns"):
        comparison = printed(store, "compare", f"{name}-a", f"{name}-b")["comparison"]
        (metric,) = comparison["metrics"]
        found[name] = comparison, metric
    (alone, before), (turns, after) = found["alone"], found["turns"]
    assert before["pairs"]["difference"] == after["pairs"]["difference"] == 0.25
    assert width(after["pairs"]["interval"]) > 1.9 * width(before["pairs"]["interval"])
    assert after["pairs"]["sign"]["method"] == "exact sign test of clusters"
    assert after["p"] > 100 * before["p"]
    assert (alone["clustered"], turns["clustered"]) == ("", "16 conversations")
    assert "with 95% CIs clustered by 16 conversations" in ragboard(store, "compare", "turns-a", "turns-b").stdout


def test_a_gate_that_turns_would_pass_is_inconclusive_for_conversations(store: Path) -> None:
    limit = ["--min", "exact_match=0.1"]
    alone, turns = (printed(store, "check", f"{name}-a", *limit) for name in ("alone", "turns"))
    assert (alone["verdict"], turns["verdict"]) == ("pass", "inconclusive")
    assert turns["clustered"] == "16 conversations"
    assert "intervals are clustered by 16 conversations" in ragboard(store, "check", "turns-a", *limit).stdout
    said = ragboard(store, "check", "turns-a", *limit, "--markdown").stdout
    assert "Intervals are clustered by 16 conversations." in said
    condition = ["--fail-if", "exact_match < 0.05"]
    alone, turns = (printed(store, "compare", f"{name}-a", f"{name}-b", *condition) for name in ("alone", "turns"))
    assert (alone["verdict"], turns["verdict"]) == ("pass", "inconclusive")


def test_a_column_that_is_another_for_every_sample_changes_no_number(store: Path) -> None:
    rows = (store.parent / "alone-a.jsonl").read_text(encoding="utf-8").splitlines()
    path = store.parent / "sessions.jsonl"
    sessions = [json.loads(row) | {"session_id": f"session {number}"} for number, row in enumerate(rows)]
    path.write_text("".join(json.dumps(row) + "\n" for row in sessions), encoding="utf-8")
    assert ragboard(store, "evaluate", path, "--metrics", "overlap.exact_match").exit_code == 0
    runs = {run["name"]: run for run in printed(store, "runs")["runs"]}
    found = [runs[name]["metrics"]["overlap.exact_match"]["interval"] for name in ("alone-a", "sessions")]
    assert found[0] == found[1]
    assert runs["sessions"]["clustered"] == ""


def test_several_answers_to_a_question_are_clustered_by_question(tmp_path: Path) -> None:
    rows = [
        {"question": f"{number % 20}?", "answer": "yes" if number % 20 < 7 else "no", "reference": "yes"}
        for number in range(60)
    ]
    path = tmp_path / "again.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    ragboard(tmp_path / "store", "evaluate", path, "--metrics", "overlap.exact_match")
    (run,) = printed(tmp_path / "store", "runs")["runs"]
    assert run["clustered"] == "20 questions"
    assert run["metrics"]["overlap.exact_match"]["interval"]["method"].endswith("20 clusters")


def test_of_few_conversations_there_is_no_interval_and_the_reason_is_reported(tmp_path: Path) -> None:
    rows = [
        {"question": f"{number}?", "answer": "yes" if number % 3 else "no", "reference": "yes", "thread_id": number % 4}
        for number in range(60)
    ]
    path = tmp_path / "few.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    ragboard(tmp_path / "store", "evaluate", path, "--metrics", "overlap.exact_match")
    gated = ragboard(tmp_path / "store", "check", "few", "--min", "exact_match=0.1")
    assert gated.exit_code == 4
    reason = "no CI: 60 values in 4 clusters count as 4.0 independent values; an interval needs at least 5"
    assert reason in gated.stdout


def test_the_turns_of_mtrag_are_clustered_by_its_twelve_conversations(tmp_path: Path, data: Path) -> None:
    path = data / "mtrag" / "mtrag_human_eval_12conv.jsonl"
    store = tmp_path / "store"
    done = ragboard(store, "evaluate", path, "--run-column", "model", "--metrics", "overlap.token_f1")
    assert done.exit_code == 0, done.output
    runs = {run["config"]["model"]: run for run in printed(store, "runs")["runs"]}
    assert {run["clustered"] for run in runs.values()} == {"12 conversations"}
    names = [runs[model]["name"] for model in ("llama-3.1-405b-instruct", "gpt-4o")]
    comparison = printed(store, "compare", *names)["comparison"]
    assert comparison["clustered"] == "12 conversations"
    assert comparison["metrics"][0]["pairs"]["interval"]["method"].endswith("12 clusters")


def test_pairs_are_clustered_by_both_runs_in_either_order(tmp_path: Path) -> None:
    store = tmp_path / "store"
    for name, first, step in (("even", 3, 1), ("uneven", 2, -1)):
        rows = [
            {
                "id": f"q{number}",
                "question": f"{number}?",
                "answer": "yes" if number * (5 + first) % 11 < 6 else "no",
                "reference": "yes",
                "conversation_id": f"{number // 6}{'a' if number % 6 < first else 'b'}",
            }
            for number in range(60)
        ]
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows[::step]), encoding="utf-8")
        ragboard(store, "evaluate", path, "--metrics", "overlap.exact_match")
    assert {run["clustered"] for run in printed(store, "runs")["runs"]} == {"20 conversations"}
    there, back = (printed(store, "compare", *pair)["comparison"] for pair in (("even", "uneven"), ("uneven", "even")))
    assert there["clustered"] == back["clustered"] == "10 conversations"
    one, other = (found["metrics"][0]["pairs"]["interval"] for found in (there, back))
    assert (one["method"], one["low"], one["high"]) == (other["method"], -other["high"], -other["low"])
    assert there["metrics"][0]["p"] == back["metrics"][0]["p"]
