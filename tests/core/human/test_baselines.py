"""Tests of comparing a judge with the best trivial baseline."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from tests.core.human.test_grades import heard as graded
from tests.core.human.test_preferences import heard as paired

from ragboard.human.agreement import AgreementData
from ragboard.human.baselines import BaselineComparison, baseline_comparisons, compare_with_baselines
from ragboard.stats import Interval, auroc, best_cut, roc
from ragboard.store.queries.agreements import Scorer

TRIVIAL = ("longer", "shorter", "word overlap", "coin")


def compared(data: AgreementData) -> BaselineComparison:
    """The comparison, with the scorers of trivial names as baselines."""
    scorers = tuple(
        Scorer(name=one.name, kind="trivial" if one.name in TRIVIAL else "metric")
        for one in data.stored.agreement.scorers
    )
    stored = replace(data.stored, agreement=replace(data.stored.agreement, scorers=scorers))
    found = compare_with_baselines(replace(data, stored=stored), data.stored.dimensions[0])
    assert found
    return found


def noisy(good: Sequence[bool], noise: float, seed: int) -> list[float | None]:
    chance = random.Random(seed)
    return [one + chance.gauss(0, noise) for one in good]


GOOD = [n % 3 > 0 for n in range(120)]
GRADES = [(float(one),) for one in GOOD]


def answers(scores: Mapping[str, list[float | None]], clusters: list[str] | None = None) -> BaselineComparison:
    return compared(graded(GRADES, dict(scores), clusters=clusters))


def test_a_scorer_far_above_the_best_baseline_beats_it() -> None:
    overlap = noisy(GOOD, 2, 1)
    found = answers({"ours": noisy(GOOD, 0.3, 0), "shorter": noisy(GOOD, 30, 2), "word overlap": overlap})
    assert (found.result, found.baseline, found.n, found.clusters) == ("better", "word overlap", 120, 120)
    assert found.baseline_value == pytest.approx(auroc([one or 0.0 for one in overlap], GOOD))
    assert found.sentence.endswith(f", word overlap {found.baseline_value:.0%}: significantly better.")
    assert found.conclusion == "Yes: better than word overlap"


def test_the_baseline_under_another_name_adds_nothing() -> None:
    overlap = noisy(GOOD, 0.7, 1)
    found = answers({"ours": [one and 2 * one for one in overlap], "word overlap": overlap})
    assert (found.result, found.difference.value) == ("inconclusive", 0.0)
    assert "word overlap" in found.sentence
    assert found.conclusion == "Not proven: not significantly better than word overlap"
    assert found.sentence == (
        "ours by plain (quality) ranks a good answer above a bad one 91% of the time, word overlap 91%:"
        " no significant difference."
    )


def test_a_scorer_below_the_baseline_is_worse_however_high() -> None:
    found = answers({"ours": noisy(GOOD, 1, 1), "word overlap": noisy(GOOD, 0.05, 2)})
    assert found.value.value is not None
    assert (found.result, found.value.value > 0.7) == ("worse", True)
    assert found.sentence.endswith(": significantly worse.")
    assert found.conclusion == "No: word overlap does better"


def test_where_long_answers_are_the_good_ones_length_counts_that_way_round() -> None:
    found = answers({"ours": noisy(GOOD, 1, 1), "shorter": [-one for one in GOOD], "word overlap": noisy(GOOD, 9, 2)})
    assert (found.baseline, found.baseline_value, found.result) == ("longer", 1.0, "worse")


def test_nothing_is_beaten_by_less_than_a_coin() -> None:
    found = answers({"ours": noisy(GOOD, 0.3, 1), "word overlap": [-float(one) for one in GOOD]})
    assert (found.baseline, found.baseline_value) == ("a coin", 0.5)


def test_pairs_have_no_annotator_to_rank_as_well_as() -> None:
    right: list[tuple[float | None, float | None]] = [(0.0, 1.0)] * 10
    found = compared(paired([(1.0,)] * 10, {"ours": right, "word overlap": right}))
    assert found.conclusion == "Not proven: not significantly better than word overlap; only 10 pairs"


def test_a_few_pairs_prove_nothing_although_the_interval_excludes_0() -> None:
    """Four of ten pairs that only the scorer gets right: exact McNemar p = 0.125."""
    right: list[tuple[float | None, float | None]] = [(0.0, 1.0)] * 10
    six = [(0.0, 1.0) if number < 6 else (1.0, 0.0) for number in range(10)]
    found = compared(paired([(1.0,)] * 10, {"ours": right, "word overlap": list(six)}))
    assert isinstance(found.difference.interval, Interval)
    assert found.difference.interval.low > 0
    assert (found.p, found.result) == (pytest.approx(0.125), "inconclusive")
    assert "exact McNemar p = 0.12;" in found.details


def test_statements_of_one_question_said_again_tell_no_more() -> None:
    """Each item five times over in one cluster: the interval is that of the items, not narrower."""
    few, ours, overlap = GOOD[:40], noisy(GOOD[:40], 0.8, 3), noisy(GOOD[:40], 1.2, 4)
    once = compared(graded([(float(one),) for one in few], {"ours": ours, "word overlap": overlap}))
    clusters = [f"q{n}" for n in range(40) for _ in range(5)]
    again = compared(
        graded(
            [(float(one),) for one in few for _ in range(5)],
            {
                "ours": [one for one in ours for _ in range(5)],
                "word overlap": [one for one in overlap for _ in range(5)],
            },
            clusters=clusters,
        )
    )
    first, second = once.difference.interval, again.difference.interval
    assert isinstance(first, Interval)
    assert isinstance(second, Interval)
    assert (second.low, second.high) == pytest.approx((first.low, first.high))
    assert (again.n, again.clusters) == (200, 40)


def test_the_difference_is_paired_so_what_is_hard_for_both_does_not_widen_it() -> None:
    hard = [one or 0.0 for one in noisy(GOOD, 1.5, 5)]
    better: list[float | None] = [one + 0.8 * good for one, good in zip(hard, GOOD, strict=True)]
    found = answers({"ours": better, "word overlap": list(hard)})
    difference, alone = found.difference.interval, found.value.interval
    assert isinstance(difference, Interval)
    assert isinstance(alone, Interval)
    assert found.result == "better"
    assert difference.high - difference.low < alone.high - alone.low


def test_pairs_are_held_against_a_fair_coin_and_not_against_a_lucky_one() -> None:
    votes = [(1.0,)] * 20
    right: list[tuple[float | None, float | None]] = [(0.0, 1.0)] * 20
    half: list[tuple[float | None, float | None]] = [(0.0, 1.0) if n % 2 else (1.0, 0.0) for n in range(20)]
    found = compared(paired(votes, {"ours": right, "word overlap": half, "coin": right}))
    assert (found.baseline_value, found.result, found.measured) == (0.5, "better", "accuracy")
    assert found.sentence == (
        "ours by plain (quality) agrees with the human preference 100% of the time, word overlap 50%:"
        " significantly better."
    )
    assert found.conclusion == "Yes: better than word overlap; only 20 pairs"
    worse = compared(paired(votes, {"ours": half, "longer": right}))
    assert (worse.baseline, worse.result) == ("longer", "worse")
    assert "preferring the longer text 100%" in worse.sentence


@pytest.mark.parametrize(
    ("name", "metrics", "dimension", "title"),
    [
        ("ragas", {"faithfulness": "ragas.faithfulness"}, "", "RAGAS faithfulness"),
        ("ragas", {"a": "ragas.faithfulness", "b": "ragas.answer_relevance@method=direct"}, "", "RAGAS metrics"),
        (
            "ragas",
            {"a": "ragas.faithfulness", "b": "ragas.answer_relevance@method=direct"},
            "b",
            "RAGAS answer relevance (rated)",
        ),
        ("embedded, its score", {}, "", "embedded score"),
        ("embedded, its verdict", {}, "", "embedded verdict (marks ✓ ? ✕)"),
        (
            "ragas.faithfulness@compat=true",
            {"a": "ragas.faithfulness@compat=true"},
            "a",
            "ragas.faithfulness@compat=true",
        ),
        ("word overlap", {}, "", "word overlap"),
    ],
)
def test_a_scorer_has_a_title_that_readers_know(name: str, metrics: dict[str, str], dimension: str, title: str) -> None:
    assert Scorer(name=name, kind="metric", metrics=metrics).title(dimension) == title


def test_a_verdict_is_compared_with_baselines_at_their_best_threshold() -> None:
    """A verdict has two values, so a baseline that ranks finely is not better for that alone."""
    overlap = [float(one) for one in noisy(GOOD, 0.6, 1) if one is not None]
    cut = best_cut(roc(overlap, GOOD))
    assert cut
    verdicts: list[float | None] = [float(one >= cut.threshold) for one in overlap]
    data = graded(GRADES, {"plain, its verdict": verdicts, "plain, its score": list(overlap), "word overlap": overlap})
    scorers = tuple(
        replace(one, kind="trivial" if one.name in TRIVIAL else "metric") for one in data.stored.agreement.scorers
    )
    stored = replace(data.stored, agreement=replace(data.stored.agreement, scorers=scorers))
    data = replace(data, stored=stored)
    verdict, score = baseline_comparisons(data, "quality")
    assert (verdict.measured, verdict.difference.value, verdict.result) == ("balanced accuracy", 0.0, "inconclusive")
    assert verdict.value.value == pytest.approx(cut.agreement.balanced_accuracy)
    assert (score.measured, score.title) == ("AUROC", "the score of plain")
    assert verdict.title == "the verdict (marks ✓ ? ✕) of plain"


def test_the_judge_is_named_and_a_rule_based_one_as_such() -> None:
    data = graded(GRADES, {"ours": noisy(GOOD, 1, 1), "word overlap": noisy(GOOD, 1, 2)})
    agreement = replace(data.stored.agreement, judge="embedded", heuristic=True)
    found = compared(replace(data, stored=replace(data.stored, agreement=agreement)))
    assert found.title == "ours by the embedded judge (rule-based)"


def test_few_clusters_show_nothing_and_say_why() -> None:
    found = answers({"ours": noisy(GOOD, 0.1, 1), "word overlap": noisy(GOOD, 5, 2)}, [str(n % 4) for n in range(120)])
    assert found.result == "inconclusive"
    assert "no CI: an interval needs at least 10 clusters, got 4" in found.details
    assert found.conclusion.endswith("; only 4 questions or conversations")


def test_a_few_bad_answers_show_little_and_are_counted() -> None:
    grades: list[tuple[float | None, ...]] = [(1.0,)] * 3 + [(4.0,)] * 117
    scores = {"ours": noisy(GOOD, 1, 1), "word overlap": noisy(GOOD, 1, 2)}
    found = compared(graded(grades, scores))
    assert found.conclusion.endswith("; only 3 of 120 answers are bad")


def test_without_a_scorer_of_the_judge_there_is_nothing_to_compare() -> None:
    data = graded(GRADES, {"ours": noisy(GOOD, 1, 1)})
    scorers = (Scorer(name="ours", kind="published"),)
    stored = replace(data.stored, agreement=replace(data.stored.agreement, scorers=scorers))
    assert compare_with_baselines(replace(data, stored=stored), "quality") is None
