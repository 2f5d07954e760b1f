"""Tests of pooled labels for all systems."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from ragboard.human.systems import CAUTION, System, compare_with_order, pooled_report, systems_report
from ragboard.stats import MeanEstimate, NoInterval, mean_interval, moments


def counted(name: str, yes: int, items: int, *, false: int = 0, missed: int = 0, right: int = 0) -> System:
    """A judge that says yes of so many, and labels on some of them: wrong, missed and right in equal parts."""
    scores = {f"{name}{n}": float(n < yes) for n in range(items)}
    keys = iter(scores)
    labels = {next(keys): 0.0 for _ in range(false)} | {next(keys): 1.0 for _ in range(right)}
    noes = iter([key for key, score in scores.items() if not score])
    labels |= {next(noes): 1.0 for _ in range(missed)} | {next(noes): 0.0 for _ in range(right)}
    return System(name=name, scores=scores, labels=labels)


A = counted("a", 60, 100, false=12, missed=6, right=11)
B = counted("b", 140, 200)


def test_every_system_is_put_right_by_the_errors_on_the_labels_of_all() -> None:
    """12 false yeses and 6 missed ones among 40 labels: the judge's share less 6/40, the errors of both added up."""
    report = pooled_report([A, B])
    for found, share, items in zip(report.systems, (0.6, 0.7), (100, 200), strict=True):
        assert found.means is not None
        assert isinstance(found.best, MeanEstimate)
        assert found.best is found.means.ppi
        assert found.best.interval.estimate == pytest.approx(share - 6 / 40)
        wrong = 18 / 40 - (6 / 40) ** 2
        error = math.sqrt(share * (1 - share) / (items - 1) + wrong / 39)
        assert found.best.error == pytest.approx(error)
        assert isinstance(found.means.tuned, NoInterval)
        assert isinstance(found.means.classical, NoInterval)
    assert report.caution == CAUTION


def test_the_order_and_the_differences_are_the_judges_own() -> None:
    same = System(name="c", scores={f"a{n}": float(n % 3 > 0) for n in range(100)}, labels={})
    report = pooled_report([A, B, same])
    assert [one.name for one in report.ranking] == ["b", "c", "a"]
    assert report.tau == pytest.approx(1.0)
    paired = next(one for one in report.differences if (one.a, one.b) == ("a", "c"))
    apart = np.array(list(same.scores.values())) - np.array(list(A.scores.values()))
    assert paired.paired
    assert paired.interval == mean_interval(moments(apart), bounds=(-1.0, 1.0))
    assert not next(one for one in report.differences if one.b == "b").paired


def test_labels_that_must_not_be_used_are_not_pooled() -> None:
    refused = replace(counted("c", 50, 100, false=20, right=20), unusable_reason="not random")
    (_, c) = pooled_report([A, refused]).systems
    assert isinstance(c.best, MeanEstimate)
    assert (c.best.labels, c.unusable_reason) == (40, "")
    assert "its own labels do not count: not random" in c.notes
    (alone,) = pooled_report([refused]).systems
    assert (alone.means, alone.unusable_reason) == (None, "not random")


def test_too_few_labels_in_all_give_no_estimate_and_say_so() -> None:
    few = counted("a", 60, 100, false=2, right=4)
    (found,) = pooled_report([few]).systems
    assert isinstance(found.best, NoInterval)
    assert found.best.reason == "an estimate needs at least 30 labels, got 10"


def test_a_single_run_is_corrected_less_without_pooling() -> None:
    """With labels of its own a run needs no such assumption, and the weight may be smaller."""
    (alone,) = systems_report([A]).systems
    (pooled,) = pooled_report([A]).systems
    assert isinstance(alone.best, MeanEstimate)
    assert isinstance(pooled.best, MeanEstimate)
    assert alone.best.weight < pooled.best.weight == 1


def test_a_run_without_a_score_is_rejected_and_the_others_are_not() -> None:
    report = pooled_report([A, System(name="c", scores={}, labels={})])
    a, c = report.systems
    assert isinstance(a.best, MeanEstimate)
    assert (c.means, c.unusable_reason) == (None, "no sample of this run has a score")
    assert [one.name for one in report.ranking] == ["a"]


def test_a_run_of_few_scores_leaves_the_judges_order_untold() -> None:
    few = System(name="c", scores={"c0": 1.0, "c1": 0.0, "c2": 1.0}, labels={})
    report = pooled_report([A, few])
    c = report.systems[1]
    assert isinstance(c.best, MeanEstimate)
    assert c.means is not None
    assert isinstance(c.means.judge_only, NoInterval)
    found = compare_with_order(report, ["c", "a"])
    assert (found.names, found.tau, found.judge) == (("c", "a"), pytest.approx(1.0), None)
