"""Tests of Giskard's test sets and reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.core.readers.conftest import Write
from tests.core.readers.formats.broken import broken_versions, read_or_refused

from ragboard import Passage, RunFileError, Score, Store, Turn, Unscored, read_runs
from ragboard.analysis.samples import sample_report

QUESTION = {
    "id": "mill",
    "question": "Which mill?",
    "reference_answer": "The old mill.",
    "reference_context": "Document 3: The old mill.\n\nIt is old.\n\nDocument 12: It grinds wheat.",
    "conversation_history": [{"role": "user", "content": "Hello"}],
    "metadata": {"question_type": "simple", "seed_document_id": 3},
}
OTHER = QUESTION | {"id": "late", "question": "When?", "conversation_history": []}
ANSWERS = [{"message": "The old one.", "documents": ["The old mill."]}, {"message": "Late.", "documents": None}]
SCORES = {
    "mill": {"correctness": False, "correctness_reason": "It is not named.", "RAGAS Faithfulness": 0.5},
    "late": {"correctness": True, "RAGAS Faithfulness": 0},
}


def report(folder: Path, answers: Any = ANSWERS, scores: Any = SCORES) -> Path:
    (folder / "testset.jsonl").write_text(f"{json.dumps(QUESTION)}\n{json.dumps(OTHER)}\n")
    (folder / "agent_answer.json").write_text(json.dumps(answers))
    (folder / "metrics_results.json").write_text(json.dumps(scores))
    return folder / "testset.jsonl"


def test_a_test_set_has_questions_references_and_gold_passages(write: Write) -> None:
    result = read_runs(write("testset.jsonl", json.dumps(QUESTION)))
    (run,) = result.runs
    (sample,) = run.samples
    assert (sample.id, sample.question, sample.answer, sample.contexts) == ("mill", "Which mill?", None, None)
    assert sample.reference_contexts == ("The old mill.\n\nIt is old.", "It grinds wheat.")
    assert (sample.reference, sample.history) == ("The old mill.", (Turn(role="user", text="Hello"),))
    assert sample.metadata == {"question_type": "simple", "seed_document_id": 3}
    assert (run.scores, result.report.format) == (None, "Giskard test set (JSONL)")


def test_in_the_folder_of_a_report_answers_and_scores_are_read_too(tmp_path: Path) -> None:
    (run,) = read_runs(report(tmp_path)).runs
    first, second = run.samples
    assert (run.name, first.answer, second.answer) == (tmp_path.name, "The old one.", "Late.")
    assert (first.contexts, second.contexts) == ((Passage(id="1", text="The old mill.", rank=1),), None)
    assert run.scores is not None
    assert run.scores.outcomes[0]["giskard-file.correctness"] == Score(value=0.0, counted="as the file has it")
    assert run.scores.outcomes[1]["giskard-file.ragas_faithfulness"] == Unscored(
        reason="skipped", detail="the agent returned no documents, so Giskard wrote 0"
    )
    assert [(one.about, one.says, one.reason) for one in run.scores.recorded[0].judgements] == [
        ("correctness", "no", "It is not named.")
    ]


def test_a_report_whose_files_do_not_belong_together_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match=r"agent_answer.json: has 1 answers, expected 2, one for each question"):
        read_runs(report(tmp_path, answers=ANSWERS[:1]))
    with pytest.raises(RunFileError, match=r"metrics_results.json: has scores of the question 'new'"):
        read_runs(report(tmp_path, scores={"new": {"correctness": True}}))
    with pytest.raises(RunFileError, match=r"agent_answer.json: has an object, expected what Giskard's"):
        read_runs(report(tmp_path, answers={}))


@pytest.mark.parametrize("name", ["agent_answer.json", "metrics_results.json"])
def test_the_other_files_of_a_report_are_rejected_with_the_one_to_bring(tmp_path: Path, name: str) -> None:
    report(tmp_path)
    with pytest.raises(RunFileError, match=r"is part of Giskard's report; import testset.jsonl from its folder"):
        read_runs(tmp_path / name)


def test_a_table_of_a_report_has_answers_and_scores_without_passages(write: Write) -> None:
    header = "id,question,reference_answer,reference_context,conversation_history,metadata,agent_answer,correctness"
    row = 'mill,Which mill?,Old.,Document 3: The mill.,[],"{""topic"": ""mills""}",The old one.,True'
    (run,) = read_runs(write("report.csv", f"{header}\n{row}\n")).runs
    assert (run.samples[0].answer, run.samples[0].metadata) == ("The old one.", {"topic": "mills"})
    assert run.scores is not None
    assert run.scores.outcomes == ({"giskard-file.correctness": Score(value=1.0, counted="as the file has it")},)


def test_broken_reports_are_read_or_refused(tmp_path: Path) -> None:
    for broken in broken_versions(ANSWERS):
        read_or_refused(report(tmp_path, answers=broken))
    for broken in broken_versions(SCORES):
        read_or_refused(report(tmp_path, scores=broken))
    path = report(tmp_path)
    for broken in broken_versions(QUESTION):
        path.write_text(f"{json.dumps(broken)}\n{json.dumps(OTHER)}")
        read_or_refused(path)


def test_reasons_are_shown_with_the_sample(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    (added,) = store.add_runs(read_runs(report(tmp_path)).runs)
    shown = sample_report(store, store.resolve(added.name), "mill")
    assert [(str(one), one.reason) for one in shown.judgements] == [("correctness: no", "It is not named.")]


def test_files_written_by_giskard(data: Path) -> None:
    (questions,) = read_runs(data / "tools/giskard/testset.jsonl").runs
    assert [one.answer for one in questions.samples] == [None] * 4
    (run,) = read_runs(data / "tools/giskard/report/testset.jsonl").runs
    assert [None if one.contexts is None else len(one.contexts) for one in run.samples] == [2, 3, None, 1]
    assert [one.reference_contexts for one in run.samples][2:] == [
        ("It cost 40 million.",),
        ("The bridge has four lanes and a footpath.",),
    ]
    assert run.scores is not None
    values = [getattr(one["giskard-file.correctness"], "value", None) for one in run.scores.outcomes]
    assert values == [1.0, 0.0, 1.0, 0.0]
