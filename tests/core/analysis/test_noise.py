"""Tests of the difference between two evaluations of one run by the same judge."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.core.conftest import PlainJudge, make_sample

from ragboard import JudgeOptions, Panel, Run, Store, Verdict, evaluate_run
from ragboard.analysis import judge_noise
from ragboard.evaluation.options import EvaluationOptions
from ragboard.metrics import metrics_named
from ragboard.stats import Interval
from ragboard.tasks import Failure, OnCall, Reply, Task, Verification, Verify, ignore_call


class Wavering(PlainJudge):
    """Supports what the seed has it support: every `seed`-th sample."""

    seed = 1

    async def answer(self, tasks: Sequence[Task], _hear: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        replies = await super().answer(tasks)
        return [self._waver(task, reply) for task, reply in zip(tasks, replies, strict=True)]

    def _waver(self, task: Task, reply: Reply | Failure) -> Reply | Failure:
        if not isinstance(task, Verify):
            return reply
        number = int("".join(filter(str.isdigit, task.question)))
        label = Verdict(label="supported" if number % self.seed == 0 else "unsupported")
        return Verification(joint=(label,) * len(task.statements))


@pytest.fixture
def run(store: Store) -> str:
    samples = tuple(make_sample(number) for number in range(40))
    (added,) = store.add_runs([Run(name="a", samples=samples)])
    return added.id


def evaluate(store: Store, run: str, seed: int, *names: str, judge: str = "wavering", parameters: bool = True) -> None:
    asked = Wavering(name=judge, version=f"seed {seed}")
    asked.seed = seed
    judge_options = JudgeOptions(judge=judge, parameters={"seed": seed} if parameters else {})
    evaluate_run(
        store,
        run,
        metrics_named(names or ["faithfulness"]),
        Panel(judge=asked),
        EvaluationOptions(judge_options=judge_options),
    )


def test_one_evaluation_has_no_noise(store: Store, run: str) -> None:
    assert judge_noise(store, store.resolve("a")) == ()
    evaluate(store, run, 1)
    assert judge_noise(store, store.resolve("a")) == ()


def test_the_difference_is_the_other_minus_the_shown_over_all_samples(store: Store, run: str) -> None:
    evaluate(store, run, 2)
    evaluate(store, run, 1)
    (found,) = judge_noise(store, store.resolve("a"))
    assert (found.paired.n, found.paired.first, found.paired.second) == (40, 1.0, 0.5)
    assert isinstance(found.paired.interval, Interval)
    assert found.paired.interval.high < 0
    assert str(found).startswith("two evaluations of a by wavering differ by -0.500 (95% CI -0.6")
    assert str(found).endswith("in Faithfulness, n = 40 (seed 1, 2)")


def test_another_judge_is_not_noise(store: Store, run: str) -> None:
    evaluate(store, run, 2, judge="somebody else")
    evaluate(store, run, 1)
    assert judge_noise(store, store.resolve("a")) == ()


def test_each_metric_is_held_against_the_newest_other_evaluation_that_has_it(store: Store, run: str) -> None:
    evaluate(store, run, 4, "faithfulness", "refusal")
    evaluate(store, run, 2)
    evaluate(store, run, 1, "faithfulness", "refusal")
    found = {one.metric: one.differs for one in judge_noise(store, store.resolve("a"))}
    assert found == {"ragas.faithfulness": "seed 1, 2", "ragboard.refusal": "seed 1, 4"}


def test_where_parameters_agree_the_way_of_judging_is_named(store: Store, run: str) -> None:
    evaluate(store, run, 2, parameters=False)
    evaluate(store, run, 1, parameters=False)
    (found,) = judge_noise(store, store.resolve("a"))
    assert found.differs == "version, prompts or settings"


def test_where_only_some_tasks_were_judged_otherwise_they_are_named(store: Store, run: str) -> None:
    class Verifying(PlainJudge):
        def identity(self, task: type[Task]) -> str:
            return "plain/2" if task is Verify else super().identity(task)

    for judge in (Verifying(), PlainJudge()):
        evaluate_run(store, run, metrics_named(["faithfulness"]), Panel(judge=judge))
    (found,) = judge_noise(store, store.resolve("a"))
    assert found.differs == "version, prompts or settings for Verify"
