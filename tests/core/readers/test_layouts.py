"""Tests of unusual layouts: a row for each passage, joined lists, gold passages, file names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner
from tests.core.readers.conftest import Write

from ragboard import Passage, RunFileError, RunFileWarning, Sample, evaluate, read_runs
from ragboard.cli import main
from ragboard.readers.objects import read_samples

PHOENIX = """context.span_id,document_position,context.trace_id,input,document,document_score,document_metadata
s1,1,t1,When?,second,0.44,"{'page': 4}"
s1,0,t1,When?,first,0.91,"{'page': 3}"
s2,0,t2,Who?,only,0.5,"{'page': 1}"
s3,0,t3,When?,another,,
"""


def texts(sample: Sample) -> list[str] | None:
    return None if sample.contexts is None else [passage.text for passage in sample.contexts]


def test_rows_of_one_span_are_one_sample_in_the_order_of_the_documents(write: Write) -> None:
    result = read_runs(write("documents.csv", PHOENIX))
    first, second, third = result.runs[0].samples
    assert first.contexts == (
        Passage(id="1", text="first", rank=1, score=0.91),
        Passage(id="2", text="second", rank=2, score=0.44),
    )
    assert (second.question, texts(second), third.question, texts(third)) == ("Who?", ["only"], "When?", ["another"])
    assert first.metadata == {"context.span_id": "s1", "context.trace_id": "t1"}
    assert (result.report.format, result.report.rows_read) == ("Phoenix retrieved documents (CSV)", 4)
    assert result.report.notes[:2] == (
        "4 rows, one for each passage, read as 3 samples",
        "dropped, because they differ between the passages of a sample: document_metadata",
    )


def test_a_frame_of_retrieved_documents_is_grouped_by_its_index(write: Write) -> None:
    frame = pd.read_csv(write("documents.csv", PHOENIX)).set_index(["context.span_id", "document_position"])
    found = read_samples(frame, name="run").runs[0].samples
    assert [texts(sample) for sample in found] == [["first", "second"], ["only"], ["another"]]
    old = frame.reset_index(drop=True).rename(columns={"document": "reference"})
    found = read_samples(old, name="run").runs[0].samples
    assert [(texts(sample), sample.reference) for sample in found] == [
        (["second", "first"], None),
        (["only"], None),
        (["another"], None),
    ]


@pytest.mark.parametrize("column", ["document", "reference"])
@pytest.mark.parametrize("output", [{}, {"output": "It is red."}])
def test_a_table_of_spans_without_traces_is_grouped_by_span(write: Write, column: str, output: dict[str, str]) -> None:
    rows = [
        {
            "context.span_id": f"s{span}",
            "document_position": place,
            "input": f"Question {span}?",
            column: f"Text {place} of {span}.",
            "document_score": 1 - place / 2,
            **output,
        }
        for place in (1, 0)
        for span in range(6)
    ]
    result = read_runs(write("documents.csv", pd.DataFrame(rows).to_csv(index=False)))
    found = result.runs[0].samples
    assert result.report.format == "Phoenix retrieved documents (CSV)"
    assert [(texts(sample), sample.reference, sample.answer) for sample in found] == [
        ([f"Text 0 of {span}.", f"Text 1 of {span}."], None, output.get("output")) for span in range(6)
    ]
    assert [passage.score for passage in found[0].contexts or ()] == [1.0, 0.5]


def test_a_reference_next_to_the_documents_of_spans_stays_the_reference(write: Write) -> None:
    text = "context.span_id,document_position,question,document,reference\ns1,0,Q,first,R\ns1,1,Q,second,R\n"
    (sample,) = read_runs(write("documents.csv", text)).runs[0].samples
    assert (texts(sample), sample.reference) == (["first", "second"], "R")


def test_a_bad_row_among_the_passages_is_left_out_by_its_line(write: Write) -> None:
    result = read_runs(write("documents.csv", PHOENIX + "s3,too few\n"), skip_bad=True)
    assert ([note.line for note in result.report.dropped], len(result.runs[0].samples)) == ([6], 3)


def test_rows_of_one_sample_that_ask_different_things_are_rejected(write: Write) -> None:
    with pytest.raises(RunFileError, match=r"documents\.csv:2: question: column 'input' has several values in"):
        read_runs(write("documents.csv", PHOENIX.replace("s1,0,t1,When?", "s1,0,t1,Where?")))


@pytest.mark.parametrize(("name", "samples"), [("phoenix/retrieved_documents.csv", 3), ("openrageval/answers.csv", 4)])
def test_real_tables_with_a_row_for_each_passage_have_a_sample_for_each_question(
    data: Path, name: str, samples: int
) -> None:
    found = read_runs(data / "tools" / name).runs[0].samples
    assert len(found) == samples
    assert texts(found[1]) == [
        "The design is by Ada Moreno.\nShe worked from 1994, in Lyon.",
        "Contents of menu: ['soup', 'bread']",
        "Ünïcode — 東京 passage",
    ]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_the_joined_passages_of_deepeval_are_split_where_there_is_no_doubt(write: Write, ending: str) -> None:
    rows = [
        {
            "input": "Q",
            "actual_output": "A",
            "retrieval_context": "one|two, and more|three",
            "context": "gold a|gold b",
        },
        {"input": "Q2", "actual_output": "A", "retrieval_context": "alone", "context": None},
    ]
    frame = pd.DataFrame(rows)
    text = frame.to_csv(index=False) if ending == "csv" else frame.to_json(orient="records", lines=True)
    result = read_runs(write(f"goldens.{ending}", text))
    first, second = result.runs[0].samples
    assert (texts(first), first.reference_contexts) == (["one", "two, and more", "three"], ("gold a", "gold b"))
    assert (texts(second), second.reference_contexts) == (["alone"], None)
    assert {"contexts: split at |", "reference_contexts: split at |"} <= {
        change.what for change in result.report.coerced
    }


@pytest.mark.parametrize("cell", ["one|steel | concrete", "| a | b |", "a||b", "a|"])
def test_joined_passages_that_may_hold_the_sign_themselves_are_rejected(write: Write, cell: str) -> None:
    path = write("goldens.jsonl", json.dumps({"input": "Q", "actual_output": "A", "retrieval_context": cell}))
    with pytest.raises(
        RunFileError,
        match=r"goldens\.jsonl:1: contexts: has passages joined by \|, and one may .*save the file",
    ):
        read_runs(path)


def test_a_list_of_deepeval_is_never_split(write: Write) -> None:
    row = {"input": "Q", "actual_output": "A", "retrieval_context": ["one|two"], "context": '["a|b"]'}
    (sample,) = read_runs(write("cases.json", json.dumps([row]))).runs[0].samples
    assert (texts(sample), sample.reference_contexts) == (["one|two"], ("a|b",))


def test_a_real_csv_of_deepeval_is_rejected_with_what_to_save_instead(data: Path) -> None:
    with pytest.raises(RunFileError, match=r"goldens\.csv:2: contexts: .*save the file as JSON .*`save_as\('json'\)`"):
        read_runs(data / "tools" / "deepeval" / "goldens.csv")


def test_the_gold_passages_of_a_ragas_test_set_are_not_taken_for_the_retrieved_ones(write: Write) -> None:
    row = {"question": "Q", "contexts": ["gold"], "ground_truth": "R", "evolution_type": "simple"}
    (sample,) = read_runs(write("testset.jsonl", json.dumps(row))).runs[0].samples
    assert (sample.contexts, sample.reference_contexts, sample.reference) == (None, ("gold",), "R")
    (mapped,) = read_runs(write("mapped.jsonl", json.dumps(row)), mapping={"contexts": "contexts"}).runs[0].samples
    assert texts(mapped) == ["gold"]


NAMES = [
    "handbook.pdf",
    "docs/faq 2.md",
    "/data/a/b.txt",
    "C:\\files\\x.docx",
    "https://example.org/page?x=1",
    "www.example.org/a",
    "handbook.pdf#page=3",
    "My Handbook (2024).pdf",
    "annual report, final.xlsx",
    "docs/handbook_v2",
    "C:\\files\\handbook",
]


@pytest.mark.parametrize("value", NAMES)
def test_the_name_of_a_file_is_not_a_passage(write: Write, tmp_path: Path, value: str) -> None:
    rows: list[dict[str, Any]] = [{"question": "Q", "answer": "It is red.", "document": value}]
    path = write("names.jsonl", "\n".join(map(json.dumps, rows)))
    words = ["evaluate", str(path), "--metrics", "faithfulness", "--store", str(tmp_path / "store")]
    done = CliRunner().invoke(main, words, catch_exceptions=False)
    assert done.exit_code == 2
    assert "contexts: column 'document' has file names or URLs" in done.stderr
    assert "--map contexts=" in done.stderr
    assert CliRunner().invoke(main, [*words, "--map", "contexts="]).exit_code != 2
    with pytest.raises(RunFileError, match=r"import the run without passages: mapping=\{'contexts': None\}"):
        evaluate(rows)


@pytest.mark.parametrize("value", ["My Handbook (2024).pdf", "docs/handbook_v2", "handbook"])
def test_the_name_of_a_document_is_not_a_passage(value: str) -> None:
    with pytest.raises(RunFileError, match=rf"contexts: column 'contexts' has file names .*'{re.escape(value)}'"):
        read_samples([{"question": "Q", "contexts": [{"document": value}]}], name="run")


@pytest.mark.parametrize(
    "passage",
    [
        "handbook",
        {"text": "Paris"},
        {"content": "Paris"},
        {"document": "The bridge is red."},
        "The bridge is red. See handbook.pdf",
        "It is told here: handbook.pdf",
        "The deck is made of steel/concrete.",
        "3/4",
        "N/A",
    ],
)
def test_a_short_text_is_a_passage(passage: Any) -> None:
    result = read_samples([{"question": "Q", "contexts": [passage]}], name="run")
    assert not [change for change in result.report.coerced if "file name" in change.what]


def test_names_of_files_among_texts_are_reported(write: Write) -> None:
    passages = ["The bridge is red.", "It is all in one file: handbook.pdf", "handbook.pdf"]
    result = read_runs(write("names.jsonl", json.dumps({"question": "Q", "contexts": passages})))
    assert texts(result.runs[0].samples[0]) == passages
    (change,) = result.report.coerced
    assert change.what == "contexts: passage is a file name or a URL, not text"
    with pytest.warns(RunFileWarning, match=r"1 x contexts: passage is a file name"):
        evaluate([{"question": "Q", "answer": "A.", "contexts": passages}], metrics="faithfulness")
