"""Tests of `ragboard judge-report`: figures by hand, and files."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from ragboard.cli import main
from ragboard.errors import RunFileError, SettingError
from ragboard.human.judge_report import JudgedRow, JudgeReport, judge_report, read_judged_rows
from ragboard.judges import EmbeddedJudge
from ragboard.sample_files import sample_folder
from ragboard.stats import NoInterval

PASSAGE = "The Forth Bridge was opened on 4 March 1890. It carries two tracks."
TRUE, FALSE = "The Forth Bridge was opened in 1890.", "The Tay Bridge was opened in 1887."


def write(path: Path, rows: Sequence[object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def statements(question: str, *said: tuple[str, int | None]) -> dict[str, object]:
    return {
        "question": question,
        "contexts": [PASSAGE],
        "statements": [{"text": text, "label": label} for text, label in said],
    }


def reported(rows: tuple[JudgedRow, ...]) -> JudgeReport:
    return asyncio.run(judge_report(EmbeddedJudge(), rows))


def test_a_judge_that_is_right_of_all_is_reported_so(tmp_path: Path) -> None:
    rows = [statements(f"Question {number}?", (TRUE, 1), (FALSE, 0), ("Open.", None)) for number in range(12)]
    report = reported(read_judged_rows(write(tmp_path / "rows.jsonl", rows)))
    assert (report.n, report.positive, report.clusters, report.unscored) == (24, 12, 12, 0)
    assert report.auroc == NoInterval(reason="every draw gives the same value", n=12)
    assert report.balanced_accuracy == 1.0
    assert sum(each.n for each in report.calibration.bins) == 24
    assert report.calibration.brier < 0.25
    assert set(report.baselines) == {"word overlap", "length"}
    assert report.times_regex > 0


def test_whole_answers_are_judged_by_a_number_in_the_row(tmp_path: Path) -> None:
    rows = [
        {"question": f"{number}?", "contexts": [PASSAGE], "answer": answer, "human": {"faithfulness": mean}}
        for number in range(10)
        for answer, mean in ((TRUE, 4.0), (FALSE, 1.5), ("I do not know.", 4.0))
    ]
    found = read_judged_rows(write(tmp_path / "rows.jsonl", rows), label="human.faithfulness", at_least=3)
    report = reported(found)
    assert (report.kind, report.n, report.positive, report.unscored) == ("answers", 20, 10, 10)
    assert report.balanced_accuracy == 1.0


def test_rows_that_share_a_field_are_one_cluster(tmp_path: Path) -> None:
    rows = [statements(f"{number}?", (TRUE, 1), (FALSE, 0)) | {"talk": number // 2} for number in range(6)]
    path = write(tmp_path / "rows.jsonl", rows)
    assert len({row.cluster for row in read_judged_rows(path)}) == 6
    assert len({row.cluster for row in read_judged_rows(path, cluster="talk")}) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"question": "q"}', "rows.jsonl:1: has the columns question, expected"),
        ('{"contexts": [], "statements": [{"text": "a", "label": 2}]}', "got 2, expected 1, 0 or null"),
        ('{"contexts": ["a"], "statements": []}', "has no labels"),
        ('{"question": "q", "answer": "a", "grades": {"x": 1}}', "contains neither `statements` nor `sentences`"),
        ("[1]", "got a list, expected an object"),
        ("{", "not JSON"),
    ],
)
def test_what_is_no_labelled_row_is_reported_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RunFileError, match=message):
        read_judged_rows(path)


def test_labels_of_one_class_tell_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", [statements("q?", (TRUE, 1))])
    with pytest.raises(SettingError, match="labels of one class"):
        reported(read_judged_rows(path))


@pytest.mark.parametrize("name", ["statements", "sentences"])
def test_the_command_reports_on_the_sample(name: str) -> None:
    path = str(sample_folder() / "labels" / f"{name}.jsonl")
    said = CliRunner().invoke(main, ["judge-report", path, "--json"], catch_exceptions=False)
    found = json.loads(said.stdout)
    assert "ragboard agree FILE" in said.stderr
    assert found["kind"] == name
    assert found["auroc"]["low"] <= found["auroc"]["estimate"] <= found["auroc"]["high"]
    assert found["baselines"]["length"]["judge_better_by"]["low"] > 0
    table = CliRunner().invoke(main, ["judge-report", path], catch_exceptions=False)
    assert "word overlap" in table.output
    assert "balanced accuracy" in table.output


def test_the_command_says_what_is_no_file() -> None:
    said = CliRunner().invoke(main, ["judge-report", "nothing.jsonl"])
    assert said.exit_code == 2
    assert "no such file" in said.output
