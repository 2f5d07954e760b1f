"""Tests of the recipes in CONTRIBUTING.md, followed in a copy of the package."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

import ragboard
from tests.examples import Block, blocks

CORE = Path(ragboard.__file__).parent
RECIPES = Path(__file__).parents[1] / "CONTRIBUTING.md"


FORGET = """
import sys
for name in [name for name in sys.modules if name.partition(".")[0] == "ragboard"]:
    del sys.modules[name]
"""
"""Libraries were imported already where the process was forked; the package is imported anew, from the copy."""


@dataclass
class Copy:
    """A copy of the package that is changed and then used by a process of its own."""

    folder: Path
    python: str

    @property
    def package(self) -> Path:
        return self.folder / "ragboard"

    def follow(self, recipe: str) -> None:
        """Make the change that a section of the page describes."""
        for block in recipes()[recipe]:
            path = self.package / block.title
            if block.language != "diff":
                path.write_text(block.text, encoding="utf-8")
                continue
            lines = block.text.splitlines()
            old, new = ("\n".join(line[1:] for line in lines if line[0] in signs) for signs in (" -", " +"))
            text = path.read_text(encoding="utf-8")
            assert text.count(old) == 1, f"{block.title}: {old!r} is there {text.count(old)} times"
            path.write_text(text.replace(old, new), encoding="utf-8")

    def touched(self) -> set[str]:
        files = (path for path in self.package.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        names = {path.relative_to(self.package).as_posix(): path for path in files}
        return {
            name
            for name, path in names.items()
            if not (CORE / name).exists() or path.read_bytes() != (CORE / name).read_bytes()
        }

    def run(self, script: str) -> dict[str, object]:
        """What the script prints as JSON in its last line."""
        done = subprocess.run(
            [self.python, "-c", FORGET + script],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
        assert found.pop("from") == str(self.package / "__init__.py")
        return found


def recipes() -> dict[str, list[Block]]:
    """By section of the page, the blocks that name a file."""
    sections = re.split(r"^## ", RECIPES.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    named = {section.partition("\n")[0]: blocks(RECIPES.name, section) for section in sections}
    return {name: [one for one in found if one.title] for name, found in named.items()}


@pytest.fixture
def copy(tmp_path: Path, python: str) -> Copy:
    shutil.copytree(CORE, tmp_path / "ragboard")
    return Copy(tmp_path, python)


def test_every_recipe_is_followed_by_a_test() -> None:
    tests = Path(__file__).read_text(encoding="utf-8")
    assert len(recipes()) == 6
    for name in (name for name, found in recipes().items() if found):
        assert f'copy.follow("{name}")' in tests


def test_a_metric_over_verdicts_is_a_module_and_a_line(copy: Copy) -> None:
    copy.follow("A metric")
    found = copy.run("""
import json, ragboard
sample = {"question": "Where is it?", "answer": "It is in Fara.", "contexts": ["It is in Fara."]}
result = ragboard.evaluate([sample], metrics=["quoted_evidence"])
print(json.dumps({"from": ragboard.__file__, "mean": result["quoted_evidence"].mean}))
""")
    assert found == {"mean": 1.0}
    assert copy.touched() == {"metrics/quoted.py", "metrics/__init__.py"}


def test_a_new_question_to_a_judge_is_its_module_its_prompt_and_the_metric(copy: Copy) -> None:
    copy.follow("A judge task")
    found = copy.run("""
import json, ragboard
asked = []
def model(prompts):
    asked.extend(prompts)
    return ['{"reason": "so", "rating": 7}' for _ in prompts]
sample = {"question": "Where is it?", "answer": "In Fara.", "contexts": ["It is in Fara."], "reference": "Fara"}
result = ragboard.evaluate([sample], metrics=["reference_coverage"], judge=ragboard.judge_from(model, version="1"))
print(json.dumps({"from": ragboard.__file__, "mean": result["reference_coverage"].mean, "asked": asked}))
""")
    asked = found.pop("asked")
    assert found == {"mean": 0.7}
    assert isinstance(asked, list)
    assert "<reference>\nFara\n</reference>" in asked[0]
    own = {"tasks/rate_coverage.py", "tasks/prompts/1/rate_coverage.md", "metrics/coverage.py"}
    assert copy.touched() == {*own, "tasks/__init__.py", "metrics/__init__.py"}


def test_a_file_format_is_a_module_and_a_line(copy: Copy) -> None:
    copy.follow("A file format")
    (copy.folder / "beam.jsonl").write_text(
        '{"prompt": "Where?", "completion": "In Fara.", "documents": ["It is in Fara."]}\n'
    )
    found = copy.run("""
import json, pathlib, ragboard
read = ragboard.read_runs(pathlib.Path("beam.jsonl"))
(sample,) = read.runs[0].samples
print(json.dumps({"from": ragboard.__file__, "format": read.report.format, "answer": sample.answer}))
""")
    assert found == {"format": "Beam (JSONL)", "answer": "In Fara."}
    assert copy.touched() == {"readers/formats/beam.py", "readers/formats/__init__.py"}


def test_a_judge_backend_is_a_module_and_a_line(copy: Copy) -> None:
    copy.follow("A judge backend")
    found = copy.run("""
import json, ragboard
from click.testing import CliRunner
from ragboard.cli import main
row = {"question": "Where is it?", "answer": "In Fara.", "contexts": ["It is in Fara."]}
open("run.jsonl", "w").write(json.dumps(row))
words = ["evaluate", "run.jsonl", "--judge", "agreeable:here", "--metrics", "answer_relevance(method=direct)"]
done = CliRunner().invoke(main, [*words, "--store", "store", "--json"], catch_exceptions=False)
print(json.dumps({"from": ragboard.__file__, "exit": done.exit_code, "said": done.output}))
""")
    assert found["exit"] == 0, found["said"]
    assert copy.touched() == {"judges/agreeable.py", "judges/registry.py"}


def test_a_column_of_samples_is_four_files_and_ids_stay(copy: Copy) -> None:
    script = """
import json, ragboard, dataclasses, pathlib
names = [one.name for one in dataclasses.fields(ragboard.Sample)]
more = {"latency": 1.5} if "latency" in names else {}
samples = [ragboard.Sample(id="a", question="Where?", answer="Here.", contexts=())]
store = ragboard.Store(pathlib.Path("store"))
plain = store.add_runs([ragboard.Run(name="plain", samples=tuple(samples))])[0].id
timed = ragboard.Run(name="timed", samples=tuple(dataclasses.replace(one, **more) for one in samples))
kept = [one for _, one in store.samples(store.add_runs([timed])[0].id)]
same = store.same_run(dataclasses.replace(timed, name="plain")) == plain
print(json.dumps({
    "from": ragboard.__file__, "id": plain, "same": same, "kept": [getattr(one, "latency", None) for one in kept]
}))
"""
    before = copy.run(script)
    shutil.rmtree(copy.folder / "store")
    copy.follow("A column of samples")
    after = copy.run(script)
    assert (before["kept"], after["kept"]) == ([None], [1.5])
    assert after["id"] == before["id"]
    assert (before["same"], after["same"]) == (True, False)  # a column that is filled in later is a change of the run
    assert copy.touched() == {"schema/099_latency.sql", "records.py", "store/rows.py", "store/reading.py"}
