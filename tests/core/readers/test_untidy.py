"""Tests of the import report: every count and line is right, with one untidy file for each format."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from tests.core.readers.conftest import Write

from ragboard import RunFileError, Sample, read_runs
from ragboard.readers import Coerced, ColumnUse, DroppedRow, Renamed

JSONL = r"""{"run": {"name": "mine", "config": {"t": NaN}, "colour": "red"}}

{"id": "a", "question": "Q1", "answer": 42, "contexts": "one text", "x": null}
{"id": "a", "question": "Q2", "answer": "", "contexts": ["p", null, null, {"text": "q", "page": 3, "score": "high"}]}
{"id": "a#2", "question": "Q3", "answer": null, "contexts": "['p', 'q']", "x": [NaN, 1e999, -Infinity]}
not json
{"id": null, "question": "Q4 \ud800", "answer": "A\u0000", "contexts": [], "history": "Hello"}
{"id": "b", "question": "Q5", "answer": 4, "contexts": [true]}
["a list"]
{"id": "a", "question": "Q6", "contexts": [5], "history": [{"role": "oracle", "content": "hm"}]}
{"id": "c", "question": "", "answer": 1}
{"id": "d", "question": "Q7", "answer": ["A"]}
"""


def test_untidy_jsonl(write: Write) -> None:
    result = read_runs(write("untidy.jsonl", JSONL), skip_bad=True)
    report = result.report
    assert (report.path, report.format, report.encoding) == ("untidy.jsonl", "ragboard (JSONL)", "utf-8")
    assert report.rows_read == 10
    assert report.columns == (
        ColumnUse(column="id", field="id"),
        ColumnUse(column="question", field="question"),
        ColumnUse(column="answer", field="answer"),
        ColumnUse(column="contexts", field="contexts"),
        ColumnUse(column="x", field=None),
        ColumnUse(column="history", field="history"),
    )
    assert report.dropped == (
        DroppedRow(line=6, field=None, message="not JSON (Expecting value at column 1)"),
        DroppedRow(line=8, field="contexts", message="got a boolean, expected text"),
        DroppedRow(line=9, field=None, message="got a list, expected an object with the fields of a sample"),
        DroppedRow(line=11, field="question", message="is empty, expected a question"),
        DroppedRow(line=12, field="answer", message="got a list, expected text"),
    )
    assert report.coerced == (
        Coerced(what="NaN or infinity read as missing", count=4, lines=(1, 5)),
        Coerced(what="run: 'colour' left out", count=1, lines=(1,)),
        Coerced(what="answer: number read as text", count=1, lines=(3,)),
        Coerced(what="contexts: single text read as a list", count=1, lines=(3,)),
        Coerced(what="contexts: null dropped", count=2, lines=(4,)),
        Coerced(what="contexts: 'page' of a passage dropped", count=1, lines=(4,)),
        Coerced(what="contexts: 'score' of a passage dropped", count=1, lines=(4,)),
        Coerced(what="contexts: list parsed from text", count=1, lines=(5,)),
        Coerced(what="half a character (lone surrogate) replaced", count=1, lines=(7,)),
        Coerced(what="history: single text read as a list", count=1, lines=(7,)),
        Coerced(what="contexts: number read as text", count=1, lines=(10,)),
        Coerced(what="history: message with an unknown role read as the user's", count=1, lines=(10,)),
    )
    assert report.duplicated == (
        Renamed(line=4, given="a", assigned="a#2"),
        Renamed(line=5, given="a#2", assigned="a#2#2"),
        Renamed(line=10, given="a", assigned="a#3"),
    )
    assert report.notes == (
        "no reference found in the file",
        "kept as metadata: x",
        "1 sample without an id: its id is derived from its question",
    )
    (run,) = result.runs
    assert run.config == {"t": None}
    assert [(sample.question, sample.answer) for sample in run.samples] == [
        ("Q1", "42"),
        ("Q2", ""),
        ("Q3", None),
        ("Q4 ?", "A\0"),
        ("Q6", None),
    ]
    assert [_texts(sample) for sample in run.samples] == [["one text"], ["p", "q"], ["p", "q"], [], ["5"]]
    assert run.samples[2].metadata == {"x": [None, None, None]}


JSON = r"""{
  "metrics": {"overall": {"results": [1, 2]}},
  "results": [
    {"query_id": "0", "query": "Q [0]", "retrieved_context": [{"text": "p"}]},
    {"query_id": "0", "query": "Q1",
     "retrieved_context": {"text": "p"}}, {"query_id": "1", "query": 7, "retrieved_context": null},
    "results",
    {"query_id": ["2"], "query": "Q3"},

    {"query_id": "4", "query": "Q4",
     "retrieved_context": [{"doc_id": "d"}]}
  ]
}
"""


def test_untidy_json(write: Write) -> None:
    result = read_runs(write("untidy.json", JSON), skip_bad=True)
    report = result.report
    assert (report.format, report.rows_read) == ("RAGChecker input (JSON)", 6)
    assert report.dropped == (
        DroppedRow(line=7, field="results[3]", message="got a text, expected an object with the fields of a sample"),
        DroppedRow(line=8, field="results[4].id", message="got a list or an object, expected text or a number"),
        DroppedRow(
            line=10,
            field="results[5].contexts",
            message="passage 1 has no text, expected one of text, page_content, content, passage, document",
        ),
    )
    assert report.coerced == (
        Coerced(what="contexts: single passage read as a list", count=1, lines=(5,)),
        Coerced(what="question: number read as text", count=1, lines=(6,)),
    )
    assert report.duplicated == (Renamed(line=5, given="0", assigned="0#2"),)
    assert [_texts(sample) for sample in result.runs[0].samples] == [["p"], ["p"], None]


def test_untidy_json_of_columns_counts_rows(write: Write) -> None:
    text = '{"question": {"3": "Q1", "7": null, "9": "Q3"},\n "answer": {"3": NaN, "7": "A", "9": 2.5}}'
    report = read_runs(write("untidy.json", text), skip_bad=True).report
    assert (report.format, report.rows_read) == ("table (JSON)", 3)
    assert report.dropped == (DroppedRow(line=2, field="question", message="is empty, expected a question"),)
    assert report.coerced == (
        Coerced(what="NaN or infinity read as missing", count=1, lines=(1,)),
        Coerced(what="answer: number read as text", count=1, lines=(3,)),
    )


CSV = (
    ",question,answer,contexts,reference,score\r\n"
    "0,\"Q1,\r\nstill Q1\",A1,\"['p', 'q']\",[1] A book,0.5\r\n"
    "\r\n"
    '1,Q2,,"[\'p\'\r\n ""it\'s\\n""]",,nan\r\n'
    "2,Q3,A3\r\n"
    ",,,,,\r\n"
    "3,,A4,,,\r\n"
    "4,Q5,NaN,plain passage,\"['R', 'S']\",NaN\r\n"
    '5,Q6,A6,"[""p"", NaN]",too,wide,a row\r\n'
    '6,"Q7","A ""7""","[""p"", NaN]",," 1"\r\n'
)


@pytest.mark.parametrize(("name", "kind"), [("untidy.csv", "CSV"), ("untidy.tsv", "TSV")])
def test_untidy_csv(write: Write, name: str, kind: str) -> None:
    text = CSV if kind == "CSV" else _with_tabs(CSV)
    report = (result := read_runs(write(name, text), skip_bad=True)).report
    assert (report.format, report.rows_read) == (f"table ({kind})", 7)
    assert [(use.column, use.field) for use in report.columns] == [
        ("column 1", None),
        ("question", "question"),
        ("answer", "answer"),
        ("contexts", "contexts"),
        ("reference", "reference"),
        ("score", None),
    ]
    assert report.dropped == (
        DroppedRow(line=7, field=None, message="got 3 cells, expected 6 as in the header"),
        DroppedRow(line=9, field="question", message="is empty, expected a question"),
        DroppedRow(line=11, field=None, message="got 7 cells, expected 6 as in the header"),
    )
    assert report.coerced == (
        Coerced(what="NaN or infinity read as missing", count=4, lines=(5, 10, 12)),
        Coerced(what="contexts: single text read as a list", count=1, lines=(10,)),
        Coerced(what="reference: only the first of several was read", count=1, lines=(10,)),
        Coerced(what="contexts: null dropped", count=1, lines=(12,)),
    )
    samples = result.runs[0].samples
    assert samples[0].question == "Q1,\r\nstill Q1"
    assert [sample.answer for sample in samples] == ["A1", None, None, 'A "7"']
    assert [sample.reference for sample in samples] == ["[1] A book", None, "R", None]
    assert [_texts(sample) for sample in samples] == [["p", "q"], ["p", "it's\n"], ["plain passage"], ["p"]]
    assert [dict(sample.metadata) for sample in samples] == [
        {"column 1": 0, "score": 0.5},
        {"column 1": 1},
        {"column 1": 4},
        {"column 1": 6, "score": " 1"},
    ]


def test_untidy_parquet(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "id": [1.0, 1.0, float("nan"), 2.0],
            "question": ["Q1", "Q2", "Q3", None],
            "contexts": [["p"], ["q", None], None, []],
            "score": [float("inf"), 1.0, float("nan"), 2.0],
        }
    )
    frame.to_parquet(tmp_path / "untidy.parquet")
    report = (result := read_runs(tmp_path / "untidy.parquet", skip_bad=True)).report
    assert (report.encoding, report.rows_read) == ("binary", 4)
    assert report.dropped == (DroppedRow(line=4, field="question", message="is empty, expected a question"),)
    assert report.coerced == (
        Coerced(what="NaN or infinity read as missing", count=1, lines=(1,)),
        Coerced(what="contexts: null dropped", count=1, lines=(2,)),
    )
    assert report.duplicated == (Renamed(line=2, given="1.0", assigned="1.0#2"),)
    assert [_texts(sample) for sample in result.runs[0].samples] == [["p"], ["q"], None]


def test_rows_without_a_run_are_left_out(write: Write) -> None:
    path = write("all.csv", "model,question\na,Q1\n,Q2\nb,Q3\n")
    result = read_runs(path, run_column="model", skip_bad=True)
    assert [run.name for run in result.runs] == ["a", "b"]
    assert [(note.line, note.field) for note in result.report.dropped] == [(3, "model")]
    with pytest.raises(RunFileError, match=r"all\.csv:3: model: is empty or a list, expected the name of a run$"):
        read_runs(path, run_column="model")


def _texts(sample: Sample) -> list[str] | None:
    return None if sample.contexts is None else [passage.text for passage in sample.contexts]


def _with_tabs(text: str) -> str:
    """The same table with tabs between its cells: commas inside quotes and inside rows stay where they are."""
    import csv
    import io

    out = io.StringIO(newline="")
    for row in csv.reader(io.StringIO(text, newline="")):
        csv.writer(out, delimiter="\t", lineterminator="\r\n").writerow(row)
    return out.getvalue()
