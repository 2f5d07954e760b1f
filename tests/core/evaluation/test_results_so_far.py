"""Tests of storing results while an evaluation runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.core.conftest import PlainJudge

from ragboard import EvaluationOptions, Panel, Store, evaluate_run, sample_runs
from ragboard.analysis import run_summary
from ragboard.errors import StoreError
from ragboard.metrics import metrics_named
from ragboard.records import Evaluation
from ragboard.store.run_refs import RESULT_TABLES
from ragboard.tasks import Failure, OnCall, Reply, Task, ignore_call

METRICS = metrics_named(["ragas.faithfulness"])
FIRST, PATIENCE = 12, 3000
"""Tasks answered at once, and how often a judge looks into the store before it gives up."""


@pytest.fixture(autouse=True)
def load_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragboard.evaluation.engine.LOAD_SECONDS", 0.01)


@dataclass
class Patient(PlainJudge):
    """After some tasks, answers no more until the store has results; notes what it saw."""

    store: Store | None = None
    run_id: str = ""
    seen: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Samples with results, and samples in the run."""

    async def answer(self, tasks: Sequence[Task], hear: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        if self.store and len(self.asked) >= FIRST and not self.seen:
            for _ in range(PATIENCE):
                if self.store.evaluations(self.run_id):
                    judged = run_summary(self.store, self.store.resolve(self.run_id)).judged
                    assert judged
                    self.seen.append((judged.covered, judged.samples))
                    break
                await asyncio.sleep(0.01)
        return await super().answer(tasks, hear)


def test_results_so_far_are_in_the_store_while_the_evaluation_runs(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = store.add_runs([sample_runs()[0]])[0]
    judge = Patient(store=store, run_id=run.id)
    done = evaluate_run(store, run.id, METRICS, Panel(judge=judge), EvaluationOptions(concurrency=1))
    ((covered, samples),) = judge.seen
    assert 0 < covered < samples == run.samples == done.samples

    alone = Store(tmp_path / "alone")
    alone.add_runs([sample_runs()[0]])
    evaluate_run(alone, run.id, METRICS, Panel(judge=PlainJudge()), EvaluationOptions(concurrency=1))
    for table in ("scores", "statements", "verdicts", "sides", "spending"):
        found = []
        for one in (store, alone):
            with one.database.read() as connection:
                found.append(sorted(connection.execute(f"SELECT * FROM {table}").fetchall(), key=str))
        assert found[0] == found[1]


def test_results_of_fewer_samples_do_not_replace_those_that_are_there(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = store.add_runs([sample_runs()[0]])[0]
    first = evaluate_run(store, run.id, METRICS, Panel(judge=PlainJudge()))
    loads: list[int | None] = []

    class Noting(Store):
        def load(self, *args: object, covered: int | None = None, **given: object) -> None:
            loads.append(covered)
            super().load(*args, covered=covered, **given)  # type: ignore[arg-type]

    more = metrics_named(["ragas.context_precision"])
    again = evaluate_run(Noting(tmp_path), run.id, more, Panel(judge=Slow()), EvaluationOptions(concurrency=1))
    assert again.evaluation.id == first.evaluation.id
    assert again.asked > 5
    assert loads == [run.samples]


@dataclass
class Slow(PlainJudge):
    """Answers after a moment, so that results are loaded several times."""

    async def answer(self, tasks: Sequence[Task], hear: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        await asyncio.sleep(0.02)
        return await super().answer(tasks, hear)


class Loads(Store):
    """Notes the positions of each load; every other load before the last fails, or takes long."""

    fails = False
    pause = 0.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.loaded: list[list[int]] = []
        self.count = 0

    def load(self, evaluation: Evaluation, results: Mapping[str, Sequence[Path]], *args: Any, **given: Any) -> None:
        self.count += 1
        is_last = given.get("loaded") is not None
        if self.count % 2 and not is_last:
            time.sleep(self.pause)
            if self.fails:
                raise StoreError("no space")
        super().load(evaluation, results, *args, **given)
        tables = [pq.read_table(path, columns=["position"]) for path in results.get("scores", ())]
        self.loaded.append([position for table in tables for position in table["position"].to_pylist()])


class FailingLoads(Loads):
    fails = True


class SlowLoads(Loads):
    pause = 0.3


@pytest.mark.parametrize("kind", [Loads, FailingLoads, SlowLoads])
def test_each_result_is_loaded_once(tmp_path: Path, kind: type[Loads]) -> None:
    store = kind(tmp_path / "often")
    (run,) = store.add_runs([sample_runs()[0]])
    done = evaluate_run(store, run.id, METRICS, Panel(judge=Slow()), EvaluationOptions(concurrency=1))
    assert len(store.loaded) > 2
    assert sorted(position for positions in store.loaded for position in positions) == list(range(done.samples))
    alone = Store(tmp_path / "alone")
    alone.add_runs([sample_runs()[0]])
    evaluate_run(alone, run.id, METRICS, Panel(judge=PlainJudge()), EvaluationOptions(concurrency=1))
    for table in (*RESULT_TABLES, "score_hours", "metrics"):
        found = []
        for one in (store, alone):
            with one.database.read() as connection:
                found.append(sorted(connection.execute(f"SELECT * FROM {table}").fetchall(), key=str))
        assert found[0] == found[1], table


def test_results_replace_all_earlier_ones_when_they_are_loaded_in_parts(tmp_path: Path) -> None:
    store = Loads(tmp_path)
    (run,) = store.add_runs([sample_runs()[0]])
    first = evaluate_run(store, run.id, METRICS, Panel(judge=PlainJudge()), EvaluationOptions(concurrency=1))
    with store.database.write() as connection:
        connection.execute("UPDATE evaluations SET loaded = NULL, covered = 0")
        connection.execute("DELETE FROM scores WHERE position > 2")
    store.journal_path(first.evaluation.id).unlink()
    store.loaded.clear()
    again = evaluate_run(store, run.id, METRICS, Panel(judge=Slow()), EvaluationOptions(concurrency=1))
    assert again.evaluation.id == first.evaluation.id
    assert len(store.loaded) > 2
    with store.database.read() as connection:
        rows = connection.execute("SELECT position, metric FROM scores ORDER BY ALL").fetchall()
        statements = connection.execute("SELECT position, side, statement FROM statements ORDER BY ALL").fetchall()
    assert rows == [(position, METRICS[0].spec) for position in range(run.samples)]
    assert len(set(statements)) == len(statements)
