"""Tests of LangSmith: rows and tables of experiments, and examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.core.readers.conftest import Write
from tests.core.readers.formats.broken import check_broken_at_random

from ragboard import Run, RunFileError, read_runs
from ragboard.records import Score, Unscored

QUESTION, ANSWER = "When did the mill close?", "In 1931."
DOCUMENTS: list[dict[str, Any]] = [
    {"id": "p0", "page_content": "The mill closed in 1931.", "metadata": {}, "type": "Document"},
    {"id": None, "page_content": 'It made flour, "and\nfeed".', "metadata": {}, "type": "Document"},
]
TEXTS = [document["page_content"] for document in DOCUMENTS]


def one_run(path: Path) -> Run:
    (run,) = read_runs(path).runs
    return run


def row(outputs: Any, *results: Any, name: str = "calm-hill-7", **run: Any) -> dict[str, Any]:
    return {
        "run": {
            "id": "r1",
            "session_name": name,
            "inputs": {"question": QUESTION, "k": 3},
            "outputs": outputs,
            "error": None,
            "start_time": "2026-05-01T10:00:00Z",
            "end_time": "2026-05-01T10:00:00.250Z",
            "extra": {"runtime": {"platform": "kims-laptop"}},
            **run,
        },
        "example": {
            "id": "e1",
            "inputs": {"question": QUESTION},
            "outputs": {"answer": "1931"},
            "metadata": {"split": "base"},
        },
        "evaluation_results": {"results": list(results)},
    }


ROW = row(
    {"answer": ANSWER, "documents": DOCUMENTS},
    {"key": "correctness", "score": 0.5, "value": None, "comment": "Half of it."},
    {"key": "tone", "score": None, "value": "calm", "comment": None},
    {"key": "broken", "score": None, "value": None, "comment": "ValueError('no')", "extra": {"error": True}},
)


def test_a_row_of_an_experiment_is_a_sample_with_scores_and_comments(write: Write) -> None:
    result = read_runs(write("rows.jsonl", json.dumps(ROW)))
    (run,) = result.runs
    (sample,) = run.samples
    metadata = {"split": "base", "latency_ms": 250.0, "run_id": "r1"}
    assert (run.name, sample.id, sample.metadata) == ("calm-hill-7", "e1", metadata)
    assert str(sample.time) == "2026-05-01 10:00:00"
    assert (sample.question, sample.answer, sample.reference) == (QUESTION, ANSWER, "1931")
    assert [(one.id, one.text) for one in sample.contexts or ()] == [("p0", TEXTS[0]), ("2", TEXTS[1])]
    assert run.scores is not None
    assert run.scores.outcomes[0] == {
        "langsmith-file.correctness": Score(value=0.5, counted="as the file has it"),
        "langsmith-file.tone": Unscored(reason="skipped", detail="the file has 'calm', not a number"),
        "langsmith-file.broken": Unscored(reason="failed", detail="ValueError('no')"),
    }
    assert [(one.about, one.says, one.reason) for one in run.scores.recorded[0].judgements] == [
        ("correctness", "0.5", "Half of it."),
        ("tone", "calm", ""),
    ]
    assert "kims-laptop" not in repr(result)


def test_passages_are_those_of_the_retriever_where_the_outputs_have_none(write: Write) -> None:
    children = [{"run_type": "chain", "child_runs": [{"run_type": "retriever", "outputs": {"documents": DOCUMENTS}}]}]
    (sample,) = one_run(write("rows.jsonl", json.dumps(row({"output": ANSWER}, child_runs=children)))).samples
    assert (sample.answer, [one.text for one in sample.contexts or ()]) == (ANSWER, TEXTS)
    (empty,) = one_run(write("rows.jsonl", json.dumps(row({"output": ANSWER, "documents": []})))).samples
    (unknown,) = one_run(write("rows.jsonl", json.dumps(row({"output": ANSWER})))).samples
    assert (empty.contexts, unknown.contexts) == ((), None)


def test_each_experiment_is_a_run(write: Write) -> None:
    rows = [row({"answer": ANSWER}), row({"answer": "Never."}, name="wild-lake-2")]
    result = read_runs(write("rows.jsonl", "\n".join(map(json.dumps, rows))))
    assert [(run.name, run.samples[0].answer) for run in result.runs] == [
        ("calm-hill-7", ANSWER),
        ("wild-lake-2", "Never."),
    ]


def test_several_texts_without_a_known_name_are_asked_about(write: Write) -> None:
    given = row({"answer": ANSWER}, inputs={"topic": "mills", "tone": "calm"})
    with pytest.raises(RunFileError, match=r"rows\.jsonl:1: question: got an object, expected text"):
        read_runs(write("rows.jsonl", json.dumps(given)))


def test_the_table_has_scores_and_printed_documents(write: Write) -> None:
    cells = {
        "inputs.question": QUESTION,
        "outputs.answer": ANSWER,
        "outputs.documents": f"[Document(metadata={{'a': 1}}, page_content={TEXTS[0]!r})]",
        "error": None,
        "reference.answer": "1931",
        "feedback.correctness": 1.0,
        "execution_time": 0.25,
        "example_id": "e1",
        "id": "r1",
    }
    run = one_run(write("table.csv", pd.DataFrame([cells]).to_csv(index=False)))
    (sample,) = run.samples
    assert (sample.id, sample.question, sample.answer, sample.reference) == ("e1", QUESTION, ANSWER, "1931")
    assert [one.text for one in sample.contexts or ()] == TEXTS[:1]
    assert sample.metadata == {"execution_time": 0.25, "run_id": "r1"}
    assert run.scores is not None
    assert run.scores.outcomes[0] == {"langsmith-file.correctness": Score(value=1.0, counted="as the file has it")}


def test_the_outputs_of_an_example_are_its_reference(write: Write) -> None:
    example = {
        "id": "e1",
        "dataset_id": "d1",
        "source_run_id": None,
        "inputs": {"question": QUESTION},
        "outputs": {"answer": "1931", "documents": TEXTS},
        "metadata": {"split": "base"},
    }
    (sample,) = one_run(write("examples.jsonl", json.dumps(example))).samples
    assert (sample.id, sample.question, sample.answer, sample.reference) == ("e1", QUESTION, None, "1931")
    assert sample.reference_contexts == tuple(TEXTS)


def test_half_broken_rows_are_read_or_refused_in_one_line(tmp_path: Path) -> None:
    check_broken_at_random(tmp_path / "rows.jsonl", [ROW, ROW])


def test_the_real_rows_and_their_table_are_the_same_samples(data: Path) -> None:
    folder = data / "tools" / "langsmith"
    rows, table = one_run(folder / "experiment_rows.jsonl"), one_run(folder / "experiment_to_pandas.csv")
    examples = one_run(folder / "examples.jsonl")
    assert rows.name == "passionate-hall-35"
    assert [(s.id, s.question, s.answer, s.reference, s.contexts) for s in rows.samples] == [
        (s.id, s.question, s.answer, s.reference, s.contexts) for s in table.samples
    ]
    assert [(s.id, s.question, s.reference) for s in examples.samples] == [
        (s.id, s.question, s.reference) for s in rows.samples
    ]
    assert [len(s.contexts or ()) for s in rows.samples] == [2, 3, 0, 1]
    assert rows.scores is not None
    assert table.scores is not None
    assert rows.scores.outcomes == table.scores.outcomes
    assert rows.scores.recorded[0].judgements[0].reason
