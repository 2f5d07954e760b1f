"""Tests of uploaded files: they are deleted with the last run that was imported from them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.core.conftest import make_run

from ragboard import Store, StoreError
from ragboard.cli import main


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "answers.jsonl"
    path.write_text("secret", encoding="utf-8")
    return path


def files(store: Store) -> list[bytes]:
    return [path.read_bytes() for path in store.folder.rglob("answers.jsonl")]


@pytest.mark.parametrize("links", [True, False])
def test_rm_deletes_the_uploaded_file_with_the_last_run_of_it(
    store: Store, file: Path, monkeypatch: pytest.MonkeyPatch, *, links: bool
) -> None:
    def no_links(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    if not links:
        monkeypatch.setattr(os, "link", no_links)
    added = store.add_runs([make_run("one", samples=1), make_run("two", samples=2)])
    store.keep_upload(file, owners=[run.id for run in added])
    store.keep_upload(file, owners=[run.id for run in added])
    assert files(store) == [b"secret", b"secret"]
    for name, left in (("one", [b"secret"]), ("two", [])):
        assert CliRunner().invoke(main, ["rm", name, "--yes", "--store", str(store.folder)]).exit_code == 0
        assert files(store) == left


def test_a_file_that_cannot_be_kept_is_reported(store: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"gone.jsonl: cannot store the uploaded file"):
        store.keep_upload(tmp_path / "gone.jsonl", owners=["a"])
    assert [path for path in store.folder.rglob("*") if path.is_file()] == []
