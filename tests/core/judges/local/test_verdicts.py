"""Tests of the rule for verdicts: support, otherwise contradiction, otherwise unsupported."""

from __future__ import annotations

import math

import pytest

from ragboard.judges.local.verdicts import Scores, Thresholds, WindowScores, combine_windows, scores_from_logits
from ragboard.records import Evidence, Label, Verdict


def seen(rank: int, support: float, contradiction: float | None = 0.0) -> WindowScores:
    return WindowScores(
        rank=rank, start=rank, end=rank + 9, scores=Scores(support=support, contradiction=contradiction)
    )


def test_the_window_that_entails_most_supports() -> None:
    found = combine_windows([seen(1, 0.6), seen(2, 0.9), seen(3, 0.1, 0.8)], Thresholds())
    assert found == Verdict(
        label="supported",
        reason="Passage 2: support 0.90, the highest of 3 windows.",
        score=0.9,
        evidence=(Evidence(rank=2, start=2, end=11, stance="for", how="window"),),
    )


def test_without_support_the_window_that_contradicts_most_decides() -> None:
    found = combine_windows([seen(1, 0.3, 0.5), seen(2, 0.1, 0.8)], Thresholds())
    assert found == Verdict(
        label="contradicted",
        reason="Passage 2: contradiction 0.80, the highest of 2 windows; support 0.30 at most.",
        score=0.3,
        evidence=(Evidence(rank=2, start=2, end=11, stance="against", how="window"),),
    )


def test_unsupported_reasons_give_the_highest_probabilities() -> None:
    found = combine_windows([seen(1, 0.3, 0.2), seen(2, 0.2, 0.4)], Thresholds())
    reason = "Neither supported nor contradicted: support 0.30 and contradiction 0.40, the highest of 2 windows."
    assert found == Verdict(label="unsupported", reason=reason, score=0.3)


def test_one_window_is_not_called_the_highest() -> None:
    assert combine_windows([seen(1, 0.5)], Thresholds()).reason == "Passage 1: support 0.50."


def test_a_model_without_contradiction_never_says_it() -> None:
    found = combine_windows([seen(1, 0.2, None)], Thresholds())
    assert (found.label, found.reason) == ("unsupported", "Neither supported nor contradicted: support 0.20.")


def test_without_text_there_is_no_score() -> None:
    found = combine_windows([], Thresholds())
    assert (found.label, found.score, found.reason) == ("unsupported", None, "There is no text to compare it with.")


def test_probabilities_by_hand() -> None:
    """exp(0), exp(log 2), exp(log 5) of their sum, 8."""
    three: tuple[Label, ...] = ("contradicted", "unsupported", "supported")
    assert scores_from_logits([0.0, math.log(2), math.log(5)], three) == Scores(support=0.625, contradiction=0.125)
    assert scores_from_logits([1000.0, 0.0, 0.0], three) == Scores(support=0.0, contradiction=1.0)
    assert scores_from_logits([math.log(3)], ("supported",)) == Scores(support=0.75)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_logits_that_are_no_numbers_give_no_scores(bad: float) -> None:
    assert scores_from_logits([0.0, bad, 0.0], ("contradicted", "supported", "unsupported")) is None


def test_what_the_best_window_leaves_unsupported_is_quoted() -> None:
    low, high = (
        WindowScores(rank=rank, start=0, end=9, scores=Scores(support=support, marked=marked))
        for rank, support, marked in ((1, 0.1, ("The boat", "wet")), (2, 0.4, ("wet",)))
    )
    found = combine_windows([low, high], Thresholds())
    assert found == Verdict(
        label="unsupported", reason='Best passage 2: support 0.40; not supported: "wet".', score=0.4
    )
