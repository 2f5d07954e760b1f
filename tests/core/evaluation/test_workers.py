"""Tests of workers: same results as one process, and a clear error if a worker is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from tests.core.conftest import PlainJudge

from ragboard import EvaluationOptions, JudgeError, Panel, SettingError, Store, evaluate_run, sample_runs
from ragboard.evaluation.runner import Batcher
from ragboard.evaluation.workers import WorkerPool
from ragboard.export import table
from ragboard.judges import EmbeddedJudge
from ragboard.metrics import metrics_named
from ragboard.store import RunRef
from ragboard.tasks import Failure, OnCall, Questions, Reply, Task, ignore_call
from ragboard.tasks import GenerateQuestions as Generate

METRICS = metrics_named(["ragas.faithfulness", "ragas.answer_relevance", "ragchecker"])


def results(store: Store, workers: int) -> dict[str, pd.DataFrame]:
    """The samples and statements after an evaluation by so many workers."""
    run = store.add_runs([sample_runs()[0]])[0]
    done = evaluate_run(store, run.id, METRICS, Panel(judge=EmbeddedJudge()), EvaluationOptions(workers=workers))
    ref = RunRef(run_id=run.id, name=run.name, evaluation_id=done.evaluation.id)
    return {what: table(store, what, [ref]) for what in ("samples", "statements")}


def test_two_workers_give_the_results_of_one(tmp_path: Path) -> None:
    one, two = results(Store(tmp_path / "one"), 1), results(Store(tmp_path / "two"), 2)
    assert one.keys() == two.keys()
    for what, expected in one.items():
        pd.testing.assert_frame_equal(two[what], expected, check_exact=True)


def test_a_script_without_a_main_guard_starts_workers(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text(
        "from ragboard import EvaluationOptions, evaluate, sample_runs\n"
        "run = sample_runs()[0]\n"
        "print(len(evaluate(run, metrics=['ragas.faithfulness'], options=EvaluationOptions(workers=2)).samples))\n"
    )
    printed = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert printed.stdout.split() == [str(len(sample_runs()[0].samples))]
    assert printed.stderr == ""


@dataclass
class Computing(PlainJudge):
    """Answers with the id of its process; ends that process when it is asked to."""

    computes: bool = True

    async def answer(self, tasks: Sequence[Task], _: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        if any(task == Generate(answer="die", n=1) for task in tasks):
            os.kill(os.getpid(), signal.SIGKILL)
        return [Questions(questions=(str(os.getpid()),)) for _ in tasks]


@dataclass
class Waiting(PlainJudge):
    """Lets others run before it answers, and notes how many tasks it has at most."""

    running: int = 0
    most: int = 0

    async def answer(self, tasks: Sequence[Task], hear: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        self.running += len(tasks)
        self.most = max(self.most, self.running)
        for _ in range(3):
            await asyncio.sleep(0)
        self.running -= len(tasks)
        return await super().answer(tasks, hear)


@pytest.mark.parametrize("extracts", [True, False], ids=["asked beside a judge that computes", "asked alone"])
def test_workers_do_not_raise_the_concurrency_of_a_judge_that_does_not_compute(tmp_path: Path, extracts: bool) -> None:
    store, verifies = Store(tmp_path), Waiting()
    run = store.add_runs([sample_runs()[0]])[0]
    panel = Panel(judge=EmbeddedJudge(), roles={"verify": verifies}) if extracts else Panel(judge=verifies)
    evaluate_run(store, run.id, METRICS[:1], panel, EvaluationOptions(workers=2, concurrency=3))
    assert run.samples > 10
    assert verifies.most == 3


def answered(texts: Sequence[str]) -> list[Reply | Failure]:
    """The answers of a judge in two workers, all asked at once."""
    batcher = Batcher(WorkerPool(2))
    assert batcher.workers

    async def ask() -> list[Reply | Failure]:
        judge = Computing()
        return await asyncio.gather(*(batcher.answer(judge, Generate(answer=text, n=1), ignore_call) for text in texts))

    try:
        return asyncio.run(ask())
    finally:
        batcher.workers.close()


def test_batches_are_answered_in_other_processes() -> None:
    replies = answered([str(number) for number in range(1000)])
    processes = {reply.questions[0] for reply in replies if isinstance(reply, Questions)}
    assert len(replies) == 1000
    assert 1 <= len(processes) <= 2
    assert str(os.getpid()) not in processes


def test_a_worker_that_is_killed_ends_the_evaluation_with_advice() -> None:
    with pytest.raises(JudgeError, match="run the same command with fewer --workers"):
        answered(["die"])


def test_no_worker_at_all_is_rejected() -> None:
    with pytest.raises(SettingError, match="workers is 0, expected at least 1"):
        EvaluationOptions(workers=0)
