"""An uploaded file is kept whole, under a name that the file system takes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ragboard import RunFileError
from ragboard.readers import preview
from ragboard_dashboard import settings as served
from ragboard_dashboard.settings import ServerSettings, keep_settings
from ragboard_dashboard.uploads import kept_upload, without_folder


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the store; what the settings leave in the environment goes again."""
    monkeypatch.setenv(served.VARIABLE, "")
    keep_settings(ServerSettings(store=tmp_path))
    return tmp_path


def dropped(name: str, content: bytes = b'{"question": "What?"}') -> Any:
    return SimpleNamespace(name=name, getvalue=lambda: content)


@pytest.mark.parametrize(
    "name", ["\u554f" * 120 + ".jsonl", "x" * 260 + ".jsonl", "a\0b.jsonl", "C:\\x\\a.jsonl", "a." + "x" * 300]
)
def test_a_name_that_no_file_may_have_is_cut(name: str, folder: Path) -> None:
    path = kept_upload(dropped(name))
    assert path.suffix in (".jsonl", f".{'x' * 19}")
    assert path.parent.parent == folder / "uploads"
    assert path.read_bytes() == b'{"question": "What?"}'


def test_what_could_not_be_written_is_not_taken_for_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes) -> int:
        with path.open("wb") as file:
            file.write(content[:3])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(Path, "write_bytes", full)
        with pytest.raises(OSError, match="No space"):
            kept_upload(dropped("a.jsonl"))
    assert kept_upload(dropped("a.jsonl")).read_bytes() == b'{"question": "What?"}'


def test_what_is_wrong_with_a_file_is_said_of_its_name_alone() -> None:
    with pytest.raises(RunFileError) as caught:
        preview(kept_upload(dropped("a.jsonl", b"[")))
    assert without_folder(str(caught.value)).startswith("a.jsonl:1: ")
