"""Tests of reading the progress of evaluations from the store's folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.core.conftest import PlainJudge, make_run

from ragboard import DEFAULT_METRICS, JudgeOptions, Panel, Store, evaluate_run
from ragboard.evaluation.identity import Choice
from ragboard.evaluation.journal import open_journal
from ragboard.evaluation.options import EvaluationOptions
from ragboard.evaluation.progress import (
    START_SECONDS,
    Progress,
    live_evaluation,
    live_evaluations,
    read_progress,
    stop_evaluation,
    write_progress,
)
from ragboard.tasks import Failure, Task

JUDGING = JudgeOptions(judge="openai:m", base_url="https://me:secret@host/v1", parameters={"seed": 3})
NOW = 1_000.0
RUNNING = Progress(
    state="running", pid=1, done=30, total=90, started=900.0, updated=NOW, monotonic=900.0, since=980.0, done_then=20
)

HEADER = {"evaluation": "e", "run": "r", "judge": "j", "identity": {}, "metrics": ["m"], "judging": None}


def header(store: Store, evaluation_id: str) -> Path:
    path = store.journal_path(evaluation_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".json").write_text(json.dumps(HEADER), encoding="utf-8")
    return path


@pytest.fixture
def put(store: Store) -> Callable[[Progress], None]:
    """Puts a status file there, of an evaluation that nobody works on."""

    def write(progress: Progress) -> None:
        write_progress(header(store, "e").with_suffix(".status.json"), progress)

    return write


def test_rate_and_time_left_are_of_the_last_half_minute(store: Store, put: Callable[[Progress], None]) -> None:
    put(RUNNING)
    with open_journal(store.journal_path("e"), HEADER):
        live = live_evaluation(store, "e", NOW)
    assert live is not None
    assert (live.state, live.under_way, live.rate, live.seconds_left) == ("running", True, 30.0, 120.0)


def test_an_unknown_rate_is_none(store: Store, put: Callable[[Progress], None]) -> None:
    for progress in (replace(RUNNING, since=NOW - 1), replace(RUNNING, done_then=30)):
        put(progress)
        with open_journal(store.journal_path("e"), HEADER):
            live = live_evaluation(store, "e", NOW)
        assert live is not None
        assert live.seconds_left is None


def test_an_evaluation_without_its_process_is_interrupted(store: Store, put: Callable[[Progress], None]) -> None:
    put(RUNNING)
    (live,) = live_evaluations(store, NOW)
    assert (live.state, live.under_way, live.rate) == ("interrupted", False, None)


def test_one_that_ends_while_it_is_looked_at_has_finished(
    store: Store, put: Callable[[Progress], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process writes its last status before it releases the journal: both may lie between two looks."""
    put(RUNNING)

    def released(_: Path) -> bool:
        put(replace(RUNNING, state="finished", done=90))
        return False

    monkeypatch.setattr("ragboard.evaluation.progress.is_being_written", released)
    live = live_evaluation(store, "e", NOW)
    assert live is not None
    assert (live.state, live.progress.done) == ("finished", 90)


@pytest.mark.parametrize(("after", "state"), [(1, "starting"), (START_SECONDS + 1, "interrupted"), (-1, "interrupted")])
def test_one_that_never_said_a_word_is_given_up(
    store: Store, put: Callable[[Progress], None], after: float, state: str
) -> None:
    """By the monotonic clock, which begins anew with the machine."""
    put(replace(RUNNING, state="starting", started=0.0))
    (live,) = live_evaluations(store, RUNNING.monotonic + after)
    assert live.state == state


def test_a_stop_request_stops_the_evaluation_and_is_reported(store: Store) -> None:
    run = store.add_runs([make_run(samples=50)])[0]
    seen: list[str] = []

    def stop(_: Task) -> Failure | None:
        (live,) = live_evaluations(store)
        if not seen:
            stop_evaluation(store, live.evaluation_id)
        seen.append(live.state)
        return None

    done = evaluate_run(store, run.id, DEFAULT_METRICS, Panel(judge=PlainJudge(before=stop)), watch=lambda _: None)
    status = store.journal_path(done.evaluation.id).with_suffix(".status.json")
    assert seen[0] == "running"
    progress = read_progress(status)
    assert progress is not None
    assert progress.done == done.samples
    assert progress.state == ("stopped" if done.stopped else "finished")


def test_it_can_be_taken_up_again_by_what_was_chosen_but_for_a_password(store: Store) -> None:
    run = store.add_runs([make_run()])[0]
    options = EvaluationOptions(judge_options=JUDGING, sample=2, max_cost=1.5)
    evaluate_run(store, run.id, DEFAULT_METRICS, Panel(judge=PlainJudge()), options)
    (live,) = live_evaluations(store)
    assert (live.run_id, live.state) == (run.id, "finished")
    assert live.choice == Choice(
        metrics=tuple(metric.spec for metric in DEFAULT_METRICS),
        judge_options=replace(JUDGING, base_url="https://host/v1"),
        limits={"sample": 2, "seed": 0, "max_cost": 1.5},
    )
    assert store.judge_options(live.evaluation_id) == replace(JUDGING, base_url="https://host/v1")
    assert all(b"secret" not in path.read_bytes() for path in store.folder.rglob("*") if path.is_file())


def test_one_whose_judge_was_given_in_python_cannot_be(store: Store) -> None:
    run = store.add_runs([make_run()])[0]
    evaluate_run(store, run.id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    (live,) = live_evaluations(store)
    assert live.choice is None


def test_a_spoiled_file_is_passed_over(store: Store) -> None:
    path = header(store, "e")
    path.with_suffix(".status.json").write_text("{", encoding="utf-8")
    assert live_evaluations(store) == ()


def test_a_stopped_evaluation_counts_only_finished_samples(store: Store) -> None:
    run = store.add_runs([make_run(samples=5)])[0]
    done = evaluate_run(store, run.id, DEFAULT_METRICS, Panel(judge=PlainJudge()), EvaluationOptions(max_minutes=0))
    (live,) = live_evaluations(store)
    assert done.stopped
    assert (live.state, live.progress.done, live.progress.total) == ("stopped", 0, 5)
