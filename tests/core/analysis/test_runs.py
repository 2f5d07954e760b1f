"""Tests of the leaderboard: means, intervals, and numbers of scored samples."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.core.conftest import PlainJudge, make_run, make_sample

from ragboard import DEFAULT_METRICS, Interval, Panel, Run, Store, evaluate_run
from ragboard.analysis import (
    evaluations_by_run,
    leaderboard,
    list_runs,
    run_evaluations,
    run_summary,
    sample_report,
    unsupported_statements,
)
from ragboard.stats import NoInterval
from ragboard.tasks import Failure, Task, Verify

ALL = DEFAULT_METRICS


def evaluated(store: Store, run: Run, judge: PlainJudge | None = None) -> None:
    evaluate_run(store, store.add_runs([run])[0].id, ALL, Panel(judge=judge or PlainJudge()))


def test_a_run_never_evaluated_has_no_numbers(store: Store) -> None:
    store.add_runs([make_run()])
    (run,) = leaderboard(store)
    assert run.judged is None
    assert run.metrics == {}
    assert run.refusals is None


def test_the_list_of_runs_is_the_leaderboard_without_its_numbers(store: Store) -> None:
    evaluated(store, make_run())
    store.add_runs([Run(name="new", samples=(make_sample(1),), config={"k": 5})])
    board = leaderboard(store)
    assert [(run.run_id, run.name, run.dataset_key, run.imported) for run in list_runs(store)] == [
        (run.run_id, run.name, run.dataset_key, run.imported) for run in board
    ]
    assert {run.name: run.evaluated for run in list_runs(store)} == {"new": False, "run": True}


def test_the_evaluations_of_all_runs_are_those_of_each(store: Store) -> None:
    for name in ("one", "other"):
        evaluated(store, replace(make_run(), name=name))
    first = store.resolve("one").run_id
    evaluate_run(store, first, ALL, Panel(judge=PlainJudge(name="another", version="2")))
    store.add_runs([Run(name="new", samples=(make_sample(1),))])
    found = evaluations_by_run(store)
    assert len(found[first]) == 2
    assert found == {run.run_id: run_evaluations(store, run.run_id) for run in list_runs(store) if run.evaluated}


def test_a_sample_carries_the_configuration_of_its_run(store: Store) -> None:
    store.add_runs([Run(name="new", samples=(make_sample(1),), config={"k": 5})])
    run = store.resolve("new")
    assert sample_report(store, run, make_sample(1).id).config == {"k": 5}


def test_the_mean_has_an_interval_and_a_number_of_samples(store: Store) -> None:
    samples = tuple(make_sample(n, answer="It is red." if n % 2 else "It is old.") for n in range(20))
    evaluated(store, Run(name="half", samples=samples))
    found = leaderboard(store)[0].metrics["ragas.faithfulness"]
    assert (found.mean, found.scored, found.total) == (0.5, 20, 20)
    assert isinstance(found.interval, Interval)
    assert (found.interval.n, found.interval.level) == (20, 0.95)


def test_the_unscored_are_counted_by_reason_and_left_out_of_the_mean(store: Store) -> None:
    samples = (make_sample(0, answer="It is red."), make_sample(1, answer=None), make_sample(2, answer=" "))
    evaluated(store, Run(name="gaps", samples=samples))
    found = leaderboard(store)[0].metrics["ragas.faithfulness"]
    assert (found.mean, found.scored, found.total) == (1.0, 1, 3)
    assert found.unscored == {"skipped": 1, "undefined": 1}
    assert found.interval == NoInterval(reason="an interval needs at least 5 values, got 1", n=1)


def test_where_every_sample_failed_there_is_no_mean(store: Store) -> None:
    def silent(task: Task) -> Failure | None:
        return Failure(detail="silent") if isinstance(task, Verify) else None

    evaluated(store, make_run(), PlainJudge(before=silent))
    found = leaderboard(store)[0].metrics["ragas.faithfulness"]
    assert found.mean is None
    assert found.unscored == {"failed": 3}


def test_the_newest_evaluation_is_shown_and_an_older_one_can_be_named(store: Store) -> None:
    evaluated(store, make_run())
    old = store.resolve("run")
    evaluated(store, make_run(), PlainJudge(version="2", name="second"))
    assert run_summary(store, store.resolve("run")).judged.judge == "second"  # type: ignore[union-attr]
    assert run_summary(store, old).judged.judge == "plain"  # type: ignore[union-attr]


def test_statements_to_look_at_first_are_the_unsupported_ones_one_a_question(store: Store) -> None:
    evaluated(store, make_run(samples=3))
    found = unsupported_statements(store, [store.resolve("run")], limit=10)
    assert [(said.sample_id, said.text, said.number) for said in found] == [(f"s{n}", "It is old", 2) for n in range(3)]


def test_a_sample_knows_its_neighbours(store: Store) -> None:
    evaluated(store, make_run(samples=3))
    ref = store.resolve("run")
    reports = [sample_report(store, ref, f"s{n}") for n in range(3)]
    assert [(report.previous, report.following) for report in reports] == [(None, "s1"), ("s0", "s2"), ("s1", None)]
    assert [question.similarity for question in reports[0].questions] == [0.5] * 3
    assert reports[0].sentences == 2


def test_runs_over_the_same_questions_are_the_same_dataset(store: Store) -> None:
    shuffled = replace(make_run("b"), samples=make_run().samples[::-1])
    store.add_runs([make_run("a"), shuffled, make_run("c", samples=4)])
    keys = {run.name: run.dataset_key for run in leaderboard(store)}
    assert keys["a"] == keys["b"] != keys["c"]


@pytest.mark.parametrize("limit", [1, 2])
def test_the_limit_holds(store: Store, limit: int) -> None:
    evaluated(store, make_run(samples=3))
    assert len(unsupported_statements(store, [store.resolve("run")], limit=limit)) == limit
