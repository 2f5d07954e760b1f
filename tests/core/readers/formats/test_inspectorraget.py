"""Tests of InspectorRAGet's files: a run for each model; human labels are left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.core.readers.conftest import Write
from tests.core.readers.formats.broken import broken_versions, read_or_refused

from ragboard import Passage, RunFileError, Score, Store, Turn, read_runs
from ragboard.analysis.samples import sample_report


def whole(**given: Any) -> dict[str, Any]:
    said = {
        "faithfulness": {"system": {"value": 0.5}},
        "natural": {"ann": {"value": "2"}},
        "why": {"s": {"value": "Half."}},
    }
    return {
        "name": "mills",
        "models": [{"model_id": "m1", "name": "small"}, {"model_id": "m2", "name": "large", "owner": "secret"}],
        "metrics": [
            {"name": "faithfulness", "author": "algorithm", "type": "numerical"},
            {"name": "natural", "author": "human", "type": "categorical"},
            {"name": "why", "author": "algorithm", "type": "text"},
            {
                "name": "grade",
                "author": "algorithm",
                "values": [{"value": "good", "numeric_value": 2}, {"value": "bad"}],
            },
        ],
        "documents": [{"document_id": "d1", "text": "The old mill.", "title": "mills.pdf", "score": 0.5}],
        "tasks": [
            {
                "task_id": "mill",
                "task_type": "rag",
                "contexts": [{"document_id": "d1"}, {"text": "It grinds wheat."}],
                "input": [
                    {"speaker": "user", "text": "Hello"},
                    {"speaker": "agent", "text": "Hello!"},
                    {"speaker": "user", "text": "Which mill?"},
                ],
                "targets": [{"text": "The old mill."}],
            }
        ],
        "evaluations": [
            {"task_id": "mill", "model_id": "m1", "model_response": "The old one.", "annotations": said},
            {"task_id": "mill", "model_id": "m2", "model_response": "None.", "annotations": {}, "contexts": []},
        ],
    } | given


def test_each_model_is_a_run_with_passages_scores_and_texts(write: Write) -> None:
    result = read_runs(write("file.json", json.dumps(whole())))
    small, large = result.runs
    assert (small.name, small.config, large.name) == ("small", {"model": "small"}, "large")
    (sample,) = small.samples
    assert (sample.id, sample.question, sample.answer) == ("mill", "Which mill?", "The old one.")
    assert sample.history == (Turn(role="user", text="Hello"), Turn(role="assistant", text="Hello!"))
    assert sample.contexts == (
        Passage(id="d1", text="The old mill.", rank=1, score=0.5),
        Passage(id="2", text="It grinds wheat.", rank=2),
    )
    assert (sample.reference, sample.metadata) == ("The old mill.", {"task_type": "rag"})
    assert large.samples[0].contexts == (), "the passages of the answer count before those of the task"
    assert small.scores is not None
    assert small.scores.outcomes == (
        {"inspectorraget-file.faithfulness": Score(value=0.5, counted="as the file has it")},
    )
    assert [(one.about, one.says) for one in small.scores.recorded[0].judgements] == [("why", "Half.")]
    assert any(note.startswith("annotations of natural left out: human labels") for note in result.report.notes)


def test_schema_2_gives_the_same_samples(write: Write) -> None:
    found = {
        "task_id": "mill",
        "model_id": "m1",
        "output": [{"type": "thought", "value": "Hm."}, {"role": "assistant", "content": "The old one."}],
        "scores": {"grade": {"a": {"value": "good"}, "b": {"value": "odd"}}},
    }
    tasks = [{"task_id": "mill", "input": [{"role": "user", "content": "Which mill?"}], "targets": [{"value": "Old."}]}]
    file = whole(schema_version=2, results=[found], tasks=tasks)
    del file["evaluations"]
    (run,) = read_runs(write("file.json", json.dumps(file))).runs
    (sample,) = run.samples
    assert (run.name, sample.question, sample.answer) == ("mills", "Which mill?", "The old one.")
    assert (sample.reference, sample.contexts) == ("Old.", None)
    assert run.scores is not None
    assert run.scores.outcomes == ({"inspectorraget-file.grade": Score(value=2.0, counted="as the file has it")},)
    assert [(one.number, one.says, one.value) for one in run.scores.recorded[0].judgements] == [
        (1, "good", 2.0),
        (2, "odd", None),
    ]


def test_models_with_the_same_name_become_separate_runs(write: Write) -> None:
    models = [{"model_id": "m1", "name": "mill"}, {"model_id": "m2", "name": "mill"}]
    assert [run.name for run in read_runs(write("file.json", json.dumps(whole(models=models)))).runs] == ["m1", "m2"]


def test_an_answer_to_no_task_and_a_passage_of_no_document_are_rejected_with_their_place(write: Write) -> None:
    with pytest.raises(RunFileError, match=r"evaluations\[0\].task_id: task 'mill' is not among the tasks"):
        read_runs(write("file.json", json.dumps(whole(tasks=[]))))
    with pytest.raises(RunFileError, match=r"evaluations\[0\].contexts: passage 1"):
        read_runs(write("file.json", json.dumps(whole(documents=[]))))


def test_broken_files_are_read_or_refused(write: Write) -> None:
    for broken in broken_versions(whole()):
        read_or_refused(write("file.json", json.dumps(broken)))


def test_texts_are_shown_with_the_sample(write: Write, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    added, _ = store.add_runs(read_runs(write("file.json", json.dumps(whole()))).runs)
    report = sample_report(store, store.resolve(added.name), "mill")
    assert [str(one) for one in report.judgements] == ["why: Half."]


def test_a_file_after_the_source_of_inspectorraget(data: Path) -> None:
    (run,) = read_runs(data / "tools/inspectorraget/schema1.json").runs
    assert [(one.id, None if one.contexts is None else len(one.contexts)) for one in run.samples] == [
        ("q1", 2),
        ("q2", 3),
        ("q3", 0),
        ("q4", 1),
    ]
    assert (run.name, run.config, run.samples[1].question) == ("library", {"model": "k3"}, "Who designed it?")
    assert run.scores is not None
    assert [one.spec for one in run.scores.metrics] == ["inspectorraget-file.faithfulness"]
