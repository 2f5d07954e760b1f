"""One rule for a passage and for all of them: support, else contradiction, else neither."""

from __future__ import annotations

import math

import pytest

from ragboard.judges.local.nli import NliScores, OutputLabels, Thresholds, WindowScores, verdict
from ragboard.records import Evidence, Verdict


def seen(rank: int, entailment: float, contradiction: float | None = 0.0) -> WindowScores:
    return WindowScores(
        rank=rank, start=rank, end=rank + 9, scores=NliScores(entailment=entailment, contradiction=contradiction)
    )


def test_the_window_that_entails_most_supports() -> None:
    found = verdict([seen(1, 0.6), seen(2, 0.9), seen(3, 0.1, 0.8)], Thresholds())
    assert found == Verdict(
        label="supported",
        reason="Passage 2: entailment 0.90, the highest of 3 windows.",
        score=0.9,
        evidence=(Evidence(rank=2, start=2, end=11, stance="for", how="window"),),
    )


def test_without_support_the_window_that_contradicts_most_decides() -> None:
    found = verdict([seen(1, 0.3, 0.5), seen(2, 0.1, 0.8)], Thresholds())
    assert found == Verdict(
        label="contradicted",
        reason="Passage 2: contradiction 0.80, the highest of 2 windows; entailment 0.30 at most.",
        score=0.3,
        evidence=(Evidence(rank=2, start=2, end=11, stance="against", how="window"),),
    )


def test_neither_is_unsupported_and_says_how_near_it_came() -> None:
    found = verdict([seen(1, 0.3, 0.2), seen(2, 0.2, 0.4)], Thresholds())
    reason = "Neither: entailment 0.30 and contradiction 0.40, the highest of 2 windows."
    assert found == Verdict(label="unsupported", reason=reason, score=0.3)


def test_one_window_is_not_called_the_highest() -> None:
    assert verdict([seen(1, 0.5)], Thresholds()).reason == "Passage 1: entailment 0.50."


def test_a_model_without_contradiction_never_says_it() -> None:
    found = verdict([seen(1, 0.2, None)], Thresholds())
    assert (found.label, found.reason) == ("unsupported", "Neither: entailment 0.20.")


def test_without_text_there_is_no_score() -> None:
    found = verdict([], Thresholds())
    assert (found.label, found.score, found.reason) == ("unsupported", None, "There is no text to hold it against.")


def test_probabilities_by_hand() -> None:
    """exp(0), exp(log 2), exp(log 5) of their sum, 8."""
    three = OutputLabels(count=3, entailment=2, contradiction=0)
    assert three.scores([0.0, math.log(2), math.log(5)]) == NliScores(entailment=0.625, contradiction=0.125)
    assert three.scores([1000.0, 0.0, 0.0]) == NliScores(entailment=0.0, contradiction=1.0)
    one = OutputLabels(count=1, entailment=0, contradiction=None)
    assert one.scores([math.log(3)]) == NliScores(entailment=0.75, contradiction=None)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_logits_that_are_no_numbers_give_no_scores(bad: float) -> None:
    assert OutputLabels(count=3, entailment=0, contradiction=1).scores([0.0, bad, 0.0]) is None
