"""Tests of training rows: filters, and three splits without a common document."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragboard.errors import SettingError
from ragboard.readers.ares import AresRow
from ragboard.training.examples import (
    SPLITS,
    exclude_training_examples,
    labelled_examples,
    split_rows,
    training_examples,
)

LONG = "The lighthouse at Fara was built in 1871 by Ines Dahl, and its lamp burned whale oil until the war came to it."
ROW = AresRow(question="When?", document=LONG, answer="In 1871.", answer_faithfulness=True, document_id="fara")


def passage(document: int, number: int) -> str:
    return f"Passage {number} of document {document}. {LONG}"


@st.composite
def files(draw: st.DrawFn) -> list[AresRow]:
    """Rows without a split: positives, and negatives with a passage from anywhere."""
    count = draw(st.integers(1, 8))
    rows: list[AresRow] = []
    for _ in range(draw(st.integers(1, 30))):
        document, number = draw(st.integers(0, count)), draw(st.integers(0, 2))
        own = AresRow(
            question=f"q{draw(st.integers(0, 9))}", document=passage(document, number), document_id=f"d{document}"
        )
        if draw(st.booleans()):
            rows.append(replace(own, context_relevance=True))
        else:
            elsewhere = passage(draw(st.integers(0, count)), draw(st.integers(0, 2)))
            rows.append(replace(own, document=elsewhere, context_relevance=False))
    return rows


@given(files(), st.integers(0, 3))
def test_no_document_is_on_two_sides(rows: list[AresRow], seed: int) -> None:
    sides, lost = split_rows(rows, seed)
    assert sum(map(len, sides.values())) + lost == len(rows)
    for one in SPLITS:
        for other in SPLITS:
            if one != other:
                assert not {row.document_id for row in sides[one]} & {row.document_id for row in sides[other]}
                assert not {row.document for row in sides[one]} & {row.document for row in sides[other]}
                assert not {row.question for row in sides[one]} & {row.question for row in sides[other]}


def test_a_question_with_two_documents_is_on_the_side_of_the_one_that_helps() -> None:
    """Nothing names the documents; each question has its own passage and one that belongs nowhere."""
    rows = [
        AresRow(question=f"q{n}", document=f"{side} {n} {LONG}", context_relevance=side == "own")
        for n in range(20)
        for side in ("other", "own")
    ]
    sides, lost = split_rows(rows, 0)
    homes = [{row.question for row in sides[side]} for side in SPLITS]
    assert sum(map(len, homes)) == len(homes[0] | homes[1] | homes[2])
    assert all(homes)
    assert 0 < lost == len(rows) - sum(map(len, sides.values()))


def test_without_a_document_to_read_rows_that_differ_only_there_are_the_same() -> None:
    rows = [replace(ROW, answer_relevance=True), replace(ROW, document=f"x {LONG}", answer_relevance=True)]
    dropped: Counter[str] = Counter()
    assert [one.document for one in training_examples(rows, "answer_relevance", dropped)] == [""]
    assert dropped["duplicates"] == 1
    assert training_examples([rows[0], replace(rows[1], answer_relevance=False)], "answer_relevance", dropped) == []


def test_the_split_of_the_file_counts_and_one_that_leaks_is_rejected() -> None:
    rows = [replace(ROW, split=side, document_id=side, document=f"{side} {LONG}") for side in SPLITS]
    sides, lost = split_rows(rows, 0)
    assert [sides[side] for side in SPLITS] == [[row] for row in rows]
    assert lost == 0
    same_id = replace(rows[2], document_id="train")
    with pytest.raises(SettingError, match="'train' is in two splits, train and held out"):
        split_rows([rows[0], rows[1], same_id], 0)
    same_text = replace(rows[2], document=rows[0].document)
    with pytest.raises(SettingError, match="is in two splits"):
        split_rows([rows[0], rows[1], same_text], 0)
    with pytest.raises(SettingError, match="the column split has 'dev'; expected train, validation, held out"):
        split_rows([replace(ROW, split="dev")], 0)


def test_documents_for_validation_are_drawn_from_those_to_train_on_where_the_file_has_none() -> None:
    rows = [
        replace(
            ROW, question=f"{n}?", document_id=str(n), document=f"{n} {LONG}", split="held out" if n < 3 else "train"
        )
        for n in range(13)
    ]
    sides, _ = split_rows(rows, 0)
    assert [row.document_id for row in sides["held out"]] == ["0", "1", "2"]
    assert (len(sides["train"]), len(sides["validation"])) == (8, 2)


def test_the_filters_of_ares_drop_and_count() -> None:
    rows = [
        ROW,
        ROW,
        replace(ROW, document="x" * 100),
        replace(ROW, document="x" * 101),
        replace(ROW, answer=" "),
        replace(ROW, question="Who?", context_relevance=False),
        replace(ROW, question="Where?"),
        replace(ROW, question="Where?", answer_faithfulness=False),
        replace(ROW, question="Why?", answer_faithfulness=None),
    ]
    dropped: Counter[str] = Counter()
    found = training_examples(rows, "answer_faithfulness", dropped)
    assert [(one.question, len(one.document)) for one in found] == [("When?", len(LONG)), ("When?", 101)]
    assert dropped == {
        "duplicates": 1,
        "with a document of at most 100 characters": 1,
        "without an answer": 1,
        "whose passage does not help": 1,
        "with contradictory labels": 2,
    }


def test_context_relevance_takes_passages_that_do_not_help_and_no_answers() -> None:
    rows = [replace(ROW, context_relevance=True), replace(ROW, question="Who?", context_relevance=False)]
    found = training_examples(rows, "context_relevance", Counter())
    assert [(one.holds, one.answer) for one in found] == [(True, ""), (False, "")]


def test_what_was_learnt_from_is_not_scored_on_again() -> None:
    rows = [ROW, replace(ROW, question="Who?")]
    learnt = training_examples(rows[:1], "answer_faithfulness", Counter())
    assert [
        one.question for one in exclude_training_examples(labelled_examples(rows, "answer_faithfulness"), learnt)
    ] == ["Who?"]


def test_human_labels_are_used_unchanged_and_clustered_by_question() -> None:
    rows = [replace(ROW, document="short", document_id=""), replace(ROW, answer=""), ROW]
    found = labelled_examples(rows, "answer_faithfulness")
    assert [(one.document, one.cluster) for one in found] == [("short", "When?"), (LONG, "fara")]
