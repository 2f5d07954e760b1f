"""Tests of uploaded files: safe file names, and kept only after an import."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ragboard import RunFileError, StoreError
from ragboard.readers import preview
from ragboard_dashboard import settings as served
from ragboard_dashboard.controls import uploaded, without_folder
from ragboard_dashboard.settings import ServerSettings, publish_settings


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the store; what the settings leave in the environment goes again."""
    monkeypatch.setenv(served.VARIABLE, "")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    publish_settings(ServerSettings(store=tmp_path / "store"))
    return tmp_path


def dropped(name: str, content: bytes = b'{"question": "What?"}') -> Any:
    return SimpleNamespace(name=name, getvalue=lambda: content)


@pytest.mark.parametrize(
    "name", ["\u554f" * 120 + ".jsonl", "x" * 260 + ".jsonl", "a\0b.jsonl", "C:\\x\\a.jsonl", "a." + "x" * 300]
)
def test_a_name_that_no_file_may_have_is_cut_and_nothing_is_left(name: str, folder: Path) -> None:
    with uploaded(dropped(name)) as path:
        assert path.suffix in (".jsonl", f".{'x' * 19}")
        assert path.read_bytes() == b'{"question": "What?"}'
    assert [at for at in folder.rglob("*") if at.is_file()] == []


def test_a_file_that_cannot_be_written_for_the_readers_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_path: Path, _content: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(StoreError, match=r"a.jsonl: cannot save the upload: No space"), uploaded(dropped("a.jsonl")):
        pass


def test_errors_in_a_file_show_only_its_name() -> None:
    with pytest.raises(RunFileError) as caught, uploaded(dropped("a.jsonl", b"[")) as path:
        preview(path)
    assert without_folder(str(caught.value)).startswith("a.jsonl:1: ")
