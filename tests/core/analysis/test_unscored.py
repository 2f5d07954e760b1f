"""Tests of the choice of how unscored samples count, in every report."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.conftest import PlainJudge, make_sample

from ragboard import DEFAULT_METRICS, Interval, Panel, Run, Store, evaluate_run
from ragboard.analysis import (
    Condition,
    MetricSummary,
    UnscoredPolicy,
    breakdown,
    check_run,
    compare_runs,
    distribution,
    gate_comparison,
    leaderboard,
    run_summary,
)
from ragboard.analysis.means import compute_mean, imputed_range
from ragboard.metrics import METRICS, describe
from ragboard.records import FileScores, MetricDescription, Outcome, Score, Unscored
from ragboard.stats import Moments, moments

FAITHFULNESS = "ragas.faithfulness"
MEASURE = describe(METRICS[FAITHFULNESS])
LOWER = replace(MEASURE, spec="x.lower", direction="lower")
UNBOUNDED = replace(MEASURE, spec="x.unbounded", high=None)
POLICIES: tuple[UnscoredPolicy, ...] = ("excluded", "zero", "bounds")


def scored_run(name: str, values: list[float | None], metric: MetricDescription = MEASURE) -> Run:
    """A run whose file brings these scores, None being an unscored one."""
    outcomes: list[dict[str, Outcome]] = [
        {metric.spec: Unscored(reason="failed", detail="x") if value is None else Score(value=value)}
        for value in values
    ]
    scores = FileScores(tool="t", format="f", columns={metric.spec: "c"}, metrics=(metric,), outcomes=tuple(outcomes))
    samples = tuple(
        replace(make_sample(number), metadata={"kind": "odd" if number % 2 else "even"})
        for number in range(len(values))
    )
    return Run(name=name, samples=samples, scores=scores)


def summary(store: Store, policy: UnscoredPolicy, metric: MetricDescription = MEASURE) -> MetricSummary:
    return run_summary(store, store.resolve("run"), unscored=policy).file_scores[metric.spec]


VALUES = [1.0, 0.5, 0.5, 1.0, 0.0, 1.0, None, None]


def test_each_policy_by_hand(store: Store) -> None:
    store.add_runs([scored_run("run", VALUES)])
    left_out, zero, bounds = (summary(store, policy) for policy in POLICIES)
    assert (left_out.mean, left_out.scored, left_out.total) == (pytest.approx(4 / 6), 6, 8)
    assert (left_out.note, left_out.bounds, left_out.imputed_value) == ("", None, None)
    assert (zero.mean, zero.imputed_value, zero.note) == (0.5, 0.0, "2 unscored count as 0")
    assert isinstance(zero.interval, Interval)
    assert zero.interval.n == 8
    assert bounds.mean == left_out.mean
    assert bounds.bounds == (0.5, 0.75)
    assert bounds.note == "2 unscored from worst to best value"
    assert isinstance(bounds.interval, Interval)
    assert bounds.interval.low == zero.interval.low
    assert bounds.interval.high > 0.75


def test_values_that_differ_in_the_last_digits_are_no_certainty(store: Store) -> None:
    store.add_runs([scored_run("run", [1 - 1e-10 / (1 + place % 7) for place in range(40)])])
    ref = store.resolve("run")
    drawn = distribution(store, ref, FAITHFULNESS)
    groups = breakdown(store, ref, FAITHFULNESS, "metadata.kind")
    found = [summary(store, "excluded").interval, drawn.interval, *(group.interval for group in groups)]
    assert [isinstance(one, Interval) and one.low < 0.95 for one in found] == [True] * 4


def test_if_lower_is_better_unscored_counts_as_the_maximum(store: Store) -> None:
    store.add_runs([scored_run("run", VALUES, LOWER)])
    found = summary(store, "zero", LOWER)
    assert (found.mean, found.imputed_value, found.note) == (0.75, 1.0, "2 unscored count as 1, the worst value")


def test_without_a_known_bound_unscored_samples_are_left_out_with_a_note(store: Store) -> None:
    store.add_runs([scored_run("run", VALUES, UNBOUNDED)])
    left_out, found = summary(store, "excluded", UNBOUNDED), summary(store, "bounds", UNBOUNDED)
    assert (found.mean, found.interval) == (left_out.mean, left_out.interval)
    assert found.note == "2 unscored left out: this metric has no upper bound"
    assert summary(store, "zero", UNBOUNDED).mean == 0.5
    assert isinstance(imputed_range(replace(UNBOUNDED, direction="lower"), "zero"), str)
    assert imputed_range(None, "bounds") == "the range of this metric is not known"


def test_where_nothing_is_scored_zero_is_a_mean_and_the_bounds_are_the_whole_range(store: Store) -> None:
    store.add_runs([scored_run("run", [None] * 6)])
    assert summary(store, "excluded").mean is None
    assert summary(store, "zero").mean == 0
    found = summary(store, "bounds")
    assert (found.mean, found.bounds) == (None, (0, 1))


def test_leaderboard_distribution_and_breakdown_say_the_same_as_the_run(store: Store) -> None:
    store.add_runs([scored_run("run", VALUES)])
    ref = store.resolve("run")
    for policy in POLICIES:
        of_run = summary(store, policy)
        assert leaderboard(store, unscored=policy)[0].file_scores[FAITHFULNESS] == of_run
        spread = distribution(store, ref, FAITHFULNESS, unscored=policy)
        assert (spread.mean, spread.note) == (of_run.mean, of_run.note)
        assert spread.interval == of_run.interval
        assert (spread.scored, sum(part.count for part in spread.bins)) == (6, 6)
        groups = breakdown(store, ref, FAITHFULNESS, "metadata.kind", unscored=policy)
        assert {group.value: group.mean for group in groups} == {
            "even": pytest.approx(1.5 / (4 if policy == "zero" else 3)),
            "odd": pytest.approx(2.5 / (4 if policy == "zero" else 3)),
        }


def test_samples_that_were_not_evaluated_count_under_no_policy(store: Store) -> None:
    samples = tuple(make_sample(n, answer="It is red." if n else None) for n in range(6))
    store.append(Run(name="grows", samples=samples[:4]))
    ref = store.resolve("grows")
    evaluate_run(store, ref.run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    store.append(Run(name="grows", samples=samples[4:]))
    ref = store.resolve("grows")
    found = run_summary(store, ref, unscored="zero").metrics[FAITHFULNESS]
    assert (found.mean, found.scored, found.total) == (0.75, 3, 4)
    assert distribution(store, ref, FAITHFULNESS, unscored="zero").mean == 0.75


def test_a_comparison_pairs_the_unscored_under_a_policy(store: Store) -> None:
    store.add_runs([scored_run("a", [0.0] * 20 + [1.0, None]), scored_run("b", [1.0] * 20 + [None, None])])
    a, b = store.resolve("a"), store.resolve("b")
    left_out, zero, bounds = (compare_runs(store, a, b, unscored=policy).metrics[0] for policy in POLICIES)
    assert left_out.pairs
    assert zero.pairs
    assert bounds.pairs
    assert (left_out.pairs.n, left_out.pairs.difference, left_out.note) == (20, 1.0, "")
    assert (zero.pairs.n, zero.pairs.difference) == (22, pytest.approx(19 / 22))
    assert zero.note == "unscored samples in 2 pairs count as 0"
    assert (bounds.pairs.n, bounds.pairs.difference) == (20, 1.0)
    assert bounds.bounds == (pytest.approx(18 / 22), pytest.approx(21 / 22))
    assert bounds.change == "better"
    assert isinstance(bounds.pairs.interval, Interval)
    assert bounds.pairs.interval.n == 22
    assert (bounds.scored_only_a, bounds.scored_only_b, bounds.scored_in_neither) == (1, 0, 1)


def test_a_gate_that_would_pass_is_left_open_where_the_unscored_could_fail_it(store: Store) -> None:
    store.add_runs([scored_run("run", [1.0] * 60 + [None] * 20)])
    condition = [Condition(metric=FAITHFULNESS, fail="below", threshold=0.9)]
    ref = store.resolve("run")
    verdicts = [check_run(run_summary(store, ref, unscored=one), condition)[0] for one in POLICIES]
    assert [gated.verdict for gated in verdicts] == ["pass", "fail", "inconclusive"]
    assert [gated.n for gated in verdicts] == [60, 80, 80]
    store.add_runs([scored_run("other", [1.0] * 60 + [0.0] * 20)])
    other = store.resolve("other")
    loss = [Condition(metric=FAITHFULNESS, fail="below", threshold=-0.05)]
    found = [gate_comparison(compare_runs(store, ref, other, unscored=one), loss)[0].verdict for one in POLICIES]
    assert found == ["inconclusive", "pass", "inconclusive"]


values = st.lists(st.floats(0, 1) | st.none(), min_size=1, max_size=40)


@given(values)
def test_the_bounds_hold_every_other_mean_and_without_unscored_all_agree(given_values: list[float | None]) -> None:
    scored = [value for value in given_values if value is not None]
    missing = len(given_values) - len(scored)

    def filled(fill: float) -> Moments:
        return moments([fill if value is None else value for value in given_values])

    base = moments(scored) if scored else None
    left_out = compute_mean(MEASURE, base)
    zero = compute_mean(MEASURE, base, "zero", missing, (filled(0), filled(0)))
    bounds = compute_mean(MEASURE, base, "bounds", missing, (filled(0), filled(1)))
    if not missing:
        assert zero == bounds == left_out
        return
    assert bounds.bounds is not None
    low, high = bounds.bounds
    assert zero.mean == pytest.approx(low)
    assert left_out.mean is None or low - 1e-9 <= left_out.mean <= high + 1e-9
    assert math.isclose(high - low, missing / len(given_values), abs_tol=1e-9)
    if isinstance(bounds.interval, Interval):
        assert bounds.interval.low <= low + 1e-9
        assert bounds.interval.high >= high - 1e-9
