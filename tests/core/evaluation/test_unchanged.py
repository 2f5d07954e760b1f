"""Tests of repeating a complete evaluation: stored results are used, and the journal is not read."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.core.conftest import PlainJudge, make_sample
from tests.plugin_file import write_plugin

from ragboard import DEFAULT_METRICS, EvaluationOptions, Panel, Run, Store, evaluate_run
from ragboard.evaluation import engine
from ragboard.evaluation.engine import FinishedEvaluation
from ragboard.evaluation.progress import Progress, read_progress
from ragboard.metrics import metrics_named
from ragboard.metrics.plugins import metrics_with
from ragboard.prices import Price
from ragboard.records import Nugget

Opened = list[Path]


@pytest.fixture
def run_id(store: Store) -> str:
    return store.add_runs([Run(name="run", samples=tuple(make_sample(n) for n in range(4)))])[0].id


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    """The journals that are opened, each time."""
    opened: Opened = []
    open_journal = engine.open_journal

    def noted(path: Path, header: object, start: int) -> object:
        opened.append(path)
        return open_journal(path, header, start)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "open_journal", noted)
    return opened


def evaluate(store: Store, run_id: str, **options: object) -> FinishedEvaluation:
    given = EvaluationOptions(**options)  # type: ignore[arg-type]
    return evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()), given)


def test_the_stored_results_count(store: Store, run_id: str, opened: Opened) -> None:
    first = evaluate(store, run_id)
    watched: list[Progress] = []
    again = evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()), watch=watched.append)
    assert len(opened) == 1
    tasks = first.asked + first.replayed
    assert again == replace(first, evaluation=store.evaluation(first.evaluation.id), asked=0, replayed=tasks)
    assert [(one.done, one.total, one.replayed) for one in watched] == [(4, 4, tasks)]
    status = read_progress(store.journal_path(first.evaluation.id).with_suffix(".status.json"))
    assert status is not None
    assert (status.state, status.done) == ("finished", 4)


def test_it_becomes_the_newest_evaluation(store: Store, run_id: str) -> None:
    first = evaluate(store, run_id)
    other = evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge(version="2")))
    assert store.resolve("run").evaluation_id == other.evaluation.id != first.evaluation.id
    evaluate(store, run_id)
    assert store.resolve("run").evaluation_id == first.evaluation.id


def test_it_is_computed_again_once_something_changed(store: Store, run_id: str, opened: Opened) -> None:
    journal = store.journal_path(evaluate(store, run_id).evaluation.id)
    os.utime(journal, (0, 0))
    evaluate(store, run_id)
    assert len(opened) == 2
    evaluate(store, run_id, prices={"gpt": Price(prompt=1.0)})
    assert len(opened) == 3
    evaluate(store, run_id, prices={"gpt": Price(prompt=1.0)}, retry=True)
    assert len(opened) == 4
    question = store.sample(store.resolve("run"), "s0")[1].question
    store.add_runs([Run(name="b", samples=(replace(make_sample(0), question=question, nuggets=(Nugget(text="a"),)),))])
    evaluate(store, run_id, prices={"gpt": Price(prompt=1.0)})
    assert len(opened) == 5
    evaluate(store, run_id, prices={"gpt": Price(prompt=1.0)})
    assert len(opened) == 5


def test_a_larger_subset_and_another_metric_are_computed(store: Store, run_id: str, opened: Opened) -> None:
    evaluate(store, run_id, sample=2)
    assert evaluate(store, run_id, sample=2).samples == 2
    assert len(opened) == 1
    assert evaluate(store, run_id, sample=3).samples == 3
    assert evaluate(store, run_id).samples == 4
    assert len(opened) == 3
    more = (*DEFAULT_METRICS, *metrics_named(["overlap.length_ratio"]))
    evaluate_run(store, run_id, more, Panel(judge=PlainJudge()))
    assert len(opened) == 4
    assert evaluate(store, run_id).samples == 4  # the evaluation has the other metric, too
    assert len(opened) == 4


def test_an_evaluation_that_a_limit_stopped_continues(store: Store, run_id: str, opened: Opened) -> None:
    assert evaluate(store, run_id, max_minutes=0).stopped
    assert evaluate(store, run_id).samples == 4
    assert len(opened) == 2


def test_metrics_of_the_user_are_computed_again(store: Store, run_id: str, opened: Opened, tmp_path: Path) -> None:
    known = metrics_with([write_plugin(tmp_path)])
    mine = (known["mine.brevity"],)
    for _ in range(2):
        evaluate_run(store, run_id, mine, Panel(judge=PlainJudge()), EvaluationOptions(known=known))
    assert len(opened) == 2
