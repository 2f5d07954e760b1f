"""Tests of comparing a trained judge with trivial baselines."""

from __future__ import annotations

import pytest

from ragboard.human.agreement import Measure
from ragboard.human.scorers import ScorerFigures
from ragboard.stats import Interval, NoInterval
from ragboard.training.examples import TrainingExample
from ragboard.training.scores import ScoreSet, baseline_scores, baseline_thresholds, score
from ragboard.training.train import comparison_sentences


def example(number: int, *, holds: bool, answer: str = "red") -> TrainingExample:
    return TrainingExample(
        question="what is red",
        document="red blue",
        answer=answer,
        holds=holds,
        cluster=f"d{number}",
        strong_negative=False,
    )


def test_word_overlap_is_of_what_the_quality_is_about() -> None:
    one = example(0, holds=True, answer="red house")
    assert baseline_scores("context_relevance", one) == {"word overlap": pytest.approx(1 / 3), "length": 8.0}
    assert baseline_scores("answer_faithfulness", one) == {"word overlap": 0.5, "length": -9.0}
    assert baseline_scores("answer_relevance", one) == {"word overlap": pytest.approx(1 / 3), "length": 9.0}


def test_scores_are_counted_by_hand() -> None:
    """Overlap is 1 for "red", 0 for "old": it errs once in ten; the judge never."""
    given = [example(n, holds=n % 2 == 0, answer="red" if n % 2 == 0 else "old") for n in range(20)]
    given[1] = example(1, holds=False, answer="red")
    cuts = baseline_thresholds("answer_faithfulness", given)
    assert cuts["word overlap"] == 1.0
    ours = [0.9 if one.holds else 0.2 for one in given]
    ours[0] = 0.1
    found = score("labels", "answer_faithfulness", given, ours, cuts, threshold=0.5)
    assert found
    assert (found.n, found.positive, found.clusters) == (20, 10, 20)
    judge, overlap, _ = found.scorers
    assert judge.auroc.value == pytest.approx(0.9)
    assert judge.balanced_accuracy
    assert overlap.balanced_accuracy
    assert overlap.judge_better_by
    assert judge.balanced_accuracy.value == pytest.approx(0.95)
    assert overlap.balanced_accuracy.value == pytest.approx(0.95)
    assert overlap.judge_better_by.value == pytest.approx(0.9 - 0.95)
    for figure in (judge.auroc, judge.balanced_accuracy, overlap.judge_better_by):
        assert isinstance(figure.interval, Interval)
        assert figure.value is not None
        assert figure.interval.estimate == pytest.approx(figure.value)
        assert figure.interval.low < figure.value < figure.interval.high


def test_a_single_class_gives_no_score() -> None:
    assert score("labels", "answer_relevance", [example(0, holds=True)], [0.5], {}, threshold=0.5) is None


def interval(low: float, high: float) -> Measure:
    middle = (low + high) / 2
    found = Interval(estimate=middle, low=low, high=high, level=0.95, n=12, method="by hand")
    return Measure(value=middle, interval=found)


def against(auroc: Measure, difference: Measure) -> list[str]:
    judge = ScorerFigures(name="judge", auroc=auroc, balanced_accuracy=auroc, judge_better_by=None)
    other = ScorerFigures(name="word overlap", auroc=auroc, balanced_accuracy=auroc, judge_better_by=difference)
    return [*comparison_sentences(ScoreSet(name="labels", n=9, positive=4, clusters=9, scorers=(judge, other)))]


def test_where_it_does_not_beat_word_overlap_or_a_coin_is_reported() -> None:
    assert against(interval(0.6, 0.9), interval(0.01, 0.2)) == [
        "On labels it is significantly better than word overlap."
    ]
    assert against(interval(0.4, 0.9), interval(-0.1, 0.2)) == [
        "On labels **it is not significantly better than a coin**.",
        "On labels **it is not significantly better than word overlap**.",
    ]
    assert against(interval(0.6, 0.9), interval(-0.2, -0.1)) == [
        "On labels **it is significantly worse than word overlap**."
    ]
    few = Measure(value=0.3, interval=NoInterval(reason="9 groups", n=9))
    assert against(few, few) == [
        "On labels **no interval is available to compare it with a coin** (9 groups).",
        "On labels no interval is available to compare it with word overlap (9 groups).",
    ]
