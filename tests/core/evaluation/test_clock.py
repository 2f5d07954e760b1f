"""Tests of evaluations while the system clock is changed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import pytest
from tests.core.conftest import PlainJudge, make_run

from ragboard import DEFAULT_METRICS, Panel, Store, evaluate_run
from ragboard.evaluation import progress
from ragboard.evaluation.options import EvaluationOptions
from ragboard.evaluation.progress import Progress, live_evaluations, stop_evaluation
from ragboard.tasks import Failure, Task

HOUR = 3600.0


@dataclass
class Clocks:
    """What the module `time` has: a clock that people set, and one that nobody does."""

    set_by: float = 0.0
    passed: float = 100_000.0

    def time(self) -> float:
        return 1_700_000_000.0 + self.set_by + self.passed

    def monotonic(self) -> float:
        return self.passed


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    found = Clocks()
    monkeypatch.setattr(progress, "time", found)
    monkeypatch.setattr(progress, "HEARTBEAT_SECONDS", 0.0)  # each step is told, even just after a beat of real time
    return found


@pytest.mark.parametrize("change", [-HOUR, HOUR], ids=["back", "forward"])
def test_progress_continues_and_the_rate_stays_what_it_is(store: Store, clocks: Clocks, change: float) -> None:
    def pass_a_second(_: Task) -> Failure | None:
        clocks.passed += 1.0
        clocks.set_by = change if clocks.passed > 100_010.0 else 0.0
        return None

    run = store.add_runs([make_run(samples=20)])[0]
    seen: list[Progress] = []
    judge = PlainJudge(before=pass_a_second)
    evaluate_run(
        store, run.id, DEFAULT_METRICS, Panel(judge=judge), EvaluationOptions(concurrency=1), watch=seen.append
    )
    told = [(one.done, one.updated) for one in seen]
    assert {done for done, _ in told} >= set(range(1, 21))
    assert all(0 <= after - before < 60 for (_, before), (_, after) in pairwise(told))


def test_a_stop_request_works_after_the_clock_was_set_back(store: Store, clocks: Clocks) -> None:
    def stop(_: Task) -> Failure | None:
        clocks.passed += 1.0
        if clocks.passed == 100_010.0:
            clocks.set_by = -HOUR
            (live,) = live_evaluations(store)
            stop_evaluation(store, live.evaluation_id)
        return None

    run = store.add_runs([make_run(samples=20)])[0]
    judge = PlainJudge(before=stop)
    done = evaluate_run(store, run.id, DEFAULT_METRICS, Panel(judge=judge), EvaluationOptions(concurrency=1))
    assert done.stopped == "stopped by the user; run the same command to resume"
    assert done.samples < 20
