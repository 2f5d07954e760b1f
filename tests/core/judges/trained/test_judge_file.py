"""Tests of the folder of a trained judge, and of errors for other folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragboard.errors import JudgeError, SettingError
from ragboard.judges import judge_named
from ragboard.judges.trained.judge_file import JUDGE_FILE, JudgeFile, TrainedQuality, read_judge_file, write_judge_file
from ragboard.stats import Platt

TAUGHT = TrainedQuality(reads=("question", "document"), calibration=Platt(slope=1.5, offset=-0.25), threshold=0.5)
SAID = JudgeFile(model="m", base="b", data="d", seed=0, max_length=256, qualities={"context_relevance": TAUGHT})


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    write_judge_file(tmp_path, SAID)
    assert read_judge_file(tmp_path) == SAID


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": 2}, "has format 2, this version reads 1; train it again"),
        ({"seed": "x"}, "seed: Input should be a valid integer"),
        ({"qualities": {"tone": {}}}, "qualities.tone"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    write_judge_file(tmp_path, SAID)
    path = tmp_path / JUDGE_FILE
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | change), encoding="utf-8")
    with pytest.raises(JudgeError) as caught:
        read_judge_file(tmp_path)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_none_of_ours_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(JudgeError, match=r"contains no judge\.json; expected a folder that ragboard train-judge wrote"):
        judge_named(f"trained:{tmp_path}")
    with pytest.raises(SettingError, match=r"nowhere: no such folder; expected one that ragboard train-judge wrote"):
        judge_named(f"trained:{tmp_path / 'nowhere'}")
    (tmp_path / JUDGE_FILE).write_text("[]", encoding="utf-8")
    with pytest.raises(JudgeError, match=r"judge\.json: "):
        judge_named(f"trained:{tmp_path}")
    (tmp_path / JUDGE_FILE).write_text("{", encoding="utf-8")
    with pytest.raises(JudgeError, match="cannot be read"):
        judge_named(f"trained:{tmp_path}")
