"""Tests of LlamaIndex's responses, evaluations, datasets and predictions."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import Any

import pytest
from tests.core.readers.formats.broken import check_broken, written

from ragboard import Passage, RunFileError, Store, Unscored, read_runs
from ragboard.analysis import sample_report

NODE = {"node": {"id_": "n1", "text": "It is red.", "class_name": "TextNode"}, "score": 0.5}
RESPONSES = [
    {"query": "Which colour?", "response": "Red.", "source_nodes": [NODE], "metadata": {"n1": {}}, "k": 3},
    {"query": "And inside?", "response": "Unknown.", "source_nodes": [], "metadata": {}, "k": 3},
]
JUDGED = {"query": "Q", "contexts": ["p"], "response": "A", "passing": True, "feedback": "YES", "score": 1.0}
BATCH: dict[str, list[dict[str, Any]]] = {
    "correctness": [{**JUDGED, "contexts": None, "score": 4.5, "feedback": "Right."}],
    "faithfulness": [{**JUDGED, "score": None, "passing": None, "invalid_result": True, "invalid_reason": "no reply"}],
    "relevancy": [{**JUDGED, "passing": False, "score": 0.0, "feedback": "NO"}],
}
EXAMPLES = {
    "examples": [
        {"query": "Q1", "query_by": {"type": "ai"}, "reference_contexts": ["gold"], "reference_answer": "R1"},
        {"query": "Q2", "query_by": {"type": "ai"}, "reference_contexts": [], "reference_answer": "R2"},
    ]
}
PREDICTIONS = {"predictions": [{"response": "A1", "contexts": ["p"]}, {"response": "A2", "contexts": []}]}


def printed(text: str) -> str:
    """A node as LlamaIndex prints it."""
    cut = text if len(text) <= 350 else text[:347] + "..."
    return f"Node ID: n1\n{fill(f'Text: {cut}', 70)}\nScore:  0.500\n"


def test_nodes_are_passages_with_their_ids_and_scores(tmp_path: Path) -> None:
    first, second = read_runs(written(tmp_path / "r.jsonl", RESPONSES)).runs[0].samples
    assert (first.question, first.answer, first.metadata) == ("Which colour?", "Red.", {"k": 3})
    assert first.contexts == (Passage(id="n1", text="It is red.", rank=1, score=0.5),)
    assert second.contexts == ()


@pytest.mark.parametrize("words", [8, 200])
def test_printed_nodes_are_read_with_a_note_that_they_are_cut(tmp_path: Path, words: int) -> None:
    text = " ".join(f"word{number}" for number in range(words))
    result = read_runs(written(tmp_path / "r.jsonl", [{**RESPONSES[0], "source_nodes": [printed(text)]}]))
    (passage,) = result.runs[0].samples[0].contexts or ()
    assert passage.text == (text if words == 8 else text[:347] + "...")
    assert (passage.id, passage.score) == ("n1", 0.5)
    notes = [change.what for change in result.report.coerced]
    assert "read from the str() of a LlamaIndex node, without line breaks" in notes[0]
    assert any("cut off after 350" in note for note in notes) == (words == 200)


def test_responses_without_questions_and_cut_sources_are_rejected(tmp_path: Path) -> None:
    rows = [{"response": "Red.", "source_nodes": [NODE]}]
    with pytest.raises(RunFileError, match="has responses without questions"):
        read_runs(written(tmp_path / "r.jsonl", rows))
    rows = [{"query": "Q", "response": "A", "sources": "> Source (Doc id: n1): It is r..."}]
    with pytest.raises(RunFileError, match=r"get_formatted_sources\(\), cut off after 100"):
        read_runs(written(tmp_path / "r.jsonl", rows))


def test_the_results_of_each_evaluator_are_joined(tmp_path: Path) -> None:
    (run,) = read_runs(written(tmp_path / "b.json", BATCH)).runs
    (sample,) = run.samples
    assert sample.contexts == (Passage(id="1", text="p", rank=1),)
    assert run.scores is not None
    assert run.scores.outcomes[0]["llamaindex-file.faithfulness"] == Unscored(reason="failed", detail="no reply")
    assert [(one.about, one.says, one.reason) for one in run.scores.recorded[0].judgements] == [
        ("correctness", "passing", "Right."),
        ("relevancy", "not passing", "NO"),
    ]


def test_what_the_evaluators_said_is_shown_with_the_sample(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    (added,) = store.add_runs(read_runs(written(tmp_path / "b.json", BATCH)).runs)
    ((_, sample),) = store.samples(added.id)
    report = sample_report(store, store.resolve("b@LlamaIndex (file)"), sample.id)
    assert [(one.about, one.says) for one in report.judgements] == [
        ("correctness", "passing"),
        ("relevancy", "not passing"),
    ]


def test_evaluators_of_other_questions_are_rejected(tmp_path: Path) -> None:
    other = {**BATCH, "relevancy": [{**JUDGED, "query": "Another"}]}
    with pytest.raises(RunFileError, match=r"relevancy\[0\]: has a different question or answer"):
        read_runs(written(tmp_path / "b.json", other))
    with pytest.raises(RunFileError, match="relevancy: has 2 results, expected 1 as in 'correctness'"):
        read_runs(written(tmp_path / "b.json", {**BATCH, "relevancy": [JUDGED, JUDGED]}))


def test_predictions_are_read_with_the_dataset_next_to_them(tmp_path: Path) -> None:
    path = written(tmp_path / "predictions.json", PREDICTIONS)
    with pytest.raises(RunFileError, match=r"save the dataset as rag_dataset\.json"):
        read_runs(path)
    data_set = written(tmp_path / "rag_dataset.json", EXAMPLES)
    first, second = read_runs(path).runs[0].samples
    assert (first.question, first.answer, first.reference, first.reference_contexts) == ("Q1", "A1", "R1", ("gold",))
    assert second.contexts == ()
    assert [(sample.question, sample.answer) for sample in read_runs(data_set).runs[0].samples] == [
        ("Q1", None),
        ("Q2", None),
    ]
    written(data_set, {"examples": EXAMPLES["examples"][:1]})
    with pytest.raises(RunFileError, match=r"but rag_dataset.json in the same folder has 1 examples$"):
        read_runs(path)
    data_set.write_text("[", encoding="utf-8")
    with pytest.raises(RunFileError, match=r"rag_dataset.json: not JSON"):
        read_runs(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [("r.jsonl", RESPONSES), ("b.json", BATCH), ("d.json", EXAMPLES), ("predictions.json", PREDICTIONS)],
)
def test_a_file_with_a_part_missing_or_wrong_is_read_or_refused(tmp_path: Path, name: str, value: Any) -> None:
    written(tmp_path / "rag_dataset.json", EXAMPLES)
    check_broken(tmp_path / name, value)


def test_real_files_have_what_a_careful_reader_finds(data: Path) -> None:
    folder = data / "tools" / "llamaindex"
    runs = {path.stem: read_runs(path).runs[0] for path in folder.glob("*.json*")}
    assert len({tuple(sample.question for sample in run.samples) for run in runs.values()}) == 1
    assert {run.samples[1].answer for run in runs.values()} == {"Ada Moreno designed the bridge in 1990.", None}
    for name in ("responses", "responses_default_str"):
        passages = [passage for sample in runs[name].samples for passage in sample.contexts or ()]
        assert [(passage.id, passage.score) for passage in passages][::5] == [("d1", 0.91), ("d6", 0.77)]
        assert runs[name].samples[2].contexts == ()
    assert runs["predictions"].samples[1].reference == "Ada Moreno"
    scores = runs["batch_eval"].scores
    assert scores is not None
    assert len(scores.columns) == 3
