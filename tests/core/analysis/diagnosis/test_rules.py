"""Tests of the rules: they are complete, and rarely apply if the true mean equals the threshold."""

from __future__ import annotations

import numpy as np
import pytest

from ragboard.analysis import HallucinationQuery, SampleQuery
from ragboard.analysis.diagnosis import (
    FAITHFULNESS,
    QUANTITIES,
    RULES,
    Finding,
    Rule,
    apply_rules,
    cite_sources,
    condition_in_words,
    fill_template,
    measure,
    weak_groups,
)
from ragboard.metrics import METRICS
from ragboard.stats import Interval, NoInterval, mean_interval, moments
from ragboard.store import RunRef
from ragboard.store.queries.values import Categories

RUN = RunRef(run_id="r", name="r", evaluation_id="e")


def interval(low: float, high: float) -> Interval:
    return Interval(estimate=(low + high) / 2, low=low, high=high, level=0.95, n=60, method="made")


def applied(rule: Rule, found: Interval | NoInterval) -> object:
    findings, silent = apply_rules({rule.quantity: found}, RUN, [rule])
    return (*findings, *silent)[0]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_is_triggered_only_if_the_whole_interval_is_beyond_its_threshold(rule: Rule) -> None:
    sign = 1 if rule.side == "above" else -1
    ends = sorted([rule.threshold + sign * 0.01, rule.threshold + sign * 0.05])
    said = applied(rule, interval(*ends))
    assert isinstance(said, Finding)
    quantity = QUANTITIES[rule.quantity]
    assert (" of 60 " if quantity.counted else "%") in said.sentence
    assert "{" not in said.sentence
    assert not isinstance(applied(rule, interval(rule.threshold - 0.05, rule.threshold + 0.05)), Finding)
    touches = applied(rule, interval(*sorted([rule.threshold, rule.threshold + sign * 0.05])))
    assert isinstance(touches, Finding) == quantity.observed, "a fact of the file needs no interval"
    assert not isinstance(applied(rule, NoInterval(reason="made", n=2)), Finding)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_says_where_it_comes_from_and_where_to_look(rule: Rule) -> None:
    assert "is a rule of thumb" in cite_sources(rule)
    assert rule.advice
    assert isinstance(rule.query, HallucinationQuery | SampleQuery) != QUANTITIES[rule.quantity].counted
    if isinstance(rule.query, SampleQuery) and rule.query.column:
        assert rule.query.column in METRICS
    low, high = QUANTITIES[rule.quantity].bounds
    assert low <= rule.threshold < high
    assert rule.threshold >= 0 or rule.side == "above", "a sentence and its figure have the same sign"


def test_rules_have_ids_of_their_own() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)
    assert {rule.quantity for rule in RULES} == set(QUANTITIES)


def test_a_difference_is_reported_with_the_sign_of_its_figure() -> None:
    rule = next(one for one in RULES if one.id == "lost-in-generation")
    assert "by 30% (95% CI 20% to 40%) of" in fill_template(rule, interval(0.2, 0.4))
    assert condition_in_words(rule) == "Lost in generation minus lost in retrieval: above 0.1"


@pytest.mark.parametrize(
    "rule",
    [one for one in RULES if not (QUANTITIES[one.quantity].compares_groups or QUANTITIES[one.quantity].observed)],
    ids=lambda rule: rule.id,
)
@pytest.mark.parametrize("parts", [1, 4])
@pytest.mark.parametrize("n", [5, 11, 60])
def test_at_its_threshold_a_rule_is_triggered_about_one_time_in_forty(rule: Rule, n: int, parts: int) -> None:
    rng, runs = np.random.default_rng(3), 1000
    bounds = QUANTITIES[rule.quantity].bounds
    mean = (rule.threshold - bounds[0]) / (bounds[1] - bounds[0])
    drawn = bounds[0] + rng.binomial(parts, mean, size=(runs, n)) / parts * (bounds[1] - bounds[0])
    different, times = np.unique(np.sort(drawn, axis=1), axis=0, return_counts=True)
    spoke = [isinstance(applied(rule, mean_interval(moments(row), bounds=bounds)), Finding) for row in different]
    assert np.average(spoke, weights=times) <= 0.025 + 3 * (0.025 * 0.975 / runs) ** 0.5


def test_equally_faithful_short_and_long_answers_rarely_trigger_the_rule() -> None:
    rng, runs = np.random.default_rng(4), 400
    rule = next(one for one in RULES if QUANTITIES[one.quantity].compares_groups)
    spoke = 0
    for _ in range(runs):
        lengths = rng.integers(1, 10, size=60)
        columns = {FAITHFULNESS: rng.binomial(lengths, 0.9) / lengths, "statements": lengths.astype(float)}
        spoke += isinstance(applied(rule, measure(QUANTITIES[rule.quantity], columns)), Finding)
    assert spoke / runs <= 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5


def test_with_equal_topics_one_is_flagged_at_most_one_time_in_twenty() -> None:
    rng, runs = np.random.default_rng(5), 200
    topics = {"metadata.topic": Categories(tuple(f"t{topic}" for topic in range(8)), np.arange(80) % 8)}
    named = sum(bool(weak_groups({FAITHFULNESS: rng.binomial(4, 0.8, size=80) / 4}, topics)[0]) for _ in range(runs))
    assert named / runs <= 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5


def test_values_and_samples_without_one_are_counted_by_hand() -> None:
    columns = {
        "ragchecker.claim_recall": np.array([0.0, 0.5, 1.0, np.nan]),
        "ragchecker.context_utilization": np.array([np.nan, 0.5, 1.0, np.nan]),
        "refuses": np.array([1.0, 0.0, 1.0, 0.0]),
        "may be answerable": np.array([1.0, 1.0, 1.0, 1.0]),
    }
    values = {
        key: QUANTITIES[key].compute(*(columns[name] for name in QUANTITIES[key].inputs))
        for key in (
            "retrieval minus generation",
            "generation minus retrieval",
            "refusals despite evidence",
            "answers without passages",
        )
    }
    nan = np.nan
    np.testing.assert_array_equal(values["retrieval minus generation"], [1, 0.25, 0, nan])
    np.testing.assert_array_equal(values["generation minus retrieval"], [-1, -0.25, 0, nan])
    np.testing.assert_array_equal(values["refusals despite evidence"], [nan, 0, 1, nan])
    np.testing.assert_array_equal(values["answers without passages"], [0, nan, nan, nan])
    unanswerable = columns["may be answerable"] * 0
    refusals = QUANTITIES["refusals despite evidence"]
    right = refusals.compute(columns["refuses"], columns["ragchecker.claim_recall"], unanswerable)
    np.testing.assert_array_equal(right, [nan] * 4)
