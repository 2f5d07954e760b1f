"""Tests of parsing settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragboard import SettingError
from ragboard.settings import read_config_file, read_pairs


def test_a_value_that_is_json_is_read_as_such_and_any_other_as_text() -> None:
    given = ["k=5", "rerank=true", "model=small", "note=a=b", "weights=[1, 2]", "t=NaN"]
    assert read_pairs(given) == {
        "k": 5,
        "rerank": True,
        "model": "small",
        "note": "a=b",
        "weights": [1, 2],
        "t": "NaN",
    }


@pytest.mark.parametrize("text", ["k", "=5", " =5"])
def test_what_is_no_pair_is_reported(text: str) -> None:
    with pytest.raises(SettingError, match="expected KEY=VALUE"):
        read_pairs([text])


def test_a_file_of_settings_is_toml_or_json(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('k = 5\nmodel = "small"\n', encoding="utf-8")
    (tmp_path / "a.json").write_text('{"k": 5}', encoding="utf-8")
    (tmp_path / "list.json").write_text("[1]", encoding="utf-8")
    (tmp_path / "torn.json").write_text("{", encoding="utf-8")
    assert read_config_file(tmp_path / "a.toml") == {"k": 5, "model": "small"}
    assert read_config_file(tmp_path / "a.json") == {"k": 5}
    for name, said in (("list.json", "expected an object"), ("torn.json", "invalid JSON"), ("absent.json", "No such")):
        with pytest.raises(SettingError, match=said):
            read_config_file(tmp_path / name)
