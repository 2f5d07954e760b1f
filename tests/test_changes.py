"""Each kind of change that ragboard often gets is made in a copy of it, and touches the files that it should."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import ragboard

CORE = Path(ragboard.__file__).parent


@dataclass
class Copy:
    """A copy of the package that is changed and then used by a process of its own."""

    folder: Path

    @property
    def package(self) -> Path:
        return self.folder / "ragboard"

    def write(self, name: str, text: str) -> None:
        (self.package / name).write_text(text, encoding="utf-8")

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.package / name
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{name}: {old!r} is there {text.count(old)} times"
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
            [sys.executable, "-c", script],
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


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    shutil.copytree(CORE, tmp_path / "ragboard", ignore=shutil.ignore_patterns("__pycache__"))
    return Copy(tmp_path)


METRIC = '''"""{doc}"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ragboard.metrics.base import Ask, Column, Direction, Findings, Metric, Need, no_answer
from ragboard.metrics.statements import JointVerdicts
from ragboard.records import Outcome, Sample, Score, Unscored
from ragboard.tasks import *

'''

WORDS = """
    source: ClassVar[str] = "ragboard"
    name: ClassVar[str] = "{name}"
    title: ClassVar[str] = "{name}"
    formula: ClassVar[str] = "counted"
    paper: ClassVar[str] = "ragboard"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "contexts")
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"
    calls: ClassVar[str] = "as faithfulness"
"""


def test_a_metric_over_verdicts_is_a_module_and_a_line(copy: Copy) -> None:
    copy.write(
        "metrics/citations.py",
        METRIC.format(doc="Citations.")
        + '''
@dataclass(frozen=True)
class CitationPrecision(Metric):
    """The share of supported statements whose evidence is quoted."""
'''
        + WORDS.format(name="citation_precision")
        + """
    def needs(self) -> tuple[Need[Any], ...]:
        return (JointVerdicts(),)

    def score(self, sample: Sample, findings: Findings) -> Outcome:
        supported = [one for one in findings.of(JointVerdicts()).verdicts if one.label == "supported"]
        if not supported:
            return Unscored(reason="undefined", detail="no statement is supported")
        quoted = sum(bool(one.evidence) for one in supported)
        return Score(value=quoted / len(supported), counted=f"{quoted} of {len(supported)} statements")
""",
    )
    copy.edit(
        "metrics/__init__.py", "        Refusal(),\n", "        Refusal(),\n        citations.CitationPrecision(),\n"
    )
    copy.edit("metrics/__init__.py", "import ares, critique", "import ares, citations, critique")
    found = copy.run("""
import json, ragboard
sample = {"question": "Where is it?", "answer": "It is in Fara.", "contexts": ["It is in Fara."]}
result = ragboard.evaluate([sample], metrics=["citation_precision"])
print(json.dumps({"from": ragboard.__file__, "mean": result.metric("citation_precision").mean}))
""")
    assert found == {"mean": 1.0}
    assert copy.touched() == {"metrics/citations.py", "metrics/__init__.py"}


def test_a_new_question_to_a_judge_is_its_module_its_prompt_and_the_metric(copy: Copy) -> None:
    copy.write(
        "tasks/judge_nugget.py",
        '''"""Say whether an answer holds a nugget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragboard.records import Sample
from ragboard.tasks.base import PromptFiles, PromptTexts, Reply, Sizes, Task, as_json
from ragboard.tasks.replies import Json, RatingJson


@dataclass(frozen=True, kw_only=True, slots=True)
class NuggetHeld(Reply):
    """Whether it does."""

    share: float

    def describe(self) -> str:
        return f"{self.share}"


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeNugget(Task[NuggetHeld]):
    """Say whether an answer holds a nugget."""

    role = "ask"
    reply = NuggetHeld
    reply_model = RatingJson
    prompts: ClassVar[PromptFiles] = {"judge_nugget": ("nugget", "answer")}
    tags = ("nugget", "answer")

    nugget: str
    answer: str
    draw: int = 0

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        return {"nugget": self.nugget, "answer": self.answer}

    def parse(self, value: Json) -> NuggetHeld:
        return NuggetHeld(share=RatingJson.read(value, self).rating / 10)

    def describe(self, sample: Sample) -> str:
        return "Say whether the answer holds a nugget"

    def simulate(self, sizes: Sizes) -> tuple[NuggetHeld, str]:
        return NuggetHeld(share=1.0), as_json({"reason": "", "rating": 10})
''',
    )
    copy.write(
        "tasks/prompts/1/judge_nugget.md",
        "Rate from 0 to 10.\n\n<nugget>\n$nugget\n</nugget>\n<answer>\n$answer\n</answer>\n",
    )
    copy.edit(
        "tasks/__init__.py",
        "    JudgePassages,\n    ExtractEntities,\n",
        "    JudgePassages,\n    JudgeNugget,\n    ExtractEntities,\n",
    )
    copy.edit(
        "tasks/__init__.py",
        "from ragboard.tasks.judge_passages import",
        "from ragboard.tasks.judge_nugget import JudgeNugget, NuggetHeld\nfrom ragboard.tasks.judge_passages import",
    )
    copy.write(
        "metrics/nuggets.py",
        METRIC.format(doc="Nuggets.")
        + '''from ragboard.tasks.judge_nugget import JudgeNugget, NuggetHeld


@dataclass(frozen=True)
class Held(Need[NuggetHeld]):
    """How much of the reference the answer holds."""

    def tasks(self) -> tuple[type[Task], ...]:
        return (JudgeNugget,)

    async def resolve(self, sample: Sample, ask: Ask) -> NuggetHeld | Unscored:
        return no_answer(sample) or await ask(JudgeNugget(nugget=sample.reference or "", answer=sample.answer or ""))


@dataclass(frozen=True)
class NuggetRecall(Metric):
    """How much of the reference the answer holds."""
'''
        + WORDS.format(name="nugget_recall")
        + """
    def needs(self) -> tuple[Need[Any], ...]:
        return (Held(),)

    def score(self, sample: Sample, findings: Findings) -> Outcome:
        return Score(value=findings.of(Held()).share, counted="one rating")
""",
    )
    copy.edit("metrics/__init__.py", "        Refusal(),\n", "        Refusal(),\n        nuggets.NuggetRecall(),\n")
    copy.edit("metrics/__init__.py", "gpt_score, overlap", "gpt_score, nuggets, overlap")
    found = copy.run("""
import json, ragboard
asked = []
def model(prompts):
    asked.extend(prompts)
    return ['{"reason": "so", "rating": 7}' for _ in prompts]
sample = {"question": "Where is it?", "answer": "In Fara.", "contexts": ["It is in Fara."], "reference": "Fara"}
result = ragboard.evaluate([sample], metrics=["nugget_recall"], judge=ragboard.judge_from(model, version="1"))
print(json.dumps({"from": ragboard.__file__, "mean": result.metric("nugget_recall").mean, "asked": asked}))
""")
    asked = found.pop("asked")
    assert found == {"mean": 0.7}
    assert isinstance(asked, list)
    assert "<nugget>\nFara\n</nugget>" in asked[0]
    own = {"tasks/judge_nugget.py", "tasks/prompts/1/judge_nugget.md", "metrics/nuggets.py"}
    assert copy.touched() == {*own, "tasks/__init__.py", "metrics/__init__.py"}


def test_a_file_format_is_an_entry_of_the_table(copy: Copy) -> None:
    copy.edit(
        "readers/formats/__init__.py",
        "    LANGFUSE,\n",
        """    LANGFUSE,
    Format(
        name="Beam",
        columns=frozenset({"ask", "told", "shown"}),
        fields={"question": "ask", "answer": "told", "contexts": "shown"},
    ),
""",
    )
    (copy.folder / "beam.jsonl").write_text('{"ask": "Where?", "told": "In Fara.", "shown": ["It is in Fara."]}\n')
    found = copy.run("""
import json, pathlib, ragboard
read = ragboard.read_runs(pathlib.Path("beam.jsonl"))
(sample,) = read.runs[0].samples
print(json.dumps({"from": ragboard.__file__, "format": read.report.format, "answer": sample.answer}))
""")
    assert found == {"format": "Beam (JSONL)", "answer": "In Fara."}
    assert copy.touched() == {"readers/formats/__init__.py"}


def test_a_judge_backend_is_a_module_and_a_line(copy: Copy) -> None:
    copy.write(
        "judges/agreeable.py",
        '''"""A judge that finds everything good."""

from ragboard.tasks import AnswerRated, Failure, RateAnswer, ignore_call


class AgreeableJudge:
    heuristic = True
    answers = frozenset({RateAnswer})

    def __init__(self, host: str) -> None:
        self.name = f"agreeable:{host}"

    def identity(self, task):
        return f"agreeable/1/{task.__name__}"

    async def answer(self, tasks, on_call=ignore_call):
        return [AnswerRated(score=1.0) if isinstance(task, RateAnswer) else Failure(detail="no") for task in tasks]
''',
    )
    copy.edit(
        "judges/registry.py",
        '    Backend("trained", "FOLDER",',
        '    Backend("agreeable", "HOST", lambda host, _: AgreeableJudge(host), "agreeable", "No prompt."),\n'
        '    Backend("trained", "FOLDER",',
    )
    copy.edit(
        "judges/registry.py",
        "from ragboard.judges.base import",
        "from ragboard.judges.agreeable import AgreeableJudge\nfrom ragboard.judges.base import",
    )
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
print(json.dumps({"from": ragboard.__file__, "id": plain, "kept": [getattr(one, "latency", None) for one in kept]}))
"""
    before = copy.run(script)
    shutil.rmtree(copy.folder / "store")
    copy.write("schema/099_latency.sql", "ALTER TABLE samples ADD COLUMN latency DOUBLE;\n")
    metadata = "    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])\n"
    described = '    """Every other column'
    copy.edit("records.py", metadata + described, f"    latency: float | None = None\n{metadata}{described}")
    copy.edit(
        "store/rows.py",
        "        answer_key(sample),\n    )",
        "        answer_key(sample),\n        sample.latency,\n    )",
    )
    copy.edit(
        "store/rows.py",
        '            ("answer_key", _TEXT),\n',
        '            ("answer_key", _TEXT),\n            ("latency", pa.float64()),\n',
    )
    copy.edit("store/reading.py", '" metadata FROM samples WHERE', '" metadata, latency FROM samples WHERE')
    copy.edit("store/reading.py", "history, metadata = row", "history, metadata, latency = row")
    copy.edit(
        "store/reading.py", "metadata=json.loads(metadata),", "metadata=json.loads(metadata),\n        latency=latency,"
    )
    after = copy.run(script)
    assert (before["kept"], after["kept"]) == ([None], [1.5])
    assert after["id"] == before["id"]
    assert copy.touched() == {"schema/099_latency.sql", "records.py", "store/rows.py", "store/reading.py"}
