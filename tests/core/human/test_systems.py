"""Tests of estimating and ranking systems from labels and judge scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ragboard.human.systems import System, compare_with_order, estimate_system, systems_report
from ragboard.stats import Interval, MeanEstimate, NoInterval, difference_of_estimates, estimate_means, wilson_interval


def system(name: str, rate: float, *, seed: int, items: int = 400, labels: int = 120, right: float = 0.9) -> System:
    """Answers that are right at that rate, and a judge that is right of them as often."""
    rng = np.random.default_rng(seed)
    truth = rng.random(items) < rate
    judged = np.where(rng.random(items) < right, truth, ~truth)
    return System(
        name=name,
        scores={f"q{n}": float(score) for n, score in enumerate(judged)},
        labels={f"q{n}": float(truth[n]) for n in range(labels)},
    )


def test_one_system_is_estimated_as_the_statistics_say() -> None:
    given = system("a", 0.7, seed=1)
    found = estimate_system(given)
    labels = list(given.labels.values())
    scores = list(given.scores.values())
    assert found.means == estimate_means(labels, scores[:120], scores[120:])
    assert (found.items, found.labels) == (400, 120)
    same = float(np.mean(np.array(labels) == np.array(scores[:120])))
    assert found.accuracy == wilson_interval(same, 120)
    assert found.notes == ()


def test_labels_that_must_not_be_used_give_no_estimate_and_say_why() -> None:
    given = system("a", 0.7, seed=1)
    refused = System(name="a", scores=given.scores, labels=given.labels, unusable_reason="not random")
    found = estimate_system(refused)
    assert (found.means, found.best, found.unusable_reason) == (None, None, "not random")
    assert systems_report([refused]).ranking == ()


def test_a_judge_no_better_than_a_coin_is_called_so() -> None:
    (said,) = estimate_system(system("a", 0.7, seed=3, right=0.5)).notes
    assert "not significantly better than chance" in said
    always = system("a", 0.7, seed=3)
    (said,) = estimate_system(replace(always, scores=dict.fromkeys(always.scores, 1.0))).notes
    assert said == "the judge is no better than chance: it gives 1 to every labelled sample"
    assert estimate_system(system("a", 0.7, seed=3)).notes == ()


def test_systems_over_the_same_questions_are_compared_question_by_question() -> None:
    a, b = system("a", 0.6, seed=1), system("b", 0.8, seed=2)
    (found,) = systems_report([a, b]).differences
    scores = np.array(list(b.scores.values())) - np.array(list(a.scores.values()))
    labels = np.array(list(b.labels.values())) - np.array(list(a.labels.values()))
    tuned = estimate_means(labels, scores[:120], scores[120:], bounds=(-1.0, 1.0)).tuned
    assert isinstance(tuned, MeanEstimate)
    assert (found.paired, found.labels, found.interval) == (True, 120, tuned.clipped)


def test_few_questions_labelled_in_both_runs_are_not_used_for_pairing() -> None:
    a, b = system("a", 0.6, seed=1, labels=200), system("b", 0.8, seed=2, labels=400)
    b = replace(b, labels=dict(list(b.labels.items())[160:360]))
    (found,) = systems_report([a, b]).differences
    assert (found.paired, found.labels) == (False, 400), "40 are labelled in both"
    assert isinstance(found.interval, Interval)
    assert found.interval.high - found.interval.low < 0.2


def test_systems_without_a_common_question_are_compared_as_strangers() -> None:
    a, b = system("a", 0.6, seed=1), system("b", 0.8, seed=2)
    other = System(
        name="b",
        scores={f"other {key}": value for key, value in b.scores.items()},
        labels={f"other {key}": value for key, value in b.labels.items()},
    )
    (found,) = systems_report([a, other]).differences
    ours, theirs = estimate_system(a).best, estimate_system(other).best
    assert isinstance(ours, MeanEstimate)
    assert isinstance(theirs, MeanEstimate)
    assert (found.paired, found.interval) == (False, difference_of_estimates(ours, theirs))


def test_the_order_is_that_of_the_estimates_and_ranks_hold_the_place() -> None:
    systems = [
        system(name, rate, seed=place) for place, (name, rate) in enumerate([("c", 0.3), ("a", 0.9), ("b", 0.6)])
    ]
    report = systems_report(systems)
    assert [one.name for one in report.ranking] == ["a", "b", "c"]
    assert [(one.best, one.worst) for one in report.ranking] == [(1, 1), (2, 2), (3, 3)]
    assert report.tau == pytest.approx(1.0)


def test_a_known_order_is_held_against_ours_and_against_the_judges() -> None:
    """The judge thinks far too well of c, which people put last."""
    a, b, c = (system(name, rate, seed=seed) for seed, (name, rate) in enumerate([("a", 0.9), ("b", 0.6), ("c", 0.3)]))
    lenient = {key: 1.0 if int(key[1:]) % 30 else score for key, score in c.scores.items()}
    report = systems_report([a, b, replace(c, scores=lenient)])
    found = compare_with_order(report, ["a", "b", "c"])
    assert (found.names, found.tau) == (("a", "b", "c"), pytest.approx(1.0))
    assert found.judge == pytest.approx((1 - 2) / 3)
    nothing = compare_with_order(report, ["b"])
    assert (nothing.names, nothing.tau, nothing.judge) == (("b",), None, None)


def test_few_labels_fall_back_to_nothing_rather_than_to_the_judge() -> None:
    found = estimate_system(system("a", 0.7, seed=1, labels=5))
    assert isinstance(found.best, MeanEstimate | NoInterval)
    assert found.means is not None
    assert isinstance(found.means.tuned, NoInterval)
    assert found.best == found.means.classical
