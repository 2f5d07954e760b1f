"""Tests of exporting and importing labels, and of invalid label files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Once
from tests.core.human.test_annotation_draws import kept, say

from ragboard import RunFileError, Store, sample_runs
from ragboard.human.annotation import draw_samples, labelled_samples
from ragboard.human.label_files import export_labels, import_labels
from ragboard.human.labels import grade_answer, prefer_answer, remove_label
from ragboard.sample_files import sample_folder

ROW: dict[str, Any] = {
    "question": "q",
    "contexts": ["p"],
    "answer": "It is red.",
    "statements": [{"text": "It is red.", "label": 1}],
}
GRADE: dict[str, Any] = {"question": "q", "answer": "a", "grades": {"faithfulness": 3}}
PAIR: dict[str, Any] = {"question": "q", "a": "x", "b": "y", "dimension": "faithfulness", "preferred": "a"}


def written(path: Path, *rows: Any) -> Path:
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return path


def exported(store: Store) -> list[dict[str, Any]]:
    return [json.loads(line) for line in export_labels(store)]


def keep_labels(store: Store) -> None:
    run, other = kept(store), kept(store, "other", ("It is big.",))
    draw_samples(store, run, size=4)
    say(store, run, 0, "supported", "contradicted")
    say(store, run, 2, "unsupported", annotator="bob \N{PILE OF POO}")
    say(store, run, 3, "supported", queue="browsing")
    say(store, run, 4, "supported")
    remove_label(store, run, "s4", 1, annotator="ada", queue="random")
    grade_answer(store, run, "s0", 4, annotator="ada", dimension="answer_relevance", note="short")
    prefer_answer(store, run, "s0", other, "s0", "b", annotator="ada")


@pytest.fixture
def labelled(store: Store, once: Once) -> Store:
    """Every kind of label, by two people, one of them taken back."""
    return once(keep_labels, store)


def test_what_is_exported_says_who_said_what_where_and_how_it_was_chosen(labelled: Store) -> None:
    rows = exported(labelled)
    (first,) = [row for row in rows if row.get("sample") == "s0" and "statements" in row]
    assert first.pop("labelled_at").endswith("Z")
    assert first == {
        "run": "run",
        "sample": "s0",
        "question": "What is thing 0?",
        "contexts": ["The thing 0 is red, says passage 1.", "The thing 0 is red, says passage 2."],
        "answer": "It is red. It is old.",
        "statements": [
            {"text": "It is red", "label": 1, "verdict": "supported"},
            {"text": "It is old", "label": 0, "verdict": "contradicted"},
        ],
        "annotator": "ada",
        "queue": "random",
        "design": "random",
    }
    assert [row["design"] for row in rows if row.get("sample") == "s3"] == ["not random"]
    assert len(rows) == 5


def test_a_fresh_store_gives_back_what_it_was_given(labelled: Store, tmp_path: Path) -> None:
    file = written(tmp_path / "labels.jsonl", *export_labels(labelled))
    fresh = Store(tmp_path / "fresh")
    found = import_labels(fresh, file)
    assert (found.rows, found.added, found.unchanged, found.without_a_run) == (5, 6, 0, 6)
    again = exported(fresh)
    ours = [{k: v for k, v in row.items() if k not in ("labelled_at", "run", "queue")} for row in exported(labelled)]
    theirs = [{k: v for k, v in row.items() if k not in ("labelled_at", "queue")} for row in again]
    assert sorted(map(json.dumps, theirs)) == sorted(map(json.dumps, ours))
    assert {row["queue"] for row in again} == {"imported"}
    assert import_labels(fresh, file).unchanged == 6
    assert len(exported(fresh)) == 5


def test_imported_labels_find_the_answers_of_a_run_that_comes_later(labelled: Store, tmp_path: Path) -> None:
    file = written(tmp_path / "labels.jsonl", *export_labels(labelled, labelled.resolve("run")))
    fresh = Store(tmp_path / "fresh")
    import_labels(fresh, file, design="random")
    run = kept(fresh)
    found = labelled_samples(fresh, run, "imported")
    assert [(row.sample_id, row.outcome, row.draw_number) for row in found.rows] == [("s0", 0.5, 0), ("s2", 0.0, 0)]
    assert (found.design, found.population, found.draw) == ("random", 4, None)


@pytest.mark.parametrize(
    ("declared", "own", "design"),
    [
        (None, {}, "unknown"),
        ("random", {}, "random"),
        (None, {"design": "not random"}, "not random"),
        ("unknown", {"design": "random"}, "unknown"),
    ],
)
def test_the_design_is_what_is_declared_else_what_the_row_says(
    store: Store, tmp_path: Path, declared: Any, own: dict[str, str], design: str
) -> None:
    run = kept(store)
    sample = next(sample for _, sample in store.samples(run.run_id) if sample.id == "s2")
    assert sample.contexts
    row = ROW | {"question": sample.question, "contexts": [one.text for one in sample.contexts], **own}
    row["statements"] = [{"text": "It is red", "label": 0}]
    import_labels(store, written(tmp_path / "l.jsonl", row), design=declared, annotator="ada")
    found = labelled_samples(store, run, "imported")
    assert (found.design, [row.annotators for row in found.rows]) == (design, [("ada",)])


def test_the_samples_own_labels_are_read(store: Store) -> None:
    for run in sample_runs():
        store.add_runs([run])
    found = import_labels(store, sample_folder() / "labels" / "statements.jsonl")
    assert found.added > 100
    assert found.without_a_run == 0
    for row in exported(store):
        for each in row["statements"]:
            assert row["answer"][each["start"] : each["end"]] == each["text"]


NOT_LABELS = [
    ("{", "2: not JSON"),
    ([1], "2: got a list, expected an object"),
    ({"question": "q"}, "2: has the columns question, expected pairs"),
    ({key: ROW[key] for key in ("question", "contexts", "statements")}, "2: answer: has no `answer`"),
    ({key: ROW[key] for key in ("question", "answer", "statements")}, "2: contexts: is missing"),
    (ROW | {"statements": [{"text": "x", "label": 2}]}, "2: statements[1].label: got 2, expected 1, 0 or null"),
    (ROW | {"statements": [{"text": "x"}]}, "2: statements[1]: has no label"),
    (ROW | {"statements": [{"text": "x", "verdict": "true"}]}, "got 'true', expected one of supported"),
    (ROW | {"statements": [{"text": "x", "label": 1, "verdict": "contradicted"}]}, "which contradict each other"),
    (ROW | {"statements": [{"text": "x", "label": 1, "start": 5, "end": 99}]}, "not a span of the answer"),
    (ROW | {"statements": [{"text": 1, "label": 1}]}, "2: statements[1]: has no text"),
    (ROW | {"design": "quota"}, "2: design: got 'quota'"),
    (ROW | {"annotator": [7]}, "2: annotator: got a list, expected text"),
    (GRADE | {"grades": {"faithfulness": 6}}, "grades.faithfulness: got 6, expected a whole number from 1 to 5"),
    (GRADE | {"grades": {"faithfulness": True}}, "2: grades: got a boolean, expected a number"),
    (GRADE | {"grades": {"faithfulness": "a"}}, "2: grades: got 'a', expected a number"),
    (GRADE | {"grades": [3]}, "2: grades: got a list, expected an object"),
    (PAIR | {"preferred": "c"}, "2: preferred: got 'c', expected a number or one of a, b, tie"),
    (PAIR | {"votes": {"faithfulness": [2]}}, "2: votes: got 2, expected one of a, b, tie"),
    (PAIR | {"dimension": "context_relevance", "a": ["p"], "b": ["p2"]}, "only preferences between answers"),
    (
        {"question": "q", "contexts": ["p"], "sentences": [{"text": "p", "label": 1}]},
        "labels of sentences cannot be imported",
    ),
    ("[" * 100_000, "2: not JSON"),
]


@pytest.mark.parametrize(("row", "message"), NOT_LABELS)
def test_a_row_that_is_no_label_is_named_and_nothing_is_kept(
    store: Store, tmp_path: Path, row: Any, message: str
) -> None:
    with pytest.raises(RunFileError) as raised:
        import_labels(store, written(tmp_path / "l.jsonl", ROW, row))
    assert message in str(raised.value)
    assert exported(store) == []


def test_undecided_statements_are_counted_and_a_word_beats_a_number(store: Store, tmp_path: Path) -> None:
    statements = [
        {"text": "one", "label": None},
        {"text": "two", "label": 0, "verdict": "contradicted"},
        {"text": "three", "label": 0},
    ]
    found = import_labels(store, written(tmp_path / "l.jsonl", ROW | {"statements": statements}, "", GRADE, PAIR))
    assert (found.rows, found.added, found.undecided) == (3, 4, 1)
    assert [each["verdict"] for each in exported(store)[0]["statements"]] == ["contradicted", "unsupported"]


def test_grades_of_several_people_are_theirs_one_by_one(store: Store, tmp_path: Path) -> None:
    row = GRADE | {"grades": {"faithfulness": [4, None, 2], "overall": 5}, "annotator": "panel"}
    assert import_labels(store, written(tmp_path / "l.jsonl", row)).added == 3
    found = {(row["annotator"], *row["grades"].items()) for row in exported(store)}
    assert found == {
        ("panel 1", ("faithfulness", 4)),
        ("panel 3", ("faithfulness", 2)),
        ("panel", ("overall", 5)),
    }


def test_a_row_may_have_statements_and_grades_and_votes_are_kept_one_by_one(store: Store, tmp_path: Path) -> None:
    both = ROW | {"grades": {"overall": 4}, "annotator": "ada"}
    votes = {"question": "q", "a": "x", "b": "y", "votes": {"overall": ["b", None, "tie"]}, "annotator": "ada"}
    assert import_labels(store, written(tmp_path / "l.jsonl", both, votes)).added == 4
    found = [(row["annotator"], row.get("grades") or row.get("preferred") or "verdicts") for row in exported(store)]
    assert {who for who, _ in found} == {"ada", "ada 1", "ada 3"}
    assert ("ada", {"overall": 4}) in found
    assert ("ada 3", "tie") in found


def test_import_reads_what_agree_reads(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "labels.json"
    file.write_text(json.dumps([ROW, GRADE, PAIR]), encoding="utf-8")
    assert import_labels(store, file).added == 3
    assert import_labels(store, written(tmp_path / "l.jsonl", ROW, GRADE, PAIR)).added == 0
