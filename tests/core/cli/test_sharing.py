"""Tests of `report` and `export`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.conftest import Once
from tests.core.conftest import PlainJudge, make_run

from ragboard import DEFAULT_METRICS, Panel, Run, Store, evaluate_run
from ragboard.cli import main


def keep(store: Store) -> None:
    runs = [make_run("one"), Run(name="two", samples=make_run().samples, config={"k": 3})]
    for added in store.add_runs(runs):
        evaluate_run(store, added.id, DEFAULT_METRICS, Panel(judge=PlainJudge()))


@pytest.fixture
def folder(store: Store, once: Once) -> Path:
    return once(keep, store).folder


def ragboard(folder: Path, *arguments: object) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments), "--store", str(folder)])


def test_a_report_of_one_run_and_of_two_is_a_file(folder: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one.html", tmp_path / "two.html"
    assert ragboard(folder, "report", "one", "-o", one, "--samples", 1).exit_code == 0
    assert "1 of 3 samples" in one.read_text(encoding="utf-8")
    assert ragboard(folder, "report", "one", "two", "-o", two, "--metric", "faithfulness").exit_code == 0
    assert "<h1>two against one</h1>" in two.read_text(encoding="utf-8")


def test_a_file_that_is_there_is_written_over_only_by_force(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "kept.html"
    out.write_text("mine", encoding="utf-8")
    refused = ragboard(folder, "report", "one", "-o", out)
    assert (refused.exit_code, out.read_text(encoding="utf-8")) == (2, "mine")
    assert "pass --force to overwrite it" in refused.output
    assert ragboard(folder, "report", "one", "-o", out, "--force").exit_code == 0
    assert out.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("report", "one", "-o", "x.html", "--metric", "faithfulness"), "--metric needs two runs"),
        (("report", "nope", "-o", "x.html"), "nope"),
        (("report", "one", "-o", "absent/x.html"), "cannot write"),
        (("export", "one", "two", "--format", "ragchecker"), "contains one run, got 2 runs"),
        (("export", "--what", "samples"), "needs one run, got 0"),
    ],
)
def test_what_cannot_be_written_is_one_line(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    result = ragboard(folder, *arguments)
    assert result.exit_code == (5 if said == "nope" else 2)
    assert said in result.output
    assert result.output.count("\n") == 1


def test_the_means_of_all_runs_are_a_table(folder: Path) -> None:
    lines = ragboard(folder, "export", "--what", "runs").stdout.splitlines()
    assert {line.split(",")[0] for line in lines[1:]} == {"one", "two"}
