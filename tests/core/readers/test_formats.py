"""Tests of files as ragas, RAGChecker, pandas and ragboard write them."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.core.readers.conftest import Write

from ragboard import Passage, Run, RunFileError, Sample, SettingError, Turn, preview, read_runs
from ragboard.sample_files import sample_folder

FULL = Sample(
    id="a/b#2",
    question="Where?",
    answer="Here.",
    contexts=(Passage(id="p", text="Here\0 it is.", rank=1, score=0.5), Passage(id="2", text="", rank=2)),
    reference="There.",
    reference_contexts=("one", "two"),
    history=(Turn(role="user", text="Hello"), Turn(role="assistant", text="Hello!")),
    metadata={"topic": "places", "nested": {"a": [1, True, 10**30]}},
)
BARE = Sample(id="bare", question="Why?", answer="", contexts=())
RUN = Run(name="mine", samples=(FULL, BARE), config={"k": 5}, dataset="set", tags=("one",), source="runs.x")


def jsonl(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def said_of(run: Run) -> dict[str, Any]:
    return {"run": {"name": run.name, "config": run.config, "dataset": run.dataset, "tags": run.tags}}


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_our_own_format_comes_back_as_it_was(write: Write, ending: str) -> None:
    rows = [asdict(sample) for sample in RUN.samples]
    for row in rows:
        del row["reference_note"]  # said by the dataset, not by a file
    text = jsonl(said_of(RUN), *rows) if ending == "jsonl" else json.dumps({**said_of(RUN), "samples": rows}, indent=1)
    result = read_runs(write(f"runs.{ending}", text))
    (run,) = result.runs
    assert run.samples == RUN.samples
    assert (run.name, run.config, run.dataset, run.tags) == ("mine", {"k": 5}, "set", ("one",))
    assert result.report.format == f"ragboard ({ending.upper()})"
    assert (result.report.coerced, result.report.dropped, result.report.duplicated) == ((), (), ())


@pytest.mark.parametrize(
    ("columns", "format_name"),
    [
        (("question", "answer", "contexts", "ground_truths"), "ragas 0.0 (JSONL)"),
        (("question", "answer", "contexts", "ground_truth"), "ragas 0.1 (JSONL)"),
        (("user_input", "response", "retrieved_contexts", "reference"), "ragas 0.2 or later (JSONL)"),
        (("Query", "Response", "retrieved context", "gt-answer"), "table (JSONL)"),
    ],
)
def test_the_columns_of_every_ragas_are_known(write: Write, columns: tuple[str, ...], format_name: str) -> None:
    reference = ["gold", "other"] if columns[3] == "ground_truths" else "gold"
    row = dict(zip(columns, ("Q?", "A.", ["p1", "p2"], reference), strict=True))
    result = read_runs(write("ragas.jsonl", jsonl(row)))
    (sample,) = result.runs[0].samples
    assert (sample.question, sample.answer, sample.reference) == ("Q?", "A.", "gold")
    assert sample.contexts == (Passage(id="1", text="p1", rank=1), Passage(id="2", text="p2", rank=2))
    assert result.report.format == format_name
    assert [use.field for use in result.report.columns] == ["question", "answer", "contexts", "reference"]
    assert {change.what for change in result.report.coerced} == (
        {"reference: only the first of several was read"} if columns[3] == "ground_truths" else set()
    )


MESSAGES = [
    {"content": "Be brief.", "type": "system"},
    {"content": "Hi", "type": "human"},
    {"content": "Hello", "type": "ai"},
    {"content": "Where?", "type": "human"},
]


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_of_a_list_of_messages_the_last_of_the_user_is_the_question(write: Write, ending: str) -> None:
    text = jsonl({"user_input": MESSAGES, "response": "Here."}) if ending == "jsonl" else _csv(MESSAGES)
    (sample,) = read_runs(write(f"chat.{ending}", text)).runs[0].samples
    assert (sample.question, sample.answer) == ("Where?", "Here.")
    assert [turn.role for turn in sample.history] == ["system", "user", "assistant"]


def _csv(messages: list[dict[str, str]]) -> str:
    return pd.DataFrame({"user_input": [messages], "response": ["Here."]}).to_csv(index=False)


def test_the_reply_that_ends_a_conversation_is_the_answer_where_there_is_no_other(write: Write) -> None:
    talk = [*MESSAGES, {"content": "Over there.", "type": "ai"}]
    result = read_runs(write("chat.jsonl", jsonl({"user_input": talk}, {"user_input": talk, "response": "Here."})))
    assert [sample.answer for sample in result.runs[0].samples] == ["Over there.", "Here."]
    assert [(change.what, change.lines) for change in result.report.coerced] == [
        ("answer: read from the last reply of the conversation", (1,)),
        ("question: later messages dropped", (2,)),
    ]


@pytest.mark.parametrize("key", ["results", "input_data"])
def test_ragchecker_without_query_or_document_ids_is_read(write: Write, key: str) -> None:
    row = {
        "query_id": None,
        "query": "Q?",
        "gt_answer": "gold",
        "response": "A.",
        "retrieved_context": [{"doc_id": "d", "text": "p"}, {"doc_id": None, "text": "q"}, {"text": "r"}],
    }
    checked = {**row, "response_claims": [["s", "p", "o"]], "metrics": {"precision": 0.5}, "answer2response": None}
    result = read_runs(write("checked.json", json.dumps({key: [checked], "metrics": {"overall": {}}})))
    (sample,) = result.runs[0].samples
    assert [passage.id for passage in sample.contexts or ()] == ["d", "2", "3"]
    assert sample.metadata == {"response_claims": [["s", "p", "o"]]}
    assert len(sample.id) == 12
    assert result.report.format == "RAGChecker output (JSON)"
    assert "1 sample without an id: its id is derived from its question" in result.report.notes
    assert read_runs(write("in.json", json.dumps({key: [row]}))).report.format == "RAGChecker input (JSON)"


FRAME = pd.DataFrame(
    {"question": ["Q1", "Q2"], "answer": ["A1", None], "contexts": [["p", "it's"], []], "tokens": [3, 4]}
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("records.json", FRAME.to_json(orient="records")),
        ("columns.json", FRAME.to_json(orient="columns")),
        ("lists.json", json.dumps(FRAME.to_dict(orient="list"))),
        ("lines.jsonl", FRAME.to_json(orient="records", lines=True)),
        ("lines.json", FRAME.to_json(orient="records", lines=True)),
        ("table.csv", FRAME.to_csv(index=False)),
        ("table.tsv", FRAME.to_csv(index=False, sep="\t")),
        ("numpy.csv", 'question,answer,contexts,tokens\nQ1,A1,"[\'p\' ""it\'s""]",3\nQ2,,[],4\n'),
        ("json.csv", 'question,answer,contexts,tokens\nQ1,A1,"[""p"", ""it\'s""]",3\nQ2,,[],4\n'),
    ],
)
def test_a_table_is_the_same_however_it_is_written(write: Write, name: str, text: str) -> None:
    first, second = read_runs(write(name, text)).runs[0].samples
    assert (first.question, first.answer, first.metadata) == ("Q1", "A1", {"tokens": 3})
    assert first.contexts == (Passage(id="1", text="p", rank=1), Passage(id="2", text="it's", rank=2))
    assert (second.answer, second.contexts, second.metadata) == (None, (), {"tokens": 4})


def test_parquet_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "model=x"
    folder.mkdir()
    frame = FRAME.assign(score=[1.5, float("nan")], raw=[b"\xffa", None], day=pd.Timestamp("2024-05-01"))
    frame.to_parquet(folder / "run.parquet")
    result = read_runs(folder / "run.parquet")
    first, second = result.runs[0].samples
    assert first.contexts == (Passage(id="1", text="p", rank=1), Passage(id="2", text="it's", rank=2))
    assert first.metadata == {"tokens": 3, "score": 1.5, "raw": "\ufffda", "day": "2024-05-01 00:00:00"}
    assert second.metadata == {"tokens": 4, "day": "2024-05-01 00:00:00"}
    assert result.report.format == "table (Parquet)"
    assert {change.what for change in result.report.coerced} == {"bytes read as text"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json"])
def test_encodings_and_line_ends_do_not_matter(write: Write, name: str, newline: str, encoding: str) -> None:
    texts = {
        "a.csv": 'question,answer\n"Où,\nça?",Là 😀\nQ2,\u0a05\n',
        "a.jsonl": jsonl({"question": "Où,\nça?", "answer": "Là 😀"}, {"question": "Q2", "answer": "\u0a05"}),
        "a.json": '[{"question": "Où,\\nça?",\n"answer": "Là 😀"},\n{"question": "Q2", "answer": "\u0a05"}]\n',
    }
    bom = "\ufeff" if encoding in ("utf-16-le", "utf-16-be") else ""
    result = read_runs(write(name, (bom + texts[name].replace("\n", newline)).encode(encoding)))
    first, second = result.runs[0].samples
    assert first.question.replace("\r\n", "\n") == "Où,\nça?"
    assert (first.answer, second.answer) == ("Là 😀", "\u0a05")
    assert result.report.encoding == ("utf-16" if encoding.startswith("utf-16") else encoding)


def test_a_column_can_tell_the_runs_apart(write: Write) -> None:
    path = write("all.csv", "model,question,k\nb,Q1,1\na,Q1,2\nb,Q1,3\n")
    result = read_runs(path, run_column="model", config={"k": 5}, dataset="d")
    assert [(run.name, run.config, run.dataset) for run in result.runs] == [
        ("b", {"k": 5, "model": "b"}, "d"),
        ("a", {"k": 5, "model": "a"}, "d"),
    ]
    assert [sample.metadata for run in result.runs for sample in run.samples] == [{"k": 1}, {"k": 3}, {"k": 2}]
    assert result.runs[0].samples[0].id == result.runs[1].samples[0].id
    assert [use.field for use in result.report.columns] == ["run", "question", None]
    assert [run.name for run in read_runs(path, run_column="model", name="x").runs] == ["x/b", "x/a"]


def test_the_name_is_the_one_given_then_the_files_own_then_the_files_name(write: Write) -> None:
    own = write("stem.jsonl", jsonl(said_of(RUN), {"question": "Q"}))
    assert read_runs(own, name="given", config={"k": 6}).runs[0].name == "given"
    assert read_runs(own, config={"top": 1}).runs[0].config == {"k": 5, "top": 1}
    assert read_runs(own).runs[0].name == "mine"
    assert read_runs(write("stem.json", jsonl([{"question": "Q"}]))).runs[0].name == "stem"
    assert read_runs(write("blank.jsonl", jsonl({"run": {"name": " "}}, {"question": "Q"}))).runs[0].name == "blank"


def test_a_mapping_says_which_column_is_which(write: Write) -> None:
    path = write("odd.csv", "frage,question,antwort\nQ,other,A\n")
    (sample,) = read_runs(path, mapping={"question": "frage", "answer": "antwort"}).runs[0].samples
    assert (sample.question, sample.answer, sample.metadata) == ("Q", "A", {"question": "other"})
    with pytest.raises(RunFileError, match=r"has no column 'nix'; it has frage, question, antwort$"):
        read_runs(path, mapping={"question": "nix"})
    with pytest.raises(SettingError, match="a sample has no field 'frage'; it has id, question, answer"):
        read_runs(path, mapping={"frage": "question"})


def test_the_right_passages_of_deepeval_are_not_taken_for_the_retrieved_ones(write: Write) -> None:
    row = {"input": "Q", "actual_output": "A", "context": ["right"], "retrieval_context": ["found"]}
    camel = {"input": "Q", "actualOutput": "A", "expectedOutput": "R", "context": ["right"]}
    for name, case in {"snake": row, "camel": {**camel, "retrievalContext": ["found"]}}.items():
        (sample,) = read_runs(write(f"{name}.json", json.dumps([case]))).runs[0].samples
        assert (sample.answer, sample.reference_contexts) == ("A", ("right",))
        assert sample.contexts == (Passage(id="1", text="found", rank=1),)
    for name, case in {"unfound": camel, "golden": {"input": "Q", "expectedOutput": "R", "context": ["right"]}}.items():
        (sample,) = read_runs(write(f"{name}.json", json.dumps([case]))).runs[0].samples
        assert (sample.contexts, sample.reference, sample.reference_contexts) == (None, "R", ("right",))


def test_the_documents_of_a_langchain_answer_are_its_passages(write: Write) -> None:
    row = {"query": "Q", "result": "A", "source_documents": [{"page_content": "p", "metadata": {"source": "s"}}]}
    found = read_runs(write("qa.jsonl", jsonl(row)), mapping={"answer": "result"})
    assert found.runs[0].samples[0].contexts == (Passage(id="1", text="p", rank=1),)


def test_a_field_that_is_mapped_to_none_is_read_from_no_column(write: Write) -> None:
    path = write("own.csv", "question,answer,reference\nWhen?,In 2000.,see page 4\n")
    (sample,) = read_runs(path, mapping={"reference": None}).runs[0].samples
    assert (sample.reference, sample.metadata) == (None, {"reference": "see page 4"})
    assert "reference" in preview(path, mapping={"reference": None}).missing


def test_a_preview_shows_a_file_whose_question_is_not_found(write: Write) -> None:
    seen = preview(write("odd.jsonl", jsonl({"frage": "x" * 300, "answer": None}, {"n": [1]}, 3, {"n": 2})), limit=2)
    assert seen.format == "table (JSONL)"
    assert seen.missing == ("question", "contexts", "reference")
    assert [(use.column, use.field) for use in seen.columns] == [("frage", None), ("answer", "answer"), ("n", None)]
    assert seen.rows == (("x" * 200, "", ""), ("", "", "[1]"))


def test_the_first_rows_are_read_if_later_rows_are_invalid(write: Write) -> None:
    path = write("long.jsonl", jsonl(3, {"question": "Q1"}, {"question": "Q2"}, {"question": "Q3"}, {"question": []}))
    with pytest.raises(RunFileError):
        read_runs(path, limit=2)
    result = read_runs(path, skip_bad=True, limit=2)
    assert [sample.question for sample in result.runs[0].samples] == ["Q1", "Q2"]
    assert (result.report.rows_read, [row.line for row in result.report.dropped]) == (3, [1])


ANSWERED = pd.DataFrame([{"user_input": "Q1", "response": "A1"}, {"user_input": "Q2", "response": "A2"}])


@pytest.mark.parametrize("orient", ["records", "columns", "split", "table"])
def test_a_frame_is_read_in_each_way_that_pandas_writes_it(write: Write, orient: Any) -> None:
    (run,) = read_runs(write("frame.json", ANSWERED.to_json(orient=orient))).runs
    assert [(sample.question, sample.answer) for sample in run.samples] == [("Q1", "A1"), ("Q2", "A2")]


def test_a_split_frame_with_a_row_of_another_length_is_rejected(write: Write) -> None:
    with pytest.raises(RunFileError, match="data: has a row without a cell for each of the 2 `columns`"):
        read_runs(write("split.json", '{"columns": ["question", "answer"], "data": [["Q", "A"], ["Q"]]}'))


def test_the_only_list_of_objects_in_a_file_is_its_samples(write: Write) -> None:
    result = read_runs(write("page.json", '{"data": [{"question": "Q"}], "meta": {"page": 1}}'))
    assert result.runs[0].samples[0].question == "Q"
    assert "the samples are read from 'data'" in result.report.notes


@pytest.mark.parametrize(
    "text",
    [
        '{"question": "Q", "passages": [{"text": "p"}]}',
        '{"trace": {"input": "Q"}, "observations": [{"input": "prompt"}]}',
        '{"left": [{"question": "Q"}], "right": [{"question": "Q"}]}',
        '{"data": [{"question": "Q"}, 3]}',
    ],
)
def test_a_list_that_may_be_part_of_one_sample_is_not_taken_for_samples(write: Write, text: str) -> None:
    with pytest.raises(RunFileError, match=r"is an object without|no column has the name of the question"):
        read_runs(write("one.json", text))


@pytest.mark.parametrize(
    ("row", "way"),
    [
        ({"inputs": {"k": 3, "query": "Q"}, "n": 1}, "inputs.query"),
        ({"inputs": '{"question": "Q"}'}, "inputs.question"),
        ({"messages": [{"role": "user", "content": "Q"}]}, "messages"),
        ({"inputs": {"k": 3}}, "COLUMN"),
    ],
)
def test_where_no_column_is_the_question_the_message_names_what_may_hold_it(
    write: Write, row: dict[str, Any], way: str
) -> None:
    path = write("odd.jsonl", jsonl(row))
    with pytest.raises(RunFileError, match=rf"--map question={way}$"):
        read_runs(path)
    if way != "COLUMN":
        assert read_runs(path, mapping={"question": way}).runs[0].samples[0].question == "Q"


def test_an_object_is_no_question_also_where_it_is_written_as_text(write: Write) -> None:
    for name, text in (("o.jsonl", jsonl({"input": {"question": "Q"}})), ("o.csv", 'input\n"{""question"": ""Q""}"\n')):
        path = write(name, text)
        with pytest.raises(RunFileError, match=r"question: got an? .*object.*map the field to a path such as COLUMN"):
            read_runs(path)
        assert read_runs(path, mapping={"question": "input.question"}).runs[0].samples[0].question == "Q"


def test_a_sample_of_many_rows_is_whole_among_the_first_rows(write: Write) -> None:
    rows = "".join(f"{n},s1,Q,t{n},p{n}\n" for n in range(3))
    path = write("r.csv", f"document_position,context.span_id,input,context.trace_id,document\n{rows}")
    (sample,) = read_runs(path, mapping={"question": "input"}, limit=1).runs[0].samples
    assert [passage.text for passage in sample.contexts or ()] == ["p0", "p1", "p2"]


def test_a_number_in_a_csv_is_one_only_where_nothing_is_lost(write: Write) -> None:
    cells = ["7", "0.5", "1e-05", "007", "1_000", "1.10", "12e99999", "inf", "1" * 500]
    head = ",".join(f"c{place}" for place in range(len(cells)))
    (sample,) = read_runs(write("n.csv", f"question,{head}\nQ,{','.join(cells)}\n")).runs[0].samples
    assert list(sample.metadata.values()) == [7, 0.5, 1e-05, *cells[3:8], int("1" * 500)]


def test_lists_of_ids_in_a_csv_are_lists(write: Write) -> None:
    text = """question,retrieved_context_ids,reference_context_ids,other\nQ,"['a 1', 'b']","[7, 9]","[1]"\n"""
    (sample,) = read_runs(write("ids.csv", text)).runs[0].samples
    assert sample.metadata == {"retrieved_context_ids": ["a 1", "b"], "reference_context_ids": [7, 9], "other": "[1]"}


def test_ids_are_stable_and_no_two_are_the_same(write: Write) -> None:
    rows = [{"question": "Q"}, {"question": "Q"}, {"question": "Q", "history": ["before"]}]
    first = [sample.id for sample in read_runs(write("a.jsonl", jsonl(*rows))).runs[0].samples]
    again = [sample.id for sample in read_runs(write("b.json", json.dumps(rows))).runs[0].samples]
    assert first == again
    assert len(set(first)) == 3
    clash = [*rows, {"question": "other", "id": first[0]}, {"id": "", "question": "Z"}, {"id": 7, "question": "Z"}]
    found = read_runs(write("c.jsonl", jsonl(*clash)))
    assert [same.assigned for same in found.report.duplicated] == [f"{first[0]}#2"]
    assert [sample.id for sample in found.runs[0].samples][3::2] == [f"{first[0]}#2", "7"]


def test_the_samples_that_come_with_ragboard_need_no_change() -> None:
    for file in sorted((sample_folder() / "runs").glob("*.jsonl")):
        report = read_runs(file).report
        assert (report.dropped, report.coerced, report.duplicated) == ((), (), ())


@pytest.mark.parametrize(
    ("name", "rows", "fields"),
    [
        ("ragchecker/checking_inputs.json", 2, {"id", "question", "reference", "answer", "contexts"}),
        ("ragchecker/checking_outputs.json", 2, {"id", "question", "reference", "answer", "contexts"}),
        ("begin/begin_wow_dev.jsonl", 430, {"id", "question", "contexts", "answer"}),
        ("clapnq/clapnq_dev.jsonl", 600, {"id", "question", "contexts"}),
        ("mtrag/mtrag_human_eval_12conv.jsonl", 294, {"id", "question", "history", "contexts", "answer", "reference"}),
        ("ares/gold_label_206.tsv", 206, {"question", "contexts", "answer"}),
    ],
)
def test_real_files_are_read_completely(data: Path, name: str, rows: int, fields: set[str]) -> None:
    result = read_runs(data / name)
    assert result.report.rows_read == sum(len(run.samples) for run in result.runs) == rows
    assert {use.field for use in result.report.columns} - {None} == fields
    assert result.report.dropped == ()


def test_a_real_file_splits_into_its_models(data: Path) -> None:
    result = read_runs(data / "mtrag" / "mtrag_human_eval_12conv.jsonl", run_column="model")
    assert [len(run.samples) for run in result.runs] == [98, 98, 98]
    assert {turn.role for run in result.runs for sample in run.samples for turn in sample.history} == {
        "user",
        "assistant",
    }


@pytest.mark.parametrize(
    ("cell", "texts"),
    [
        ("['a', 'b' 'c']", ["['a', 'b' 'c']"]),
        (r"['C:\data', 'b']", [r"C:\data", "b"]),
        ("['a' 'b']", ["a", "b"]),
    ],
)
def test_texts_side_by_side_are_never_glued_together(tmp_path: Path, cell: str, texts: list[str]) -> None:
    path = tmp_path / "glued.csv"
    path.write_text(f'question,contexts\nq,"{cell}"\n', encoding="utf-8")
    (sample,) = read_runs(path).runs[0].samples
    assert [passage.text for passage in sample.contexts or ()] == texts


def test_a_metadata_key_of_a_columns_name_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "twice.jsonl"
    path.write_text('{"question": "q", "x": 1, "metadata": {"x": 2}}', encoding="utf-8")
    result = read_runs(path)
    assert result.runs[0].samples[0].metadata == {"x": 2}
    assert [change.count for change in result.report.coerced] == [1]


def test_one_column_for_two_fields_is_rejected_and_an_exact_name_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "names.jsonl"
    path.write_text('{"Question": "other", "question": "q"}', encoding="utf-8")
    assert read_runs(path).runs[0].samples[0].question == "q"
    with pytest.raises(SettingError, match="each column once"):
        read_runs(path, mapping={"question": "question", "answer": "question"})
