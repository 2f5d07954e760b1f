"""Tests of output files: complete or absent, overwritten only with force, never inside a store."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.core.conftest import PlainJudge, make_run

from ragboard import DEFAULT_METRICS, Panel, SettingError, Store, evaluate_run
from ragboard.cli import main
from ragboard.outputs import check_output, write_output

WRITERS: dict[str, tuple[str, ...]] = {
    "export": ("export", "run"),
    "query": ("query", "FROM runs"),
    "hallucinations": ("hallucinations",),
    "report": ("report", "run"),
    "labels": ("labels", "export"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store = Store(tmp_path / "store")
    for added in store.add_runs([make_run()]):
        evaluate_run(store, added.id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    (store.folder / "uploads" / "abc").mkdir(parents=True)
    (store.folder / "uploads" / "abc" / "run.jsonl").write_text("{}", encoding="utf-8")
    return store.folder


def written(folder: Path, writer: str, out: object, *more: str) -> Result:
    words = [*WRITERS[writer], "-o", str(out), *more, "--store", str(folder)]
    return CliRunner().invoke(main, words, catch_exceptions=False)


@pytest.mark.parametrize("writer", WRITERS)
def test_an_existing_file_is_overwritten_only_with_force(folder: Path, tmp_path: Path, writer: str) -> None:
    out = tmp_path / "mine.txt"
    out.write_text("mine", encoding="utf-8")
    refused = written(folder, writer, out)
    assert (refused.exit_code, out.read_text(encoding="utf-8")) == (2, "mine")
    assert refused.stderr == f"ragboard: {out}: the file already exists; pass --force to overwrite it\n"
    assert written(folder, writer, out, "--force").exit_code == 0
    assert out.read_text(encoding="utf-8") != "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"mine.txt", "store"}


@pytest.mark.parametrize("writer", WRITERS)
def test_no_file_of_a_store_is_overwritten_even_by_force(folder: Path, tmp_path: Path, writer: str) -> None:
    (tmp_path / "link").symlink_to(folder / "ragboard.duckdb")
    ours = [path for path in folder.rglob("*") if path.is_file()]
    assert len(ours) >= 4
    for out in (*ours, folder / "ragboard.duckdb.wal", folder / "answers.sqlite", tmp_path / "link"):
        before = out.read_bytes() if out.exists() else None
        refused = written(folder, writer, out, "--force")
        assert (refused.exit_code, "belongs to a store" in refused.stderr) == (2, True), out
        assert (out.read_bytes() if out.exists() else None) == before
    assert Store(folder).resolve("run").name == "run"


def test_a_file_next_to_the_files_of_a_store_may_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert written(Path(), "report", "ragboard.html").exit_code == 0


@pytest.mark.parametrize("name", ["absent/x.csv", ".", "x" * 300])
def test_what_cannot_be_written_is_one_line(folder: Path, tmp_path: Path, name: str) -> None:
    refused = CliRunner().invoke(main, ["export", "run", "-o", str(tmp_path / name), "--store", str(folder)])
    assert refused.exit_code == 2
    assert isinstance(refused.exception, SystemExit)


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out.csv"
    out.write_bytes(b"mine")

    def full(path: Path, data: bytes) -> int:
        with path.open("wb") as file:
            file.write(data[:3])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(SettingError, match=r"out.csv: cannot write: No space left on device"):
        write_output(out, b"theirs", force=True)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("out.csv", b"mine")]


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path: Path) -> None:
    link, target = tmp_path / "link.csv", tmp_path / "target.csv"
    link.symlink_to(target)
    write_output(link, b"one")
    assert (link.is_symlink(), target.read_bytes()) == (True, b"one")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes by name here")
def test_a_device_takes_what_is_written() -> None:
    write_output(Path(os.devnull), b"gone")
    assert Path(os.devnull).exists()


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    text = "The bridge opened to traffic in July 2000. It crosses the sound between two countries. " * 5
    (folder / "bridge.txt").write_text(text, encoding="utf-8")
    return folder


def test_synth_overwrites_only_its_own_files(documents: Path, tmp_path: Path) -> None:
    def synth(*more: str) -> Result:
        words = ["synth", str(documents), "--out", str(tmp_path / "out"), *more]
        return CliRunner().invoke(main, words, catch_exceptions=False)

    (tmp_path / "out").mkdir()
    card = tmp_path / "out" / "card.md"
    card.write_text("mine", encoding="utf-8")
    refused = synth()
    assert (refused.exit_code, card.read_text(encoding="utf-8")) == (2, "mine")
    assert "card.md: the file already exists" in refused.stderr
    assert synth("--force").exit_code == 0
    assert synth().exit_code == 0


@pytest.mark.parametrize("name", ["judge.json", "card.md"])
def test_a_trained_judge_is_overwritten_only_with_force(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(json.dumps({"mine": True}), encoding="utf-8")
    words = ["train-judge", str(tmp_path), "--out", str(tmp_path)]
    refused = CliRunner().invoke(main, words, catch_exceptions=False)
    assert refused.stderr == f"ragboard: {tmp_path / name}: the file already exists; pass --force to overwrite it\n"
    assert "already exists" not in CliRunner().invoke(main, [*words, "--force"], catch_exceptions=False).stderr


def test_a_folder_without_a_store_takes_any_name(tmp_path: Path) -> None:
    check_output(tmp_path / "journals" / "ragboard.duckdb")
