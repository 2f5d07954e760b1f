"""Tests of presets: names, published facts, and downloads."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.hub_server import hub_server
from tests.local_models import nli_model

import ragboard
from ragboard import JudgeError, SettingError
from ragboard.cli import main
from ragboard.judges import JudgeOptions, LocalJudge, judge_named, panel_named
from ragboard.judges.local import presets
from ragboard.judges.local.presets import DEFAULT, Preset, choose_model
from ragboard.tasks import Classify, ExtractStatements, Similarity, Verify

CORE = Path(ragboard.__file__).parents[1]
ROOT = Path(__file__).parents[4]


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    run = tmp_path / "run.jsonl"
    run.write_text('{"question": "q", "answer": "It is red.", "contexts": ["It is red."]}\n', encoding="utf-8")
    return run


@pytest.mark.parametrize("preset", presets().values(), ids=presets())
def test_every_preset_says_what_is_known_and_how_it_is_asked(preset: Preset) -> None:
    facts = (preset.parameters, preset.languages, preset.licence, preset.published, preset.source, preset.checked)
    assert all(facts)
    if preset.refused:
        return
    text = "\n".join(preset.reading.texts)
    assert "{passage}" in text
    assert "{statement}" in text
    outputs = preset.reading.outputs
    assert not outputs or {"supported", "unsupported"} <= set(outputs)
    assert len(preset.reading.answers) == (len(outputs) if preset.reading.head == "seq2seq" else 0)
    assert preset.reading.head == "sequence" or preset.reading.length


def test_names_mean_presets_places_or_both() -> None:
    by_preset, by_hub, at = (
        choose_model("minicheck"),
        choose_model("lytang/MiniCheck-Flan-T5-Large"),
        choose_model("true@x"),
    )
    assert by_preset == by_hub
    assert (by_preset.name, by_preset.location) == ("minicheck", "lytang/MiniCheck-Flan-T5-Large")
    assert (at.name, at.location, at.reading.head) == ("true", "x", "seq2seq")
    assert choose_model("models/mine").reading.outputs == ()
    with pytest.raises(SettingError, match="no preset is called 'nothing'; the presets are minicheck, "):
        choose_model("nothing@models/mine")


@pytest.mark.parametrize("name", ["local:hhem", "local:vectara/hallucination_evaluation_model", "local:hhem@x"])
def test_a_model_that_needs_code_of_its_own_is_rejected_before_anything_is_fetched(name: str) -> None:
    with pytest.raises(
        JudgeError, match=r"ragboard does not run .*: it only loads with Python code from its repository"
    ):
        judge_named(name)


@pytest.mark.parametrize("name", ["local:", "local@x", "embedded:x"])
def test_names_that_are_none_are_rejected(name: str) -> None:
    with pytest.raises(SettingError, match=r"no judge is called .* local:MODEL"):
        judge_named(name)


def test_local_without_a_name_is_the_default_preset(
    library: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert library
    folder = tmp_path / "weights"
    folder.mkdir()
    (folder / "config.json").write_text('{"architectures": ["T5ForConditionalGeneration"]}', encoding="utf-8")
    places: list[str] = []
    monkeypatch.setattr("ragboard.judges.local.judge.model_folder", lambda place, _: places.append(place) or folder)
    panel = panel_named(JudgeOptions(judge="local", device="cpu", threads=1))
    assert places == [presets()[DEFAULT].model]
    assert [panel.for_task(kind).name for kind in (Verify, Classify, ExtractStatements, Similarity)] == [
        f"local:{DEFAULT}",
        "embedded",
        "embedded",
        "embedded",
    ]
    assert panel.name == f"local:{DEFAULT} + embedded"
    assert panel.fallback_note.startswith(f"local:{DEFAULT} verifies statements; the embedded judge")
    assert not panel_named(JudgeOptions(verify="local")).fallback_note


def test_the_command_lists_judges_and_presets() -> None:
    done = CliRunner().invoke(main, ["judges"])
    assert done.exit_code == 0
    assert all(name in done.stdout and one.model in done.stdout for name, one in presets().items())
    listed = json.loads(CliRunner().invoke(main, ["judges", "--json"]).stdout)
    assert [one["name"] for one in listed["presets"]] == list(presets())
    assert "local:MODEL" in listed["judges"]["--judge, --extract, --verify"]


def test_the_documentation_has_the_same_table() -> None:
    rows = []
    for one in presets().values():
        size = one.parameters if one.download is None else f"{one.parameters}, {one.download:g} GB"
        model = f"[`{one.model}`](https://huggingface.co/{one.model})"
        rows.append(
            f"| `{one.name}` | {model} | {size} | {one.languages} | {one.licence} | {one.published} ({one.source}) |"
        )
    page = (ROOT / "docs" / "tasks" / "use-a-local-model.md").read_text(encoding="utf-8")
    assert "\n".join(rows) in page


def test_an_absent_model_is_announced_with_its_size_fetched_once_and_then_offline(
    library: object, run_file: Path, tmp_path: Path
) -> None:
    assert library
    model = nli_model(tmp_path / "hub" / "tiny" / "nli")
    (model / "onnx").mkdir()
    (model / "onnx" / "model.onnx").write_bytes(b"0" * 9_000_000)
    with hub_server(tmp_path / "hub") as hub:
        kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
        given = kept | {"HF_HOME": str(tmp_path / "cache"), "HF_ENDPOINT": hub.url, "PYTHONPATH": str(CORE)}
        given |= {"HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": "0"}
        first, second = evaluated(run_file, given, "tiny/nli", "tiny/nli")
        size = sum(path.stat().st_size for path in model.glob("*.*")) / 1e6
        assert (first[0], second[0]) == (0, 0), (first, second)
        assert f"tiny/nli: downloading {size:.1f} MB from 127.0.0.1, once\n" in first[1]
        assert "downloading" not in second[1]
        assert sorted(hub.fetched) == sorted(path.name for path in model.glob("*.*"))
    third, absent = evaluated(run_file, given | {"HF_HUB_OFFLINE": "1"}, "tiny/nli", "tiny/other")
    assert third[0] == 0, third
    assert "local:tiny/nli verifies statements; the embedded judge" in third[1]
    assert (absent[0], absent[1].count("\n")) == (6, 1)
    assert "on a machine with a network, run hf download tiny/other --local-dir FOLDER" in absent[1]


EVALUATE = """
import json, sys
from click.testing import CliRunner
from ragboard.cli import main
for words in json.loads(sys.argv[1]):
    done = CliRunner().invoke(main, words)
    print(json.dumps([done.exit_code, done.stderr]))
"""


def evaluated(run: Path, environment: dict[str, str], *models: str) -> list[tuple[int, str]]:
    """Exit code and errors of an evaluation by each model, in one process that has this environment from its start."""
    common = ["evaluate", str(run), "--metrics", "faithfulness", "--device", "cpu"]
    words = [
        [*common, "--judge", f"local:{model}", "--store", str(run.parent / f"{environment['HF_HUB_OFFLINE']}-{place}")]
        for place, model in enumerate(models)
    ]
    command = [sys.executable, "-c", EVALUATE, json.dumps(words)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment, check=True)
    return [(code, said) for code, said in map(json.loads, done.stdout.splitlines())]


def test_code_that_comes_with_a_model_is_never_run(library: object, tmp_path: Path) -> None:
    assert library
    folder = nli_model(tmp_path / "own")
    ran = tmp_path / "ran"
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config |= {
        "model_type": "of-its-own",
        "auto_map": {"AutoConfig": "own.Config", "AutoModelForSequenceClassification": "own.Model"},
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "own.py").write_text(f"open({str(ran)!r}, 'w').close()\n", encoding="utf-8")
    task = Verify(question="", statements=("It is.",), passages=("It is.",), joint=True, single=False)
    with pytest.raises(JudgeError, match="contains Python code, which ragboard never runs"):
        asyncio.run(LocalJudge(str(folder)).answer([task]))
    assert not ran.exists()
