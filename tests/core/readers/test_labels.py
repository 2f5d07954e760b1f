"""Tests of label files: our formats, other tools' columns, and invalid files."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ragboard import Store
from ragboard.errors import RagboardError, RunFileError, SettingError
from ragboard.human.label_files import export_labels, import_labels
from ragboard.readers.labels import human_grades, read_labels

WIKIEVAL = {
    "question": "When?",
    "context_v1": ["It opened in 1890."],
    "context_v2": ["It opened in 1890. Trains are loud."],
    "grounded_answer": "In 1890.",
    "ungrounded_answer": "In 1900.",
    "poor_answer": "It is a bridge.",
}
PAIR = {
    "id": "p",
    "question": "When?",
    "dimension": "faithfulness",
    "a": "In 1900.",
    "b": "In 1890.",
    "preferred": "b",
    "contexts": ["It opened in 1890."],
}


def write(folder: Path, *rows: object, name: str = "said.jsonl") -> str:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_a_pair_says_which_side_people_prefer(tmp_path: Path) -> None:
    found = read_labels(write(tmp_path, PAIR))
    (item,) = found.items
    assert (found.form, found.dimensions, found.name, found.source) == (
        "pairs",
        ("faithfulness",),
        "said",
        "said.jsonl",
    )
    assert item.human_labels == {"faithfulness": (1.0,)}
    assert [side.answer for side in item.samples] == ["In 1900.", "In 1890."]
    assert [side.id for side in item.samples] == ["p/a", "p/b"]
    assert all(side.contexts and side.contexts[0].text == "It opened in 1890." for side in item.samples)


def test_sides_of_context_relevance_are_passages(tmp_path: Path) -> None:
    row = PAIR | {"dimension": "context_relevance", "a": ["one", "two"], "b": "three", "preferred": "a"}
    (item,) = read_labels(write(tmp_path, row)).items
    assert [[passage.text for passage in side.contexts or ()] for side in item.samples] == [["one", "two"], ["three"]]
    assert [side.answer for side in item.samples] == [None, None]


def _jsonl(folder: Path, row: dict[str, Any]) -> str:
    return write(folder, row)


def _json(folder: Path, row: dict[str, Any]) -> str:
    path = folder / "said.json"
    path.write_text(json.dumps([row]), encoding="utf-8")
    return str(path)


def _csv(folder: Path, row: dict[str, Any]) -> str:
    cells = [value if isinstance(value, str) else json.dumps(value) for value in row.values()]
    quoted = ",".join('"' + cell.replace('"', '""') + '"' for cell in cells)
    path = folder / "said.csv"
    path.write_text(f"{','.join(row)}\n{quoted}\n", encoding="utf-8")
    return str(path)


def _parquet(folder: Path, row: dict[str, Any]) -> str:
    path = folder / "said.parquet"
    pq.write_table(pa.Table.from_pylist([row]), path)
    return str(path)


@pytest.mark.parametrize("kind", [_jsonl, _json, _csv, _parquet])
def test_wikieval_is_three_pairs_of_which_its_design_prefers_the_first(
    tmp_path: Path, kind: Callable[[Path, dict[str, Any]], str]
) -> None:
    found = read_labels(kind(tmp_path, WIKIEVAL))
    assert [item.human_labels for item in found.items] == [
        {"faithfulness": (-1.0,)},
        {"answer_relevance": (-1.0,)},
        {"context_relevance": (-1.0,)},
    ]
    faithful, relevant, contexts = (item.samples for item in found.items)
    assert [side.answer for side in faithful] == ["In 1890.", "In 1900."]
    assert [side.answer for side in relevant] == ["In 1890.", "It is a bridge."]
    assert [side.contexts[0].text for side in contexts if side.contexts] == [
        "It opened in 1890.",
        "It opened in 1890. Trains are loud.",
    ]
    assert {item.cluster for item in found.items} == {"When?"}


@pytest.mark.parametrize("kind", [_jsonl, _csv])
def test_graded_answers_bring_annotators_and_scores_of_others(
    tmp_path: Path, kind: Callable[[Path, dict[str, Any]], str]
) -> None:
    row = {
        "id": "g",
        "question": "When?",
        "answer": "In 1890.",
        "contexts": ["It opened in 1890."],
        "grades": {"faithfulness": [4, 3.5, None], "fluency": 2},
        "scores": {"rouge": 0.25, "theirs": {"fluency": 7}},
    }
    found = read_labels(kind(tmp_path, row))
    (item,) = found.items
    assert found.form == "answers"
    assert item.human_labels == {"faithfulness": (4.0, 3.5, None), "fluency": (2.0,)}
    assert item.published == {"rouge": {"faithfulness": (0.25,), "fluency": (0.25,)}, "theirs": {"fluency": (7.0,)}}


def test_statements_are_items_of_one_answer(tmp_path: Path) -> None:
    said = [{"text": "One.", "label": 1}, {"text": "Two.", "label": 0}, {"text": "Three.", "label": None}]
    found = read_labels(write(tmp_path, {"id": "s", "question": "q", "contexts": ["c"], "statements": said}))
    assert found.form == "statements"
    assert [(item.id, item.samples[0].answer, item.human_labels["supported"]) for item in found.items] == [
        ("s:1", "One.", (1.0,)),
        ("s:2", "Two.", (0.0,)),
        ("s:3", "Three.", (None,)),
    ]


def test_votes_can_have_their_own_columns(tmp_path: Path) -> None:
    row = {
        "question": "q",
        "a": "",
        "b": "y",
        "overall_votes": ["a", "tie", "b"],
        "correctness_votes": [-2, 1],
        "completeness_preferred": "a",
        "published_ragchecker": {"overall": [0.5, 0.25], "correctness": [None, 1.0]},
    }
    (item,) = read_labels(write(tmp_path, row)).items
    assert item.human_labels == {"overall": (-1.0, 0.0, 1.0), "correctness": (-2.0, 1.0), "completeness": (-1.0,)}
    assert item.published == {"published ragchecker": {"overall": (0.5, 0.25)}}


def test_what_belongs_together_is_the_conversation_or_as_the_file_says(tmp_path: Path) -> None:
    turns = [PAIR | {"id": f"c{turn // 2}<::>{turn}", "topic": turn % 2} for turn in range(4)]
    path = write(tmp_path, *turns)
    assert [item.cluster for item in read_labels(path).items] == ["c0", "c0", "c1", "c1"]
    assert [item.cluster for item in read_labels(path, cluster="topic").items] == ["0", "1", "0", "1"]
    with pytest.raises(RunFileError, match="has no column 'chat'"):
        read_labels(path, cluster="chat")


def test_ids_that_are_taken_get_a_number_and_are_reported(tmp_path: Path) -> None:
    found = read_labels(write(tmp_path, PAIR, PAIR, PAIR))
    assert [item.id for item in found.items] == ["p", "p#2", "p#3"]
    assert found.notes == ("2 duplicate ids got a number",)
    found = read_labels(write(tmp_path, PAIR, PAIR, PAIR | {"id": "p#2"}))
    assert [item.id for item in found.items] == ["p", "p#2", "p#2#2"]


def test_an_invalid_number_in_a_csv_is_a_missing_grade(tmp_path: Path) -> None:
    path = tmp_path / "said.csv"
    path.write_text('question,answer,grades\nq,a,"{""x"": [1, NaN]}"\n', encoding="utf-8")
    assert [item.human_labels for item in read_labels(str(path)).items] == [{"x": (1.0, None)}]
    path.write_text(f"question,answer,grades\nq,a,{'[' * 100_000}\n", encoding="utf-8")
    with pytest.raises(RunFileError, match="grades: got a text, expected an object with a key for each dimension"):
        read_labels(str(path))


def test_what_annotators_say_in_a_row_each_is_one_item(tmp_path: Path) -> None:
    graded = {"question": "q", "answer": "a", "contexts": ["c"]}
    rows = [
        graded | {"grades": {"faithfulness": 4}, "annotator": "Ada"},
        graded | {"grades": {"faithfulness": 2}, "annotator": "Bo"},
        graded | {"grades": {"faithfulness": 5}, "annotator": "Bo", "answer": "b"},
    ]
    found = read_labels(write(tmp_path, *rows))
    assert [item.human_labels for item in found.items] == [{"faithfulness": (4.0, 2.0)}, {"faithfulness": (None, 5.0)}]


def test_labels_that_were_exported_are_read(tmp_path: Path, store: Store) -> None:
    rows = [
        {"question": "q", "answer": "a", "contexts": ["c"], "grades": {"faithfulness": grade}, "annotator": who}
        for who, grade in (("Ada", 4), ("Bo", 2))
    ]
    sides = {"question": "q", "a": "one", "b": "two", "a_contexts": ["c"], "b_contexts": ["d"]}
    pair = sides | {"dimension": "faithfulness", "preferred": "a", "annotator": "Ada"}
    for part in (rows, [pair]):
        import_labels(store, Path(write(tmp_path, *part)))
    lines = [json.loads(line) for line in export_labels(store)]
    grades = read_labels(write(tmp_path, *(line for line in lines if "grades" in line)))
    assert [sorted(item.human_labels["faithfulness"], key=str) for item in grades.items] == [[2.0, 4.0]]
    (item,) = read_labels(write(tmp_path, *(line for line in lines if "preferred" in line))).items
    better = item.samples[0 if item.human_labels["faithfulness"] == (-1.0,) else 1]
    assert better.answer == "one"
    assert [passage.text for passage in better.contexts or ()] == ["c"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"question": "q", "answer": "a"}], "has the columns question, answer, expected pairs"),
        ([PAIR | {"preferred": "c"}], "said.jsonl:1: preferred: got 'c', expected a number or one of a, b, tie"),
        ([PAIR, PAIR | {"a": None}], "said.jsonl:2: a: is missing, expected text"),
        ([PAIR | {"preferred": None}], "has neither `preferred` nor `votes`"),
        ([PAIR | {"votes": [1]}], "votes: got a list, expected an object with a key for each dimension"),
        ([PAIR | {"votes": {"x": None}}], "has no labels"),
        ([{"question": "q", "answer": "a", "grades": {"x": True}}], "grades: got a boolean"),
        ([{"question": "q", "answer": "a", "grades": {"x": 1}, "scores": {"s": [1, 2]}}], "expected 1 number"),
        ([{"question": "q", "answer": "a", "grades": {"x": 10**400}}], "grades: has a number with more than 300"),
        ([{"contexts": [], "statements": [{"text": "t", "label": 2}]}], "got 2, expected 1, 0 or null"),
        ([{"contexts": [], "statements": [{"label": 1}]}], r"statements\[1\]: has no text"),
        ([[1]], "expected an object"),
    ],
)
def test_a_file_of_something_else_is_rejected_in_one_line(tmp_path: Path, rows: Sequence[Any], message: str) -> None:
    with pytest.raises(RunFileError, match=message) as raised:
        read_labels(write(tmp_path, *rows))
    assert "\n" not in str(raised.value)


def _module(load: Callable[[str], Any]) -> ModuleType:
    module = ModuleType("datasets")
    module.load_dataset = load  # type: ignore[attr-defined]
    return module


def test_a_data_set_of_the_hub_is_read_by_its_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def load(name: str) -> dict[str, list[dict[str, Any]]]:
        asked.append(name)
        return {"train": [WIKIEVAL], "test": [WIKIEVAL]}

    monkeypatch.setitem(sys.modules, "datasets", _module(load))
    found = read_labels("hf:somebody/WikiEval")
    assert asked == ["somebody/WikiEval"]
    assert (found.name, found.source, len(found.items)) == ("WikiEval", "hf:somebody/WikiEval", 6)


def test_without_the_package_or_the_hub_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(_name: str) -> Any:
        raise ConnectionError("no route\nto host")

    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(SettingError, match="needs the package `datasets`"):
        read_labels("hf:somebody/WikiEval")
    monkeypatch.setitem(sys.modules, "datasets", _module(unreachable))
    with pytest.raises(RagboardError, match="the hub returned nothing: no route to host") as raised:
        read_labels("hf:somebody/WikiEval")
    assert "\n" not in str(raised.value)


def test_published_files_are_read_in_their_own_columns(data: Path) -> None:
    wikieval = read_labels(str(data / "wikieval" / "wikieval_10.jsonl"))
    pairs = read_labels(str(data / "wikieval" / "wikieval_10_pairs.jsonl"))
    assert {item.id for item in wikieval.items} == {item.id for item in pairs.items}
    graded = read_labels(str(data / "mtrag" / "mtrag_human_eval_12conv.jsonl"))
    assert (len(graded.items), len({item.cluster for item in graded.items})) == (294, 12)
    assert set(graded.items[0].published) >= {"RougeL", "rl_f", "rb_llm"}
    meta = read_labels(str(data / "ragchecker" / "meta_pairs_5domains.jsonl"))
    assert meta.dimensions == ("correctness", "completeness", "overall")
    assert {len(votes) for item in meta.items for votes in item.human_labels.values()} == {2}


def test_a_file_of_two_kinds_is_rejected_and_the_columns_of_ares_are_grades(tmp_path: Path) -> None:
    statements = {"question": "q", "contexts": ["c"], "statements": [{"text": "t", "verdict": "supported"}]}
    with pytest.raises(RunFileError, match=r"said.jsonl:2: has labels of pairs, but line 1 has labels of statements"):
        read_labels(write(tmp_path, statements, PAIR))
    path = tmp_path / "gold.tsv"
    path.write_text("Query\tDocument\tAnswer\tAnswer_Faithfulness_Label\nq\td\ta\tYes\n", encoding="utf-8")
    (item,) = read_labels(str(path)).items
    assert item.human_labels == {"faithfulness": (5.0,)}


@pytest.mark.parametrize(
    ("columns", "grades"),
    [
        ({"human": {"faithfulness": [4.0, 3, None], "fluency": 2}}, {"faithfulness": (4.0, 3.0), "fluency": (2.0,)}),
        ({"grades": {"faithfulness": [4]}, "human": {"faithfulness": [1]}}, {"faithfulness": (4.0,)}),
        ({"human": {"faithfulness": ["good", True], "note": "x"}}, {}),
        ({"human": "ada", "grades": [1, 2]}, {}),
        ({}, {}),
    ],
)
def test_grades_of_one_answer_are_read_from_its_columns(
    columns: dict[str, object], grades: dict[str, tuple[float, ...]]
) -> None:
    assert {name: given.each for name, given in human_grades(columns).items()} == grades
    assert all(min(given.each) <= given.mean <= max(given.each) for given in human_grades(columns).values())
