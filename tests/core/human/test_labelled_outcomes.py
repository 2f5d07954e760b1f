"""Tests of reading labelled outcomes of whole answers from files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.core.human.test_label_files import GRADE, PAIR, ROW, written

from ragboard import RunFileError, Store
from ragboard.human.label_files import import_labels, labelled_outcomes

ARES = "Query\tDocument\tAnswer\tContext_Relevance_Label\tAnswer_Faithfulness_Label\tAnswer_Relevance_Label\tsystem\n"


def statements(*labels: int | None) -> list[dict[str, object]]:
    return [{"text": "It is red.", "label": label} for label in labels]


def test_verdicts_are_a_share_and_grades_a_number_from_0_to_1(tmp_path: Path) -> None:
    file = written(tmp_path / "labels.jsonl", ROW | {"statements": statements(1, 0, 0)}, GRADE, PAIR)
    first, second = labelled_outcomes(file, design="random")
    assert (first.outcomes, first.design, first.run) == ({"verdicts": pytest.approx(1 / 3)}, "random", "")
    assert second.outcomes == {"faithfulness": 0.5}


def test_an_answer_with_an_undecided_statement_does_not_count(tmp_path: Path) -> None:
    file = written(tmp_path / "labels.jsonl", ROW | {"statements": statements(1, None)})
    assert labelled_outcomes(file) == ()


def test_several_people_on_one_answer_are_their_mean(tmp_path: Path) -> None:
    graded = [GRADE | {"grades": {"faithfulness": grade}, "annotator": who} for who, grade in (("ada", 5), ("bob", 2))]
    (one,) = labelled_outcomes(written(tmp_path / "labels.jsonl", *graded))
    assert (one.outcomes, one.design) == ({"faithfulness": (1 + 0.25) / 2}, "unknown")


def test_runs_and_ways_of_choosing_are_kept_apart(tmp_path: Path) -> None:
    rows = [ROW, ROW | {"run": "a"}, ROW | {"run": "a", "design": "random"}]
    found = labelled_outcomes(written(tmp_path / "labels.jsonl", *rows))
    assert [(one.run, one.design) for one in found] == [("", "unknown"), ("a", "unknown"), ("a", "random")]


def test_what_ares_calls_yes_and_no_is_1_and_0_and_nothing_is_nothing(tmp_path: Path) -> None:
    file = tmp_path / "gold.tsv"
    file.write_text(f"{ARES}When?\tIn 2000.\tIn 2001.\tYes\tNo\t\tbm25\n", encoding="utf-8")
    (one,) = labelled_outcomes(file, design="random")
    assert one.outcomes == {"context_relevance": 1.0, "faithfulness": 0.0}
    assert (one.run, one.answer.sample.answer) == ("bm25", "In 2001.")
    assert [passage.text for passage in one.answer.sample.contexts or ()] == ["In 2000."]


def test_a_file_of_ares_is_imported_too(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "gold.tsv"
    file.write_text(f"{ARES}When?\tIn 2000.\tIn 2001.\tYes\tNo\t1\tbm25\n", encoding="utf-8")
    found = import_labels(store, file, annotator="ada", design="random")
    assert (found.rows, found.added, found.without_a_run) == (1, 3, 3)
    assert import_labels(store, file, annotator="ada", design="random").added == 0


def test_a_file_of_another_format_is_read_too_and_one_without_labels_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "labels.json"
    file.write_text(json.dumps([GRADE]), encoding="utf-8")
    assert [one.outcomes for one in labelled_outcomes(file)] == [{"faithfulness": 0.5}]
    file.write_text(json.dumps([{"question": "q", "answer": "a"}]), encoding="utf-8")
    with pytest.raises(RunFileError, match=r"has the columns question, answer, expected pairs"):
        labelled_outcomes(file)


def test_the_labels_that_ares_brings_are_read(data: Path) -> None:
    found = labelled_outcomes(data / "ares" / "gold_label_206.tsv")
    assert 0 < len(found) < 206, "the same answers stand in it many times, with labels that differ"
    assert all(0 <= value <= 1 for one in found for value in one.outcomes.values())
    assert {name for one in found for name in one.outcomes} == {
        "context_relevance",
        "faithfulness",
        "answer_relevance",
    }
