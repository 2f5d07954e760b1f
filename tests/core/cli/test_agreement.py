"""Tests of `ragboard agree` and `ragboard simulate ranking`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.chat_server import chat_server

from ragboard.cli import main
from ragboard.sample_files import sample_folder


def ragboard(*words: object, **environment: str) -> Result:
    return CliRunner().invoke(
        main, list(map(str, words)), env={"COLUMNS": "200", **environment}, catch_exceptions=False
    )


@pytest.fixture
def wikieval(tmp_path: Path) -> Path:
    """The sample's first ten rows in WikiEval's columns."""
    rows = (sample_folder() / "labels" / "wikieval.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path / "ten.jsonl"
    path.write_text("".join(rows[:10]), encoding="utf-8")
    return path


def test_pairs_are_printed_in_the_papers_layout_with_trivial_baselines(wikieval: Path, tmp_path: Path) -> None:
    said = ragboard("agree", wikieval, "--store", tmp_path / "s")
    assert said.exit_code == 0
    answers, lines = said.stdout.splitlines()[:3], said.stdout.splitlines()[3:]
    assert answers[0].startswith(
        "RAGAS faithfulness by the embedded judge (rule-based) agrees with the human preference 100% of the time,"
        " word overlap 80%: "
    )
    assert [one.partition(" by ")[0] for one in answers[1:]] == [
        "RAGAS answer relevance (rated)",
        "RAGAS context relevance",
    ]
    assert lines[0] == "30 pairs judged by embedded; ties: broken at random, seed 0"
    assert lines[1].split() == ["accuracy", "faithfulness", "answer_relevance", "context_relevance"]
    assert [line.split("  ")[0] for line in lines[2:10]] == [
        "ragas",
        "longer",
        "shorter",
        "word overlap",
        "coin",
        "RAGAS, published",
        "GPT Score, published",
        "GPT Ranking, published",
    ]
    assert "0.00 (0.00 to 0.28), n = 10" in lines[3]
    assert "another model and other pairs" in lines[10]
    assert "GPT Score and GPT Ranking are left out: embedded does not support their tasks" in said.stderr
    assert "rule-based" in said.stderr


def test_a_model_brings_both_baselines_and_is_asked_once(wikieval: Path, tmp_path: Path) -> None:
    with chat_server() as server:
        asked = ["--judge", "openai:m", "--embed", "openai:e", "--base-url", server.url, "--store", tmp_path / "s"]
        said = ragboard("agree", wikieval, *asked, "--ties", "half", OPENAI_API_KEY="k")
        count = server.count
        again = ragboard("agree", wikieval, *asked, "--json", OPENAI_API_KEY="k")
        assert server.count == count > 0
    assert "ties: count 0.5" in said.stdout
    report: dict[str, Any] = json.loads(again.stdout)["report"]
    assert [line["scorer"]["name"] for line in report["lines"]][:3] == ["ragas", "GPT Score", "GPT Ranking"]
    ranking = report["lines"][2]["by_dimension"]["faithfulness"]["accuracy"]
    assert ranking["n"] == 10
    assert ranking["wins"] + ranking["losses"] + ranking["ties"] == 10


def test_a_pair_that_the_file_brings_no_scores_for_is_unscored(tmp_path: Path) -> None:
    rows = [
        {
            "question": f"{n}?",
            "a": "Yes.",
            "b": "No.",
            "preferred": "b",
            "scores": {"theirs": [0.1, 0.9 if n else None]},
        }
        for n in range(4)
    ]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    report: dict[str, Any] = json.loads(ragboard("agree", path, "--json", "--store", tmp_path / "s").stdout)["report"]
    theirs = next(line["by_dimension"]["overall"] for line in report["lines"] if line["scorer"]["name"] == "theirs")
    assert (theirs["accuracy"]["n"], theirs["accuracy"]["unscored"]) == (3, 1)


def test_statement_labels_are_recognised_by_their_column(tmp_path: Path) -> None:
    said = ragboard("agree", sample_folder() / "labels" / "statements.jsonl", "--store", tmp_path / "s")
    assert said.exit_code == 0
    marks, score, described, *_ = said.stdout.splitlines()
    assert marks == (
        "The verdict (marks ✓ ? ✕) of the embedded judge (rule-based) has a balanced accuracy of 77% on"
        " statements (the mean of its accuracy on supported and unsupported ones), word overlap 79% with its"
        " best threshold: no significant difference."
    )
    assert score == (
        "The score of the embedded judge (rule-based) ranks a supported statement above an unsupported one 89% of the"
        " time, word overlap 87%: no significant difference."
    )
    assert described.startswith(
        "288 items in 44 clusters, supported judged by embedded; annotators rated 229 of 288 at least 0.5"
    )
    assert "rated good" in said.stdout


def test_graded_answers_take_a_dimension_a_grade_and_a_cut(tmp_path: Path) -> None:
    rows = [
        {
            "question": f"{number}?",
            "answer": "It is red." if number % 3 else "It is blue.",
            "contexts": ["It is red."],
            "grades": {"fluency": [3, 3], "faithfulness": [4, 4 - number % 2] if number % 3 else [1, 2]},
        }
        for number in range(30)
    ]
    path = tmp_path / "graded.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    given = ["--dimension", "faithfulness", "--at-least", "3", "--cut", "0.5", "--store", tmp_path / "s"]
    said = ragboard("agree", path, *given)
    assert said.stdout.startswith(
        "RAGAS faithfulness by the embedded judge (rule-based) ranks a good answer above a bad one 100% of the time, "
    )
    assert "A single annotator compared with the others: " in said.stdout.splitlines()[0]
    assert said.stdout.splitlines()[1].startswith(
        "30 items in 30 clusters, faithfulness judged by embedded; annotators rated 20 of 30 at least 3"
    )
    assert "Krippendorff's alpha of 2 annotators" in said.stdout
    report = json.loads(ragboard("agree", path, *given, "--json").stdout)["report"]
    assert report["lines"][0]["cut"]["threshold"] == 0.5
    assert report["lines"][0]["chosen"] is True


def test_what_cannot_be_read_is_one_line_and_nothing_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text('{"question": "q", "answer": "a"}\n', encoding="utf-8")
    said = ragboard("agree", path, "--store", tmp_path / "s")
    assert said.exit_code == 2
    assert said.stderr.startswith(f"ragboard: {path}:1: has the columns question, answer, expected pairs")
    assert not (tmp_path / "s").exists()


def test_the_mock_systems_are_ordered_in_four_ways() -> None:
    said = ragboard("simulate", "ranking", "--repeats", "200", "--labels", "50", "--items", "500")
    assert said.exit_code == 0
    assert "9 systems from 70.0% to 90.0%" in said.stdout
    assert [line.split("  ")[0] for line in said.stdout.splitlines()[2:]] == [
        "judge alone",
        "labels alone",
        "PPI",
        "PPI++",
    ]
    found = json.loads(ragboard("simulate", "ranking", "--repeats", "200", "--json").stdout)
    assert [method["name"] for method in found["methods"]] == ["judge alone", "labels alone", "PPI", "PPI++"]
    assert all(method["tau_low"] <= method["tau"] <= method["tau_high"] for method in found["methods"])


def test_more_labels_than_items_are_rejected_in_one_line() -> None:
    said = ragboard("simulate", "ranking", "--labels", "100", "--items", "50")
    assert said.exit_code == 2
    assert "--labels 100 leaves fewer than 2 of 50 items unlabelled" in said.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("simulate", "ranking", "--seed", "-1"),
        ("simulate", "ranking", "--sensitivity", "nan"),
        ("agree", "any.jsonl", "--seed", "-1"),
        ("agree", "any.jsonl", "--cut", "inf"),
        ("judge-report", "any.jsonl", "--seed", "-1"),
        ("judge-bench", "any.jsonl", "--seed", "-1"),
        ("estimate", "any", "--width", "nan"),
    ],
)
def test_a_number_that_nothing_can_be_drawn_or_cut_by_is_rejected_before_anybody_is_asked(
    words: tuple[str, ...],
) -> None:
    said = ragboard(*words)
    assert (said.exit_code, "Invalid value" in said.stderr) == (2, True)
