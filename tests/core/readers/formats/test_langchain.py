"""Tests of LangChain's chains, traced runs and graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.core.readers.formats.broken import check_broken, written

from ragboard import Passage, RunFileError, Turn, read_runs

FIELDS = {"page_content": "It's red.", "metadata": {"page": 2, "score": 0.5}}
DOCUMENTS: dict[str, Any] = {
    "plain": {**FIELDS, "id": "d1", "type": "Document"},
    "dumps": {"lc": 1, "type": "constructor", "id": ["langchain", "Document"], "kwargs": {**FIELDS, "id": "d1"}},
    "printed": "page_content='It's red.' metadata={'page': 2, 'score': 0.5}",
}
SAID = [
    {"lc": 1, "type": "constructor", "id": ["HumanMessage"], "kwargs": {"type": "human", "content": "Hello"}},
    {"type": "ai", "data": {"content": "Hi"}},
]
CHAIN = [{"input": "Which?", "chat_history": SAID, "context": [DOCUMENTS["plain"]], "answer": "Red.", "k": 3}]
QA = [{"query": "Which?", "result": "Red.", "source_documents": [DOCUMENTS["dumps"]], "answer": "Red"}]
RUN = {
    "id": "r1",
    "name": "rag",
    "run_type": "chain",
    "inputs": {"question": "Which?"},
    "outputs": {"output": "Red."},
    "start_time": "2026-01-02T03:04:05.000000Z",
    "end_time": "2026-01-02T03:04:06.500000Z",
    "dotted_order": "2026a",
    "trace_id": "r1",
    "parent_run_id": None,
    "session_name": "night run",
    "extra": {"metadata": {"session_id": "s"}, "runtime": {"platform": "secret"}},
    "error": None,
    "tags": [],
}
CHILD = {
    **RUN,
    "id": "r2",
    "parent_run_id": "r1",
    "run_type": "retriever",
    "dotted_order": "2026a.b",
    "outputs": {"documents": [DOCUMENTS["plain"]]},
}
FAILED = {**RUN, "id": "r0", "trace_id": "r0", "dotted_order": "2025z", "outputs": None, "error": "Timeout"}
RUNS = [RUN, CHILD, FAILED]
STATES = [
    {
        "messages": [
            *SAID,
            {"type": "human", "content": "Which?"},
            {"type": "ai", "content": "", "tool_calls": [{"name": "search"}]},
            {"type": "tool", "content": "It's red.", "artifact": [DOCUMENTS["plain"]]},
            {"type": "ai", "content": "Red."},
        ]
    }
]


@pytest.mark.parametrize("form", DOCUMENTS)
def test_a_chains_documents_are_passages(tmp_path: Path, form: str) -> None:
    rows = [{**CHAIN[0], "context": [DOCUMENTS[form]]}, {**CHAIN[0], "input": "Why?", "context": []}]
    result = read_runs(written(tmp_path / "c.jsonl", rows))
    first, second = result.runs[0].samples
    assert result.report.format == "LangChain retrieval chain (JSONL)"
    assert (first.question, first.answer, first.metadata) == ("Which?", "Red.", {"k": 3})
    assert first.history == (Turn(role="user", text="Hello"), Turn(role="assistant", text="Hi"))
    assert first.contexts == (Passage(id="1" if form == "printed" else "d1", text="It's red.", rank=1, score=0.5),)
    assert second.contexts == ()


def test_a_printed_document_that_may_be_another_is_rejected(tmp_path: Path) -> None:
    cut = "page_content='a' metadata={}' metadata={'x': 1}"
    with pytest.raises(RunFileError, match=r"passage 2 is the str\(\) of a LangChain document, and the end"):
        read_runs(written(tmp_path / "c.jsonl", [{**CHAIN[0], "context": [DOCUMENTS["printed"], cut]}]))


def test_the_gold_answer_of_an_evaluation_is_the_reference(tmp_path: Path) -> None:
    (sample,) = read_runs(written(tmp_path / "q.json", QA)).runs[0].samples
    assert (sample.answer, sample.reference) == ("Red.", "Red")
    assert sample.contexts == (Passage(id="d1", text="It's red.", rank=1, score=0.5),)


def test_a_root_run_is_a_sample_with_what_its_retriever_found(tmp_path: Path) -> None:
    result = read_runs(written(tmp_path / "r.jsonl", RUNS))
    (run,) = result.runs
    failed, sample = run.samples
    assert run.name == "night run"
    assert (sample.id, sample.question, sample.answer) == ("r1", "Which?", "Red.")
    assert sample.contexts == (Passage(id="d1", text="It's red.", rank=1, score=0.5),)
    assert sample.metadata == {"session_id": "s", "latency_s": 1.5}
    assert str(sample.time) == "2026-01-02 03:04:05"
    assert (failed.answer, failed.contexts) == (None, None)
    assert failed.metadata["error"] == "Timeout"


def test_several_texts_of_a_run_are_asked_for(tmp_path: Path) -> None:
    run = {**RUN, "inputs": {"a": "Which?", "b": "Where?"}}
    with pytest.raises(RunFileError, match=r"\[0\]\.inputs: has 'a', 'b', expected one text or input or question"):
        read_runs(written(tmp_path / "r.jsonl", [run]))
    with pytest.raises(RunFileError, match="has only inner runs"):
        read_runs(written(tmp_path / "r.jsonl", [CHILD]))


def test_a_graphs_messages_are_question_history_and_answer(tmp_path: Path) -> None:
    (sample,) = read_runs(written(tmp_path / "s.jsonl", STATES)).runs[0].samples
    assert (sample.question, sample.answer) == ("Which?", "Red.")
    assert [turn.text for turn in sample.history] == ["Hello", "Hi"]
    assert sample.contexts == (Passage(id="d1", text="It's red.", rank=1, score=0.5),)


@pytest.mark.parametrize(("name", "value"), [("c.jsonl", CHAIN), ("q.json", QA), ("r.jsonl", RUNS), ("s.json", STATES)])
def test_a_file_with_a_part_missing_or_wrong_is_read_or_refused(tmp_path: Path, name: str, value: Any) -> None:
    check_broken(tmp_path / name, value)


def test_real_files_have_what_a_careful_reader_finds(data: Path) -> None:
    folder = data / "tools" / "langchain"
    runs = {path.stem: read_runs(path).runs[0] for path in folder.glob("*.json*")}
    assert len({tuple((sample.question, sample.answer) for sample in run.samples) for run in runs.values()}) == 1
    for name in ("retrieval_chain_dumps", "retrieval_chain_default_str", "retrieval_qa", "runs"):
        contexts = [sample.contexts for sample in runs[name].samples]
        assert [[passage.score for passage in one or ()] for one in contexts] == [
            [0.91, 0.44],
            [0.83, 0.21, 0.11],
            [],
            [0.77],
        ]
        assert contexts[2] == ()
