"""Tests of reading whether a question can be answered."""

from __future__ import annotations

from typing import Any

import pytest

from ragboard.answerability import answerability_of


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"answerability": "UNANSWERABLE"}, "unanswerable"),
        ({"answerability": ["PARTIAL"]}, "partial"),
        ({"Answerability": ["CONVERSATIONAL"]}, "conversational"),
        ({"answerability": " Underspecified "}, "underspecified"),
        ({"answerable": False}, "unanswerable"),
        ({"answerable": 0}, "unanswerable"),
        ({"answerable": 0.0}, "unanswerable"),
        ({"answerable": "1.0"}, "answerable"),
        ({"answerable": "No"}, "unanswerable"),
        ({"answerable": "partial"}, "partial"),
        ({"is_impossible": True}, "unanswerable"),
        ({"is_impossible": "false"}, "answerable"),
        ({"answerability": None, "answerable": "", "is_impossible": 1}, "unanswerable"),
        ({"answerability": [], "answerable": True}, "answerable"),
        ({"answerability": "nan", "answerable": " "}, None),
        ({"answerable": "NULL"}, None),
        ({}, None),
    ],
)
def test_each_form_is_read(metadata: dict[str, Any], expected: str | None) -> None:
    assert answerability_of(metadata) == expected
    assert answerability_of(metadata, compat=True) == expected


@pytest.mark.parametrize("value", ["perhaps", 2, -1, ["ANSWERABLE", "PARTIAL"], {"a": 1}, ["maybe"]])
def test_anything_else_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"answerable is .*; expected true, false, or one of answerable, partial"):
        answerability_of({"answerable": value})


def test_compat_reads_the_first_entry_of_a_list_and_takes_anything_else_as_no_label() -> None:
    assert answerability_of({"answerability": ["UNANSWERABLE", "PARTIAL"]}, compat=True) == "unanswerable"
    assert answerability_of({"answerability": "OTHER"}, compat=True) is None
