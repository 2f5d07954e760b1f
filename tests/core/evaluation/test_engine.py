"""Tests of `evaluate_run`: scores or reasons, no repeated calls, and resuming."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.core.conftest import PlainJudge, make_run, make_sample

from ragboard import (
    DEFAULT_METRICS,
    JudgeError,
    Panel,
    RunRef,
    Score,
    SettingError,
    Store,
    StoreError,
    Unscored,
    evaluate_run,
)
from ragboard.analysis import SampleQuery, sample_report, sample_rows
from ragboard.evaluation.options import EvaluationOptions, ModelEstimate
from ragboard.judges import JudgeOptions
from ragboard.metrics import metrics_named
from ragboard.records import Run
from ragboard.tasks import Exchange, Failure, OnCall, Reply, Task, Verification, Verify, ignore_call

ALL = DEFAULT_METRICS


class Calling(PlainJudge):
    """Asks a model, one call a task."""

    async def answer(self, tasks: Sequence[Task], hear: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        await asyncio.sleep(0)
        for task in tasks:
            hear(task, Exchange())
        return await super().answer(tasks)


def add(store: Store, run: Run) -> str:
    return store.add_runs([run])[0].id


def scores(store: Store, run_id: str, evaluation_id: str) -> dict[str, dict[str, Score | Unscored]]:
    ref = RunRef(run_id=run_id, name="run", evaluation_id=evaluation_id)
    return {row.sample_id: dict(row.scores) for row in sample_rows(store, ref, SampleQuery(limit=1000)).rows}


def test_every_metric_counts_what_the_judge_said(store: Store) -> None:
    run_id = add(store, make_run())
    done = evaluate_run(store, run_id, ALL, Panel(judge=PlainJudge()))
    assert scores(store, run_id, done.evaluation.id)["s0"] == {
        "ragas.faithfulness": Score(value=0.5, counted="1 of 2 statements"),
        "ragas.answer_relevance": Score(value=0.5, counted="3 questions"),
        "ragas.context_relevance": Score(value=0.5, counted="1 of 2 sentences"),
    }


def test_the_statements_and_their_verdicts_are_rows(store: Store) -> None:
    run_id = add(store, make_run())
    done = evaluate_run(store, run_id, ALL, Panel(judge=PlainJudge()))
    report = sample_report(store, RunRef(run_id=run_id, name="run", evaluation_id=done.evaluation.id), "s1")
    assert [(said.statement.text, said.verdict and said.verdict.label) for said in report.statements] == [
        ("It is red", "supported"),
        ("It is old", "unsupported"),
    ]


def test_a_second_evaluation_makes_no_calls_and_changes_nothing(store: Store) -> None:
    run_id = add(store, make_run(samples=40))
    first = evaluate_run(store, run_id, ALL, Panel(judge=PlainJudge()))
    judge = PlainJudge()
    second = evaluate_run(store, run_id, ALL, Panel(judge=judge))
    assert judge.asked == []
    assert second.evaluation == first.evaluation
    assert second.asked == 0
    assert second.replayed >= first.asked
    assert len(scores(store, run_id, first.evaluation.id)) == 40


def test_judge_options_stay_stored_after_an_evaluation_without_them(store: Store) -> None:
    run_id, panel = add(store, make_run(samples=1)), Panel(judge=PlainJudge())
    done = evaluate_run(store, run_id, ALL, panel, EvaluationOptions(judge_options=JudgeOptions(judge="embedded")))
    evaluate_run(store, run_id, ALL, panel)
    assert store.judge_options(done.evaluation.id) == JudgeOptions(judge="embedded")


def test_another_version_of_the_judge_is_another_evaluation(store: Store) -> None:
    run_id = add(store, make_run())
    first = evaluate_run(store, run_id, ALL, Panel(judge=PlainJudge()))
    judge = PlainJudge(version="2")
    second = evaluate_run(store, run_id, ALL, Panel(judge=judge))
    assert second.evaluation.id != first.evaluation.id
    assert second.asked == first.asked == len(judge.asked)


def test_a_metric_added_later_asks_only_its_own_tasks(store: Store) -> None:
    run_id = add(store, make_run())
    judge = PlainJudge()
    evaluate_run(store, run_id, metrics_named(["faithfulness"]), Panel(judge=judge))
    before = len(judge.asked)
    done = evaluate_run(store, run_id, metrics_named(["context_relevance"]), Panel(judge=judge))
    assert {type(task).__name__ for task in judge.asked[before:]} == {"SelectSentences"}
    assert set(scores(store, run_id, done.evaluation.id)["s0"]) == {"ragas.faithfulness", "ragas.context_relevance"}


def test_tasks_that_two_samples_share_are_asked_once(store: Store) -> None:
    twin = make_sample(0)
    run_id = add(store, Run(name="twins", samples=(twin, replace(twin, id="other"))))
    judge = PlainJudge()
    evaluate_run(store, run_id, ALL, Panel(judge=judge))
    assert len(judge.asked) == len(set(judge.asked))


def test_a_failed_task_leaves_its_metric_unscored_with_the_reason(store: Store) -> None:
    def refuse(task: Task) -> Failure | None:
        return Failure(detail="the judge was silent") if isinstance(task, Verify) else None

    run_id = add(store, make_run())
    done = evaluate_run(store, run_id, ALL, Panel(judge=PlainJudge(before=refuse)))
    found = scores(store, run_id, done.evaluation.id)["s0"]
    assert found["ragas.faithfulness"] == Unscored(reason="failed", detail="the judge was silent")
    assert isinstance(found["ragas.context_relevance"], Score)
    assert done.failed == 3


def test_a_rerun_makes_no_calls_and_a_retry_only_what_failed(store: Store) -> None:
    def refuse(task: Task) -> Failure | None:
        return Failure(detail="silent") if isinstance(task, Verify) else None

    run_id = add(store, make_run())
    evaluate_run(store, run_id, ALL, Panel(judge=PlainJudge(before=refuse)))
    rerun, judge = PlainJudge(), PlainJudge()
    assert evaluate_run(store, run_id, ALL, Panel(judge=rerun)).failed == 3
    assert rerun.asked == []
    done = evaluate_run(store, run_id, ALL, Panel(judge=judge), EvaluationOptions(retry=True))
    assert {type(task) for task in judge.asked} == {Verify}
    assert done.failed == 0
    assert isinstance(scores(store, run_id, done.evaluation.id)["s0"]["ragas.faithfulness"], Score)


def test_too_few_verdicts_are_a_failure_not_a_number(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.core.conftest._plain", lambda _: Verification())
    run_id = add(store, make_run())
    done = evaluate_run(store, run_id, metrics_named(["faithfulness"]), Panel(judge=PlainJudge()))
    found = scores(store, run_id, done.evaluation.id)["s0"]["ragas.faithfulness"]
    assert isinstance(found, Unscored)
    assert "does not fit the task" in found.detail


def test_a_role_without_a_judge_is_an_error_before_any_task(store: Store) -> None:
    run_id = add(store, make_run())
    judge = PlainJudge(answers=frozenset({Verify}))
    with pytest.raises(JudgeError, match="does not answer ExtractStatements"):
        evaluate_run(store, run_id, ALL, Panel(judge=judge))
    assert judge.asked == []


def test_no_metric_is_an_error_that_names_them(store: Store) -> None:
    with pytest.raises(SettingError, match=r"ragas\.faithfulness"):
        evaluate_run(store, add(store, make_run()), (), Panel(judge=PlainJudge()))


def test_a_store_error_is_not_wrapped_in_an_exception_group(store: Store) -> None:
    def full(_: Task) -> Failure | None:
        raise StoreError("no space")

    with pytest.raises(StoreError, match="no space"):
        evaluate_run(store, add(store, make_run()), ALL, Panel(judge=PlainJudge(before=full)))


@pytest.mark.parametrize("error", [ConnectionRefusedError(111, "Connection refused"), TimeoutError("slow")])
def test_an_exception_of_a_judge_is_not_reported_as_a_disk_error(store: Store, error: OSError) -> None:
    def refuse(_: Task) -> Failure | None:
        raise error

    with pytest.raises(type(error), match=error.strerror or str(error)):
        evaluate_run(store, add(store, make_run()), ALL, Panel(judge=PlainJudge(before=refuse)))


KILLED = """
import os, random, sys
from pathlib import Path
from ragboard import DEFAULT_METRICS, Panel, Store, evaluate_run
from tests.core.conftest import PlainJudge
store = Store(Path(sys.argv[1]))
left = int(sys.argv[3])
def die(task):
    global left
    left -= 1
    if left < 0:
        os._exit(9)
evaluate_run(store, sys.argv[2], DEFAULT_METRICS, Panel(judge=PlainJudge(before=die)))
"""


@pytest.mark.parametrize("asked_before", [0, 1, 7, 41])
def test_a_killed_evaluation_continues_without_asking_again(python: str, store: Store, asked_before: int) -> None:
    run_id = add(store, make_run(samples=15))
    command = [python, "-c", KILLED, str(store.folder), run_id, str(asked_before)]
    assert subprocess.run(command, check=False, cwd=Path(__file__).parents[3]).returncode == 9
    judge = PlainJudge()
    done = evaluate_run(store, run_id, ALL, Panel(judge=judge))
    assert len(judge.asked) == len(set(judge.asked)) == done.asked
    untouched = Store(store.folder.parent / "untouched")
    whole = evaluate_run(untouched, add(untouched, make_run(samples=15)), ALL, Panel(judge=PlainJudge()))
    assert scores(store, run_id, done.evaluation.id) == scores(untouched, run_id, whole.evaluation.id)
    assert done.asked == whole.asked - asked_before


def test_it_works_where_an_event_loop_runs_already_as_in_a_notebook(store: Store) -> None:
    run_id = add(store, make_run())

    async def cell() -> int:
        return evaluate_run(store, run_id, ALL, Panel(judge=PlainJudge())).samples

    assert asyncio.run(cell()) == 3


def test_a_judges_text_next_to_verdicts_is_stored_with_the_reason(store: Store) -> None:
    run_id = add(store, make_run())
    metrics = metrics_named(
        [
            "ragas.context_utilization",
            "ragas.harmfulness(n=3)",
            "gpt_score.faithfulness",
            "ragas.context_relevancy",
            "ares.answer_faithfulness",
            "ares.answer_faithfulness(compat=True)",
        ]
    )
    done = evaluate_run(store, run_id, metrics, Panel(judge=PlainJudge()))
    report = sample_report(store, RunRef(run_id=run_id, name="run", evaluation_id=done.evaluation.id), "s0")
    said = {(one.about, one.number): (one.says, one.value) for one in report.judgements}
    assert said["useful for the answer", 1][0] in ("yes", "no")
    assert [said["rating of faithfulness", 1], said["sentences chosen by draw", 2]] == [("7", 7.0), ("1", 0.5)]
    assert said["agreement of draws (jaccard)", 1] == ("draws 1 and 2", 1.0)
    assert sum(about.startswith("Could the answer do harm") for about, _ in said) == 3
    shown = [str(one) for one in report.judgements]
    assert {"answer faithfulness (ARES): yes (0.75)", "answer faithfulness (ARES, compat): yes (0.75)"} <= set(shown)
    assert "sentences chosen by draw 2: 1 (0.50)" in shown


def test_near_the_end_of_a_budget_samples_are_finished_not_begun(store: Store) -> None:
    run_id = add(store, make_run(samples=40))
    expected = (ModelEstimate(model="m", embedding=False, calls=80, tokens=0),)
    options = EvaluationOptions(max_calls=20, expected=expected, planned_samples=40)
    judge = Calling()
    done = evaluate_run(store, run_id, metrics_named(["faithfulness"]), Panel(judge=judge), options)
    assert "20 calls" in done.stopped
    assert len(judge.asked) == 20
    assert done.samples - done.unscored == 10
