"""Tests of paths into objects and lists in a mapping."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.core.readers.conftest import Write

from ragboard import Passage, RunFileError, Turn, preview, read_runs
from ragboard.readers.objects import read_samples

ROWS = [
    {
        "inputs": {"messages": [{"role": "user", "content": "Hi"}, {"role": "user", "content": "When?"}]},
        "outputs": {
            "documents": [{"page_content": "In 2000.", "meta": {"tags": ["a", "b"]}}, {"page_content": "Red."}],
            "text": "In 2000.",
            "dotted.key": "R",
        },
    },
    {"inputs": {"messages": [{"role": "user", "content": "Who?"}]}, "outputs": {"documents": [], "text": None}},
]
JSONL = "".join(json.dumps(row) + "\n" for row in ROWS)
MAPPING: dict[str, str | None] = {
    "question": "inputs.messages[-1].content",
    "contexts": "outputs.documents[].page_content",
    "answer": "outputs.text",
    "reference": 'outputs["dotted.key"]',
}


def test_fields_are_read_from_paths(write: Write) -> None:
    result = read_runs(write("run.jsonl", JSONL), mapping=MAPPING)
    first, second = result.runs[0].samples
    assert (first.question, first.answer, first.reference) == ("When?", "In 2000.", "R")
    assert first.contexts == (Passage(id="1", text="In 2000.", rank=1), Passage(id="2", text="Red.", rank=2))
    assert (second.question, second.answer, second.contexts, second.reference) == ("Who?", None, (), None)
    fields = {use.column: use.field for use in result.report.columns}
    assert fields["outputs.documents[].page_content"] == "contexts"
    assert "kept as metadata: inputs, outputs" in result.report.notes
    assert [(change.what, change.lines) for change in result.report.coerced] == [
        ('outputs["dotted.key"]: no value', (2,))
    ]


def test_a_path_may_end_at_messages_or_documents(write: Write) -> None:
    mapping: dict[str, str | None] = {"question": "inputs.messages", "contexts": "outputs.documents"}
    (sample, _) = read_runs(write("run.jsonl", JSONL), mapping=mapping).runs[0].samples
    assert (sample.question, sample.history) == ("When?", (Turn(role="user", text="Hi"),))
    assert [passage.text for passage in sample.contexts or ()] == ["In 2000.", "Red."]


def test_lists_in_lists_become_one_and_items_without_the_key_are_left_out(write: Write) -> None:
    mapping = {**MAPPING, "contexts": "outputs.documents[].meta.tags[]"}
    (sample, _) = read_runs(write("run.jsonl", JSONL), mapping=mapping).runs[0].samples
    assert [passage.text for passage in sample.contexts or ()] == ["a", "b"]


def test_the_name_of_a_column_wins_over_a_path(write: Write) -> None:
    row = {"a": {"b": "path", "c": {"d": "short"}}, "a.b": "column", "a.c": {"d": "long"}, "question": "Q"}
    (sample,) = (
        read_runs(write("run.jsonl", json.dumps(row)), mapping={"answer": "a.b", "reference": "a.c.d"}).runs[0].samples
    )
    assert (sample.answer, sample.reference) == ("column", "long")


def test_json_in_the_cells_of_a_csv_is_followed(write: Write) -> None:
    text = 'q,out\nWhen?,"{""docs"": [{""text"": ""In 2000.""}]}"\n'
    (sample,) = (
        read_runs(write("run.csv", text), mapping={"question": "q", "contexts": "out.docs[].text"}).runs[0].samples
    )
    assert sample.contexts == (Passage(id="1", text="In 2000.", rank=1),)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "inputs.mesages[-1].content",
            ":1: no row has a value at the path 'inputs.mesages[-1].content': 'inputs' has messages",
        ),
        (
            "outputs.documents.page_content",
            ":1: no row has a value at the path 'outputs.documents.page_content': 'outputs.documents'"
            " is a list of 2 items: use [] for all, [0] for the first, [-1] for the last",
        ),
        (
            "outputs.documents[].text",
            ":1: no row has a value at the path 'outputs.documents[].text':"
            " 'outputs.documents[]' has page_content, meta",
        ),
        ("outputs.text.x", ":1: no row has a value at the path 'outputs.text.x': 'outputs.text' is a text"),
        (
            "inputs.messages[7]",
            ":1: no row has a value at the path 'inputs.messages[7]': 'inputs.messages' is a list of 2 items: "
            "use [] for all, [0] for the first, [-1] for the last",
        ),
        ("nix.messages", ": has no column 'nix.messages'; it has inputs, outputs"),
        ("inputs.", ": has no column 'inputs.'; it has inputs, outputs"),
        ("inputs[x]", ": has no column 'inputs[x]'; it has inputs, outputs"),
    ],
)
def test_a_path_that_leads_nowhere_says_where_it_ends(write: Write, path: str, message: str) -> None:
    file = write("run.jsonl", JSONL)
    for read in (read_runs, preview):
        with pytest.raises(RunFileError) as caught:
            read(file, mapping={"question": path})
        assert str(caught.value) == f"{file}{message}"


def test_rows_in_memory_are_mapped_by_paths_too() -> None:
    (run,) = read_samples(ROWS, name="run", mapping=MAPPING).runs
    assert [sample.question for sample in run.samples] == ["When?", "Who?"]


def test_a_tools_file_is_a_plain_table_where_a_path_leads_into_its_rows(tmp_path: Path) -> None:
    run: dict[str, Any] = {
        "run_type": "chain",
        "dotted_order": "a",
        "inputs": {"a": "Q", "b": {"c": "R"}},
        "outputs": {},
    }
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(run), encoding="utf-8")
    (sample,) = read_runs(path, mapping={"question": "inputs.b.c"}).runs[0].samples
    assert sample.question == "R"


def test_a_path_into_the_samples_of_a_tools_file_keeps_its_scores(tmp_path: Path) -> None:
    value = {
        "inputs": {"question": ["Q"], "predicted_answer": ["A"], "extra": [{"ticket": "T1"}]},
        "results": {"match": {"individual_scores": [1.0]}},
    }
    path = tmp_path / "e.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    (run,) = read_runs(path, mapping={"id": "metadata.extra.ticket"}).runs
    assert run.samples[0].id == "T1"
    assert run.scores is not None


def test_a_path_that_reaches_something_only_below_the_first_rows_is_no_error(write: Write) -> None:
    rows = [{"question": "Q"}, {"question": "Q", "out": {}}, {"question": "Q", "out": {"text": "A"}}]
    file = write("late.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    mapping: dict[str, str | None] = {"answer": "out.text"}
    assert len(preview(file, mapping=mapping, limit=1).rows) == 1
    (run,) = read_runs(file, mapping=mapping, limit=2).runs
    assert [sample.answer for sample in run.samples] == [None, None]
