"""Tests of the refusal metric."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.core.metrics.tables import SAMPLE

from ragboard import Score, Statement, Unscored
from ragboard.metrics import compute_outcome
from ragboard.metrics.needs import ExtractedStatements, NeedResults, Statements
from ragboard.metrics.refusal import Refusal
from ragboard.records import Outcome


def refusal(*texts: str, refuses: bool | None, answer: str = "An answer.") -> Outcome:
    said = tuple(Statement(side="response", text=text) for text in texts)
    found = ExtractedStatements(side="response", statements=said, refuses=refuses)
    return compute_outcome(Refusal(), replace(SAMPLE, answer=answer), NeedResults({Statements(): found}))  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("texts", "refuses", "expected"),
    [
        ((), True, Score(value=1.0, counted="the answer refuses")),
        (("It is red.",), True, Score(value=1.0, counted="the answer refuses in part")),
        (("It is red.",), False, Score(value=0.0, counted="the answer does not refuse")),
    ],
)
def test_it_is_1_where_the_answer_declines(texts: tuple[str, ...], refuses: bool, expected: Score) -> None:
    assert refusal(*texts, refuses=refuses) == expected


def test_an_empty_answer_refuses_nothing() -> None:
    assert refusal(refuses=False, answer=" ") == Unscored(reason="undefined", detail="the answer is empty")


def test_claims_of_the_file_do_not_say_it() -> None:
    found = refusal("It is red.", refuses=None)
    assert isinstance(found, Unscored)
    assert found.reason == "skipped"
