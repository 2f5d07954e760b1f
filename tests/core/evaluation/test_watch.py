"""Tests of watching growing runs: sampling, daily cost, and killed or second processes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from tests.core.conftest import PlainJudge, make_sample

from ragboard import DEFAULT_METRICS, EvaluationOptions, Panel, Run, Store, StoreBusyError, evaluate_run
from ragboard.evaluation.watch import WatchedBatch, Watcher, WatchOptions, watch_lock
from ragboard.judges.base import RequestEstimate
from ragboard.prices import Price
from ragboard.tasks import Exchange, ExtractStatements, Failure, OnCall, Reply, Task, ignore_call

CHAT, NEWER = "chat 1 (production)", "chat 2 (production)"
DATASET = "chat (production)"


def grow(store: Store, *numbers: int, run: str = CHAT) -> str:
    store.append(Run(name=run, dataset=DATASET, samples=tuple(make_sample(number) for number in numbers)))
    return store.resolve(run).run_id


@dataclass
class PricedJudge(PlainJudge):
    """A model that answers each task with one call of 1,000 prompt tokens."""

    name: str = "openai:priced"
    model: str = "priced"

    def request(self, _task: Task) -> RequestEstimate:
        return RequestEstimate(text="x" * 1_000)

    async def answer(self, tasks: Sequence[Task], hear: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        for task in tasks:
            hear(task, Exchange(text="", prompt_tokens=1_000, completion_tokens=0))
        return await super().answer(tasks, hear)


@dataclass
class Clock:
    now: datetime = field(default_factory=lambda: datetime(2026, 11, 27, 12, tzinfo=UTC))

    def __call__(self) -> datetime:
        return self.now


def watcher(store: Store, judge: PlainJudge | None = None, clock: Clock | None = None, **options: object) -> Watcher:
    given: dict[str, object] = {
        "name": DATASET,
        "metrics": DEFAULT_METRICS,
        "panel": Panel(judge=judge or PlainJudge()),
        "evaluation": EvaluationOptions(prices={"priced": Price(prompt=1.0)}),
    }
    return Watcher(store, WatchOptions(**(given | options)), clock or Clock())  # type: ignore[arg-type]


def covered(store: Store, run: str = CHAT) -> set[int]:
    (evaluation,) = store.evaluations(store.resolve(run).run_id)
    return set(store.covered(evaluation.id))


def extracted(judge: PlainJudge) -> list[str]:
    return [task.question for task in judge.asked if isinstance(task, ExtractStatements)]


def test_new_samples_of_all_runs_of_a_dataset_are_evaluated(store: Store) -> None:
    grow(store, 0, 1)
    watching = watcher(store)
    assert [(turn.run, turn.evaluated, turn.waiting) for turn in watching.evaluate_new()] == [(CHAT, 2, 0)]
    assert list(watching.evaluate_new()) == []
    grow(store, 2)
    grow(store, 0, run=NEWER)
    assert sorted((turn.run, turn.evaluated) for turn in watching.evaluate_new()) == [(CHAT, 1), (NEWER, 1)]
    assert covered(store) == {0, 1, 2}
    assert watching.run_names == (NEWER, CHAT)


def test_the_draw_depends_on_ids_and_seed_and_its_rate_is_kept(store: Store) -> None:
    run_id = grow(store, *range(200))
    list(watcher(store, sample_rate=0.25, batch=1_000).evaluate_new())
    drawn = covered(store)
    assert 30 <= len(drawn) <= 70
    (evaluation,) = store.evaluations(run_id)
    assert store.sampling_rates(evaluation.id) == ((0, 0.25, 0),)
    grow(store, *range(200, 400))
    list(watcher(store, sample_rate=0.25, batch=1_000).evaluate_new())
    assert {position for position in covered(store) if position < 200} == drawn
    assert store.sampling_rates(evaluation.id) == ((0, 0.25, 0),)
    other = Store(store.folder / "other")
    grow(other, *range(200))
    list(watcher(other, sample_rate=0.5, batch=1_000).evaluate_new())
    assert drawn < covered(other)


def test_another_rate_holds_for_later_samples_and_ends_once_all_are_evaluated(store: Store) -> None:
    run_id = grow(store, *range(50))
    list(watcher(store, sample_rate=0.2, batch=1_000).evaluate_new())
    before = covered(store)
    list(watcher(store, sample_rate=1.0, batch=1_000).evaluate_new())
    assert covered(store) == before
    grow(store, 50, 51)
    list(watcher(store, sample_rate=1.0, batch=1_000).evaluate_new())
    assert covered(store) == before | {50, 51}
    (evaluation,) = store.evaluations(run_id)
    assert [rate[:2] for rate in store.sampling_rates(evaluation.id)] == [(0, 0.2), (50, 1.0)]
    evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    assert store.sampling_rates(evaluation.id) == ()
    grow(store, 52)
    list(watcher(store, sample_rate=0.2).evaluate_new())
    assert [rate[:2] for rate in store.sampling_rates(evaluation.id)] == [(52, 0.2)]


def test_a_batch_is_bounded_and_the_newest_come_first(store: Store) -> None:
    grow(store, *range(10))
    watching = watcher(store, batch=4)
    turns: list[WatchedBatch] = []
    for _ in range(3):
        turns += watching.evaluate_new()
    assert [(turn.evaluated, turn.waiting) for turn in turns] == [(4, 6), (4, 2), (2, 0)]


def test_the_newest_samples_are_evaluated_before_older_ones(store: Store) -> None:
    grow(store, *range(10))
    watching = watcher(store, batch=4)
    list(watching.evaluate_new())
    assert covered(store) == {6, 7, 8, 9}
    grow(store, 10, 11)
    list(watching.evaluate_new())
    assert covered(store) == {4, 5, 6, 7, 8, 9, 10, 11}


def test_deleted_samples_do_not_wait(store: Store) -> None:
    run_id = grow(store, *range(6))
    watching = watcher(store, batch=2)
    list(watching.evaluate_new())
    store.remove_samples(run_id, [0, 1, 2])
    for _ in range(3):
        list(watching.evaluate_new())
    assert watching.waiting == 0
    assert covered(store) == {3, 4, 5}


def test_the_budget_is_for_a_day_and_survives_a_restart(store: Store) -> None:
    grow(store, *range(10))
    clock, judge = Clock(), PricedJudge()
    list(watcher(store, PricedJudge(), clock, batch=1).evaluate_new())
    (evaluation,) = store.evaluations(store.resolve(CHAT).run_id)
    each = sum(usage.cost or 0 for usage in store.spending(evaluation.id))
    assert each > 0
    limit = 4.5 * each
    watching = watcher(store, judge, clock, max_cost_per_day=limit, batch=2)
    turns: list[WatchedBatch] = []
    while not watching.budget_used_up:
        turns += watching.evaluate_new()
    assert turns[-1].stopped
    assert turns[-1].spent_today <= limit
    done = len(covered(store))
    assert 4 <= done <= 5
    again = watcher(store, judge, clock, max_cost_per_day=limit, batch=2)
    list(again.evaluate_new())
    assert again.budget_used_up
    assert len(covered(store)) == done
    assert list(again.evaluate_new()) == []
    clock.now += timedelta(days=1)
    assert not again.budget_used_up
    while again.waiting and not again.budget_used_up:
        list(again.evaluate_new())
    assert len(covered(store)) > done + 3
    assert len(extracted(judge)) == len(set(extracted(judge)))


def test_calls_of_a_killed_process_count_and_are_not_asked_again(store: Store) -> None:
    @dataclass
    class Dying(PricedJudge):
        async def answer(self, tasks: Sequence[Task], hear: OnCall = ignore_call) -> Sequence[Reply | Failure]:
            if len(self.asked) >= 7:
                raise RuntimeError("killed")
            return await super().answer(tasks, hear)

    grow(store, *range(5))
    clock, first = Clock(), Dying()
    list(watcher(store, PricedJudge(), clock, max_cost_per_day=1.0, batch=1).evaluate_new())
    with pytest.raises(RuntimeError, match="killed"):
        list(watcher(store, first, clock, max_cost_per_day=1.0, evaluation=_one_by_one()).evaluate_new())
    second = PricedJudge()
    (turn,) = watcher(store, second, clock, max_cost_per_day=1.0, evaluation=_one_by_one()).evaluate_new()
    assert turn.waiting == 0
    assert covered(store) == set(range(5))
    assert not set(extracted(first)) & set(extracted(second))
    (evaluation,) = store.evaluations(store.resolve(CHAT).run_id)
    assert turn.spent_today == pytest.approx(sum(usage.cost or 0 for usage in store.spending(evaluation.id)))


def _one_by_one() -> EvaluationOptions:
    return EvaluationOptions(prices={"priced": Price(prompt=1.0)}, concurrency=1)


def test_there_is_one_watch_for_each_store(store: Store) -> None:
    with watch_lock(store), pytest.raises(StoreBusyError, match=rf"process {os.getpid()}"), watch_lock(store):
        pass
    with watch_lock(store):
        pass
