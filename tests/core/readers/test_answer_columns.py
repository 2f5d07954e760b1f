"""Tests of choosing the answer column: recognised by the file's tool, or an error."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from shlex import quote, split
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner, Result
from tests.core.readers.conftest import Write

from ragboard import RunFileError, Sample, Store, evaluate, preview, read_runs
from ragboard.analysis import leaderboard
from ragboard.cli import main

GOLD, GIVEN = "It opened in 2000.", "It opened in 1990."
ROW = {"question": "When did it open?", "answer": GOLD, "contexts": ["It opened in 2000."]}
BESIDE = [
    *("response", "output", "prediction", "generated_answer", "actual_output", "completion", "result"),
    *("predicted_answers", "Model Response", "generatedAnswer", "llm_output", "hypothesis"),
]


def command(folder: Path, *words: object) -> Result:
    return CliRunner().invoke(main, [*map(str, words), "--store", str(folder / "store")], catch_exceptions=False)


def kept(folder: Path, name: str) -> Sample:
    store = Store(folder / "store")
    ((_, sample),) = store.samples(store.resolve(name).run_id)
    return sample


@pytest.mark.parametrize("ending", ["json", "csv", "jsonl"])
def test_haystack_calls_the_reference_answer(write: Write, ending: str) -> None:
    frame = pd.DataFrame([{**ROW, "predicted_answer": GIVEN, "exact_match": 0.0}])
    text = {
        "json": json.dumps(frame.to_dict("list")),
        "csv": frame.to_csv(index=False),
        "jsonl": frame.to_json(orient="records", lines=True),
    }[ending]
    result = read_runs(write(f"report.{ending}", text))
    (sample,) = result.runs[0].samples
    assert (sample.answer, sample.reference) == (GIVEN, GOLD)
    assert result.report.format.startswith("Haystack evaluation")


def test_the_qa_evaluation_of_langchain_calls_the_reference_answer(write: Write) -> None:
    path = write("qa.json", json.dumps([{"query": "When?", "answer": GOLD, "result": GIVEN}]))
    (sample,) = read_runs(path).runs[0].samples
    assert (sample.answer, sample.reference) == (GIVEN, GOLD)


@pytest.mark.parametrize(
    ("name", "samples"), [("haystack/detailed_report.json", 4), ("langchain/qa_eval_chain.json", 4)]
)
def test_real_reports_have_the_systems_answer_as_answer(data: Path, name: str, samples: int) -> None:
    found = read_runs(data / "tools" / name).runs[0].samples
    assert len(found) == samples
    assert found[1].answer == "Ada Moreno designed the bridge in 1990."
    assert found[1].reference == "Ada Moreno"


def test_with_a_reference_of_its_own_answer_is_not_taken_for_one(write: Write) -> None:
    path = write("report.json", json.dumps([{**ROW, "predicted_answer": GIVEN, "ground_truth": "2000"}]))
    (sample,) = read_runs(path).runs[0].samples
    assert (sample.answer, sample.reference, sample.metadata) == (GIVEN, "2000", {"answer": GOLD})


@pytest.mark.parametrize("beside", BESIDE)
def test_where_nothing_tells_nothing_is_scored_and_both_columns_are_named(
    write: Write, tmp_path: Path, beside: str
) -> None:
    path = write("both.jsonl", json.dumps({**ROW, beside: GIVEN}))
    done = command(tmp_path, "evaluate", path, "--metrics", "faithfulness")
    assert done.exit_code == 2
    assert f"columns 'answer' and '{beside}' could each be the answer or the reference" in done.stderr
    first, second = quote(f"answer={beside}"), quote(f"reference={beside}")
    assert f"--map {first} --map reference=answer or --map answer=answer --map {second}" in done.stderr
    assert leaderboard(Store(tmp_path / "store")) == ()


@pytest.mark.parametrize("way", [0, 1])
def test_what_the_error_says_to_type_is_taken(write: Write, tmp_path: Path, way: int) -> None:
    path = write("both.csv", f"question,Answer,model output,output\nWhen?,{GOLD},x,{GIVEN}\n")
    said = command(tmp_path, "import", path).stderr.strip().rpartition("choose with ")[2].split(" or ")[way]
    assert command(tmp_path, "import", path, *split(said)).exit_code == 0
    sample = kept(tmp_path, "both")
    assert (sample.answer, sample.reference) == ((GIVEN, GOLD), (GOLD, GIVEN))[way]


def test_with_a_known_reference_only_the_answer_is_asked_for(write: Write) -> None:
    path = write("both.jsonl", json.dumps({**ROW, "response": GIVEN, "ground_truth": "2000"}))
    with pytest.raises(RunFileError, match=r"choose with --map answer=response or --map answer=answer$"):
        read_runs(path)
    (sample,) = read_runs(path, mapping={"answer": "response"}).runs[0].samples
    assert (sample.answer, sample.reference, sample.metadata) == (GIVEN, "2000", {"answer": GOLD})


def test_two_other_names_of_the_answer_are_asked_about_too(write: Write) -> None:
    row = {"input": "When?", "output": GOLD, "prediction": GIVEN}
    path = write("alpaca.jsonl", json.dumps(row))
    with pytest.raises(RunFileError, match="columns 'output' and 'prediction' could each be the answer"):
        read_runs(path)
    (sample,) = read_runs(path, mapping={"reference": "output"}).runs[0].samples
    assert (sample.answer, sample.reference) == (GIVEN, GOLD)


def test_from_python_the_same_is_asked_and_the_mapping_is_taken() -> None:
    frame = pd.DataFrame([{**ROW, "response": GIVEN}])
    with pytest.raises(RunFileError, match="columns 'answer' and 'response' could each be") as caught:
        evaluate(frame, metrics="faithfulness")
    said = str(caught.value).rpartition("choose with ")[2].split(" or ")[0]
    mapping: dict[str, Any] = ast.literal_eval(said.removeprefix("mapping="))
    assert mapping == {"answer": "response", "reference": "answer"}
    found = evaluate(frame, metrics="faithfulness", mapping=mapping)
    assert {use.column: use.field for use in found.report.columns}["response"] == "answer"


def test_a_preview_chooses_no_answer_column_and_names_both(write: Write) -> None:
    seen = preview(write("both.jsonl", json.dumps({**ROW, "response": GIVEN})))
    assert seen.unclear == ("answer", "response")
    assert {use.column: use.field for use in seen.columns} == {
        "question": "question",
        "answer": None,
        "contexts": "contexts",
        "response": None,
    }


def test_in_our_own_format_answer_is_the_answer(write: Write) -> None:
    lines = [{"run": {"name": "mine"}}, {**ROW, "response": "kept beside"}]
    (sample,) = read_runs(write("own.jsonl", "\n".join(map(json.dumps, lines)))).runs[0].samples
    assert (sample.answer, sample.metadata) == (GOLD, {"response": "kept beside"})


def test_a_field_is_mapped_to_no_column_on_the_command_line(write: Write, tmp_path: Path) -> None:
    path = write("own.jsonl", json.dumps(ROW))
    assert command(tmp_path, "import", path, "--map", "contexts=").exit_code == 0
    assert kept(tmp_path, "own").contexts is None
