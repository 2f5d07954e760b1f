"""Tests of corpora and of ARES's files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragboard.errors import RunFileError
from ragboard.export.ares import ares_tsv
from ragboard.readers.ares import AresRow, read_ares
from ragboard.readers.corpus import read_corpus


def test_a_folder_is_cut_into_passages_where_paragraphs_end(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.md").write_text("# Title\n\none two\nthree\n\nfour five\n\nsix", encoding="utf-8")
    (tmp_path / "b.txt").write_text("alone", encoding="utf-8")
    (tmp_path / "c.png").write_bytes(b"\x89PNG")
    found = [(each.document, each.number, each.text) for each in read_corpus(tmp_path, words=5)]
    assert found == [("b.txt", 1, "alone"), ("deep/a.md", 1, "one two three\n\nfour five"), ("deep/a.md", 2, "six")]


def test_a_passage_of_two_documents_is_kept_with_the_first(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two\n\nsame words", encoding="utf-8")
    (tmp_path / "b.txt").write_text("same words\n\nthree four", encoding="utf-8")
    found = [(each.document, each.number, each.text) for each in read_corpus(tmp_path, words=2)]
    assert found == [("a.txt", 1, "one two"), ("a.txt", 2, "same words"), ("b.txt", 2, "three four")]


def test_rows_of_one_document_go_together(tmp_path: Path) -> None:
    file = tmp_path / "passages.jsonl"
    file.write_text(
        '{"doc_id": "x", "text": "one"}\n{"doc_id": "y", "text": "two"}\n{"doc_id": "x", "text": "three"}\n'
    )
    found = [(each.document, each.number, each.text) for each in read_corpus(file)]
    assert found == [("x", 1, "one"), ("x", 2, "three"), ("y", 1, "two")]


def test_a_table_without_a_text_column_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "passages.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(RunFileError, match="has no text column"):
        read_corpus(file)


def test_an_empty_folder_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match="has no text"):
        read_corpus(tmp_path)


texts = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20).map(lambda text: f"x{text}")
labels = st.sampled_from((True, False, None))
ROWS = st.builds(
    AresRow,
    question=texts,
    document=texts,
    answer=texts,
    context_relevance=labels,
    answer_faithfulness=labels,
    answer_relevance=labels,
    document_id=texts,
    split=st.sampled_from(("train", "held out")),
    negative=st.sampled_from(("", "weak", "strong")),
    contradictory=st.just("") | texts,
    run=st.just("") | texts,
)


@given(st.lists(ROWS, min_size=1, max_size=5))
def test_what_is_written_is_read_back_the_same(tmp_path_factory: pytest.TempPathFactory, rows: list[AresRow]) -> None:
    file = tmp_path_factory.mktemp("ares") / "rows.tsv"
    file.write_text(ares_tsv(rows), encoding="utf-8", newline="\n")
    assert list(read_ares(file)) == rows


def test_an_answer_with_odd_line_breaks_leaves_the_file_readable(tmp_path: Path) -> None:
    row = AresRow(question="q", document="d", answer="one\rtwo\r\nthree\0")
    (tmp_path / "rows.tsv").write_text(ares_tsv([row]), encoding="utf-8", newline="\n")
    assert read_ares(tmp_path / "rows.tsv") == (replace(row, answer="one\ntwo\nthree"),)


def test_a_label_that_is_none_is_rejected_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "rows.tsv"
    file.write_text("Query\tDocument\tContext_Relevance_Label\nq\td\tYes\nq\td\tperhaps\n")
    with pytest.raises(RunFileError, match=r"rows.tsv:3: Context_Relevance_Label: got 'perhaps', expected Yes, No"):
        read_ares(file)


@pytest.mark.parametrize(
    ("name", "rows", "relevant"),
    [
        ("nq_synthetic_queries_300", 300, 196),
        ("gold_label_206", 206, 120),
        ("nq_few_shot_prompt_for_judge_scoring", 7, 5),
        ("nq_few_shot_prompt_for_synthetic_query_generation", 4, 4),
    ],
)
def test_the_files_that_ares_brings_are_read(data: Path, name: str, rows: int, relevant: int) -> None:
    found = read_ares(data / "ares" / f"{name}.tsv")
    assert len(found) == rows
    assert sum(row.context_relevance is True for row in found) == relevant


@pytest.mark.parametrize(
    "name",
    [
        "nq_synthetic_queries_300",
        "gold_label_206",
        "nq_few_shot_prompt_for_judge_scoring",
        "nq_few_shot_prompt_for_synthetic_query_generation",
    ],
)
def test_rows_of_ares_written_by_us_are_read_back_the_same(data: Path, tmp_path: Path, name: str) -> None:
    found = read_ares(data / "ares" / f"{name}.tsv")
    ours = tmp_path / "ours.tsv"
    ours.write_text(ares_tsv(found), encoding="utf-8", newline="\n")
    assert read_ares(ours) == found


def test_a_text_in_utf_16_is_read_and_a_row_without_one_passed_over(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Die Brücke steht.", encoding="utf-16")
    assert [passage.text for passage in read_corpus(tmp_path)] == ["Die Brücke steht."]
    table = tmp_path / "table.csv"
    table.write_text("id,text\n1,One.\n2,\n3,Three.\n", encoding="utf-8")
    assert [passage.text for passage in read_corpus(table)] == ["One.", "Three."]
