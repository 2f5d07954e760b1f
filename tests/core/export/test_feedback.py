"""Tests of scores in the formats of tracing tools, read with each tool's SDK.

`RAGBOARD_SDKS` names a folder with an environment for each SDK (`langsmith/bin/python` and so on).
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ragboard import Store
from ragboard.cli import main
from ragboard.readers import read_runs
from ragboard.records import Score, Unscored

METRICS = "ragas.faithfulness,overlap.token_f1"
TRACE = "0123456789abcdef0123456789abcdef"
RUN_ID = "01234567-89ab-cdef-0123-456789abcdef"
ROWS = [
    {"id": TRACE, "question": "How high is it?", "answer": "It is 30 m high. It is made of gold.", "reference": "30 m"}
    | {"contexts": ["The tower is 30 m high."]},
    {"id": TRACE[::-1], "question": "Who?", "answer": "I do not know.", "reference": "Ada", "contexts": ["It is Ada."]},
]
READ = {
    "langsmith": """
from langsmith.schemas import FeedbackCreate
for row in rows:
    found = FeedbackCreate(**row)
    print(found.run_id, found.key, found.score, found.feedback_source.type)
""",
    "langfuse": """
from langfuse.api import CreateScoreRequest
from langfuse.api.core.pydantic_utilities import parse_obj_as
for row in rows:
    found = parse_obj_as(CreateScoreRequest, row)
    print(found.trace_id, found.name, found.value, found.data_type.value)
""",
    "mlflow": """
from mlflow.entities import Assessment
for row in rows:
    when = "2026-01-01T00:00:00Z"
    found = Assessment.from_dictionary(row | {"create_time": when, "last_update_time": when})
    print(found.trace_id, found.name, found.value, found.source.source_type)
""",
    "phoenix": """
from typing import get_type_hints
from phoenix.client.__generated__.v1 import AnnotationResult, TraceAnnotationData
for found in rows:
    for form, given in ((TraceAnnotationData, found), (AnnotationResult, found["result"])):
        assert given.keys() <= get_type_hints(form).keys()
    print(found["trace_id"], found["name"], found["result"]["score"], found["annotator_kind"])
""",
    "ragas": """
from ragas import EvaluationDataset
for row in EvaluationDataset.from_list(rows):
    print(row.user_input, row.response, row.retrieved_contexts, row.reference)
""",
    "deepeval": """
from deepeval.test_run import TestRun
for row in TestRun.model_validate(rows[0]).test_cases:
    for one in row.metrics_data:
        print(row.input, one.name, one.score, one.error)
""",
}
"""Programs that read the rows with the SDK's own models, and print what they hold."""


def evaluated(folder: Path, rows: list[dict[str, Any]]) -> Store:
    file = folder / "traces.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    done = CliRunner().invoke(main, ["evaluate", str(file), "--metrics", METRICS, "--store", str(folder / "s")])
    assert done.exit_code == 0, done.output
    return Store(folder / "s")


def exported(store: Store, kind: str) -> list[Any]:
    done = CliRunner().invoke(main, ["export", "traces", "--format", kind, "--store", str(store.folder)])
    assert done.exit_code == 0, done.output
    return [json.loads(done.stdout)] if kind == "deepeval" else [json.loads(line) for line in done.stdout.splitlines()]


def ids(kind: str) -> list[dict[str, Any]]:
    """The rows with ids as the tool has them."""
    if kind == "mlflow":
        return [row | {"id": f"tr-{row['id']}"} for row in ROWS]
    if kind == "langsmith":
        return [row | {"run_id": f"{RUN_ID[:-1]}{n}"} for n, row in enumerate(ROWS)]
    return ROWS


KINDS = ("langsmith", "langfuse", "mlflow", "phoenix")


@pytest.mark.parametrize("kind", KINDS)
def test_every_score_is_a_line_for_its_trace_and_what_is_unscored_is_none(tmp_path: Path, kind: str) -> None:
    rows = ids(kind)
    store = evaluated(tmp_path, rows)
    found = exported(store, kind)
    traces = [row.get("run_id", row.get("traceId", row.get("trace_id"))) for row in found]
    names = [row.get("key", row.get("name", row.get("assessment_name"))) for row in found]
    wanted = [row.get("run_id", row["id"]) for row in rows]
    assert list(zip(traces, names, strict=True)) == [
        (wanted[0], "ragas.faithfulness"),
        (wanted[0], "overlap.token_f1"),
        (wanted[1], "overlap.token_f1"),
    ], "the refusal has no faithfulness"
    text = json.dumps(found[0])
    assert "1 of 2 statements" in text
    assert "It is made of gold." in text
    assert "embedded" in text
    assert exported(store, kind) == found, "the same ids each time, so that a second upload replaces the first"


@pytest.mark.parametrize("kind", [*KINDS, "ragas", "deepeval"])
def test_the_tools_own_models_read_the_lines(tmp_path: Path, kind: str) -> None:
    folder = os.environ.get("RAGBOARD_SDKS")
    python = Path(folder or "none") / kind / "bin" / "python"
    if not python.exists():
        pytest.skip(f"RAGBOARD_SDKS names no environment of {kind}")
    rows = exported(evaluated(tmp_path, ids(kind)), kind)
    program = f"import json, sys; rows = json.load(sys.stdin){READ[kind]}"
    done = subprocess.run([python, "-c", program], input=json.dumps(rows), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    shown = done.stdout.splitlines()
    assert len(shown) == (4 if kind == "deepeval" else len(rows))
    assert ("How high is it?" if kind == "ragas" else "ragas.faithfulness 0.5") in shown[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_of_another_origin_is_rejected_in_one_line(tmp_path: Path, kind: str) -> None:
    store = evaluated(tmp_path, [row | {"id": f"q{n}"} for n, row in enumerate(ROWS)])
    done = CliRunner().invoke(main, ["export", "traces", "--format", kind, "--store", str(store.folder)])
    assert done.exit_code == 2
    assert "sample q0 has no trace id of" in done.output
    assert done.output.count("\n") == 1


def test_a_test_run_of_deepeval_is_read_back_with_its_scores(tmp_path: Path) -> None:
    (found,) = exported(evaluated(tmp_path, ROWS), "deepeval")
    (tmp_path / "back.json").write_text(json.dumps(found))
    run = read_runs(tmp_path / "back.json").runs[0]
    assert [one.answer for one in run.samples] == [row["answer"] for row in ROWS]
    assert run.scores
    first, second = run.scores.outcomes
    assert next(one.value for one in first.values() if isinstance(one, Score)) == 0.5
    assert [one.detail for one in second.values() if isinstance(one, Unscored)]


def test_rows_of_ragas_are_read_back_with_their_scores(tmp_path: Path) -> None:
    store = evaluated(tmp_path, ROWS)
    found = exported(store, "ragas")
    assert [row["faithfulness"] for row in found] == [0.5, None]
    (tmp_path / "back.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in found))
    run = read_runs(tmp_path / "back.jsonl").runs[0]
    assert [one.answer for one in run.samples] == [row["answer"] for row in ROWS]
    assert [one.contexts[0].text for one in run.samples if one.contexts] == [row["contexts"][0] for row in ROWS]
    assert run.scores
    assert "ragas-file.faithfulness" in run.scores.columns


TOOL_FILES = (
    "langsmith/experiment_rows.jsonl",
    "langsmith/experiment_to_pandas.csv",
    "langfuse/api_observations_v2.json",
    "mlflow/search_traces.json",
    "phoenix/spans_dataframe.json",
)


@pytest.mark.parametrize("tool", TOOL_FILES)
def test_files_of_the_tools_have_the_ids(tmp_path: Path, data: Path, tool: str) -> None:
    kind = tool.partition("/")[0]
    words = ["evaluate", str(data / "tools" / tool), "--name", "traces", "--store", str(tmp_path / "s")]
    done = CliRunner().invoke(main, [*words, "--metrics", "ragas.faithfulness"])
    assert done.exit_code == 0, done.output
    assert exported(Store(tmp_path / "s"), kind)
